"""How memory changes its mind: a new observation against what is believed (SPEC B2, B3, B5).

One pure function decides, and says by which rule and why. Two memories are *rivals* when they cannot
hold together: another value of a single-valued relation, the same object of opposite relations, or a
statement and its denial. Everything follows from three instants of each memory: when it was last
stated (`affirmed_at`), when the user last said outright that things changed to it (`changed_at`), and
when it ended. An outright change ends every rival last stated before it; nothing else ends anything.
So the outcome does not depend on the order in which dated observations arrive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from jiyi.domain.memory import Category, Evidence, Language, Memory, Source, Status, Triple, memory_id
from jiyi.domain.relations import Relation, Vocabulary, fact_key


class Mode(StrEnum):
    """How something was said."""

    STATEMENT = "statement"  # 数据库用的是 MySQL
    CHANGE = "change"  # 数据库从 MySQL 换成 PostgreSQL 了
    CORRECTION = "correction"  # 记错了，实际是 …
    DENIAL = "denial"  # 不再用 MySQL 了
    SHIFT = "shift"  # 其实我更关注 …


OUTRIGHT = frozenset({Mode.CHANGE, Mode.CORRECTION, Mode.DENIAL})


class Verdict(StrEnum):
    ADD = "add"
    CORROBORATE = "corroborate"
    REPLACE = "replace"
    COEXIST = "coexist"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class Observation:
    """A statement found in talk, not yet believed.

    `value` is the folded object (or text), for comparing; `replaces` the folded old value where the
    user named it (从 MySQL 换成 …), `replaces_text` the same as written. `until` is when it is over by itself, as an
    appointment is after its day (SPEC C8).
    """

    text: str
    category: Category
    importance: int
    source: Source
    start: float
    at: datetime
    value: str
    triple: Triple | None = None
    mode: Mode = Mode.STATEMENT
    replaces: str = ""
    replaces_text: str = ""
    evidence: tuple[Evidence, ...] = ()
    keywords: tuple[str, ...] = ()
    kept: bool = False
    language: Language = Language.ZH
    until: datetime | None = None

    @property
    def key(self) -> str:
        return fact_key(self.triple.subject, self.triple.relation) if self.triple else ""

    @property
    def negated(self) -> bool:
        return self.triple is not None and self.triple.negated


@dataclass(frozen=True, slots=True)
class Judgement:
    """One verdict with the rule that gave it and the reasons in words.

    `same`: the memory that already says this. `ends`: the memories that stop being true.
    `lowers`: the memories that lose importance. `ended_by`: a later change that had already
    ended what is observed now, so that it enters as history.
    """

    verdict: Verdict
    rule: str
    reasons: tuple[str, ...] = ()
    same: int | None = None
    ends: tuple[int, ...] = ()
    lowers: tuple[int, ...] = ()
    ended_by: int | None = field(default=None)


RANK = {Source.TOOL: 0, Source.INFERRED: 1, Source.IMPORTED: 1, Source.DECLARED: 2, Source.VERIFIED: 2}


def outranks(one: Source, other: Source) -> bool:
    return RANK[one] > RANK[other]


def judge(observation: Observation, believed: Sequence[Memory], relation: Relation | None) -> Judgement:
    """Decide what an observation does to what is believed.

    Args:
        observation: what was said.
        believed: the memories of the same key, of its antonym's key, and of the same text, of any status.
        relation: the vocabulary's entry for the observation's relation, if it has one.

    Returns:
        The verdict; deterministic, and total over its inputs.
    """
    rivals = [m for m in believed if _rival(observation, m, relation)]
    live = [m for m in rivals if m.status is Status.LIVE]

    if stronger := [m for m in live if outranks(m.source, observation.source)]:
        return Judgement(
            Verdict.REFUSE, "weaker-source",
            (f"{observation.source} does not outweigh {stronger[0].source} memory {_ids(stronger)}",),
        )  # fmt: skip
    outright = observation.mode in OUTRIGHT
    ends = [m for m in live if (outright and _before(m, observation)) or outranks(observation.source, m.source)]
    later = min(
        (m for m in rivals if _ended_already(observation, m, relation)),
        key=lambda m: (m.changed_at, m.seq),
        default=None,
    )
    same = _same(observation, believed)

    if later is not None and same is None:
        return Judgement(
            Verdict.REPLACE if ends else Verdict.ADD, "older-than-a-change",
            (f"{memory_id(later.seq)} has since replaced it: kept as history",),
            ends=tuple(m.seq for m in ends), ended_by=later.seq,
        )  # fmt: skip
    if ends:
        how = {Mode.CORRECTION: "corrected", Mode.DENIAL: "denied"}.get(observation.mode, "changed")
        rule = f"user-{how}" if outright else "stronger-source"
        return Judgement(
            Verdict.REPLACE, rule, (f"{observation.mode} said by the user ends {_ids(ends)}",),
            same=same, ends=tuple(m.seq for m in ends),
        )  # fmt: skip
    if same is not None:
        return Judgement(Verdict.CORROBORATE, "restated", (f"says what {memory_id(same)} says",), same=same)
    return _beside(observation, believed, live)


def rival_keys(memory: Memory, vocabulary: Vocabulary) -> tuple[str, ...]:
    """The keys under which something that contradicts this memory could stand."""
    if memory.triple is None:
        return ()
    relation = vocabulary.get(memory.triple.relation)
    antonym = relation.antonym if relation else None
    return (memory.key,) if antonym is None else (memory.key, fact_key(memory.triple.subject, antonym))


def unsettled(memory: Memory, other: Memory, vocabulary: Vocabulary) -> bool:
    """Whether two live memories contradict each other and both still stand."""
    if memory.seq == other.seq or memory.triple is None or other.triple is None:
        return False
    return _contradict(memory.triple, memory.value, other.triple, other.value, vocabulary.get(memory.triple.relation))


def _beside(observation: Observation, believed: Sequence[Memory], rivals: Sequence[Memory]) -> Judgement:
    """Verdicts that end nothing: the observation joins what is there."""
    if observation.mode is Mode.SHIFT:
        displaced = [m for m in believed if m.key == observation.key and m.status is Status.LIVE]
        if displaced:
            return Judgement(
                Verdict.COEXIST, "concern-shift", (f"takes precedence over {_ids(displaced)}",),
                lowers=tuple(m.seq for m in displaced),
            )  # fmt: skip
    if rivals:
        # SPEC B4 will arbitrate; until then a bare contradiction never overwrites: both stand, dated.
        return Judgement(
            Verdict.COEXIST, "bare-contradiction", (f"contradicts {_ids(rivals)} without saying that it changed",)
        )
    return Judgement(Verdict.ADD, "new", ())


def _same(observation: Observation, believed: Sequence[Memory]) -> int | None:
    """The memory that already says this: a live one, else a past one that was true at that moment."""
    alike = [
        m
        for m in believed
        if m.key == observation.key
        and m.value == observation.value
        and (m.triple is not None and m.triple.negated) == observation.negated
    ]
    live = [m for m in alike if m.status is Status.LIVE]
    values = {m.seq: m.value for m in believed}
    found = live or [m for m in alike if _was_true(observation, m, values.get(m.successor or 0, ""))]
    return min(m.seq for m in found) if found else None


def _was_true(observation: Observation, memory: Memory, successor: str) -> bool:
    """Whether a past memory was true when the observation was made, on a word as good as this one's."""
    if memory.valid_to is None or outranks(observation.source, memory.source):
        return False
    if memory.valid_to != observation.at:
        return observation.at < memory.valid_to
    return observation.mode not in OUTRIGHT or observation.value < successor


