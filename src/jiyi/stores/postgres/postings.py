"""The statements of the text index `postings` in PostgreSQL: the same ranges and the same scores as in SQLite."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from jiyi.ports import BM25
from jiyi.stores.access import Access
from jiyi.stores.numbering import Row
from jiyi.stores.postings import PRIME, QUANTUM, Statements


class PostgresStatements(Statements):
    def insert(self, access: Access, rows: Sequence[tuple[int, int, int, int, int, int]]) -> None:
        if rows:
            sql = """
                INSERT INTO posting (owner, kind, term, seq, tf, len)
                SELECT %s, %s, * FROM unnest(%s::bigint[], %s::integer[], %s::integer[], %s::integer[])
            """
            columns = [list(column) for column in zip(*rows, strict=True)]
            access.change(sql, (columns[0][0], columns[1][0], *columns[2:]))

    def delete(self, access: Access, owner: int, kind: int, terms: Sequence[int], seq: int) -> int:
        sql = "DELETE FROM posting WHERE owner = %s AND kind = %s AND term = ANY(%s) AND seq = %s"
        return access.change(sql, (owner, kind, list(terms), seq))

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
        bits, terms, gains = (list(column) for column in zip(*query, strict=True))
        arguments = {
            "owner": owner, "kind": kind, "bits": bits, "terms": terms, "gains": gains, "slope": slope, "limit": limit,
        }  # fmt: skip
        return access.rows(search_sql(bm25), arguments)

    def count(self, access: Access, owner: int, kind: int, terms: Sequence[int]) -> list[Row]:
        sql = "SELECT term, count(*) FROM posting WHERE owner = %s AND kind = %s AND term = ANY(%s) GROUP BY term"
        return access.rows(sql, (owner, kind, list(terms)))

    def occurrences(
        self, access: Access, owner: int, kind: int, terms: Sequence[int], seqs: Sequence[int]
    ) -> list[Row]:
        # Each pair of a term and a document is one step into the index; OFFSET 0 keeps the planner from another order.
        sql = """
            SELECT p.seq, p.term, p.tf, p.len
            FROM unnest(%(terms)s::bigint[]) AS wanted, unnest(%(seqs)s::integer[]) AS document, LATERAL (
                SELECT seq, term, tf, len FROM posting
                WHERE owner = %(owner)s AND kind = %(kind)s AND term = wanted AND seq = document OFFSET 0) AS p
        """
        return access.rows(sql, {"owner": owner, "kind": kind, "terms": list(terms), "seqs": list(seqs)})

    def held(self, access: Access, owner: int, kind: int) -> list[Row]:
        sql = f"""
            SELECT seq, min(len), max(len), count(*), sum(tf), sum(term %% {PRIME} * tf)::bigint
            FROM posting WHERE owner = %s AND kind = %s GROUP BY seq
        """
        return access.rows(sql, (owner, kind))

    def drop(self, access: Access, owner: int, kind: int, seqs: Sequence[int]) -> None:
        access.change("DELETE FROM posting WHERE owner = %s AND kind = %s AND seq = ANY(%s)", (owner, kind, list(seqs)))

    def clear(self, access: Access, owner: int, kind: int) -> None:
        access.change("DELETE FROM posting WHERE owner = %s AND kind = %s", (owner, kind))


SQL = PostgresStatements()


@lru_cache(maxsize=16)
def search_sql(bm25: BM25) -> str:
    """The search, term by term through the index, which OFFSET 0 keeps the planner to. Numbers are written as double precision, or the sum would be taken in
    decimals; the score is cut, not rounded, after the half is added, as SQLite does."""
    upper, base = bm25.k1 + 1, bm25.k1 * (1 - bm25.b)
    return f"""
        SELECT p.seq,
               trunc(sum(q.gain * {upper!r}::float8 * p.tf / (p.tf + {base!r}::float8 + %(slope)s::float8 * p.len))
                     * {QUANTUM}::float8 + 0.5::float8)::bigint AS score,
               sum(q.bit)::bigint
        FROM unnest(%(bits)s::bigint[], %(terms)s::bigint[], %(gains)s::float8[]) AS q (bit, term, gain), LATERAL (
            SELECT seq, tf, len FROM posting WHERE owner = %(owner)s AND kind = %(kind)s AND term = q.term OFFSET 0) AS p
        GROUP BY p.seq
        ORDER BY score DESC, p.seq DESC
        LIMIT %(limit)s
    """
