"""Which index a SQLite database uses for each kind of text."""

from __future__ import annotations

from dataclasses import dataclass

from jiyi.ports import BM25, Kind
from jiyi.settings import TextIndexName
from jiyi.stores.postings import Postings, TermHash
from jiyi.stores.sqlite.access import Access
from jiyi.stores.sqlite.native import Native
from jiyi.stores.sqlite.postings import SQL
from jiyi.stores.text_index import KIND_NUMBERS, KindIndex, SqlTextIndex


@dataclass(frozen=True, slots=True)
class TextRules:
    """What is decided once for a store: which index each kind uses, and how it is scored."""

    memory: TextIndexName
    message: TextIndexName
    bm25: BM25
    hashed: TermHash

    def name(self, kind: Kind) -> TextIndexName:
        return {Kind.MEMORY: self.memory, Kind.MESSAGE: self.message}.get(kind, "postings")


def text_index(access: Access, rules: TextRules) -> SqlTextIndex:
    return SqlTextIndex(access, {kind: kind_index(access, kind, rules) for kind in Kind})


def kind_index(access: Access, kind: Kind, rules: TextRules) -> KindIndex:
    if rules.name(kind) == "native":
        return Native(access, kind.value, rules.bm25)
    return Postings(access, SQL, KIND_NUMBERS[kind], kind.value, rules.hashed, rules.bm25)
