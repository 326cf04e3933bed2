"""The text index `postings`: our own inverted index, scored in SQL with exact BM25 per scope.

Everything a search reads lies in the ranges (owner, kind, term), so its cost follows the one owner's
matches and not the size of the database (SPEC O6). Terms are keyed hashes: the index holds no words.
"""

from __future__ import annotations

import json
import math
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
        self._counted: dict[tuple[int, int], int] = {}

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
        size = self._size(owner)
        if size is None:
            return []
        documents, slope = size
        counts = self._count(owner, [self._hashed(term) for term, _ in terms])
        arguments: list[int | float] = [owner, self._kind, limit, slope]
        for i, (term, weight) in enumerate(terms):
            if found := counts.get(hashed := self._hashed(term)):
                arguments += (1 << i, hashed, weight * math.log(1 + (documents - found + 0.5) / (found + 0.5)))
        if len(arguments) == 4:
            return []
        sql = _search_sql((len(arguments) - 4) // 3, self._bm25)
        return [Hit(seq, score / QUANTUM, matched) for seq, score, matched in self._access.rows(sql, arguments)]

    def _size(self, owner: int) -> tuple[int, float] | None:
        """The documents, and what one term of a document's length adds to the formula's denominator."""
        documents, length = (self._access.counter(owner, name) for name in (self._documents, self._length))
        return (documents, self._bm25.k1 * self._bm25.b * documents / length) if documents and length else None

    @damage
    def frequencies(self, owner: int, terms: Sequence[str]) -> dict[str, int]:
        hashes = {self._hashed(term): term for term in terms}
        return {hashes[term]: count for term, count in self._count(owner, list(hashes)).items() if count}

    def _count(self, owner: int, terms: Sequence[int]) -> dict[int, int]:
        """How many documents hold each term. A search asks again for what its caller has just counted, and counting reads
        whole lists, so a unit that only reads remembers it."""
        missing = [term for term in terms if (owner, term) not in self._counted]
        if missing:
            sql = (
                f"SELECT term, count(*) FROM posting WHERE owner = ? AND kind = ? AND term IN ({marks(len(missing))})"
                " GROUP BY term"
            )
            rows = self._access.rows(sql, (owner, self._kind, *missing))
            counts = dict.fromkeys(missing, 0) | dict(rows)
            if self._access.writable:
                return counts
            self._counted |= {(owner, term): count for term, count in counts.items()}
        return {term: self._counted[owner, term] for term in terms}

    @damage
    def occurrences(self, owner: int, terms: Sequence[str], seqs: Collection[int]) -> list[Occurrence]:
        hashes = {self._hashed(term): term for term in terms}
        # CROSS JOIN fixes the order: each pair of a term and a document is one step into the b-tree.
        sql = """
            SELECT p.seq, p.term, p.tf, p.len
            FROM json_each(?3) AS wanted CROSS JOIN json_each(?4) AS document
            CROSS JOIN posting AS p ON p.owner = ?1 AND p.kind = ?2 AND p.term = wanted.value AND p.seq = document.value
        """
        rows = self._access.rows(sql, (owner, self._kind, json.dumps(list(hashes)), json.dumps(sorted(set(seqs)))))
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
        self._access.change(sql, (owner, self._kind, json.dumps(sorted(set(seqs)))))

    def clear(self, owner: int) -> None:
        self._access.change("DELETE FROM posting WHERE owner = ? AND kind = ?", (owner, self._kind))


@lru_cache(maxsize=256)
def _search_sql(terms: int, bm25: BM25) -> str:
    """The search for that many terms.

    `?1` owner, `?2` kind, `?3` limit, `?4` slope of the length, then bit, hash and weight × inverse frequency of each term.
    CROSS JOIN fixes the order: first the few terms, then their postings.
    """
    query = ", ".join(f"(?{5 + 3 * i}, ?{6 + 3 * i}, ?{7 + 3 * i})" for i in range(terms))
    return f"""
        WITH query (bit, term, gain) AS (VALUES {query})
        SELECT p.seq,
               CAST(sum(q.gain * {bm25.k1 + 1!r} * p.tf / (p.tf + {bm25.k1 * (1 - bm25.b)!r} + ?4 * p.len))
                    * {QUANTUM} + 0.5 AS INTEGER) AS score,
               sum(q.bit)
        FROM query AS q CROSS JOIN posting AS p ON p.owner = ?1 AND p.kind = ?2 AND p.term = q.term
        GROUP BY p.seq
        ORDER BY score DESC, p.seq DESC
        LIMIT ?3
    """
