"""`jiyi eval silence`: does the context block say nothing when nothing relevant is known (SPEC R4, R12)?

Talks of invented people are observed through the façade, then questions are asked in a new session:

    answerable       the evidence must be in the block: its turn, or a memory that rests on it and holds the answer
    off-topic        nothing like it was ever said
    never mentioned  the domain was talked about, the person or product of the question never was
    unsaid           a known person or thing, but this was never said of it

Silent is a block without items: nothing beyond the profile and the standing rules. The people are split into a developer
half, on which thresholds may be tuned, and a held-out half, of which only numbers are ever printed.
"""

from __future__ import annotations

import re
import tempfile
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import groupby, product
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from jiyi.domain.language import language_of
from jiyi.domain.memory import IncomingMessage, Language, Message, Role, memory_id, message_handle
from jiyi.errors import InputError
from jiyi.evaluation.case_files import ALTERNATIVES
from jiyi.evaluation.contenders import open_with
from jiyi.evaluation.extract_report import evenly, percent
from jiyi.evaluation.harness import TIMEZONE
from jiyi.evaluation.observing import TalkClock
from jiyi.pipelines.context import ContextBlock, fence
from jiyi.pipelines.recalling.items import Item
from jiyi.scoped_memory import ScopedMemory
from jiyi.shipped import load_segmenter

TALKS = Path(__file__).with_name("silence.toml")
"""The talks and questions that ship with jiyi, in words of our own."""
MORE = Path(__file__).with_name("silence_developer.toml")
"""More of them, all of the developer half: what weights are fitted to."""
DEVELOPER, HELD_OUT = "developer", "held-out"
HALVES = (DEVELOPER, HELD_OUT)
BOTH = "both"
EMBEDDERS = ("none", "use", "e5", "both", "all")
"""What may find by meaning beside words: nothing, or a model in this process."""
LANGUAGES = ("zh", "en", "mixed")
ASKED: Final = "asked"
"""The new session in which the questions are asked."""
LATER = timedelta(days=1)
"""The questions are asked so long after the last turn, when every session has been summarised."""


class Kind(StrEnum):
    """What kind of question it is; the value is the key in the file."""

    ANSWERABLE = "answerable"
    OFF_TOPIC = "off_topic"
    NEVER_MENTIONED = "never_mentioned"
    UNSAID = "unsaid"

    @property
    def words(self) -> str:
        return self.value.replace("_", " ") if self is not Kind.OFF_TOPIC else "off-topic"


TARGETS: Mapping[Kind, float] = {Kind.ANSWERABLE: 0.95, Kind.OFF_TOPIC: 0.95, Kind.NEVER_MENTIONED: 0.80}
"""The share that is to be right. For a known entity with an unsaid attribute the share is only stated."""


@dataclass(frozen=True, slots=True)
class Question:
    """`evidence`: ids of turns, each of which answers it alone; none for what cannot be answered. `answer`: words of the
    answer, any of which will do; one stands in the first of these turns."""

    person: str
    half: str
    kind: Kind
    text: str
    evidence: tuple[str, ...] = ()
    answer: tuple[str, ...] = ()

    @property
    def language(self) -> Language:
        """Who mixes languages asks in both, so it is the question that counts."""
        return language_of(self.text)


