"""The text index `native`: SQLite's own FTS5 over terms that we segmented.

One FTS5 table per kind, rowid = owner << 24 | seq, so that `rowid BETWEEN` reads one owner's part of each
term. FTS5's own bm25() is never used: it reads the postings of every owner for each term.

How close the order is to exact BM25: which documents match, and by which terms, is exact. Scores are exact
too, but only the best candidates by the sum of IDF × weight are scored with counts and lengths: four times
the limit, at least 256. So the order is exact up to 256 matches; beyond, a document that is only good
because it repeats a term or is short can be missed.
"""

from __future__ import annotations

import json
import math
import re
import sqlite3
from collections import Counter
from collections.abc import Collection, Sequence
from functools import lru_cache
from hashlib import blake2b

from jiyi.ports import BM25, Document, Hit, Occurrence
from jiyi.stores.encoding import damage
from jiyi.stores.numbering import MAX_SEQ, seq_of
from jiyi.stores.postings import QUANTUM
from jiyi.stores.sqlite.access import Access, first_key, last_key, row_key
from jiyi.text.slips import slips_of

MIN_CANDIDATES = 256

# Only white space separates terms. Position lists and column sizes would be kept for phrases and for FTS5's
# own ranking; the terms are a set with counts, so there is nothing to keep them for.
SCHEMA = """CREATE VIRTUAL TABLE fts_{kind} USING fts5 (
    terms, length UNINDEXED, detail = none, columnsize = 0,
    tokenize = "unicode61 remove_diacritics 0 categories 'L* M* N* P* S* C*'"
)"""

# What unicode61 surely keeps as it is, in every version of its tables: printable ASCII without capitals,
# kana, Han and Hangul. A term with anything else (İ and ﬁ are folded, a zero-width joiner may separate)
# goes in as hexadecimal, marked by a tilde.
_PLAIN = re.compile(r"[!-@\[-}぀-ヿ㐀-䶿一-鿿가-힣]{1,200}", re.ASCII)


def encode_term(term: str) -> str:
    """The term as one token of the FTS5 table; different terms give different tokens."""
    if _PLAIN.fullmatch(term):
        return term
    data = term.encode("utf-8", "surrogatepass")
    return "~" + data.hex() if len(data) <= 500 else "~~" + blake2b(data, digest_size=32).hexdigest()


def create_table(access: Access, kind: str) -> None:
    access.change(SCHEMA.format(kind=kind))


def drop_table(access: Access, kind: str) -> None:
    access.change(f"DROP TABLE IF EXISTS fts_{kind}")


def tables(connection: sqlite3.Connection) -> list[str]:
    """The FTS5 tables that this database has."""
    return [name for (name,) in connection.execute(_TABLES).fetchall()]


def tables_of(access: Access) -> list[str]:
    return [name for (name,) in access.rows(_TABLES)]


_TABLES = "SELECT name FROM sqlite_schema WHERE name IN ('fts_memory', 'fts_message') ORDER BY name"


