"""Observations of one key, and what believing them one after the other leads to."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count

from hypothesis import strategies as st

from jiyi.domain.belief import Judgement, Observation, weigh
from jiyi.domain.confidence import ConfidencePolicy
from jiyi.domain.memory import Category, Evidence, Memory, Mode, Source, Status, Triple
from jiyi.domain.plans import Actor, Change, LedgerEntry, Plan, Verb
from jiyi.domain.relations import COMPANY, Detail, Phrases, Relation, Vocabulary
from jiyi.domain.revision import revise
from jiyi.shipped import load_refining, load_segmenter

MONDAY = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
LEARNT = datetime(2026, 6, 1, tzinfo=UTC)

DATABASE = Relation(
    "DATABASE", Category.PROJECT, True, COMPANY, Phrases(("数据库",), ("database",)), refines=Detail.RELEASE
)
USES = Relation(
    "USES", Category.PROJECT, False, COMPANY, Phrases((), ("uses",)), antonym="AVOIDS", refines=Detail.RELEASE
)
AVOIDS = Relation(
    "AVOIDS", Category.PROJECT, False, COMPANY, Phrases((), ("avoids",)), antonym="USES", refines=Detail.RELEASE
)
VOCABULARY = Vocabulary([DATABASE, USES, AVOIDS])
REFINING = load_refining(load_segmenter())


def day(number: float) -> datetime:
    return MONDAY + timedelta(days=number)


def said(
    value: str,
    on: float = 0,
    mode: Mode = Mode.STATEMENT,
    *,
    old: str = "",
    source: Source = Source.DECLARED,
    relation: Relation = DATABASE,
    message: int = 1,
    session: str = "s1",
    negated: bool = False,
) -> Observation:
    """`said("PostgreSQL", 3, Mode.CHANGE, old="MySQL")`: on day 3 the user said that it changed."""
    return Observation(
        text=f"数据库：{value}",
        category=Category.PROJECT,
        importance=3,
        source=source,
        start=ConfidencePolicy().start(source),
        at=day(on),
        value=value.casefold(),
        triple=Triple(COMPANY, relation.name, value, negated or mode is Mode.DENIAL),
        mode=mode,
        replaces=old.casefold(),
        replaces_text=old,
        evidence=(Evidence(message, 0, 4, day(on), session),),
    )


Beliefs = dict[int, Memory]


def believe(beliefs: Beliefs, observation: Observation) -> tuple[Judgement, tuple[Change, ...]]:
    """Judge one observation against all beliefs and carry the verdict out in `beliefs`."""
    held = [m for _, m in sorted(beliefs.items())]
    relation = VOCABULARY.get(observation.triple.relation) if observation.triple else None
    settlement = weigh(observation, held, relation, finer=REFINING.of(relation))
    old_text = f"数据库：{observation.replaces_text}" if observation.replaces_text else ""
    changes = revise(observation, settlement, held, count(max(beliefs, default=0) + 1), LEARNT, old_text)
    for change in changes:
        assert beliefs.get(change.seq) == change.before
        if change.after is None:
            del beliefs[change.seq]
        else:
            beliefs[change.seq] = change.after
    return settlement.judgement, changes


def believe_all(observations: Sequence[Observation]) -> Beliefs:
    beliefs: Beliefs = {}
    for observation in observations:
        believe(beliefs, observation)
    return beliefs


def live(beliefs: Beliefs) -> set[tuple[str, bool]]:
    """The values that are current, with whether they are denials."""
    return {(m.value, m.triple is not None and m.triple.negated) for m in beliefs.values() if m.status is Status.LIVE}


def entries_of(observations: Sequence[Observation]) -> list[LedgerEntry]:
    """One ledger entry for each observation, as they are believed one after the other."""
    beliefs: Beliefs = {}
    made = [believe(beliefs, observation) for observation in observations]
    return [
        LedgerEntry(seq, Plan(Verb.DISTIL, Actor(), LEARNT, "talk", changes, (judgement,)))
        for seq, (judgement, changes) in enumerate(made, 1)
    ]


STATED = (Mode.STATEMENT, Mode.CHANGE, Mode.CORRECTION)


def observations(
    sources: Sequence[Source] = (Source.DECLARED,),
    modes: Sequence[Mode] = STATED,
    relations: Sequence[Relation] = (DATABASE,),
) -> st.SearchStrategy[Observation]:
    """Few values, finer forms of one among them, and few days, so that they meet; equal instants included."""

    def one(
        value: str, on: int, mode: Mode, old: str, source: Source, relation: Relation, message: int, session: str
    ) -> Observation:
        named = old if mode in (Mode.CHANGE, Mode.CORRECTION) and old != value else ""
        return said(value, on, mode, old=named, source=source, relation=relation, message=message, session=session)

    values = st.sampled_from(["A", "B", "A 1", "A 1.2"])
    return st.builds(
        one, values, st.integers(0, 4), st.sampled_from(modes), st.one_of(st.just(""), values),
        st.sampled_from(sources), st.sampled_from(relations), st.integers(1, 5),
        st.sampled_from(["s1", "s2"]),
    )  # fmt: skip


def without_key(observation: Observation) -> Observation:
    return replace(observation, triple=None, replaces="", replaces_text="")
