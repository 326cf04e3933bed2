"""Lines of a health check that are the same for every SQL store: what the text index holds beside what it should."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

from jiyi.domain.memory import Memory, Message
from jiyi.domain.scope import Scope
from jiyi.domain.summary import SessionSummary
from jiyi.ports import Check, Document, Kind, Memories, Messages, Summaries
from jiyi.stores.access import Access
from jiyi.stores.text_index import Fingerprint, KindIndex, SqlTextIndex

TermsOf = Callable[[Kind, Memory | Message | SessionSummary], Document]

RESTORE = "restore a backup: `jiyi restore`"
REPAIR = "run `jiyi doctor --fix`"
REINDEX = "run `jiyi reindex`"
CHUNK = 500


class CheckedUnit(Protocol):
    """A unit of work of a SQL store, as far as it is needed here."""

    @property
    def access(self) -> Access: ...
    @property
    def messages(self) -> Messages: ...
    @property
    def memories(self) -> Memories: ...
    @property
    def summaries(self) -> Summaries: ...
    @property
    def text(self) -> SqlTextIndex: ...

    def scopes(self) -> Iterable[Scope]: ...


def line(name: str, problems: list[str], fix: str, detail: str = "") -> Check:
    if not problems:
        return Check(name, True, detail)
    more = f" and {len(problems) - 5} more" if len(problems) > 5 else ""
    return Check(name, False, "; ".join(problems[:5]) + more, fix)


def texts(unit: CheckedUnit, kind: Kind, index: KindIndex, terms_of: TermsOf) -> Iterator[Check]:
    """The index must hold every text that belongs there, exactly as it is segmented now, and nothing else."""
    wrong, miscounted, texts = [], [], 0
    for scope in unit.scopes():
        owner = unit.access.owner(scope)
        assert owner is not None
        held = index.held(owner)
        expected = _expected(unit, scope, kind, index, terms_of)
        texts += len(expected)
        for seq in sorted(held.keys() | expected.keys()):
            if held.get(seq) != expected.get(seq):
                wrong.append(f"{scope}: {kind.value} {seq} {_what(seq, held, expected)}")
        documents, length = (unit.access.counter(owner, f"{kind.value}.{name}") for name in ("documents", "length"))
        if (documents, length) != (len(held), sum(fingerprint[0] for fingerprint in held.values())):
            miscounted.append(f"{scope}: {documents} texts of {length} terms counted, {len(held)} texts indexed")
    yield line(f"{kind.value} text index", wrong, REINDEX, f"{texts} texts")
    yield line(f"{kind.value} text index counters", miscounted, REPAIR)


def _what(seq: int, held: Mapping[int, Fingerprint], expected: Mapping[int, Fingerprint]) -> str:
    if seq not in held:
        return "is not indexed"
    return "is indexed otherwise than it reads" if seq in expected else "is indexed but should not be"


def _expected(
    unit: CheckedUnit, scope: Scope, kind: Kind, index: KindIndex, terms_of: TermsOf
) -> dict[int, Fingerprint]:
    items: Iterable[Memory | Message | SessionSummary]
    match kind:
        case Kind.MEMORY:
            items = unit.memories.listing(scope, status=None)
        case Kind.SUMMARY:
            items = unit.summaries.listing(scope)
        case Kind.MESSAGE:
            items = _indexed_messages(unit, scope)
    documents = (terms_of(kind, item) for item in items)
    return {document.seq: index.fingerprint(document) for document in documents if document.terms}


def _indexed_messages(unit: CheckedUnit, scope: Scope) -> Iterator[Message]:
    seq, mark = 0, unit.text.indexed_up_to(scope)
    while batch := [m for m in unit.messages.after_seq(scope, seq, CHUNK) if m.seq <= mark]:
        yield from batch
        seq = batch[-1].seq