def _rival(observation: Observation, memory: Memory, relation: Relation | None) -> bool:
    """Whether the two cannot both hold, or the user named this value as the old one."""
    if observation.triple is None or memory.triple is None:
        return False
    if _contradict(observation.triple, observation.value, memory.triple, memory.value, relation):
        return True
    named = observation.replaces != "" and memory.value == observation.replaces != observation.value
    return named and memory.key == observation.key and not memory.triple.negated


def _contradict(one: Triple, value: str, other: Triple, other_value: str, relation: Relation | None) -> bool:
    """Another value of a single-valued relation, the same object of opposites, or a statement and its denial."""
    if one.subject != other.subject:
        return False
    if one.relation != other.relation:
        opposites = relation is not None and relation.antonym == other.relation
        return opposites and value == other_value and one.negated == other.negated
    if value == other_value:
        return one.negated != other.negated
    return relation is not None and relation.single and not one.negated and not other.negated


def _before(memory: Memory, observation: Observation) -> bool:
    """Whether the memory was last stated before the observation; ties go to the greater value."""
    if memory.affirmed_at != observation.at:
        return memory.affirmed_at < observation.at
    return memory.changed_at != observation.at or memory.value < observation.value


def _ended_already(observation: Observation, memory: Memory, relation: Relation | None) -> bool:
    if memory.value == observation.replaces and not (relation is not None and relation.single):
        return False  # Of many values the named old one makes way for the new, never the other way round.
    if memory.changed_at is None or memory.changed_at < observation.at or outranks(observation.source, memory.source):
        return False
    if memory.changed_at > observation.at:
        return True
    return observation.mode not in OUTRIGHT or observation.value < memory.value


def _ids(memories: Sequence[Memory]) -> str:
    return ", ".join(memory_id(m.seq) for m in memories)
