"""What is over once something happened, though nobody names it: who quit their job works there no longer (SPEC B3).

Which events end which facts is data (`vocabulary/closing.toml`); nothing here names a relation. An event ends what was
last said before it, on no better word. Only words count, as between the two sides of a fact (`domain.inverses`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import Any, TypeAlias

from jiyi.domain.memory import Evidence, Memory, Mode, Status
from jiyi.domain.relations import USER, Vocabulary, fact_key
from jiyi.domain.settling import ENDING, RANK
from jiyi.errors import SettingsError

BY_AN_EVENT = "closed"
"""The rule, and the session of the word that a fact is over because of what happened."""
_STANDS = (Status.LIVE, Status.HELD)
# The date that ends the value of what was done once: quit their job 2026-03-02, a span as 2026-03-02/2026-03-08.
_DATED = re.compile(r" (?:\S+/)?(\d{4})(?:-(\d\d))?(?:-(\d\d))?\Z")

_ANY_DATE = re.compile(r"[（(]?\b\d{4}(?:-\d\d)+(?:/\d{4}(?:-\d\d)+)?[）)]?")

Kin: TypeAlias = Mapping[str, Collection[str]]
"""Whom the user speaks of by what they are to them: subject → the words for them, folded."""


@dataclass(frozen=True, slots=True)
class Closing:
    """One kind of event and what it ends; see the head of `closing.toml`. `kin` holds subjects."""

    event: str
    values: tuple[str, ...]
    ends: tuple[str, ...]
    kin: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    named: str = ""
    for_good: bool = False
    goes_on: tuple[str, ...] = ()
    successor: bool = False
    whom: tuple[str, ...] = ()
    only_named: bool = False
    by_words: bool = False

    def tells(self, event: Memory, fact: Memory) -> bool:
        """Whether an event is of this kind, and about a fact."""
        if self.successor and event.value == fact.value:
            return False
        return self.is_told(event.value) and self.is_about(event.value, fact.value)

    def is_told(self, value: str) -> bool:
        """Whether a value of the event's relation tells of this kind of event."""
        return not self.values or self._rest(value) is not None

    def is_about(self, value: str, fact: str) -> bool:
        """Whether a value that tells of this kind of event is about a fact: where it goes on with more than how and why,
        it names what it was (got fired from Globex), and that must be what the fact names."""
        if self.by_words:
            return True  # asked of all that there is (`Closings`)
        rest = self._rest(value)
        if self.only_named:
            return bool(rest) and within(fact, rest or "")
        if not rest or not self.goes_on or within(fact, rest):
            return True
        return any(rest == how or rest.startswith(f"{how} ") for how in self.goes_on)

    def with_whom(self, value: str) -> str:
        """Whom a value that tells of this kind of event names as the one it happened with; "" for nobody."""
        said = _DATED.sub("", value)
        for told in sorted(self.values, key=len, reverse=True):
            if told.isascii() and said.startswith(f"{told} "):
                first, _, rest = said.removeprefix(f"{told} ").partition(" ")
                return rest if first in self.whom else ""
            if not told.isascii() and said.endswith(told):
                before = said.removesuffix(told)
                return next((before[len(w) :] for w in self.whom if before.startswith(w)), "")
        return ""

    def _rest(self, value: str) -> str | None:
        """What follows the words that tell of the event; None where they do not stand there."""
        said = _DATED.sub("", value)
        for told in sorted(self.values, key=len, reverse=True):
            if said == told or (not told.isascii() and said.endswith(told)):
                return ""
            if told.isascii() and said.startswith(f"{told} "):
                return said.removeprefix(f"{told} ")
            if self.only_named and not told.isascii() and said.startswith(told):
                return said.removeprefix(told)
        return None


@dataclass(frozen=True, slots=True)
class Known:
    """How what is known is looked up: memories of a key, of any status, and live ones of a relation."""

    of_key: Callable[[str], Sequence[Memory]]
    of_relation: Callable[[str], Sequence[Memory]]


