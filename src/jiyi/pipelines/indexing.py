"""How a memory or a message becomes a document of the text index."""

from __future__ import annotations

from dataclasses import dataclass, field

from jiyi.domain.forgetting import Erased
from jiyi.domain.memory import Memory, Message
from jiyi.domain.scope import Scope
from jiyi.domain.summary import SessionSummary
from jiyi.ports import Document, Kind, Unit, View
from jiyi.text.passages import Folding
from jiyi.text.segmentation import Segmenter

CHUNK = 500
"""Messages indexed in one transaction: long imports stay readable and writable meanwhile."""


@dataclass(frozen=True, slots=True)
class Indexing:
    """The one way from texts to terms, for writing and for checking."""

    segmenter: Segmenter
    folding: Folding = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "folding", Folding(self.segmenter.fold))

    def memory(self, memory: Memory) -> Document:
        """A memory is found by its text and by its search keywords (SPEC C10)."""
        return self._document(memory.seq, "\n".join((memory.text, *memory.keywords)))

    def message(self, message: Message) -> Document:
        """A message is found by "name: text", so that a person's words are found by the name."""
        return self._document(message.seq, f"{message.name}: {message.text}" if message.name else message.text)

    def summary(self, summary: SessionSummary) -> Document:
        """A summary is found by its points, not by the labels above them."""
        return self._document(summary.seq, "\n".join(p.text for p in summary.points))

    def any(self, item: Memory | Message | SessionSummary) -> Document:
        if isinstance(item, Memory):
            return self.memory(item)
        return self.summary(item) if isinstance(item, SessionSummary) else self.message(item)

    def _document(self, seq: int, text: str) -> Document:
        terms = self.segmenter.index_terms(text)
        return Document(seq, terms.counts, terms.length)


def index_messages(unit: Unit, scope: Scope, upto: int, indexing: Indexing) -> int:
    """Index the messages that are not indexed yet, up to number `upto`; returns how many.

    Done twice it does nothing the second time, since the mark moves in the same transaction.
    """
    done = 0
    mark = unit.text.indexed_up_to(scope)
    while mark < upto:
        batch = [m for m in unit.messages.after_seq(scope, mark, CHUNK) if m.seq <= upto]
        if not batch:
            unit.text.mark_indexed_up_to(scope, upto)
            break
        unit.text.add(scope, Kind.MESSAGE, [indexing.message(m) for m in batch])
        mark = batch[-1].seq
        unit.text.mark_indexed_up_to(scope, mark)
        done += len(batch)
    return done


def rebuild(unit: Unit, scope: Scope, indexing: Indexing) -> int:
    """Drop the scope's text index and make it again from memories, summaries and messages; returns the documents."""
    unit.text.clear(scope)
    memories = unit.memories.listing(scope, status=None)
    unit.text.add(scope, Kind.MEMORY, [indexing.memory(m) for m in memories])
    summaries = unit.summaries.listing(scope)
    unit.text.add(scope, Kind.SUMMARY, [indexing.summary(s) for s in summaries])
    return (
        len(memories)
        + sum(bool(s.points) for s in summaries)
        + index_messages(unit, scope, unit.messages.last_seq(scope), indexing)
    )


@dataclass(frozen=True, slots=True)
class TextView(View):
    """The text index as a view that forgetting reaches (SPEC F6)."""

    indexing: Indexing

    @property
    def name(self) -> str:
        return "text index"

    def erase(self, unit: Unit, scope: Scope, erased: Erased) -> int:
        """Memories and messages go as they were indexed; what is left of a message is indexed again."""
        unit.text.remove(scope, Kind.MEMORY, [self.indexing.memory(m) for m in erased.memories])
        mark = unit.text.indexed_up_to(scope)
        indexed = [b for b in erased.messages if b.before.seq <= mark]
        unit.text.remove(scope, Kind.MESSAGE, [self.indexing.message(b.before) for b in indexed])
        left = [self.indexing.message(b.after) for b in indexed if not b.after.forgotten]
        unit.text.add(scope, Kind.MESSAGE, left)
        return len(erased.memories) + len(indexed)

    def rebuild(self, unit: Unit, scope: Scope) -> int:
        return rebuild(unit, scope, self.indexing)
