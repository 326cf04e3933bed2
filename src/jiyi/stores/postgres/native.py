"""The statements of the text index `native` in PostgreSQL: a `tsvector` of our own terms, found through GIN.

The scores are those of `postings`, to the last digit: a tsvector keeps how often a term stands in its text as positions, which
`ts_rank_cd` of the one lexeme counts. Its own order of several lexemes knows no rarity of words, and is not used (decision 0041).
What is entered for a term begins with the owner and the kind, so GIN reads no list of anybody else (SPEC O6).
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence

from jiyi.ports import BM25
from jiyi.stores.access import Access
from jiyi.stores.numbering import Row
from jiyi.stores.postings import HASH_BYTES, PRIME, QUANTUM, Statements

LETTERS = "_xyz"
"""The letter of a kind by its number. None of them is a hexadecimal digit: it ends the owner's number."""
HASHED = HASH_BYTES * 4 // 3
"""Characters of a hash in base 64."""
WEIGHTS = "DCBA"
BASE = 64
"""A term may stand in a text 64⁴ - 1 times; of more than that it is the same. Four digits take 252 positions, a lexeme has 255."""
PART = 4_000
"""Terms of one row. A tsvector holds a megabyte."""


def lexeme(owner: int, kind: int, term: int) -> str:
    """What is entered for a term."""
    return f"{owner:x}{LETTERS[kind]}{urlsafe_b64encode(term.to_bytes(HASH_BYTES, 'big')).decode()}"


def term_of(entered: str) -> int:
    """The term of a lexeme."""
    return int.from_bytes(urlsafe_b64decode(entered[-HASHED:]), "big")


def positions(tf: int) -> str:
    """A number above 0 as the positions of a lexeme."""
    left, found, place = min(tf, BASE ** len(WEIGHTS) - 1), list[str](), 0
    for weight in WEIGHTS:
        left, digit = divmod(left, BASE)
        found += [f"{place + n}{weight}" for n in range(1, digit + 1)]
        place += digit
    return ",".join(found)


def counted(weights: Sequence[str]) -> int:
    """The number that positions of these weights stand for."""
    return sum(BASE ** WEIGHTS.index(weight) for weight in weights)


class NativeStatements(Statements):
    def insert(self, access: Access, rows: Sequence[tuple[int, int, int, int, int, int]]) -> None:
        texts: dict[tuple[int, int, int, int], list[str]] = {}
        for owner, kind, term, seq, tf, length in rows:
            terms = texts.setdefault((owner, kind, seq, length), [])
            terms.append(f"'{lexeme(owner, kind, term)}':{positions(tf)}")
        held = [
            (*text, part, " ".join(some))
            for text, terms in texts.items()
            for part, some in enumerate(terms[n : n + PART] for n in range(0, len(terms), PART))
        ]
        if held:
            sql = """
                INSERT INTO native_text (owner, kind, seq, len, part, terms)
                SELECT owner, kind, seq, len, part, terms::tsvector
                FROM unnest(%s::bigint[], %s::smallint[], %s::integer[], %s::integer[], %s::smallint[], %s::text[])
                     AS come (owner, kind, seq, len, part, terms)
            """
            access.change(sql, [list(column) for column in zip(*held, strict=True)])

    def delete(self, access: Access, owner: int, kind: int, terms: Sequence[int], seq: int) -> int:
        return access.change("DELETE FROM native_text WHERE owner = %s AND kind = %s AND seq = %s", (owner, kind, seq))

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
        bits, terms, gains = zip(*query, strict=True)
        upper, base = bm25.k1 + 1, bm25.k1 * (1 - bm25.b)
        sql = "SELECT seq, score, matched FROM native_search(%s, %s, %s::bigint[], %s::float8[], %s, %s, %s, %s)"
        return access.rows(
            sql,
            (
                kind, [lexeme(owner, kind, term) for term in terms], list(bits), [gain * upper for gain in gains],
                base, slope, float(QUANTUM), limit,
            ),
        )  # fmt: skip

    def count(self, access: Access, owner: int, kind: int, terms: Sequence[int]) -> list[Row]:
        entered = {lexeme(owner, kind, term): term for term in terms}
        rows = access.rows("SELECT lexeme, holders FROM native_count(%s, %s)", (kind, list(entered)))
        return [(entered[found], holders) for found, holders in rows]

    def occurrences(
        self, access: Access, owner: int, kind: int, terms: Sequence[int], seqs: Sequence[int]
    ) -> list[Row]:
        # ts_filter would keep a weight, not a lexeme: the terms of the few texts are taken apart instead.
        sql = """
            SELECT seq, held.lexeme, held.weights, len FROM native_text, LATERAL unnest(terms) AS held
            WHERE owner = %s AND kind = %s AND seq = ANY(%s) AND held.lexeme = ANY(%s)
        """
        entered = {lexeme(owner, kind, term): term for term in terms}
        rows = access.rows(sql, (owner, kind, list(seqs), list(entered)))
        return [(seq, entered[found], counted(weights), length) for seq, found, weights, length in rows]

    def held(self, access: Access, owner: int, kind: int) -> list[Row]:
        sql = """
            SELECT seq, len, held.lexeme, held.weights FROM native_text, LATERAL unnest(terms) AS held
            WHERE owner = %s AND kind = %s
        """
        found: dict[int, tuple[int, int, int, int, int]] = {}
        for seq, length, entered, weights in access.rows(sql, (owner, kind)):
            low, high, terms, total, mixed = found.get(seq, (length, length, 0, 0, 0))
            term, tf = term_of(entered), counted(weights)
            # A lexeme of somebody else is as much as no term at all.
            mixed += term % PRIME * tf if entered == lexeme(owner, kind, term) else -1
            found[seq] = (min(low, length), max(high, length), terms + 1, total + tf, mixed)
        return [(seq, *sums) for seq, sums in found.items()]

    def drop(self, access: Access, owner: int, kind: int, seqs: Sequence[int]) -> None:
        sql = "DELETE FROM native_text WHERE owner = %s AND kind = %s AND seq = ANY(%s)"
        access.change(sql, (owner, kind, list(seqs)))

    def clear(self, access: Access, owner: int, kind: int) -> None:
        access.change("DELETE FROM native_text WHERE owner = %s AND kind = %s", (owner, kind))


SQL = NativeStatements()
