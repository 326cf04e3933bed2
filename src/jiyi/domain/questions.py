"""What the user is asked, because only they can settle it (SPEC B9): a view on memories, never a second truth.

A question stands as long as the memory it is about is unsettled. Its number is that memory's, so it is the same in
every surface and gone from all of them once it is answered.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from enum import StrEnum

from jiyi.domain.belief import unsettled
from jiyi.domain.confidence import ConfidencePolicy
from jiyi.domain.memory import Language, Memory, Source, Status
from jiyi.domain.relations import Phrases, Vocabulary
from jiyi.errors import InputError, SettingsError


class Topic(StrEnum):
    CONFLICT = "conflict"  # two things were said that cannot both hold
    HEARSAY = "hearsay"  # it was only inferred, or somebody else said it
    DOUBT = "doubt"  # it was said to be wrong, not by what else it would be
    RULE = "rule"  # a rule found it at odds with something else (SPEC G2)
    EXPIRED = "expired"  # a third party verified it, longer ago than that is good for


@dataclass(frozen=True, slots=True)
class Question:
    """`options`: what could hold, the earlier first; one where it is only a matter of yes or no."""

    number: int
    topic: Topic
    text: str
    options: tuple[Memory, ...]
    since: datetime
    language: Language

    @property
    def id(self) -> str:
        return question_id(self.number)


ANSWERED = "answer"
"""The session of what was said in answer to a question."""


def question_id(number: int) -> str:
    return f"q{number}"


WORDS = {
    Language.ZH: {
        Topic.CONFLICT: "记录不一致：{options}。现在哪一个对？",
        Topic.HEARSAY: "听说“{text}”（{date}），是这样吗？",
        Topic.DOUBT: "“{text}”（{date}）可能有误，现在是这样吗？",
        Topic.EXPIRED: "“{text}”（{date} 核实过）现在还是这样吗？",
        Topic.RULE: "{why}“{text}”（{date}）现在还是这样吗？",
        "option": "“{text}”（{date}，{id}）", "and": "；",
    },
    Language.EN: {
        Topic.CONFLICT: "These disagree: {options}. Which one holds now?",
        Topic.HEARSAY: "“{text}” is hearsay of {date}. Is it so?",
        Topic.DOUBT: "“{text}” ({date}) may be wrong. Is it so?",
        Topic.EXPIRED: "“{text}” was verified on {date}. Is it still so?",
        Topic.RULE: "{why} Is “{text}” ({date}) still so?",
        "option": "“{text}” ({date}, {id})", "and": "; ",
    },
}  # fmt: skip


def questions(
    open_memories: Sequence[Memory],
    live: Sequence[Memory],
    vocabulary: Vocabulary,
    now: datetime,
    zone: tzinfo,
    policy: ConfidencePolicy,
) -> list[Question]:
    """The open questions, the oldest first.

    Args:
        open_memories: what is unsettled. live: live memories that could contradict them.
        zone: in which dates are written.
    """
    asked: list[Question] = []
    conflicts: dict[tuple[int, ...], list[Memory]] = {}
    for memory in open_memories:
        if memory.unasked or memory.over(now):
            continue
        if memory.status is Status.HELD:
            rivals = tuple(m.seq for m in live if unsettled(memory, m, vocabulary))
            if rivals and worth_asking(memory):
                conflicts.setdefault(rivals, []).append(memory)
        elif (topic := _doubt(memory, now, policy)) is not None:
            asked.append(_question(topic, (memory,), memory.seq, zone))
    standing = {m.seq: m for m in live}
    for rivals, waiting in conflicts.items():
        options = sorted([*(standing[seq] for seq in rivals), *waiting], key=lambda m: (m.affirmed_at, m.seq))
        asked.append(_question(Topic.CONFLICT, tuple(options), min(m.seq for m in waiting), zone))
    return sorted(asked, key=lambda q: (q.since, q.number))


def asked_by_rule(memory: Memory, why: Mapping[Language, str], zone: tzinfo) -> Question:
    """Whether a memory still holds, since a rule found it at odds with another: `why` says so in each language."""
    tongue, day = memory.language, _day(memory.affirmed_at, zone)
    told = why[tongue].rstrip("。.")
    if not told.endswith(("?", "？", "!", "！")):
        told += "。" if tongue is Language.ZH else "."
    text = WORDS[tongue][Topic.RULE].format(why=told, text=memory.text, date=day)
    return Question(memory.seq, Topic.RULE, text, (memory,), memory.affirmed_at, tongue)


def worth_asking(memory: Memory) -> bool:
    """What the user or a third party said, or what once stood; a tool or an import that disagrees is no reason to ask."""
    return memory.source in (Source.DECLARED, Source.VERIFIED) or not memory.never_stood


def _doubt(memory: Memory, now: datetime, policy: ConfidencePolicy) -> Topic | None:
    if memory.doubted:
        return Topic.DOUBT
    if memory.source is Source.INFERRED:
        return Topic.HEARSAY
    good_for = policy.curves[Source.VERIFIED].good_for
    if memory.source is Source.VERIFIED and good_for is not None and now - memory.affirmed_at > good_for:
        return Topic.EXPIRED
    return None


def _question(topic: Topic, options: tuple[Memory, ...], number: int, zone: tzinfo) -> Question:
    latest = options[-1]
    words = WORDS[latest.language]
    shown = [words["option"].format(text=m.text, date=_day(m.affirmed_at, zone), id=m.id) for m in options]
    text = words[topic].format(options=words["and"].join(shown), text=latest.text, date=_day(latest.affirmed_at, zone))
    return Question(number, topic, text, options, max(m.affirmed_at for m in options), latest.language)


def _day(at: datetime, zone: tzinfo) -> str:
    return at.astimezone(zone).date().isoformat()


# ------------------------------------------------------------------ answers


class Kind(StrEnum):
    CHOICE = "choice"  # `chosen` holds
    NONE = "none"  # none of the options holds
    SKIP = "skip"  # the user does not want to decide
    STATEMENT = "statement"  # something else holds, in the user's words


@dataclass(frozen=True, slots=True)
class Answer:
    kind: Kind
    chosen: Memory | None = None


@dataclass(frozen=True, slots=True)
class AnswerWords:
    """The shipped wordings (`vocabulary/answers.toml`), folded."""

    words: Mapping[str, frozenset[str]]
    fold: Callable[[str], str]

    def meaning(self, text: str) -> str:
        """`yes`, `no`, `neither`, `both`, `skip`, `earlier`, `later`, or empty."""
        bare = self._bare(text)
        return next((name for name, said in self.words.items() if bare in said), "")

    def speaks(self, text: str) -> bool:
        """Whether a text begins as somebody speaks of themselves: I …, 我们 …"""
        bare = self._bare(text)
        return any(bare.startswith(f"{word} " if word.isascii() else word) for word in self.words.get("speaking", ()))

    def _bare(self, text: str) -> str:
        return " ".join(re.sub(r"[^\w']+", " ", self.fold(text)).split())


def parse_answers(data: Mapping[str, object], fold: Callable[[str], str]) -> AnswerWords:
    """Raises: SettingsError."""
    names = ("yes", "no", "neither", "both", "speaking", "skip", "earlier", "later")
    if set(data) != set(names):
        raise SettingsError(f"answers.toml: needs exactly the tables {', '.join(names)}")
    bare = AnswerWords({}, fold)
    words = {}
    for name in names:
        table = data[name]
        if not isinstance(table, Mapping) or not all(isinstance(table.get(tongue), list) for tongue in Language):
            raise SettingsError(f"answers.toml: {name} needs zh and en, lists of wordings")
        phrases = Phrases(tuple(table["zh"]), tuple(table["en"]))
        words[name] = frozenset(bare._bare(phrase) for phrase in phrases.all)
    return AnswerWords(words, fold)


def read_answer(question: Question, text: str, words: AnswerWords) -> Answer:
    """What the user's words say to a question.

    Raises:
        InputError: yes or no to a question with more than one option, or that both hold.
    """
    options = question.options
    by_id = next((m for m in options if m.id == text.strip().lower()), None)
    if by_id is not None:
        return Answer(Kind.CHOICE, by_id)
    meaning = words.meaning(text)
    if meaning == "skip":
        return Answer(Kind.SKIP)
    if meaning == "neither" or (meaning == "no" and len(options) == 1):
        return Answer(Kind.NONE)
    if meaning == "yes" and len(options) == 1:
        return Answer(Kind.CHOICE, options[0])
    if meaning == "both":
        choices = f"{', '.join(m.id for m in options)}, or neither" if len(options) > 1 else "yes or no"
        raise InputError(f"{question.id}: these cannot both hold at one time. Answer {choices}, or skip")
    if meaning in ("yes", "no"):
        raise InputError(f"{question.id} asks which one holds: answer {', '.join(m.id for m in options)}, or neither")
    if meaning in ("earlier", "later") and len(options) > 1:
        return Answer(Kind.CHOICE, options[0 if meaning == "earlier" else -1])
    folded = words.fold(text)
    named = [m for m in options if m.value and m.value in folded]
    if len(named) > 1:
        # PostgreSQL 16 names PostgreSQL too: the longest is meant.
        longest = max(len(m.value) for m in named)
        named = [m for m in named if len(m.value) == longest]
    return Answer(Kind.CHOICE, named[0]) if len(named) == 1 else Answer(Kind.STATEMENT)
