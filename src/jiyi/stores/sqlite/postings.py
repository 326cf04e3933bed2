"""The statements of the text index `postings` in SQLite."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache

from jiyi.ports import BM25
from jiyi.stores.access import Access
from jiyi.stores.numbering import Row
from jiyi.stores.postings import PRIME, QUANTUM, Statements
from jiyi.stores.sqlite.access import MANY, few_marks


class SqliteStatements(Statements):
    def insert(self, access: Access, rows: Sequence[tuple[int, int, int, int, int, int]]) -> None:
        access.change_many("INSERT INTO posting (owner, kind, term, seq, tf, len) VALUES (?, ?, ?, ?, ?, ?)", rows)

    def delete(self, access: Access, owner: int, kind: int, terms: Sequence[int], seq: int) -> int:
        sql = "DELETE FROM posting WHERE owner = ? AND kind = ? AND term = ? AND seq = ?"
        return access.change_many(sql, [(owner, kind, term, seq) for term in terms])

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
        arguments = [owner, kind, limit, slope, *(value for term in query for value in term)]
        return access.rows(_search_sql(len(query), bm25), arguments)

    def count(self, access: Access, owner: int, kind: int, terms: Sequence[int]) -> list[Row]:
        if len(terms) > MANY:
            return access.rows(_COUNT_MANY, (owner, kind, json.dumps(sorted(set(terms)))))
        listed, values = few_marks(terms)
        sql = f"SELECT term, count(*) FROM posting WHERE owner = ? AND kind = ? AND term IN ({listed}) GROUP BY term"
        return access.rows(sql, (owner, kind, *values))

    def occurrences(
        self, access: Access, owner: int, kind: int, terms: Sequence[int], seqs: Sequence[int]
    ) -> list[Row]:
        # CROSS JOIN fixes the order: each pair of a term and a document is one step into the b-tree.
        sql = """
            SELECT p.seq, p.term, p.tf, p.len
            FROM json_each(?3) AS wanted CROSS JOIN json_each(?4) AS document
            CROSS JOIN posting AS p ON p.owner = ?1 AND p.kind = ?2 AND p.term = wanted.value AND p.seq = document.value
        """
        return access.rows(sql, (owner, kind, json.dumps(terms), json.dumps(seqs)))

    def held(self, access: Access, owner: int, kind: int) -> list[Row]:
        sql = f"""
            SELECT seq, min(len), max(len), count(*), sum(tf), sum(term % {PRIME} * tf)
            FROM posting WHERE owner = ? AND kind = ? GROUP BY seq
        """
        return access.rows(sql, (owner, kind))

    def drop(self, access: Access, owner: int, kind: int, seqs: Sequence[int]) -> None:
        sql = "DELETE FROM posting WHERE owner = ? AND kind = ? AND seq IN (SELECT value FROM json_each(?))"
        access.change(sql, (owner, kind, json.dumps(seqs)))

    def clear(self, access: Access, owner: int, kind: int) -> None:
        access.change("DELETE FROM posting WHERE owner = ? AND kind = ?", (owner, kind))


_COUNT_MANY = """
    SELECT p.term, count(*)
    FROM json_each(?3) AS wanted CROSS JOIN posting AS p ON p.owner = ?1 AND p.kind = ?2 AND p.term = wanted.value
    GROUP BY p.term
"""

SQL = SqliteStatements()


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