@dataclass(frozen=True, slots=True)
class Person:
    """One person's talk with an assistant, in the order of time, and what is asked about it."""

    id: str
    language: str
    half: str
    messages: tuple[IncomingMessage, ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """What the block for one question held.

    `kept`: the evidence is in it; `by_memory`: only as a memory, not as the turn itself; `beside`: all that is there is a
    memory of something else in that turn. `found`: evidence is in the block or at least among what was recalled for it, so
    that silence and finding can be told apart. `shown` are its lines beyond
    profile and rules, with how each was found, and `lost` says what became of evidence that is not there.
    """

    question: Question
    silent: bool
    tokens: int
    kept: bool = False
    by_memory: bool = False
    beside: bool = False
    found: bool = False
    shown: tuple[str, ...] = ()
    lost: str = ""

    @property
    def right(self) -> bool:
        return self.kept if self.question.kind is Kind.ANSWERABLE else self.silent


# ------------------------------------------------------------------ the file


def load_people(path: Path = TALKS) -> list[Person]:
    """Read talks and questions.

    Raises:
        InputError: no such file, or what is wrong with it and where.
    """
    try:
        read = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{path} holds no talks that can be read: {error}") from error
    people = read.get("people")
    if not isinstance(people, list) or not people or not all(isinstance(p, dict) for p in people):
        raise InputError(f"{path}: it must hold [[people]]")
    found = [_person(raw, f"{path}, person {number}") for number, raw in enumerate(people, 1)]
    if len({p.id for p in found}) < len(found):
        raise InputError(f"{path}: two people have the same id")
    return found


def _person(raw: Mapping[str, Any], where: str) -> Person:
    name, language, half = raw.get("id"), raw.get("language"), raw.get("half")
    if not isinstance(name, str) or not name:
        raise InputError(f'{where}: id must be a name, e.g. "ana"')
    where = f"{where} ({name})"
    if language not in LANGUAGES:
        raise InputError(f"{where}: language must be {', '.join(LANGUAGES)}")
    if half not in HALVES:
        raise InputError(f"{where}: half must be {' or '.join(HALVES)}")
    sessions = raw.get("sessions")
    if not isinstance(sessions, list) or not sessions or not all(isinstance(s, dict) for s in sessions):
        raise InputError(f"{where}: sessions must be a list of {{ at, turns }}")
    messages = tuple(m for number, session in enumerate(sessions, 1) for m in _session(session, number, where))
    turns = {m.id: m.text for m in messages}
    if len(turns) < len(messages):
        raise InputError(f"{where}: two turns have the same id")
    return Person(name, str(language), str(half), messages, tuple(_questions(raw, name, str(half), turns, where)))


def _session(raw: Mapping[str, Any], number: int, where: str) -> Iterator[IncomingMessage]:
    at, turns = raw.get("at"), raw.get("turns")
    if not isinstance(at, datetime) or at.tzinfo is None:
        raise InputError(f"{where}, session {number}: at must be a time with its zone")
    if not isinstance(turns, list) or not turns:
        raise InputError(f'{where}, session {number}: turns must be a list of ["id", "user", "text"]')
    for minute, turn in enumerate(turns):
        if not _texts(turn) or len(turn) != 3 or turn[1] not in (Role.USER, Role.ASSISTANT):
            raise InputError(f'{where}, session {number}, turn {minute + 1}: it must be ["id", "user", "text"]')
        yield IncomingMessage(turn[0], f"session {number}", Role(turn[1]), turn[2], at + timedelta(minutes=minute))


def _questions(
    raw: Mapping[str, Any], person: str, half: str, turns: Mapping[str, str], where: str
) -> Iterator[Question]:
    for kind in Kind:
        rows = raw.get(kind.value, [])
        if not isinstance(rows, list):
            raise InputError(f"{where}: {kind.value} must be a list")
        for number, row in enumerate(rows, 1):
            here = f"{where}, {kind.value} {number}"
            if kind is Kind.ANSWERABLE:
                yield _answerable(row, person, half, turns, here)
            elif _texts([row]):
                yield Question(person, half, kind, row)
            else:
                raise InputError(f"{here}: it must be a text")


def _answerable(row: Any, person: str, half: str, turns: Mapping[str, str], here: str) -> Question:
    if not _texts(row) or len(row) < 3:
        raise InputError(f'{here}: it must be ["question", "words of the answer", "id of a turn", …]')
    text, answer, *evidence = row
    if unknown := set(evidence) - set(turns):
        raise InputError(f"{here}: no turn {', '.join(sorted(unknown))}")
    alternatives = tuple(answer.split(ALTERNATIVES))
    if not any(words.casefold() in turns[evidence[0]].casefold() for words in alternatives):
        raise InputError(f"{here}: turn {evidence[0]} does not say {answer!r}")
    return Question(person, half, Kind.ANSWERABLE, text, tuple(evidence), alternatives)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, str) and v.strip() for v in value)


# ------------------------------------------------------------------ asking


def measure(
    people: Iterable[Person], *, embedder: str = "none", step: Callable[[int], None] = lambda _: None
) -> Measured:
    """Observe each person's talk in a fresh memory at default settings but for the embedder, and ask.

    Args:
        embedder: a local one, or none.
        step: called with 1 after each person.
    """
    found = Measured(embedder=embedder)
    for person in people:
        found.asked.extend(_ask(person, embedder))
        found.turns += len(person.messages)
        step(1)
    return found


def _ask(person: Person, embedder: str) -> list[Asked]:
    clock = TalkClock()
    with (
        tempfile.TemporaryDirectory(prefix="jiyi-eval-") as folder,
        open_with(Path(folder) / "memory.db", clock, {"embedder": embedder}) as layer,
    ):
        me = layer.scope(person.id, tz=TIMEZONE, surface="evaluation")
        for session, turns in groupby(person.messages, key=lambda m: m.session):
            batch = list(turns)
            clock.at = batch[-1].at
            me.observe(batch, session=session)
            layer.work()
        clock.at += LATER
        layer.work()
        # While it is paused no reading is counted, so that no question changes what the next one finds.
        me.pause()
        said = {m.id: m for m in me.history(limit=len(person.messages)).messages}
        return [_asked(me, question, [said[turn] for turn in question.evidence]) for question in person.questions]


