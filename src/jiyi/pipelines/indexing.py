"""How a memory or a message becomes a document of the text index."""

from __future__ import annotations

from dataclasses import dataclass

from jiyi.domain.memory import Memory, Message
from jiyi.domain.scope import Scope
from jiyi.ports import Document, Kind, Unit
from jiyi.text.segmentation import Segmenter

CHUNK = 500
"""Messages indexed in one transaction: long imports stay readable and writable meanwhile."""


@dataclass(frozen=True, slots=True)
class Indexing:
    """The one way from texts to terms, for writing and for checking."""

    segmenter: Segmenter

    def memory(self, memory: Memory) -> Document:
        """A memory is found by its text and by its search keywords (SPEC C10)."""
        return self._document(memory.seq, "\n".join((memory.text, *memory.keywords)))

    def message(self, message: Message) -> Document:
        """A message is found by "name: text", so that a person's words are found by the name."""
        return self._document(message.seq, f"{message.name}: {message.text}" if message.name else message.text)

    def any(self, item: Memory | Message) -> Document:
        return self.memory(item) if isinstance(item, Memory) else self.message(item)

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
    """Drop the scope's text index and make it again from memories and messages; returns the documents."""
    unit.text.clear(scope)
    memories = unit.memories.listing(scope, status=None)
    unit.text.add(scope, Kind.MEMORY, [indexing.memory(m) for m in memories])
    return len(memories) + index_messages(unit, scope, unit.messages.last_seq(scope), indexing)
