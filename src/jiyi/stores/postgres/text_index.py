"""Which index a PostgreSQL database uses for each kind of text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jiyi.ports import BM25, Kind
from jiyi.settings import TextIndexName
from jiyi.stores.postgres import native, postings
from jiyi.stores.postgres.access import PostgresAccess
from jiyi.stores.postings import Postings, Statements, TermHash
from jiyi.stores.text_index import KIND_NUMBERS

STATEMENTS: Mapping[TextIndexName, Statements] = {"postings": postings.SQL, "native": native.SQL}


class TextIndexes(Mapping[Kind, Postings]):
    """The indexes of one unit of work, each made when it is asked for: only then it is known which one the database uses, and
    another process may have changed it before this one entered the scope."""

    def __init__(self, access: PostgresAccess, hashed: TermHash, bm25: BM25) -> None:
        self._access = access
        self._hashed = hashed
        self._bm25 = bm25
        self._made: dict[tuple[Kind, TextIndexName], Postings] = {}

    def __getitem__(self, kind: Kind) -> Postings:
        name = self._access.text_index(kind)
        if (kind, name) not in self._made:
            self._made[kind, name] = Postings(
                self._access, STATEMENTS[name], KIND_NUMBERS[kind], kind.value, self._hashed, self._bm25
            )
        return self._made[kind, name]

    def __iter__(self) -> Iterator[Kind]:
        return iter(Kind)

    def __len__(self) -> int:
        return len(Kind)