def _asked(me: ScopedMemory, question: Question, evidence: Sequence[Message]) -> Asked:
    block = me.context(question.text, session=ASKED)
    shown = tuple(f"{item.id} {item.score:.2f} {item.text!r}: {item.why}" for item in block.items)
    if question.kind is not Kind.ANSWERABLE:
        return Asked(question, not block.items, block.tokens, shown=shown)
    turns = {message_handle(m.seq) for m in evidence}
    resting = [m for m in me.memories(status=None) if turns & {message_handle(e.message) for e in m.evidence}]
    answers = {m.id for m in resting if _answers(question, m.text)}
    cited = _cited(block)
    told = _tells(block, question, evidence) or any(_digests(item, question, turns) for item in block.items)
    kept = told or bool(answers & cited)
    return Asked(
        question,
        not block.items,
        block.tokens,
        kept=kept,
        by_memory=kept and not told,
        beside=not kept and any(m.id in cited for m in resting),
        found=kept or any(item.id in turns | answers for item in block.recollection.ranked),
        shown=shown,
        lost="" if kept else _lost(block, turns | answers),
    )


_HANDLE = re.compile(r"\((\w+)(?: · [^()]*)?\)$", re.MULTILINE)
"""What a line of the block cites, at its end; profile and rules are lines too."""


def _cited(block: ContextBlock) -> set[str]:
    return set(_HANDLE.findall(block.text)) | {memory_id(seq) for seq in block.read} | {i.id for i in block.items}


def _tells(block: ContextBlock, question: Question, evidence: Sequence[Message]) -> bool:
    """Whether the block holds one of the turns: all of it, or a line that cites it and holds the answer."""
    if any(fence(m.text) in block.text for m in evidence):
        return True
    cuts = [
        line for line in block.text.splitlines() if any(line.endswith(f"({message_handle(m.seq)})") for m in evidence)
    ]
    return any(_answers(question, line) for line in cuts)


def _digests(item: Item, question: Question, turns: Collection[str]) -> bool:
    """Whether it is a summary that tells the answer as a point of one of the turns."""
    points = [p for p in item.summary.points if message_handle(p.message) in turns] if item.summary is not None else []
    return any(p.text in item.text and _answers(question, p.text) for p in points)


def _answers(question: Question, text: str) -> bool:
    fold = load_segmenter().fold
    return any(fold(words) in fold(text) for words in question.answer)


def _lost(block: ContextBlock, wanted: Collection[str]) -> str:
    """Where evidence was lost, by what the recollection tells (SPEC R10)."""
    found = block.recollection
    ranks = {item.id: (rank, item) for rank, item in enumerate(found.ranked, 1)}
    if hits := sorted(ranks[handle] for handle in wanted if handle in ranks):
        rank, item = hits[0]
        return f"{item.id} was found at rank {rank} with {item.score:.2f} and is not in the block" + (
            f" ({found.nothing_because})" if found.nothing_because else ""
        )
    if dropped := [f"{handle} {reason}" for handle, reason in found.dropped if handle in wanted]:
        return "; ".join(dropped)
    return found.nothing_because or "not among what was found"


# ------------------------------------------------------------------ numbers


