"""Whatever comes in, and whatever is there, held against what was forgotten (SPEC F6).

The store keeps only keyed hashes, so a text is cut into all that could have been forgotten (the whole of it, its
sentences, every stretch of the lengths that tombstones have) and each piece is hashed and looked up. What was said from
the instant of a tombstone on is said anew and passes; above the scope's horizon nothing is even hashed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from jiyi.domain.belief import Observation
from jiyi.domain.forgetting import BLOT, BURIED, Mark, buried_id, digest_of, value_words
from jiyi.domain.memory import NO_LABELS, IncomingMessage, Memory, Message
from jiyi.domain.scope import Scope
from jiyi.ports import Unit
from jiyi.text.passages import Folding, Span


@dataclass(frozen=True, slots=True)
class Hits:
    """What of a message was forgotten: all of it (`whole`), places of a topic, names that hold one, other places."""

    whole: bool = False
    topics: tuple[Span, ...] = ()
    named: bool = False
    spans: tuple[Span, ...] = ()

    def __bool__(self) -> bool:
        return self.whole or self.named or bool(self.topics or self.spans)


NO_HITS = Hits()
EVER = datetime.min.replace(tzinfo=UTC)
"""Before every forgetting."""


class Tombs:
    """The tombstones of one scope in one unit of work.

    Args:
        whole: read them all at once, for whoever holds everything against them; otherwise each text asks for its own.
    """

    def __init__(self, unit: Unit, scope: Scope, folding: Folding, *, whole: bool = False) -> None:
        self._unit, self._scope, self._folding = unit, scope, folding
        self._loaded = {(t.mark, t.digest): t.at for t in unit.forgotten.tombstones(scope)} if whole else None
        self.horizon = unit.forgotten.horizon(scope)
        self._key = unit.forgotten.key(scope)
        self._lengths: dict[Mark, list[int]] = {}

    def is_free(self, at: datetime) -> bool:
        """Whether what was said then cannot have been forgotten."""
        return self.horizon is None or at >= self.horizon

    def hits(self, message: Message | IncomingMessage) -> Hits:
        """What of a message must not be there. A blotted or buried one has nothing any more."""
        if self.horizon is None or not message.text:
            return NO_HITS
        at, text = message.at, message.text
        if self._any(
            Mark.ID, [message.id], self.horizon
        ):  # The same id is the same message, whatever instant it names.
            return Hits(whole=True)
        if self.is_free(at):
            return NO_HITS
        if self._any(Mark.TEXT, [self._folding.words(text)], at):
            return Hits(whole=True)
        sentences = list(self._folding.sentences(text))
        known = self._known(Mark.SENTENCE, [words for words, _ in sentences], at)
        spans = [span for words, span in sentences if words in known]
        spans += self._places(Mark.WORDS, text, at)
        named = any(self._places(Mark.TOPIC, name, at) for name in names_of(message))
        return Hits(False, tuple(self._places(Mark.TOPIC, text, at)), named, tuple(spans))

    def holds(self, item: Memory | Observation) -> bool:
        """Whether a memory or an observation tells what was forgotten, on words no newer than the forgetting."""
        at = item.affirmed_at if isinstance(item, Memory) else item.at
        if self.is_free(at):
            return False
        if self._any(Mark.VALUE, [value_words(item.key, item.value)], at):
            return True
        if item.triple is not None and self._any(Mark.RELATION, [item.triple.relation], at):
            return True
        return any(self._places(mark, part, at) for mark in (Mark.TOPIC, Mark.WORDS) for part in told_by(item))

    def mentions(self, text: str) -> bool:
        """Whether words that were forgotten at any time stand in a text, however new it is."""
        if self.horizon is None:
            return False
        return any(self._places(mark, text, EVER) for mark in (Mark.TOPIC, Mark.WORDS))

    def admit(self, observation: Observation) -> Observation | None:
        """The observation as it may be learnt; None when it may not be."""
        if BLOT in observation.text or BLOT in observation.value or self.holds(observation):
            return None
        if not observation.replaces:
            return observation
        old = value_words(observation.key, observation.replaces)
        gone = BLOT in observation.replaces_text or self._any(Mark.VALUE, [old], observation.at)
        return replace(observation, replaces="", replaces_text="") if gone else observation

    def buried(self, message: IncomingMessage) -> IncomingMessage:
        """The message without anything of it, under the id that takes its place."""
        return replace(
            message, id=buried_id(self._key, message.id), session=BURIED, text="", name=None, labels=NO_LABELS
        )

    # ---------------------------------------------------------------- small parts

    def _places(self, mark: Mark, text: str, at: datetime) -> list[Span]:
        """Where forgotten words of any length stand in a text."""
        if mark not in self._lengths:
            self._lengths[mark] = self._unit.forgotten.lengths(self._scope, mark)
        found: list[Span] = []
        passage = self._folding.passage(text) if self._lengths[mark] else None
        for length in self._lengths[mark] if passage is not None else ():
            assert passage is not None
            windows = list(passage.windows(length))
            known = self._known(mark, [words for words, _ in windows], at)
            found += [passage.span(start, start + length) for words, start in windows if words in known]
        return found

    def _any(self, mark: Mark, texts: Iterable[str], at: datetime) -> bool:
        return bool(self._known(mark, list(texts), at))

    def _known(self, mark: Mark, texts: Collection[str], at: datetime) -> set[str]:
        """Those texts of which a tombstone of the mark stands for this instant."""
        digests: Mapping[str, bytes] = {text: digest_of(self._key, mark, text) for text in texts if text}
        found = self._unit.forgotten.find(self._scope, mark, list(digests.values())) if digests else {}
        return {text for text, digest in digests.items() if digest in found and (mark is Mark.ID or at < found[digest])}


def left_of(text: str, hits: Hits) -> str:
    """What may stay of a message that no memory rests on yet: empty when nothing may."""
    if hits.whole or hits.topics or hits.named:
        return ""
    return blotted(text, places(hits.spans))


def places(spans: Iterable[Span]) -> set[int]:
    return {place for start, end in spans for place in range(start, end)}


def blotted(text: str, gone: Collection[int]) -> str:
    """The text with those characters blotted out; empty when no letter is left."""
    left = "".join(BLOT if place in gone else character for place, character in enumerate(text))
    return left if any(c.isalnum() for c in left) else ""


def names_of(message: Message | IncomingMessage) -> Iterator[str]:
    """What a message says beside its text."""
    if message.name is not None:
        yield message.name
    yield message.session
    for label, value in message.labels.items():
        yield label
        yield value


def told_by(item: Memory | Observation) -> Iterator[str]:
    """Every text in which a memory says something."""
    yield item.text
    yield item.value
    if item.triple is not None:
        yield item.triple.subject
        yield item.triple.object
    yield from item.keywords
