"""Memories in PostgreSQL: explicit columns, evidence and heat in tables of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from jiyi.domain.encoding import micros, optional_micros
from jiyi.domain.heat import Heat
from jiyi.domain.memory import Evidence, Memory, Status, Tier
from jiyi.domain.plans import Change
from jiyi.domain.scope import Scope
from jiyi.domain.tiers import Aging
from jiyi.errors import InputError
from jiyi.ports import Memories
from jiyi.stores.encoding import stored_instant
from jiyi.stores.numbering import MAX_SEQ, at_most
from jiyi.stores.postgres.access import PostgresAccess, read_through
from jiyi.stores.postgres.messages import holding, numbers
from jiyi.stores.rows import (
    EVIDENCE_COLUMNS,
    MEMORY_COLUMNS,
    aging_of,
    evidence_of,
    evidence_row,
    memory_of,
    memory_row,
    only_moved,
)

COLUMNS = f"seq, {MEMORY_COLUMNS}"
_NAMES = MEMORY_COLUMNS.split(", ")
_UPSERT = (
    f"INSERT INTO memory (owner, {COLUMNS}) VALUES (%s, %s{', %s' * len(_NAMES)}) ON CONFLICT (owner, seq) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in _NAMES)
)
_EVIDENCE = (
    f"INSERT INTO evidence (owner, memory, position, message, {EVIDENCE_COLUMNS}) VALUES ({', '.join(['%s'] * 13)})"
)
_HEAT = """
    INSERT INTO heat (owner, memory, visits, at) SELECT owner, seq, %s, %s FROM memory WHERE owner = %s AND seq = %s
    ON CONFLICT (owner, memory) DO UPDATE SET visits = excluded.visits, at = excluded.at
"""
_AGING = """
    SELECT seq, tier, category, importance, source, start, kept, affirmed_at, learnt_at, valid_to, moved_at,
           low_activity, relation, heat.visits, heat.at
    FROM memory LEFT JOIN heat ON heat.owner = memory.owner AND heat.memory = seq AND heat.owner = %(owner)s
    WHERE memory.owner = %(owner)s AND seq > %(after)s AND status = 'live' ORDER BY seq LIMIT %(limit)s