@dataclass(slots=True)
class Measured:
    """Every question with what came of it."""

    asked: list[Asked] = field(default_factory=list)
    turns: int = 0
    embedder: str = "none"

    def rows(self) -> Iterator[Row]:
        """One for each half and language, and for both together; those without questions are left out."""
        halves = [half for half in HALVES if any(a.question.half == half for a in self.asked)]
        for half, language in product([*halves, BOTH] if len(halves) > 1 else halves, (*Language, BOTH)):
            chosen = [
                a for a in self.asked if half in (BOTH, a.question.half) and language in (BOTH, a.question.language)
            ]
            if chosen:
                yield Row(half, str(language), chosen)

    def misses(self, count: int) -> dict[Kind, list[Asked]]:
        """Up to `count` of each kind, of the developer half alone: nobody looks into the other."""
        wrong = [a for a in self.asked if not a.right and a.question.half == DEVELOPER]
        of_kind = {kind: [a for a in wrong if a.question.kind is kind] for kind in Kind}
        return {kind: evenly(found, count) if count else [] for kind, found in of_kind.items()}

    def text(self, misses: int = 0) -> str:
        """Markdown: a table, how it was counted, and questions that went wrong."""
        lines = [
            f"## Silence: {len(self.asked):,} questions about {self.turns:,} turns, {self._by}",
            "",
            f"| half | language | {' | '.join(_HEADS)} |",
            f"| --- | --- |{' ---: |' * len(_HEADS)}",
            *(row.text() for row in self.rows()),
            f"| **target** | | {' | '.join(_target(kind) for kind in Kind)} | | | | | | |",
            "",
            "evidence kept: the block holds the turn that answers, or a memory that rests on it and holds words of the answer. "
            "Memory beside it alone: there is only a memory of something else that this turn says, and that is not counted as "
            "kept. found by recall: the evidence is at least among what the block was chosen from. silent: the block has no line "
            "beyond profile and standing rules. tokens: of the whole block, on average.",
        ]  # fmt: skip
        for kind, found in self.misses(misses).items():
            if found:
                lines += ["", f"### {kind.words} ({DEVELOPER} half)", "", *(line for a in found for line in _miss(a))]
        return "\n".join(lines)

    @property
    def _by(self) -> str:
        return "by words alone" if self.embedder == "none" else f"embedder {self.embedder}"

    def data(self, misses: int = 0) -> dict[str, Any]:
        """The same as plain JSON values."""
        return {
            "turns": self.turns,
            "embedder": self.embedder,
            "targets": {kind.value: share for kind, share in TARGETS.items()},
            "rows": [row.data() for row in self.rows()],
            "misses": [_miss_data(a) for found in self.misses(misses).values() for a in found],
        }


_HEADS = (
    "answerable: evidence kept", "off-topic: silent", "never mentioned: silent", "unsaid: silent",
    "kept as a memory alone", "memory beside it alone", "found by recall", "answerable: silent", "tokens, answerable", "tokens, others",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """The questions of one half and language."""

    half: str
    language: str
    asked: Sequence[Asked]

    def of(self, *kinds: Kind) -> list[Asked]:
        return [a for a in self.asked if a.question.kind in kinds]

    def share(self, kind: Kind) -> float | None:
        """What share of this kind is right; None when there is none."""
        chosen = self.of(kind)
        return fmean(a.right for a in chosen) if chosen else None

    def tokens(self, *kinds: Kind) -> float | None:
        chosen = self.of(*kinds)
        return fmean(a.tokens for a in chosen) if chosen else None

    def text(self) -> str:
        shares = [f"{percent(self.share(k))} ({sum(a.right for a in self.of(k))}/{len(self.of(k))})" for k in Kind]
        answerable = self.of(Kind.ANSWERABLE)
        counts = [
            sum(a.by_memory for a in answerable),
            sum(a.beside for a in answerable),
            sum(a.found for a in answerable),
            sum(a.silent for a in answerable),
        ]
        tokens = ["–" if t is None else f"{t:.0f}" for t in (self.tokens(Kind.ANSWERABLE), self.tokens(*TURNED_DOWN))]
        return f"| {' | '.join((self.half, self.language, *shares, *map(str, counts), *tokens))} |"

    def data(self) -> dict[str, Any]:
        answerable = self.of(Kind.ANSWERABLE)
        return {
            "half": self.half,
            "language": self.language,
            **{
                kind.value: {
                    "questions": len(self.of(kind)),
                    "right": sum(a.right for a in self.of(kind)),
                    "share": self.share(kind),
                    "tokens": self.tokens(kind),
                }
                for kind in Kind
            },
            "by_memory": sum(a.by_memory for a in answerable),
            "beside": sum(a.beside for a in answerable),
            "found": sum(a.found for a in answerable),
            "silent_though_answerable": sum(a.silent for a in answerable),
        }


TURNED_DOWN = tuple(kind for kind in Kind if kind is not Kind.ANSWERABLE)


def _target(kind: Kind) -> str:
    return f"≥ {percent(TARGETS[kind])}" if kind in TARGETS else "stated"


def _miss(asked: Asked) -> Iterator[str]:
    question = asked.question
    wanted = (
        f" ({' | '.join(question.answer)}, {', '.join(question.evidence)}: {asked.lost})" if question.evidence else ""
    )
    yield f"- {question.person}: {question.text}{wanted}"
    yield from (f"  - {line}" for line in asked.shown or ("(silent)",))


def _miss_data(asked: Asked) -> dict[str, Any]:
    question = asked.question
    return {
        "person": question.person,
        "kind": question.kind.value,
        "language": question.language.value,
        "question": question.text,
        "answer": list(question.answer),
        "evidence": list(question.evidence),
        "lost": asked.lost,
        "shown": list(asked.shown),
    }
