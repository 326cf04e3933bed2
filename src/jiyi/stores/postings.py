"""The text index `postings`: our own inverted index, scored in SQL with exact BM25 per scope, in every SQL store.

Everything a search reads lies in the ranges (owner, kind, term), so its cost follows the one owner's
matches and not the size of the database (SPEC O6). Terms are keyed hashes: the index holds no words.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Protocol

from jiyi.errors import InputError
from jiyi.ports import BM25, Document, Hit, Occurrence
from jiyi.stores.access import Access
from jiyi.stores.encoding import damage
from jiyi.stores.numbering import MAX_SEQ, Row
from jiyi.text.slips import slips_of

HASH_BYTES = 6
HASHES_KEPT = 50_000
SLIPS_KEPT = 4_096
"""Words whose slips are kept, at some 3 KB each: making those of one takes longer than looking for them."""
QUANTUM = 1_000_000
"""Scores are whole millionths, so that engines that add in another order still rank alike."""

PRIME = 2_147_483_647
"""Terms are added up modulo this when an entry is compared as a whole: no sum overflows."""


class TermHash:
    """The hashes of terms for a store with this secret: 48 bits, so that they are safe in JSON too."""

    def __init__(self, secret: bytes) -> None:
        # Taking the key in is half of the work: it is done once.
        self._keyed = blake2b(digest_size=HASH_BYTES, key=secret)
        self.of = lru_cache(maxsize=HASHES_KEPT)(self._one)
        self.slips = lru_cache(maxsize=SLIPS_KEPT)(self._slips)

    def __call__(self, term: str) -> int:
        return self.of(term)

    def _one(self, term: str) -> int:
        return self._hashes([term.encode("utf-8", "surrogatepass")])[0]

    def _slips(self, word: str) -> array[int]:
        """Of the words one slip away from a word, in the order of `slips_of`. There are hundreds for each, and of another word
        others: among the single terms they would push out those that are asked for again."""
        return array("q", self._hashes(map(str.encode, slips_of(word))))

    def _hashes(self, terms: Iterable[bytes]) -> list[int]:
        copy, number, found = self._keyed.copy, int.from_bytes, []
        for term in terms:
            digest = copy()
            digest.update(term)
            found.append(number(digest.digest(), "big"))
        return found


class Statements(Protocol):
    """The statements on the table `posting` in the dialect of a store."""

    def insert(self, access: Access, rows: Sequence[tuple[int, int, int, int, int, int]]) -> None:
        """Rows of owner, kind, term, seq, tf, len."""

    def delete(self, access: Access, owner: int, kind: int, terms: Sequence[int], seq: int) -> int:
        """Take the terms of one document out; gives how many there were."""

    def search(
        self,
        access: Access,
        owner: int,
        kind: int,
        query: Sequence[tuple[int, int, float]],
        slope: float,
        limit: int,
        bm25: BM25,
    ) -> list[Row]:
        """Seq, score in whole quanta and matched bits, best first. `query`: bit, term, and weight × inverse frequency."""

    def count(self, access: Access, owner: int, kind: int, terms: Sequence[int]) -> list[Row]:
        """Term, and how many documents hold it."""

    def occurrences(
        self, access: Access, owner: int, kind: int, terms: Sequence[int], seqs: Sequence[int]
    ) -> list[Row]:
        """Seq, term, tf, len."""

    def held(self, access: Access, owner: int, kind: int) -> list[Row]:
        """Seq, lowest and highest len, terms, sum of tf, and sum of term modulo PRIME × tf."""

    def drop(self, access: Access, owner: int, kind: int, seqs: Sequence[int]) -> None:
        """Take out everything of these documents."""

    def clear(self, access: Access, owner: int, kind: int) -> None: ...


class Postings:
    """One kind of text, indexed in the table `posting`. `kind` is its number there."""

    def __init__(self, access: Access, sql: Statements, kind: int, counter: str, hashed: TermHash, bm25: BM25) -> None:
        self._access = access
        self._sql = sql
        self._kind = kind
        self._counts_of = f"{counter}.counts"
        self._documents = f"{counter}.documents"
        self._length = f"{counter}.length"
        self._hashed, self._slips = hashed.of, hashed.slips
        self._bm25 = bm25

    def add(self, owner: int, documents: Sequence[Document]) -> tuple[int, int]:
        """Index documents; returns how many there are more now, and how many terms."""
        rows = [row for document in documents for row in self._rows(owner, document)]
        # Sorted, so that a batch walks the b-tree once from left to right.
        rows.sort()
        self._sql.insert(self._access, rows)
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
        for document in documents:
            if not 1 <= document.seq <= MAX_SEQ:
                continue
            terms = sorted({self._hashed(term) for term in document.terms})
            if self._sql.delete(self._access, owner, self._kind, terms, document.seq) > 0:
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
        query: list[tuple[int, int, float]] = []
        for i, (term, weight) in enumerate(terms):
            if found := counts.get(hashed := self._hashed(term)):
                query.append((1 << i, hashed, weight * math.log(1 + (documents - found + 0.5) / (found + 0.5))))
        if not query:
            return []
        rows = self._sql.search(self._access, owner, self._kind, query, slope, limit, self._bm25)
        return [Hit(seq, score / QUANTUM, matched) for seq, score, matched in rows]

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
        whole lists, so it is kept."""
        counted = self._access.kept(owner, self._counts_of)
        if missing := [term for term in terms if term not in counted]:
            rows = self._sql.count(self._access, owner, self._kind, missing)
            counted |= dict.fromkeys(missing, 0) | dict(rows)
        return {term: counted[term] for term in terms}

    @damage
    def slips(self, owner: int, word: str) -> dict[str, int]:
        hashes = self._slips(word)
        rows = self._sql.count(self._access, owner, self._kind, hashes)
        if not rows:
            return {}
        words = dict(zip(hashes, slips_of(word), strict=True))
        return {words[term]: count for term, count in rows if count}

    @damage
    def occurrences(self, owner: int, terms: Sequence[str], seqs: Collection[int]) -> list[Occurrence]:
        hashes = {self._hashed(term): term for term in terms}
        rows = self._sql.occurrences(self._access, owner, self._kind, list(hashes), sorted(set(seqs)))
        return [Occurrence(seq, hashes[term], tf, length) for seq, term, tf, length in rows]

    def fingerprint(self, document: Document) -> tuple[int, ...]:
        counts = self._counts(document)
        length = document.length
        return (
            length, length, len(counts), sum(counts.values()), sum(t % PRIME * tf for t, tf in counts.items())
        )  # fmt: skip

    @damage
    def held(self, owner: int) -> dict[int, tuple[int, ...]]:
        return {seq: tuple(rest) for seq, *rest in self._sql.held(self._access, owner, self._kind)}

    def drop(self, owner: int, seqs: Collection[int]) -> None:
        self._sql.drop(self._access, owner, self._kind, sorted(set(seqs)))

    def clear(self, owner: int) -> None:
        self._sql.clear(self._access, owner, self._kind)