@dataclass(frozen=True, slots=True)
class Closings:
    """All kinds of events that end something. `fold` and `stems` are the segmenter's; `aside` and `alike` are stems: words that
    do not tell what was planned, and words of one meaning → one of them."""

    kinds: tuple[Closing, ...]
    kin: Kin
    fold: Callable[[str], str]
    stems: Callable[[str], Collection[str]]
    aside: frozenset[str] = frozenset()
    alike: Mapping[str, str] = field(default_factory=dict)

    def touched(self, changed: Sequence[Memory], known: Known) -> list[Memory]:
        """The facts that may be over by an event, where the fact or the event is among what changed."""
        found: dict[int, Memory] = {}
        for memory in changed:
            if memory.triple is None:
                continue
            name = memory.triple.relation
            if any(name in (*kind.ends, *kind.told) for kind in self.kinds):
                found[memory.seq] = memory
            for kind in self.kinds:
                if kind.event == name and kind.is_told(memory.value):
                    found |= {
                        m.seq: m for key in self._ended_by(kind, memory.triple.subject) for m in known.of_key(key)
                    }
        return [m for _, m in sorted(found.items()) if m.status in _STANDS and m.triple and not m.triple.negated]

    def closed(self, fact: Memory, known: Known) -> tuple[Memory, Evidence] | None:
        """The event by which a fact that stands is over, with the word that tells of it; the latest of several."""
        ends = [
            (event, word)
            for kind in self.kinds
            for event in self._events(kind, fact, known)
            if event.status is not Status.RETRACTED and event.triple and not event.triple.negated
            if kind.tells(event, fact) and self._with_the_one_told_of(kind, event, fact, known)
            if not kind.by_words or self._spoken_of(event, fact, known)
            for word in event.evidence
            if word.mode not in ENDING and (not kind.successor or word.mode is Mode.CHANGE)
            if _later("" if kind.for_good else event.value, word.at, fact.affirmed_at)
            if RANK[word.source] >= RANK[fact.source]
        ]
        return max(ends, key=lambda end: (end[1].at, end[0].value), default=None)

    def _ended_by(self, kind: Closing, subject: str) -> Iterator[str]:
        """The keys of the facts that an event may end."""
        if kind.successor and kind.kin:
            yield from (fact_key(subject, name) for name in kind.ends if subject in kind.kin)
            return
        if kind.kin and subject != USER:
            return
        for name in kind.ends:
            yield from (fact_key(one, name) for one in kind.kin or (subject,))
        yield from (fact_key(USER, name) for name in kind.told)

    def _events(self, kind: Closing, fact: Memory, known: Known) -> Sequence[Memory]:
        """The events of a kind that are about what a fact tells."""
        assert fact.triple is not None
        name, subject = fact.triple.relation, fact.triple.subject
        if name in kind.ends and (not kind.kin or subject in kind.kin):
            own = USER if kind.kin and not kind.successor else subject
            return known.of_key(fact_key(own, kind.event))
        if name not in kind.told or subject != USER:
            return ()
        if kind.kin:
            spoken = any(self._names(fact.value, one) for one in kind.kin)
            return known.of_key(fact_key(USER, kind.event)) if spoken else ()
        return [e for e in known.of_relation(kind.event) if self._happened_to(e, fact, kind, known)]

    def _happened_to(self, event: Memory, fact: Memory, kind: Closing, known: Known) -> bool:
        """Whether what happened, happened to the object of a fact: my dog died, where there is one; Biscuit died."""
        if event.triple is None:
            return False
        called = self.fold(event.triple.subject).strip()
        if called and within(called, fact.value):
            return True
        spoken = [one for one in self.kin if self._names(fact.value, one)]
        names = {
            m.value
            for one in spoken
            if kind.named
            for m in known.of_key(fact_key(one, kind.named))
            if m.status is Status.LIVE
        }
        if len(names) > 1:  # a dog called Max and one called Ida: nobody says which
            return False
        if event.triple.subject not in self.kin:
            return called in names
        alike = [
            m for m in known.of_key(fact.key) if m.status is Status.LIVE and self._names(m.value, event.triple.subject)
        ]
        return event.triple.subject in spoken and len(alike) <= 1

    def _spoken_of(self, event: Memory, fact: Memory, known: Known) -> bool:
        """Whether what was called off is what a fact tells, by the words of both: the trip to Japan, told as going to Japan.
        Words that tell no more than that there was a plan (the appointment) say which only where there is but one."""
        said, planned = self._words(event.value), self._words(fact.value)
        telling = said - self.aside
        if telling:
            return all(word in planned or (not word.isascii() and word in fact.value) for word in telling)
        alike = [m for m in known.of_key(fact.key) if m.status is Status.LIVE and m.value != event.value]
        return len(alike) == 1 and bool(said & planned or any(not w.isascii() and w in fact.value for w in said))

    def _words(self, value: str) -> frozenset[str]:
        """The words of a value, dates aside, those of one meaning as one: a wedding is getting married."""
        return frozenset(self.alike.get(word, word) for word in self.stems(_ANY_DATE.sub(" ", value)))

    def _with_the_one_told_of(self, kind: Closing, event: Memory, fact: Memory, known: Known) -> bool:
        """Whether what happened, happened with the one a fact is about, where anybody is named: 和供应商分手 parts no couple."""
        whom = kind.with_whom(event.value)
        if not whom:
            return True
        # 前女友 is no 女友: the longest word tells who it is.
        spoken = max((w for words in self.kin.values() for w in words if within(w, whom)), key=len, default="")
        if spoken:
            return any(spoken in self.kin[one] for one in kind.kin)
        if fact.triple is None or fact.triple.relation in kind.ends:
            return within(fact.value, whom)
        names = (m for one in kind.kin for name in kind.ends for m in known.of_key(fact_key(one, name)))
        return any(
            within(m.value, whom) for m in names if self._names(fact.value, m.triple.subject if m.triple else "")
        )

    def _names(self, value: str, kin: str) -> bool:
        """Whether an object speaks of a relative or an animal by one of its words."""
        return any(within(word, value) for word in self.kin.get(kin, ()))