"""
_NUMBERED = "seq = ANY(%s) ORDER BY seq"
_NEWEST = "AND status = 'live' ORDER BY affirmed_at DESC, seq DESC LIMIT %s"


def _equals(column: str) -> str:
    """The condition that a long text is one of a list, found by its beginning."""
    return f"{column} = ANY(%s) AND left({column}, 64) = ANY(ARRAY(SELECT left(wanted, 64) FROM unnest(%s::text[]) AS wanted))"


class PostgresMemories(Memories):
    def __init__(self, access: PostgresAccess) -> None:
        self._access = access

    # ------------------------------------------------------------------------------ reading

    def get(self, scope: Scope, seqs: Collection[int]) -> list[Memory]:
        owner = self._access.owner(scope)
        wanted = numbers(seqs)
        if owner is None or not wanted:
            return []
        return read_through(
            self._access.kept(owner, "memory"), wanted, lambda missing: self._fetch(owner, _NUMBERED, (missing,))
        )

    def believed(self, scope: Scope, keys: Collection[str] = (), values: Collection[str] = ()) -> list[Memory]:
        found: list[Memory] = []
        if some := [key for key in keys if key]:
            found += self._read(scope, f"fact <> '' AND {_equals('fact')}", (some, some))
        if values:
            found += self._read(scope, f"fact = '' AND {_equals('value')}", (list(values), list(values)))
        return sorted(found, key=lambda memory: memory.seq)

    def of_keys(self, scope: Scope, keys: Collection[str], limit: int = 64) -> list[Memory]:
        some = [key for key in keys if key]
        condition = f"tier <> 'archive' AND fact <> '' AND {_equals('fact')} {_NEWEST}"
        return self._read(scope, condition, (some, some, at_most(limit))) if some else []

    def of_relations(self, scope: Scope, relations: Collection[str], limit: int = 64) -> list[Memory]:
        condition = f"tier = 'fact' AND relation IS NOT NULL AND relation = ANY(%s) {_NEWEST}"
        return self._read(scope, condition, (list(relations), at_most(limit))) if relations else []

    def listing(
        self,
        scope: Scope,
        *,
        status: Status | None = Status.LIVE,
        categories: Collection[str] = (),
        tiers: Collection[Tier] = (),
        limit: int | None = None,
    ) -> list[Memory]:
        conditions, arguments = ["true"], list[Any]()
        if status is not None:
            conditions.append("status = %s")
            arguments.append(status.value)
        for column, chosen in (("category", categories), ("tier", tiers)):
            if chosen:
                conditions.append(f"{column} = ANY(%s)")
                arguments.append(list(map(str, chosen)))
        condition = f"{' AND '.join(conditions)} ORDER BY seq LIMIT %s"
        return self._read(scope, condition, (*arguments, None if limit is None else at_most(limit)))

    def foremost(self, scope: Scope, categories: Collection[str], limit: int) -> list[Memory]:
        condition = (
            "status = 'live' AND tier = 'fact' AND category = ANY(%s)"
            " ORDER BY importance DESC, affirmed_at DESC, seq DESC LIMIT %s"
        )
        return self._read(scope, condition, (list(map(str, categories)), at_most(limit))) if categories else []

    def ahead(self, scope: Scope, now: datetime, limit: int) -> list[Memory]:
        condition = (
            "status = 'live' AND tier = 'fact' AND category IN ('task', 'event')"
            " AND (valid_to > %s OR (valid_to IS NULL AND category = 'task'))"
            " ORDER BY importance DESC, affirmed_at DESC, seq DESC LIMIT %s"
        )
        return self._read(scope, condition, (micros(now), at_most(limit)))

    def unsettled(self, scope: Scope) -> list[Memory]:
        condition = "(status = 'held' OR (status = 'live' AND (source IN ('inferred', 'verified') OR doubted)))"
        return self._read(scope, f"{condition} ORDER BY seq", ())

    def containing(self, scope: Scope, needles: Sequence[str], limit: int) -> list[Memory]:
        if not needles:
            return []
        condition = f"status = 'live' AND {holding('text')} ORDER BY seq DESC LIMIT %s"
        return self._read(scope, condition, (list(needles), at_most(limit)))

    def aging(self, scope: Scope, after: int, limit: int) -> list[Aging]:
        owner = self._access.owner(scope)
        if owner is None:
            return []
        arguments = {"owner": owner, "after": min(max(after, 0), MAX_SEQ), "limit": at_most(limit)}
        return [aging_of(row) for row in self._access.rows(_AGING, arguments)]

    def replaced_by(self, scope: Scope, seqs: Collection[int]) -> list[Memory]:
        condition = "successor IS NOT NULL AND successor = ANY(%s) ORDER BY seq"
        return self._read(scope, condition, (numbers(seqs),)) if seqs else []

    def resting_on(self, scope: Scope, message_seqs: Collection[int]) -> dict[int, list[int]]:
        owner = self._access.owner(scope)
        if owner is None or not message_seqs:
            return {}
        sql = """
            SELECT DISTINCT message, memory FROM evidence
            WHERE owner = %s AND message = ANY(%s) AND mode <> 'case' ORDER BY message, memory
        """
        wanted, kept = numbers(message_seqs), self._access.kept(owner, "resting")
        if missing := [seq for seq in wanted if seq not in kept]:
            resting: dict[int, list[int]] = {seq: [] for seq in missing}
            for message, memory in self._access.rows(sql, (owner, missing)):
                resting[message].append(memory)
            kept |= resting
        return {seq: list(kept[seq]) for seq in wanted if kept[seq]}

    def _read(self, scope: Scope, condition: str, arguments: Sequence[Any]) -> list[Memory]:
        owner = self._access.owner(scope)
        if owner is None:
            return []
        # Each memory is kept once, whatever it was found by.
        kept, asked = self._access.kept(owner, "memory"), self._access.kept(owner, "memories")
        question = (condition, repr(arguments))
        if question not in asked:
            found = self._fetch(owner, condition, arguments)
            kept |= found
            asked[question] = list(found)
        return [kept[seq] for seq in asked[question]]

    def _fetch(self, owner: int, condition: str, arguments: Sequence[Any]) -> dict[int, Memory]:
        sql = f"SELECT {COLUMNS} FROM memory WHERE owner = %s AND {condition}"
        rows = self._access.rows(sql, (owner, *arguments))
        if not rows:
            return {}
        sql = f"""
            SELECT memory, message, {EVIDENCE_COLUMNS} FROM evidence
            WHERE owner = %s AND memory = ANY(%s) ORDER BY memory, position
        """
        evidence: dict[int, list[Evidence]] = {}
        for memory, *said in self._access.rows(sql, (owner, [row[0] for row in rows])):
            evidence.setdefault(memory, []).append(evidence_of(said))
        return {row[0]: memory_of(row, tuple(evidence.get(row[0], ()))) for row in rows}

    # ------------------------------------------------------------------------------ writing

    def next_seq(self, scope: Scope) -> int:
        return self._access.take(self._access.make_owner(scope), "memory")

    def numbers(self, scope: Scope) -> list[int]:
        owner = self._access.owner(scope)
        rows = self._access.rows("SELECT seq FROM memory WHERE owner = %s ORDER BY seq", (owner,))
        return [seq for (seq,) in rows]

    def last_seq(self, scope: Scope) -> int:
        owner = self._access.owner(scope)
        return 0 if owner is None else self._access.counter(owner, "memory")

    def skip_to(self, scope: Scope, seq: int) -> None:
        if not 0 <= seq <= MAX_SEQ:
            raise InputError(f"memory number {seq} is outside 0 to {MAX_SEQ:,}")
        self._access.raise_counter(self._access.make_owner(scope), "memory", seq)

    def write(self, scope: Scope, changes: Sequence[Change]) -> None:
        owner = self._access.make_owner(scope)
        # One memory may be changed twice: the last picture counts, and it is written whole.
        times = Counter(change.seq for change in changes)
        latest = {change.seq: change for change in changes}
        moved, put, reasoned = list[Memory](), list[Memory](), list[Memory]()
        for change in latest.values():
            once = times[change.seq] == 1
            if change.after is None:
                continue
            if once and only_moved(change.before, change.after):
                moved.append(change.after)
                continue
            put.append(change.after)
            if not (once and change.before is not None and change.before.evidence == change.after.evidence):
                reasoned.append(change.after)
        self._remove(owner, [change.seq for change in latest.values() if change.after is None])
        self._move(owner, moved)
        self._put(owner, put)
        self._put_evidence(owner, reasoned)
        added = [change.seq for change in changes if change.before is None]
        if added:
            self._access.raise_counter(owner, "memory", max(added))

    def _move(self, owner: int, memories: Sequence[Memory]) -> None:
        """Of the row alone: no index and no evidence knows of tiers, and upkeep moves them by the thousand."""
        sql = "UPDATE memory SET tier = %s, moved_at = %s, low_activity = %s WHERE owner = %s AND seq = %s"
        rows = [(m.tier.value, optional_micros(m.moved_at), m.low_activity, owner, m.seq) for m in memories]
        self._access.change_many(sql, rows)

    def _remove(self, owner: int, seqs: Sequence[int]) -> None:
        if not seqs:
            return
        for sql in (
            "DELETE FROM memory WHERE owner = %s AND seq = ANY(%s)",
            "DELETE FROM evidence WHERE owner = %s AND memory = ANY(%s)",
            "DELETE FROM heat WHERE owner = %s AND memory = ANY(%s)",
        ):
            self._access.change(sql, (owner, numbers(seqs)))

    def _put(self, owner: int, memories: Sequence[Memory]) -> None:
        if wrong := [m.seq for m in memories if not 1 <= m.seq <= MAX_SEQ]:
            raise InputError(f"number {wrong[0]} is outside 1 to {MAX_SEQ:,}")
        self._access.change_many(_UPSERT, [(owner, m.seq, *memory_row(m)) for m in memories])

    def _put_evidence(self, owner: int, memories: Sequence[Memory]) -> None:
        if wrong := [e.message for m in memories for e in m.evidence if not 0 <= e.message <= MAX_SEQ]:
            raise InputError(f"number {wrong[0]} is outside 1 to {MAX_SEQ:,}")
        if memories:
            sql = "DELETE FROM evidence WHERE owner = %s AND memory = ANY(%s)"
            self._access.change(sql, (owner, [m.seq for m in memories]))
        rows = [
            (owner, m.seq, place, e.message, *evidence_row(e)) for m in memories for place, e in enumerate(m.evidence)
        ]
        self._access.change_many(_EVIDENCE, rows)

    # ------------------------------------------------------------------------------ heat

    def distilled_by(self, scope: Scope) -> str:
        owner = self._access.owner(scope)
        number = 0 if owner is None else self._access.counter(owner, "distiller")
        return f"{number:012x}" if number else ""

    def mark_distilled_by(self, scope: Scope, identity: str) -> None:
        self._access.set_counter(self._access.make_owner(scope), "distiller", int(identity, 16))

    def heat(self, scope: Scope, seqs: Collection[int]) -> dict[int, Heat]:
        owner = self._access.owner(scope)
        if owner is None or not seqs:
            return {}
        sql = "SELECT memory, visits, at FROM heat WHERE owner = %s AND memory = ANY(%s)"
        rows = self._access.rows(sql, (owner, numbers(seqs)))
        return {memory: Heat(visits, stored_instant(at)) for memory, visits, at in rows}

    def set_heat(self, scope: Scope, heats: Mapping[int, Heat]) -> None:
        self._access.check_writable()
        owner = self._access.owner(scope)
        if owner is None:
            return
        rows = [(heats[seq].visits, micros(heats[seq].at), owner, seq) for seq in numbers(heats)]
        self._access.note_many(_HEAT, rows)
