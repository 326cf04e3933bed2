"""The text index port of a SQL store: sends each kind to the index that the database uses for it, and counts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol, cast, get_args

from jiyi.domain.scope import Scope
from jiyi.errors import InputError, StoreError, TooLarge
from jiyi.ports import MAX_QUERY_TERMS, Document, Hit, Kind, Occurrence, TextIndex
from jiyi.settings import TextIndexName
from jiyi.stores.access import Access
from jiyi.stores.numbering import MAX_SEQ, at_most

KIND_NUMBERS: Mapping[Kind, int] = {Kind.MEMORY: 1, Kind.MESSAGE: 2, Kind.SUMMARY: 3}
"""`posting.kind` in the database."""

INDEXED = "indexed"
"""The counter of the message number up to which messages are indexed."""

CHOSEN_KINDS = (Kind.MEMORY, Kind.MESSAGE)
"""Kinds whose index is chosen in the settings. Summaries are few: for them `postings` does in every database."""


def index_setting(kind: Kind) -> str:
    """The name in `store_setting` under which the index of a kind stands."""
    return f"text.{kind.value}"


def known_index(name: str) -> TextIndexName:
    """Raises: ValueError for a name that is none."""
    for known in get_args(TextIndexName):
        if name == known:
            return cast(TextIndexName, known)
    raise ValueError("no text index of that name")


def chosen_indexes(memory: TextIndexName | None, message: TextIndexName | None) -> dict[Kind, TextIndexName]:
    """The kinds whose index is to be another one; None leaves a kind alone.

    Raises:
        InputError: no index of that name.
    """
    names = {kind: name for kind, name in zip(CHOSEN_KINDS, (memory, message), strict=True) if name is not None}
    if unknown := set(names.values()) - set(get_args(TextIndexName)):
        raise InputError(f"no text index {', '.join(unknown)}: choose postings or native")
    return names


def check_index(kind: Kind, asked: TextIndexName | None, used: str) -> None:
    """Raises: StoreError when a database is opened with another text index than it uses."""
    if asked not in (None, used):
        raise StoreError(
            f"the {kind.value} texts of this database are indexed by {used}, not by {asked}: "
            f"open it with {used}, or run `jiyi reindex --text-index {asked}`"
        )


Fingerprint = tuple[int, ...]
"""What an index holds of one document, for comparing; the first number is the document's length."""


class KindIndex(Protocol):
    """One kind of text of any owner. `add` and `remove` tell by how many documents and terms they moved.

    For the check: `held` is what the index holds, `fingerprint` what it should hold of a document, `drop`
    takes entries out by number alone.
    """

    def add(self, owner: int, documents: Sequence[Document]) -> tuple[int, int]: ...
    def remove(self, owner: int, documents: Sequence[Document]) -> tuple[int, int]: ...
    def search(self, owner: int, terms: Sequence[tuple[str, float]], limit: int) -> list[Hit]: ...
    def frequencies(self, owner: int, terms: Sequence[str]) -> dict[str, int]: ...
    def slips(self, owner: int, word: str) -> dict[str, int]: ...
    def occurrences(self, owner: int, terms: Sequence[str], seqs: Collection[int]) -> list[Occurrence]: ...
    def clear(self, owner: int) -> None: ...
    def held(self, owner: int) -> dict[int, Fingerprint]: ...
    def fingerprint(self, document: Document) -> Fingerprint: ...
    def drop(self, owner: int, seqs: Collection[int]) -> None: ...


class SqlTextIndex(TextIndex):
    """A document without terms can never be found, so it is not counted either."""

    def __init__(self, access: Access, indexes: Mapping[Kind, KindIndex]) -> None:
        self._access = access
        self.indexes = indexes

    def add(self, scope: Scope, kind: Kind, documents: Sequence[Document]) -> None:
        owner = self._access.make_owner(scope)
        if held := [document for document in documents if document.terms]:
            self._count(owner, kind, *self.indexes[kind].add(owner, held))

    def remove(self, scope: Scope, kind: Kind, documents: Sequence[Document]) -> None:
        self._access.check_writable()
        owner = self._access.owner(scope)
        if owner is not None and documents:
            removed, length = self.indexes[kind].remove(owner, documents)
            if removed:
                self._count(owner, kind, -removed, -length)

    def _count(self, owner: int, kind: Kind, documents: int, length: int) -> None:
        self._access.add_to_counter(owner, f"{kind.value}.documents", documents)
        self._access.add_to_counter(owner, f"{kind.value}.length", length)

    def search(self, scope: Scope, kind: Kind, terms: Sequence[tuple[str, float]], limit: int) -> list[Hit]:
        if len(terms) > MAX_QUERY_TERMS:
            raise TooLarge("the list of query terms", len(terms), MAX_QUERY_TERMS)
        if any(not weight > 0 for _, weight in terms):
            raise InputError("a query term needs a weight above 0")
        owner = self._access.owner(scope)
        if owner is None or not terms or limit < 1:
            return []
        return self.indexes[kind].search(owner, terms, at_most(limit))

    def frequencies(self, scope: Scope, kind: Kind, terms: Sequence[str]) -> tuple[int, dict[str, int]]:
        owner = self._access.owner(scope)
        if owner is None:
            return 0, {}
        documents = self._access.counter(owner, f"{kind.value}.documents")
        return documents, self.indexes[kind].frequencies(owner, terms) if terms and documents else {}

    def slips(self, scope: Scope, kind: Kind, word: str) -> dict[str, int]:
        owner = self._access.owner(scope)
        if owner is None or not self._access.counter(owner, f"{kind.value}.documents"):
            return {}
        return self.indexes[kind].slips(owner, word)

    def occurrences(self, scope: Scope, kind: Kind, terms: Sequence[str], seqs: Collection[int]) -> list[Occurrence]:
        owner = self._access.owner(scope)
        return [] if owner is None or not terms or not seqs else self.indexes[kind].occurrences(owner, terms, seqs)

    def indexed_up_to(self, scope: Scope) -> int:
        owner = self._access.owner(scope)
        return 0 if owner is None else self._access.counter(owner, INDEXED)

    def mark_indexed_up_to(self, scope: Scope, seq: int) -> None:
        if not 0 <= seq <= MAX_SEQ:
            raise InputError(f"message number {seq} is outside 0 to {MAX_SEQ:,}")
        self._access.set_counter(self._access.make_owner(scope), INDEXED, seq)

    def clear(self, scope: Scope) -> None:
        self._access.check_writable()
        owner = self._access.owner(scope)
        if owner is None:
            return
        for kind, index in self.indexes.items():
            index.clear(owner)
            self._access.set_counter(owner, f"{kind.value}.documents", 0)
            self._access.set_counter(owner, f"{kind.value}.length", 0)
        self._access.set_counter(owner, INDEXED, 0)