def ended_by_event(memory: Memory, word: Evidence) -> Memory:
    """The memory with the word that it is over."""
    told = Evidence(0, 0, 0, word.at, BY_AN_EVENT, Mode.OVER, word.source, word.trust)
    return replace(memory, evidence=tuple(sorted({*memory.evidence, told}, key=lambda e: e.place)))


def within(word: str, value: str) -> bool:
    """Whether a folded word stands in a folded value; one of letters as a whole word."""
    return re.search(rf"\b{re.escape(word)}\b", value) is not None if word.isascii() else word in value


def _later(value: str, said_at: datetime, affirmed_at: datetime) -> bool:
    """Whether an event came after a fact was last said: told later, and, where it is dated, not over before that."""
    if said_at <= affirmed_at:
        return False
    dated = _DATED.search(value)
    if dated is None:
        return True
    year, month, day = (int(part) if part else None for part in dated.groups())
    assert year is not None
    try:
        last = date(year, month or 12, day or 1)
    except ValueError:
        return False
    if day is None:
        last = (last.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)
    return last >= affirmed_at.date()


def parse_closings(
    data: Mapping[str, Any], vocabulary: Vocabulary, kin: Mapping[str, str], words: Kin, fold: Callable[[str], str],
    stems: Callable[[str], Collection[str]],
) -> Closings:  # fmt: skip
    """From `closing.toml`.

    Args:
        kin: name in the file → subject.
        words: the words for each subject.

    Raises:
        SettingsError: an entry names a relation or a relative that nobody knows, or ends nothing.
    """
    kinds = []
    for entry in data.get("closing", ()):
        unknown = set(entry) - {
            "event",
            "zh",
            "en",
            "ends",
            "kin",
            "told",
            "named",
            "for_good",
            "goes_on",
            "successor",
            "whom",
            "only_named",
            "by_words",
        }
        ends, told = tuple(entry.get("ends", ())), tuple(entry.get("told", ()))
        named = str(entry.get("named", ""))
        missing = [
            n for n in (entry.get("event", ""), *ends, *told, *filter(None, [named])) if vocabulary.get(n) is None
        ]
        missing += [name for name in entry.get("kin", ()) if name not in kin]
        if unknown or missing or not (ends or told):
            wrong = ", ".join(sorted(unknown) or missing) or "neither ends nor told"
            raise SettingsError(f"closing {entry.get('event', '?')}: cannot read {wrong}; see the head of closing.toml")
        values = tuple(fold(said).strip() for said in (*entry.get("zh", ()), *entry.get("en", ())))
        subjects = tuple(kin[name] for name in entry.get("kin", ()))
        for_good, successor = bool(entry.get("for_good", False)), bool(entry.get("successor", False))
        goes_on = tuple(fold(how).strip() for how in entry.get("goes_on", ()))
        whom = tuple(fold(word).strip() for word in entry.get("whom", ()))
        kinds.append(
            Closing(
                str(entry["event"]), values, ends, subjects, told, named, for_good, goes_on, successor, whom,
                bool(entry.get("only_named", False)), bool(entry.get("by_words", False)),
            )
        )  # fmt: skip
    by_kin = {one: tuple(fold(w).strip() for w in said) for one, said in words.items()}
    aside = {s for said in data.get("aside", {}).values() for word in said for s in stems(word)}
    alike = {
        s: first for group in data.get("alike", ()) for first in [min(stems(group[0]))] for w in group for s in stems(w)
    }
    return Closings(tuple(kinds), by_kin, fold, stems, frozenset(aside), alike)
