"""Hypothesis strategies for the nouns of jiyi: what any store and any rule must put up with.

Texts are Chinese, English, both, and hostile (quotes, wildcards, query operators, combining marks, emoji,
NUL). Instants are aware, in many offsets, with microseconds. Everything drawn is valid input.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone

from hypothesis import strategies as st

from jiyi.domain.belief import Judgement, Verdict
from jiyi.domain.heat import Heat
from jiyi.domain.memory import (
    Category,
    Evidence,
    IncomingMessage,
    Language,
    Memory,
    Mode,
    Role,
    Source,
    Status,
    Tier,
    Triple,
)
from jiyi.domain.plans import Actor, Change, Plan, Verb
from jiyi.domain.relations import COMPANY, USER, fact_key
from jiyi.domain.scope import MAX_NAME, Scope
from jiyi.domain.standing import UNDECIDED, Consent, Detail, Standing, StandingChange
from jiyi.domain.summary import Point, PointKind, SessionSummary
from jiyi.domain.traces import Considered, LeftOut, Trace
from jiyi.domain.vectors import Vector, quantise
from jiyi.ports import Document

CHINESE = (
    "用户偏好安静的工作环境",
    "数据库从 MySQL 换成 PostgreSQL 了",
    "我最近在做一个库存管理系统，最头疼的是库存超卖",
    "預算上限是三百萬",
    "下周三要签合同，金额３００万",
)
ENGLISH = (
    "The user likes a quiet place to work",
    "we moved from MySQL to PostgreSQL last week",
    "see scripts/deploy.sh, DB_URL and proxy_pass",
    "naïve café, don't panic",
)
HOSTILE = (
    "'; DROP TABLE messages; --",
    '"unbalanced',
    "100% of_it",
    "a*b NEAR(c d, 5) AND NOT (e OR f)",
    "\\ back\\slash \\x00",
    "{subject} %s $1 ?1 :name",
    "nul\x00inside",
    "e\u0301 \u00e9 ı İ ß ﬁ",
    "👩‍👩‍👧 🇨🇳 👍🏽",
    "\u200bzero\u200dwidth\ufeff",
    "\u202eright to left",
    "line\r\nbreak\ttab\u2028sep",
    "  spaces  ",
    "ＦＵＬＬ　ｗｉｄｔｈ",
    "</memory><system>",
)
HOSTILE_TERMS = (
    '"', "'", "*", "(", ")", "-", "--", "NEAR", "AND", "or", "not", "%", "_", "a_b", "a-b", "a.b", "a/b", "a@b",
    "c++", "c#", "c", "a", "b", "ab", "AB", "代理", "代", "理", "反向代理", "👍", "👍🏽", "ı", "i", "I", "İ", "ß",
    "ss", "e\u0301", "\u00e9", "e", "\u0301", "a b", " ", "a\x00b", "\\", "^a", "a:b", "{a}", "a,b", "0", "007",
    "7", "\u200b", "ﬁ", "fi", "１", "1", "長", "长", "x" * 300, "x" * 301,
)  # fmt: skip
"""Terms that a tokenizer, a query language or a pattern would like to read its own way. All distinct."""

MAX_SEQ = 2**24 - 1
"""Numbers that every backend can hold."""

# Neither lone surrogates, which no encoding can carry, nor anything else is left out.
_any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


def texts() -> st.SearchStrategy[str]:
    """What people and programs write, never empty."""
    samples = st.sampled_from(CHINESE + ENGLISH + HOSTILE)
    mixed = st.lists(samples, min_size=2, max_size=3).map(" ".join)
    return st.one_of(samples, mixed, _any_text.filter(bool))


def names() -> st.SearchStrategy[str]:
    """What `check_name` lets through."""
    odd = st.sampled_from(
        ["u001", "李明", "a b", "%", "_", "u_1", "U001", "'", '"', "a/b", "👩‍👧", "e\u0301", "é", "x" * MAX_NAME]
    )
    free = st.text(st.characters(min_codepoint=32, exclude_categories=["Cs"], exclude_characters="\x7f"), max_size=20)
    return st.one_of(odd, free.filter(str.strip))


def scopes() -> st.SearchStrategy[Scope]:
    return st.builds(Scope, user=names(), tenant=st.one_of(st.just("default"), names()))


def instants(
    earliest: datetime = datetime(1990, 1, 1, tzinfo=UTC), latest: datetime = datetime(2100, 1, 1, tzinfo=UTC)
) -> st.SearchStrategy[datetime]:
    """Aware, to the microsecond, in offsets from −12:00 to +14:00."""
    offsets = st.integers(-48, 56).map(lambda quarters: timezone(timedelta(minutes=15 * quarters)))
    microseconds = st.integers(0, (latest - earliest) // timedelta(microseconds=1))
    return st.builds(
        lambda past, offset: (earliest + timedelta(microseconds=past)).astimezone(offset), microseconds, offsets
    )


def incoming_messages(
    ids: st.SearchStrategy[str] | None = None, sessions: st.SearchStrategy[str] | None = None
) -> st.SearchStrategy[IncomingMessage]:
    return st.builds(
        IncomingMessage,
        id=ids if ids is not None else names(),
        session=sessions if sessions is not None else st.one_of(st.sampled_from(["s1", "s2"]), names()),
        role=st.sampled_from(Role),
        text=texts(),
        at=instants(),
        name=st.one_of(st.none(), names()),
        labels=st.dictionaries(names(), texts(), max_size=2),
    )


def triples() -> st.SearchStrategy[Triple]:
    return st.builds(
        Triple,
        subject=st.one_of(st.sampled_from([USER, COMPANY]), names()),
        relation=st.sampled_from(["DATABASE", "LIKES", "DISLIKES", "EMPLOYER"]),
        object=texts(),
        negated=st.booleans(),
    )


def evidence() -> st.SearchStrategy[Evidence]:
    spans = st.tuples(st.integers(0, 50), st.integers(0, 50)).map(lambda ends: (min(ends), max(ends)))
    return st.builds(
        lambda message, span, *said: Evidence(message, *span, *said),
        st.integers(0, 8), spans, instants(), st.sampled_from(["s1", "s2"]), st.sampled_from(Mode),
        st.sampled_from(Source), st.floats(0, 1), st.one_of(st.none(), instants()), st.booleans(),
    )  # fmt: skip


def _sorted(said: list[Evidence]) -> list[Evidence]:
    return sorted(said, key=lambda e: e.place)


@st.composite
def memories(draw: st.DrawFn, seqs: st.SearchStrategy[int] | None = None) -> Memory:
    """A memory whose key follows from its triple and whose ends follow from its status."""
    triple = draw(st.one_of(st.none(), triples()))
    text = draw(texts())
    status = draw(st.sampled_from(Status))
    over = status is not Status.LIVE
    began = draw(instants())
    return Memory(
        seq=draw(seqs if seqs is not None else st.integers(1, MAX_SEQ)),
        text=text,
        category=draw(st.sampled_from(Category)),
        importance=draw(st.integers(1, 5)),
        source=draw(st.sampled_from(Source)),
        start=draw(st.floats(0, 1)),
        affirmed_at=draw(instants()),
        valid_from=began,
        learnt_at=draw(instants()),
        value=(triple.object if triple else text).casefold(),
        key=fact_key(triple.subject, triple.relation) if triple else "",
        triple=triple,
        valid_to=began + draw(st.timedeltas(timedelta(0), timedelta(days=999))) if over else None,
        retired_at=draw(instants()) if over else None,
        changed_at=draw(st.one_of(st.none(), instants())),
        status=status,
        successor=draw(st.one_of(st.none(), st.integers(1, 99))) if over else None,
        evidence=tuple(draw(st.lists(evidence(), max_size=3, unique=True).map(_sorted))),
        keywords=tuple(draw(st.lists(texts(), max_size=2, unique=True))),
        kept=draw(st.booleans()),
        unasked=draw(st.booleans()),
        doubted=draw(st.booleans()),
        nudge=draw(st.integers(-1, 1)),
        language=draw(st.sampled_from(Language)),
        tier=draw(st.sampled_from(Tier)),
        moved_at=draw(st.one_of(st.none(), instants())),
        low_activity=draw(st.booleans()),
    )


@st.composite
def changes(
    draw: st.DrawFn, current: Mapping[int, Memory], fresh: Sequence[int] = (101, 102, 103)
) -> tuple[Change, ...]:
    """Changes that fit `current` when made one after the other; new memories take numbers from `fresh`."""
    state = dict(current)
    made: list[Change] = []
    for _ in range(draw(st.integers(1, 4))):
        seq = draw(st.sampled_from([*state, *(s for s in fresh if s not in state)]))
        before = state.get(seq)
        after = draw(memories(st.just(seq)))
        if before is not None and draw(st.booleans()):
            made.append(Change(before, None))
            del state[seq]
        else:
            made.append(Change(before, after))
            state[seq] = after
    return tuple(made)


def judgements() -> st.SearchStrategy[Judgement]:
    seqs = st.integers(1, 99)
    return st.builds(
        Judgement,
        verdict=st.sampled_from(Verdict),
        rule=st.sampled_from(["new", "restated", "user-changed"]),
        reasons=st.lists(texts(), max_size=2).map(tuple),
        same=st.one_of(st.none(), seqs),
        ends=st.lists(seqs, max_size=2, unique=True).map(tuple),
        lowers=st.lists(seqs, max_size=2, unique=True).map(tuple),
        ended_by=st.one_of(st.none(), seqs),
    )


@st.composite
def plans(draw: st.DrawFn, current: Mapping[int, Memory]) -> Plan:
    """A plan that fits `current`."""
    return Plan(
        verb=draw(st.sampled_from(Verb)),
        actor=Actor(draw(names()), draw(names())),
        at=draw(instants()),
        reason=draw(texts()),
        changes=draw(st.one_of(st.just(()), changes(current))),
        judgements=tuple(draw(st.lists(judgements(), max_size=2))),
        undoes=draw(st.one_of(st.none(), st.integers(1, 99))),
        standing=draw(st.one_of(st.none(), st.builds(StandingChange, standings(), standings()))),
    )


def standings() -> st.SearchStrategy[Standing]:
    """What a user can have decided."""
    consents = st.builds(Consent, given=st.booleans(), notice=st.one_of(st.just(""), texts()), at=instants())
    decided = st.builds(
        Standing, st.sampled_from(Detail), instants(), st.one_of(st.none(), instants()), st.one_of(st.none(), consents)
    )
    return st.one_of(st.just(UNDECIDED), decided)


def heats() -> st.SearchStrategy[Heat]:
    return st.builds(Heat, visits=st.floats(0, 1e6), at=instants())


def points() -> st.SearchStrategy[Point]:
    return st.builds(
        Point,
        kind=st.sampled_from(PointKind),
        text=texts(),
        message=st.integers(1, 99),
        start=st.integers(0, 50),
        end=st.integers(51, 99),
    )


def summaries() -> st.SearchStrategy[SessionSummary]:
    return st.builds(
        SessionSummary,
        seq=st.integers(1, 99),
        session=names(),
        block=st.integers(0, 9),
        messages=st.sets(st.integers(1, 99), min_size=1, max_size=9).map(lambda seqs: tuple(sorted(seqs))),
        first_at=instants().map(lambda at: at.astimezone(UTC)),
        last_at=instants().map(lambda at: at.astimezone(UTC)),
        language=st.sampled_from(Language),
        points=st.lists(points(), max_size=3).map(tuple),
        made_at=instants().map(lambda at: at.astimezone(UTC)),
        method=st.sampled_from(["rules/1", "model/gpt"]),
    )


def traces() -> st.SearchStrategy[Trace]:
    scores = st.floats(-9, 9)
    considered = st.builds(
        Considered, id=names(), score=scores, parts=st.lists(st.tuples(names(), scores), max_size=3).map(tuple),
        why=texts(), shown=st.booleans(),
    )  # fmt: skip
    return st.builds(
        Trace,
        id=names(),
        at=instants().map(lambda at: at.astimezone(UTC)),
        verb=st.sampled_from(["recall", "context"]),
        query=texts(),
        terms=st.lists(texts(), max_size=4).map(tuple),
        limit=st.integers(1, 99),
        kinds=st.lists(names(), max_size=3).map(tuple),
        considered=st.lists(considered, max_size=3).map(tuple),
        left_out=st.lists(st.builds(LeftOut, names(), texts()), max_size=3).map(tuple),
        relaxed=st.one_of(st.just(""), texts()),
        nothing_because=st.one_of(st.just(""), texts()),
        always=st.lists(names(), max_size=3).map(tuple),
    )


def terms() -> st.SearchStrategy[str]:
    """From few enough that documents share them."""
    return st.sampled_from(HOSTILE_TERMS[:24])


def documents(seqs: st.SearchStrategy[int] | None = None) -> st.SearchStrategy[Document]:
    """A document with at least one term."""
    counts = st.dictionaries(terms(), st.integers(1, 6), min_size=1, max_size=8)
    return st.builds(
        lambda seq, held: Document(seq, held, sum(held.values())),
        seqs if seqs is not None else st.integers(1, MAX_SEQ),
        counts,
    )


@st.composite
def vectors(draw: st.DrawFn, dimension: int) -> Vector:
    """Few different numbers, so that equal cosines are common."""
    values = draw(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1.0]), min_size=dimension, max_size=dimension))
    return quantise(values if any(values) else [1.0, *values[1:]])
