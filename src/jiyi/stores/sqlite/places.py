"""Where messages stand, kept in this process for users who are asked about (SPEC R1, O6).

A recall that has vectors asks for the places of four hundred turns, and reading one means reading the turn. It is kept as
`letters` keeps texts, and for the same reason: messages are only added, with higher numbers, and what is rewritten is counted in the
same transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from functools import partial

from jiyi.domain.fusion import Place
from jiyi.settings import SqlitePolicy
from jiyi.stores.sqlite.access import Access
from jiyi.stores.sqlite.lately import Lately
from jiyi.stores.sqlite.letters import REWRITTEN

new_place = partial(tuple.__new__, Place)
"""As `Place._make`, which is a function of Python's and takes three times as long."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """What was read of one owner at one count of rewritings; None where nothing stands. `names`: the sessions and voices of
    them, each once."""

    rewritten: int
    places: dict[int, Place | None] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    def add(self, asked: Iterable[int], found: Iterable[Place]) -> None:
        name = self.names.setdefault
        for seq, session, voice, at, asks, size in found:
            self.places[seq] = new_place((seq, name(session, session), name(voice, voice), at, asks, size))
        # Last, for another thread may look meanwhile.
        for seq in asked:
            self.places.setdefault(seq)


class KeptPlaces:
    """The places of those users who were asked about last. One for a store; several threads read it."""

    def __init__(self, policy: SqlitePolicy) -> None:
        self._kept: Lately[int, _Kept] = Lately(policy.kept_places, policy.kept_seconds, lambda kept: len(kept.places))
        self.drop, self.clear = self._kept.drop, self._kept.clear

    @property
    def places(self) -> int:
        """How many are kept now."""
        return self._kept.taken

    def of(
        self, access: Access, owner: int, seqs: Collection[int], read: Callable[[Collection[int]], list[Place]]
    ) -> list[Place]:
        """The places of these messages that are there, by number; `read` reads them in this snapshot. A unit that writes, and
        one that began before what is kept, read all of them."""
        kept = None if access.writable or self._kept.room <= 0 else self._of(owner, access.counter(owner, REWRITTEN))
        if kept is None:
            return read(seqs)
        known, last = kept.places, access.counter(owner, "message")
        # A younger snapshot may have kept what is not there yet in this one.
        asked = sorted({seq for seq in seqs if 1 <= seq <= last})
        if unknown := [seq for seq in asked if seq not in known]:
            kept.add(unknown, read(unknown))
            self._use(owner, kept)
        return [place for seq in asked if (place := known[seq]) is not None]

    def _of(self, owner: int, rewritten: int) -> _Kept | None:
        with self._kept.held():
            kept = self._kept.get(owner)
            if kept is not None and kept.rewritten > rewritten:
                return None
            if kept is None or kept.rewritten < rewritten:
                kept = _Kept(rewritten)
            self._kept.use(owner, kept)
            return kept

    def _use(self, owner: int, kept: _Kept) -> None:
        """Count what was added. Not where it was dropped meanwhile: it may hold what is forgotten now."""
        with self._kept.held():
            if self._kept.get(owner) is kept:
                self._kept.use(owner, kept)
