"""The text index `postings`: our own inverted index, scored in SQL with exact BM25 per scope.

Everything a search reads lies in the ranges (owner, kind, term), so its cost follows the one owner's
matches and not the size of the database (SPEC O6). Terms are keyed hashes: the index holds no words.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from hashlib import blake2b

from jiyi.errors import InputError
from jiyi.ports import BM25, Document, Hit, Occurrence
from jiyi.stores.encoding import damage
from jiyi.stores.sqlite.access import MAX_SEQ, Access, marks

HASH_BYTES = 6
HASHES_KEPT = 50_000
QUANTUM = 1_000_000
"""Scores are whole millionths, so that engines that add in another order still rank alike."""

_PRIME = 2_147_483_647
"""Terms are added up modulo this when an entry is compared as a whole: no sum overflows."""

TermHash = Callable[[str], int]


def term_hash(secret: bytes) -> TermHash:
    """The hash of a term for a store with this secret: 48 bits, so that it is safe in JSON too."""

    @lru_cache(maxsize=HASHES_KEPT)
    def hashed(term: str) -> int:
        digest = blake2b(term.encode("utf-8", "surrogatepass"), digest_size=HASH_BYTES, key=secret).digest()
        return int.from_bytes(digest, "big")

    return hashed


class Postings:
    """One kind of text, indexed in the table `posting`. `kind` is its number there."""

    def __init__(self, access: Access, kind: int, counter: str, hashed: TermHash, bm25: BM25) -> None:
        self._access = access
        self._kind = kind
        self._documents = f"{counter}.documents"
        self._length = f"{counter}.length"
        self._hashed = hashed
        self._bm25 = bm25

    def add(self, owner: int, documents: Sequence[Document]) -> tuple[int, int]:
        """Index documents; returns how many there are more now, and how many terms."""
        rows = [row for document in documents for row in self._rows(owner, document)]
        # Sorted, so that a batch walks the b-tree once from left to right.
        rows.sort()
        self._access.change_many(
            "INSERT INTO posting (owner, kind, term, seq, tf, len) VALUES (?, ?, ?, ?, ?, ?)", rows
        )
        return len(documents), sum(document.length for document in documents)

    def _rows(self, owner: int, document: Document) -> list[tuple[int, int, int, int, int, int]]:
        if not 1 <= document.seq <= MAX_SEQ:
            raise InputError(f"document number {document.seq} is outside 1 to {MAX_SEQ:,}")
        counts = self._counts(document)
        return [(owner, self._kind, term, document.seq, tf, document.length) for term, tf in counts.items()]

    def _counts(self, document: Document) -> dict[int, int]:
        counts: dict[int, int] = {}
        for term, count in document.terms.items():
            hashed = self._hashed(term)
            counts[hashed] = counts.get(hashed, 0) + count
        return counts

    def remove(self, owner: int, documents: Sequence[Document]) -> tuple[int, int]:
        """Take documents out; returns how many there are fewer now, and how many terms."""
        removed = length = 0
        sql = "DELETE FROM posting WHERE owner = ? AND kind = ? AND term = ? AND seq = ?"
        for document in documents:
            if not 1 <= document.seq <= MAX_SEQ:
                continue
            terms = sorted({self._hashed(term) for term in document.terms})
            if self._access.change_many(sql, [(owner, self._kind, term, document.seq) for term in terms]) > 0:
                removed += 1
                length += document.length
        return removed, length

    @damage
    def search(self, owner: int, terms: Sequence[tuple[str, float]], limit: int) -> list[Hit]:
        arguments: list[int | float] = [owner, self._kind, limit]
        for term, weight in terms:
            arguments += (self._hashed(term), weight)
        sql = _search_sql(len(terms), self._documents, self._length, self._bm25)
        return [Hit(seq, score / QUANTUM, matched) for seq, score, matched in self._access.rows(sql, arguments)]

    @damage
    def frequencies(self, owner: int, terms: Sequence[str]) -> dict[str, int]:
        hashes = {self._hashed(term): term for term in terms}
        sql = (
            f"SELECT term, count(*) FROM posting WHERE owner = ? AND kind = ? AND term IN ({marks(len(hashes))})"
            " GROUP BY term"
        )
        return {hashes[term]: count for term, count in self._access.rows(sql, (owner, self._kind, *hashes))}

    @damage
    def occurrences(self, owner: int, terms: Sequence[str], seqs: Collection[int]) -> list[Occurrence]:
        hashes = {self._hashed(term): term for term in terms}
        # CROSS JOIN fixes the order: each pair of a term and a document is one step into the b-tree.
        sql = """
            SELECT p.seq, p.term, p.tf, p.len
            FROM json_each(?3) AS wanted CROSS JOIN json_each(?4) AS document
            CROSS JOIN posting AS p ON p.owner = ?1 AND p.kind = ?2 AND p.term = wanted.value AND p.seq = document.value
        """
        rows = self._access.rows(sql, (owner, self._kind, json.dumps(list(hashes)), json.dumps(sorted(seqs))))
        return [Occurrence(seq, hashes[term], tf, length) for seq, term, tf, length in rows]

    def fingerprint(self, document: Document) -> tuple[int, ...]:
        counts = self._counts(document)
        length = document.length
        return (
            length, length, len(counts), sum(counts.values()), sum(t % _PRIME * tf for t, tf in counts.items())
        )  # fmt: skip

    @damage
    def held(self, owner: int) -> dict[int, tuple[int, ...]]:
        sql = f"""
            SELECT seq, min(len), max(len), count(*), sum(tf), sum(term % {_PRIME} * tf)
            FROM posting WHERE owner = ? AND kind = ? GROUP BY seq
        """
        return {seq: tuple(rest) for seq, *rest in self._access.rows(sql, (owner, self._kind))}

    def drop(self, owner: int, seqs: Collection[int]) -> None:
        sql = "DELETE FROM posting WHERE owner = ? AND kind = ? AND seq IN (SELECT value FROM json_each(?))"
        self._access.change(sql, (owner, self._kind, json.dumps(sorted(seqs))))

    def clear(self, owner: int) -> None:
        self._access.change("DELETE FROM posting WHERE owner = ? AND kind = ?", (owner, self._kind))


@lru_cache(maxsize=256)
def _search_sql(terms: int, documents: str, length: str, bm25: BM25) -> str:
    """The search of a query with that many terms.

    `?1` owner, `?2` kind, `?3` limit, then hash and weight of each term. CROSS JOIN fixes the order:
    first the few terms, then their postings.
    """
    query = ", ".join(f"({1 << i}, ?{4 + 2 * i}, ?{5 + 2 * i})" for i in range(terms))
    return f"""
        WITH size (documents, slope) AS MATERIALIZED (
            SELECT d.value, {bm25.k1 * bm25.b!r} * d.value / l.value
            FROM counter AS d, counter AS l
            WHERE d.owner = ?1 AND d.name = '{documents}' AND l.owner = ?1 AND l.name = '{length}'),
        query (bit, term, weight) AS (VALUES {query}),
        counted (bit, term, weight, found) AS (
            SELECT bit, term, weight,
                   (SELECT count(*) FROM posting WHERE owner = ?1 AND kind = ?2 AND term = query.term)
            FROM query),
        weighed (bit, term, gain, slope) AS MATERIALIZED (
            SELECT bit, term,
                   weight * {bm25.k1 + 1!r} * ln(1 + (size.documents - found + 0.5) / (found + 0.5)), size.slope
            FROM counted CROSS JOIN size)
        SELECT p.seq,
               CAST(sum(w.gain * p.tf / (p.tf + {bm25.k1 * (1 - bm25.b)!r} + w.slope * p.len))
                    * {QUANTUM} + 0.5 AS INTEGER) AS score,
               sum(w.bit)
        FROM weighed AS w CROSS JOIN posting AS p ON p.owner = ?1 AND p.kind = ?2 AND p.term = w.term
        GROUP BY p.seq
        ORDER BY score DESC, p.seq DESC
        LIMIT ?3
    """