class Native:
    """One kind of text, indexed in the table `fts_<kind>`."""

    def __init__(self, access: Access, kind: str, bm25: BM25) -> None:
        self._access = access
        self._kind = kind
        self._table = f"fts_{kind}"
        self._bm25 = bm25

    def add(self, owner: int, documents: Sequence[Document]) -> tuple[int, int]:
        """Index documents; returns how many there are more now, and how many terms."""
        rows = [
            (
                row_key(owner, document.seq),
                " ".join(_tokens(document)),
                document.length,
            )
            for document in documents
        ]
        self._access.change_many(f"INSERT INTO {self._table} (rowid, terms, length) VALUES (?, ?, ?)", sorted(rows))
        return len(documents), sum(document.length for document in documents)

    def remove(self, owner: int, documents: Sequence[Document]) -> tuple[int, int]:
        """Take documents out; returns how many there are fewer now, and how many terms."""
        removed = length = 0
        for document in documents:
            if not 1 <= document.seq <= MAX_SEQ:
                continue
            key = row_key(owner, document.seq)
            found = self._access.rows(f"SELECT length FROM {self._table} WHERE rowid = ?", (key,))
            if found:
                # By key: FTS5 would scan the whole table for any other column.
                self._access.change(f"DELETE FROM {self._table} WHERE rowid = ?", (key,))
                removed += 1
                length += found[0][0]
        return removed, length

    @damage
    def search(self, owner: int, terms: Sequence[tuple[str, float]], limit: int) -> list[Hit]:
        size = self._size(owner)
        if size is None:
            return []
        documents, average = size
        words = [encode_term(term) for term, _ in terms]
        matched, found = self._matches(owner, words)
        gains = [
            weight * math.log(1 + (documents - n + 0.5) / (n + 0.5)) * (self._bm25.k1 + 1)
            for (_, weight), n in zip(terms, found, strict=True)
        ]
        count = max(4 * limit, MIN_CANDIDATES)
        if len(matched) > count:
            worth = {bits: sum(gains[i] for i in _ones(bits)) for bits in set(matched.values())}
            best = sorted(matched, key=lambda key: (worth[matched[key]], key), reverse=True)[:count]
            matched = {key: matched[key] for key in best}
        hits = self._scored(matched, words, gains, average)
        hits.sort(key=lambda hit: (hit.score, hit.seq), reverse=True)
        return hits[:limit]

    def _size(self, owner: int) -> tuple[int, float] | None:
        documents = self._access.counter(owner, f"{self._kind}.documents")
        return (documents, self._access.counter(owner, f"{self._kind}.length") / documents) if documents else None

    def _matches(self, owner: int, words: Sequence[str]) -> tuple[dict[int, int], list[int]]:
        """Every matching key with its terms as bits, and how many keys each term has."""
        arguments: list[int | str] = [first_key(owner), last_key(owner), *map(_quoted, words)]
        matched: dict[int, int] = {}
        found = [0] * len(words)
        for i, key in self._access.rows(_match_sql(self._table, len(words)), arguments):
            matched[key] = matched.get(key, 0) | 1 << i
            found[i] += 1
        return matched, found

    def _scored(
        self, matched: dict[int, int], words: Sequence[str], gains: Sequence[float], average: float
    ) -> list[Hit]:
        base, slope = self._bm25.k1 * (1 - self._bm25.b), self._bm25.k1 * self._bm25.b / average
        # From the table behind the index, where FTS5 keeps its rows: several times faster than through it.
        sql = f"SELECT id, c0, c1 FROM {self._table}_content WHERE id IN (SELECT value FROM json_each(?))"
        hits = []
        for key, text, length in self._access.rows(sql, (json.dumps(list(matched)),)):
            tokens = text.split(" ")
            score = 0.0
            for i in _ones(matched[key]):
                tf = tokens.count(words[i])
                score += gains[i] * tf / (tf + base + slope * length)
            hits.append(Hit(seq_of(key), int(score * QUANTUM + 0.5) / QUANTUM, matched[key]))
        return hits

    @damage
    def frequencies(self, owner: int, terms: Sequence[str]) -> dict[str, int]:
        sql = f"SELECT count(*) FROM {self._table} WHERE {self._table} MATCH ? AND rowid BETWEEN ? AND ?"
        counts = {}
        for term in terms:
            if n := self._access.value(sql, (_quoted(encode_term(term)), first_key(owner), last_key(owner))):
                counts[term] = int(n)
        return counts

    def slips(self, owner: int, word: str) -> dict[str, int]:
        return self.frequencies(owner, slips_of(word))

    @damage
    def occurrences(self, owner: int, terms: Sequence[str], seqs: Collection[int]) -> list[Occurrence]:
        words = {encode_term(term): term for term in terms}
        keys = [row_key(owner, seq) for seq in sorted(set(seqs)) if 1 <= seq <= MAX_SEQ]
        sql = f"SELECT id, c0, c1 FROM {self._table}_content WHERE id IN (SELECT value FROM json_each(?))"
        found = []
        for key, text, length in self._access.rows(sql, (json.dumps(keys),)):
            counts = Counter(token for token in text.split(" ") if token in words)
            found += [Occurrence(seq_of(key), words[token], count, length) for token, count in counts.items()]
        return found

    def fingerprint(self, document: Document) -> tuple[int, ...]:
        return _fingerprint(document.length, _tokens(document))

    @damage
    def held(self, owner: int) -> dict[int, tuple[int, ...]]:
        sql = f"SELECT rowid, terms, length FROM {self._table} WHERE rowid BETWEEN ? AND ?"
        rows = self._access.rows(sql, (first_key(owner), last_key(owner)))
        return {seq_of(key): _fingerprint(length, text.split(" ")) for key, text, length in rows}

    def drop(self, owner: int, seqs: Collection[int]) -> None:
        sql = f"DELETE FROM {self._table} WHERE rowid = ?"
        self._access.change_many(sql, [(row_key(owner, seq),) for seq in sorted(seqs)])

    def clear(self, owner: int) -> None:
        sql = f"DELETE FROM {self._table} WHERE rowid BETWEEN ? AND ?"
        self._access.change(sql, (first_key(owner), last_key(owner)))


@lru_cache(maxsize=256)
def _match_sql(table: str, terms: int) -> str:
    return " UNION ALL ".join(
        f"SELECT {i}, rowid FROM {table} WHERE {table} MATCH ?{i + 3} AND rowid BETWEEN ?1 AND ?2" for i in range(terms)
    )


def _tokens(document: Document) -> list[str]:
    """Every term as often as it stands in the text."""
    return [token for term, tf in document.terms.items() for token in [encode_term(term)] * tf]


def _fingerprint(length: int, tokens: list[str]) -> tuple[int, ...]:
    return length, len(tokens), hash(tuple(sorted(tokens)))


def _quoted(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'


def _ones(bits: int) -> list[int]:
    """The positions of the bits that are set."""
    return [i for i in range(bits.bit_length()) if bits >> i & 1]
