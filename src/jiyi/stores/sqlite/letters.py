"""Texts that are looked through letter by letter, kept in this process (SPEC R1, O6).

What no index knows, a character inside a word or a piece of a name, is looked for in the texts themselves, and no list says where
it may stand. Reading all turns of a user for it costs milliseconds for some thousand of them; looking through a string that holds
them one after the other costs a twentieth of that. Messages are only ever added, with higher numbers, except where they are
rewritten: that is counted in the same transaction, so what was read at one count is what every snapshot with this count holds.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import nlargest

from jiyi.settings import SqlitePolicy
from jiyi.stores.numbering import MAX_SEQ, Row
from jiyi.stores.sqlite.access import Access, first_key
from jiyi.stores.sqlite.lately import Lately

REWRITTEN = "message.rewritten"
"""The counter of an owner that goes up with every rewriting of its messages."""
PIECE = 2_000
"""Messages of one string. A sign that needs four bytes makes only its own string wide, and what is new is joined to the last."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """The texts of some messages in a row. `starts` says where each begins, with the end of the last."""

    text: str
    seqs: array[int]
    starts: array[int]

    def holding(self, needle: str, last: int, limit: int) -> list[int]:
        """The newest messages up to number `last` that hold the needle, the newest first."""
        found: list[int] = []
        end = self.starts[bisect_right(self.seqs, last)]
        while len(found) < limit and (place := self.text.rfind(needle, 0, end)) >= 0:
            message = bisect_right(self.starts, place) - 1
            if place + len(needle) <= self.starts[message + 1]:
                found.append(self.seqs[message])
                end = self.starts[message]
            else:
                end = place + len(needle) - 1  # it begins in one text and ends in the next
        return found


@dataclass(frozen=True, slots=True)
class _Kept:
    """What was read of one owner at one count of rewritings, up to number `last`."""

    rewritten: int
    last: int
    pieces: tuple[_Piece, ...] = ()

    @property
    def characters(self) -> int:
        return sum(len(piece.text) for piece in self.pieces)


class Letters:
    """The texts of those users who were looked through last. One for a store; several threads read it."""

    def __init__(self, policy: SqlitePolicy) -> None:
        self._policy = policy
        self._kept: Lately[int, _Kept] = Lately(
            policy.kept_characters, policy.kept_seconds, lambda kept: kept.characters
        )
        self.drop, self.clear = self._kept.drop, self._kept.clear

    @property
    def characters(self) -> int:
        """How many are kept now."""
        return self._kept.taken

    def holding(self, access: Access, owner: int, needles: Sequence[str], limit: int) -> list[int] | None:
        """The numbers of the newest messages that hold one of the needles, the newest first. None where nothing is kept: of a
        few messages, of a unit that writes, and of a snapshot from before what is kept."""
        last = 0 if access.writable else access.counter(owner, "message")
        if last < self._policy.kept_from or self._policy.kept_characters <= 0 or not all(needles):
            return None
        kept = self._of(access, owner, last)
        if kept is None:
            return None
        found: set[int] = set()
        for piece in reversed(kept.pieces):
            for needle in needles:
                found.update(piece.holding(needle, last, limit))
            if len(found) >= limit:
                break
        return nlargest(limit, found)

    def _of(self, access: Access, owner: int, last: int) -> _Kept | None:
        rewritten = access.counter(owner, REWRITTEN)
        with self._kept.held():
            kept = self._kept.get(owner)
            if kept is not None and kept.rewritten > rewritten:
                return None
            if kept is None or kept.rewritten < rewritten:
                kept = _Kept(rewritten, 0)
                self._kept.use(owner, kept)
        if kept.last < last:
            kept = _with(kept, _texts(access, owner, kept.last, last), last)
        with self._kept.held():
            there = self._kept.get(owner)
            # None: dropped meanwhile, and it may hold what is forgotten now.
            if there is not None and (there.rewritten, there.last) <= (kept.rewritten, kept.last):
                self._kept.use(owner, kept)
        return kept


def _texts(access: Access, owner: int, after: int, last: int) -> list[Row]:
    sql = "SELECT key, text FROM message WHERE key > ? AND key <= ? AND forgotten = 0 ORDER BY key"
    return access.rows(sql, (first_key(owner) + after, first_key(owner) + last))


def _with(kept: _Kept, rows: Sequence[Row], last: int) -> _Kept:
    """With newer messages; those that fit are joined to the last string."""
    pieces = list(kept.pieces)
    while rows:
        piece = pieces.pop() if pieces and len(pieces[-1].seqs) < PIECE else _Piece("", array("q"), array("q", [0]))
        some, rows = rows[: PIECE - len(piece.seqs)], rows[PIECE - len(piece.seqs) :]
        seqs, starts = piece.seqs[:], piece.starts[:]
        for key, text in some:
            seqs.append(key & MAX_SEQ)
            starts.append(starts[-1] + len(text))
        pieces.append(_Piece("".join([piece.text, *(text for _, text in some)]), seqs, starts))
    return _Kept(kept.rewritten, last, tuple(pieces))
