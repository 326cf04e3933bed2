"""Memories in SQLite: explicit columns, evidence and heat in tables of their own."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from jiyi.domain.encoding import (
    instant,
    micros,
    optional_micros,
)
from jiyi.domain.heat import Heat
from jiyi.domain.memory import Memory, Status, Tier
from jiyi.domain.plans import Change
from jiyi.domain.scope import Scope
from jiyi.domain.tiers import Aging
from jiyi.errors import InputError
from jiyi.ports import Memories
from jiyi.stores.encoding import damage
from jiyi.stores.numbering import MAX_SEQ, Row, at_most, seq_of
from jiyi.stores.rows import (
    EVIDENCE_COLUMNS,
    MEMORY_COLUMNS,
    aging_of,
    evidence_row,
    memory_row,
    only_moved,
)
from jiyi.stores.sqlite.access import Access, first_key, key_list, keys_in, last_key, listing_of, marks, row_key
from jiyi.stores.sqlite.kept_memories import KeptMemories

COLUMNS = f"key, {MEMORY_COLUMNS}"
_STORED = f"owner, {COLUMNS}"
_UPSERT = (
    f"INSERT INTO memory ({_STORED}) VALUES ({marks(30)}) ON CONFLICT (key) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in COLUMNS.split(", ")[1:])
)  # fmt: skip

_AGING = """
    SELECT key, tier, category, importance, source, start, kept, affirmed_at, learnt_at, valid_to, moved_at,
           low_activity, relation, heat.visits, heat.at
    FROM memory LEFT JOIN heat ON heat.memory = key
    WHERE key > ? AND key <= ? AND status = 'live' ORDER BY key LIMIT ?
"""

HEAT = "heat"
"""Where what was read of heat is kept: by number, None where there is none."""


class SqliteMemories(Memories):
    """`rewritten`: owners some of whose memories were changed or erased in this unit."""

    def __init__(self, access: Access, kept: KeptMemories) -> None:
        self._access = access
        self._kept = kept
        self.rewritten: set[int] = set()

    # ------------------------------------------------------------------------------ reading

    def get(self, scope: Scope, seqs: Collection[int]) -> list[Memory]:
        owner = self._access.owner(scope)
        if owner is None or not seqs:
            return []
        listed, keys = keys_in(owner, seqs)
        if self._access.writable:
            return self._read(f"SELECT {COLUMNS} FROM memory WHERE key IN ({listed}) ORDER BY key", keys)
        # Who reads memories by number asks for their heat next.
        sql = f"SELECT {COLUMNS}, visits, at FROM memory LEFT JOIN heat ON heat.memory = key WHERE key IN ({listed}) ORDER BY key"
        rows = self._access.rows(sql, keys)
        self._access.kept(owner, HEAT).update((seq_of(key), _heat_of(visits, at)) for key, *_, visits, at in rows)
        return self._with_evidence([row[:-2] for row in rows])

    def believed(self, scope: Scope, keys: Collection[str] = (), values: Collection[str] = ()) -> list[Memory]:
        owner = self._access.owner(scope)
        if owner is None:
            return []
        found: list[Memory] = []
        for some in _chunks(key for key in keys if key):
            sql = f"SELECT {COLUMNS} FROM memory WHERE owner = ? AND fact <> '' AND fact IN ({marks(len(some))})"
            found += self._read(sql, (owner, *some))
        for some in _chunks(values):
            sql = f"SELECT {COLUMNS} FROM memory WHERE owner = ? AND fact = '' AND value IN ({marks(len(some))})"
            found += self._read(sql, (owner, *some))
        return sorted(found, key=lambda memory: memory.seq)

    def of_keys(self, scope: Scope, keys: Collection[str], limit: int = 64) -> list[Memory]:
        return self._newest(scope, "tier <> 'archive' AND fact <> '' AND fact", [key for key in keys if key], limit)

    def of_relations(self, scope: Scope, relations: Collection[str], limit: int = 64) -> list[Memory]:
        return self._newest(scope, "tier = 'fact' AND relation IS NOT NULL AND relation", relations, limit)

    def _newest(self, scope: Scope, column: str, values: Collection[str], limit: int) -> list[Memory]:
        owner = self._access.owner(scope)
        if owner is None:
            return []
        found: list[Memory] = []
        for some in _chunks(values):
            sql = (
                f"SELECT {COLUMNS} FROM memory WHERE owner = ? AND {column} IN ({marks(len(some))})"
                " AND status = 'live' ORDER BY affirmed_at DESC, key DESC LIMIT ?"
            )
            found += self._read(sql, (owner, *some, at_most(limit)))
        found.sort(key=lambda memory: (memory.affirmed_at, memory.seq), reverse=True)
        return found[: at_most(limit)]

    def listing(
        self,
        scope: Scope,
        *,
        status: Status | None = Status.LIVE,
        categories: Collection[str] = (),
        tiers: Collection[Tier] = (),
        limit: int | None = None,
    ) -> list[Memory]:
        owner = self._access.owner(scope)
        if owner is None:
            return []
        conditions = ["key BETWEEN ? AND ?"]
        arguments: list[int | str] = [first_key(owner), last_key(owner)]
        if status is not None:
            conditions.append("status = ?")
            arguments.append(status.value)
        if categories:
            conditions.append(f"category IN ({marks(len(categories))})")
            arguments += map(str, categories)
        if tiers:
            conditions.append(f"tier IN ({marks(len(tiers))})")
            arguments += map(str, tiers)
        sql = f"SELECT {COLUMNS} FROM memory WHERE {' AND '.join(conditions)} ORDER BY key LIMIT ?"
        return self._read(sql, (*arguments, -1 if limit is None else at_most(limit)))

    def foremost(self, scope: Scope, categories: Collection[str], limit: int) -> list[Memory]:
        if not categories:
            return []
        return self._foremost(scope, f"category IN ({marks(len(categories))})", tuple(map(str, categories)), limit)

    def ahead(self, scope: Scope, now: datetime, limit: int) -> list[Memory]:
        condition = "category IN ('task', 'event') AND (valid_to > ? OR (valid_to IS NULL AND category = 'task'))"
        return self._foremost(scope, condition, (micros(now),), limit)

    def _foremost(self, scope: Scope, condition: str, arguments: tuple[int | str, ...], limit: int) -> list[Memory]:
        owner = self._access.owner(scope)
        if owner is None:
            return []
        # Numbers first, so that only the few rows that are given are read whole.
        sql = f"""
            SELECT {COLUMNS} FROM memory WHERE key IN (
                SELECT key FROM memory WHERE key BETWEEN ? AND ? AND status = 'live' AND tier = 'fact'
                AND {condition}
                ORDER BY importance DESC, affirmed_at DESC, key DESC LIMIT ?)
            ORDER BY importance DESC, affirmed_at DESC, key DESC"""
        return self._read(sql, (first_key(owner), last_key(owner), *arguments, max(limit, 0)))

    def unsettled(self, scope: Scope) -> list[Memory]:
        owner = self._access.owner(scope)
        if owner is None:
            return []
        sql = (
            f"SELECT {COLUMNS} FROM memory WHERE owner = ? AND"
            " (status = 'held' OR (status = 'live' AND (source IN ('inferred', 'verified') OR doubted = 1))) ORDER BY key"
        )
        return self._read(sql, (owner,))

    def containing(self, scope: Scope, needles: Sequence[str], limit: int) -> list[Memory]:
        owner = self._access.owner(scope)
        if owner is None or not needles:
            return []
        holds = " OR ".join(["instr(text, ?)"] * len(needles))
        sql = (
            f"SELECT {COLUMNS} FROM memory WHERE key BETWEEN ? AND ? AND status = 'live' AND ({holds})"
            " ORDER BY key DESC LIMIT ?"
        )
        return self._read(sql, (first_key(owner), last_key(owner), *needles, at_most(limit)))

    def aging(self, scope: Scope, after: int, limit: int) -> list[Aging]:
        owner = self._access.owner(scope)
        if owner is None:
            return []
        start = first_key(owner) + min(max(after, 0), MAX_SEQ)
        return [aging_of(row) for row in self._access.rows(_AGING, (start, last_key(owner), at_most(limit)))]

    def replaced_by(self, scope: Scope, seqs: Collection[int]) -> list[Memory]:
        owner = self._access.owner(scope)
        if owner is None or not seqs:
            return []
        wanted = json.dumps([seq for seq in seqs if 1 <= seq <= MAX_SEQ])
        sql = f"""
            SELECT {COLUMNS} FROM memory WHERE owner = ? AND successor IS NOT NULL
            AND successor IN (SELECT value FROM json_each(?)) ORDER BY key
        """
        return self._read(sql, (owner, wanted))

    def resting_on(self, scope: Scope, message_seqs: Collection[int]) -> dict[int, list[int]]:
        owner = self._access.owner(scope)
        if owner is None or not message_seqs:
            return {}
        sql = """
            SELECT DISTINCT message, memory FROM evidence
            WHERE message IN (SELECT value FROM json_each(?)) AND mode <> 'case' ORDER BY message, memory
        """
        resting: dict[int, list[int]] = {}
        for message, memory in self._access.rows(sql, (key_list(owner, message_seqs),)):
            resting.setdefault(seq_of(message), []).append(seq_of(memory))
        return resting

    def _read(self, sql: str, arguments: Sequence[Any]) -> list[Memory]:
        return self._with_evidence(self._access.rows(sql, arguments))

    def _with_evidence(self, rows: Sequence[Row]) -> list[Memory]:
        if not rows:
            return []
        listed, keys = listing_of([row[0] for row in rows])
        sql = f"""
            SELECT memory, message, {EVIDENCE_COLUMNS} FROM evidence WHERE memory IN ({listed}) ORDER BY memory, position
        """
        said: dict[int, list[Row]] = {}
        for row in self._access.rows(sql, keys):
            said.setdefault(row[0], []).append(row)
        return self._kept.made(rows, said)

    # ------------------------------------------------------------------------------ writing

    def next_seq(self, scope: Scope) -> int:
        return self._access.take(self._access.make_owner(scope), "memory")

    def numbers(self, scope: Scope) -> list[int]:
        owner = self._access.owner(scope)
        if owner is None:
            return []
        sql = "SELECT key FROM memory WHERE key > ? AND key <= ? ORDER BY key"
        return [seq_of(key) for (key,) in self._access.rows(sql, (first_key(owner), last_key(owner)))]

    def last_seq(self, scope: Scope) -> int:
        owner = self._access.owner(scope)
        return 0 if owner is None else self._access.counter(owner, "memory")

    def skip_to(self, scope: Scope, seq: int) -> None:
        if not 0 <= seq <= MAX_SEQ:
            raise InputError(f"memory number {seq} is outside 0 to {MAX_SEQ:,}")
        self._access.raise_counter(self._access.make_owner(scope), "memory", seq)

    def write(self, scope: Scope, changes: Sequence[Change]) -> None:
        owner = self._access.make_owner(scope)
        if any(change.before is not None for change in changes):
            self.rewritten.add(owner)
        for change in changes:
            if change.after is not None and only_moved(change.before, change.after):
                self._move(owner, change.after)
            elif change.after is not None:
                kept = change.before is not None and change.before.evidence == change.after.evidence
                self._put(owner, change.after, evidence=not kept)
            elif 1 <= change.seq <= MAX_SEQ:
                self._access.change("DELETE FROM memory WHERE key = ?", (row_key(owner, change.seq),))
        added = [change.seq for change in changes if change.before is None]
        if added:
            self._access.raise_counter(owner, "memory", max(added))

    def _move(self, owner: int, memory: Memory) -> None:
        """Of the row alone: no index and no evidence knows of tiers, and upkeep moves them by the thousand."""
        sql = "UPDATE memory SET tier = ?, moved_at = ?, low_activity = ? WHERE key = ?"
        moved_at = optional_micros(memory.moved_at)
        self._access.change(sql, (memory.tier.value, moved_at, memory.low_activity, row_key(owner, memory.seq)))

    def _put(self, owner: int, memory: Memory, *, evidence: bool) -> None:
        key = row_key(owner, memory.seq)
        self._access.change(_UPSERT, (owner, key, *memory_row(memory)))
        if not evidence:
            return
        if self._access.rows("SELECT 1 FROM evidence WHERE memory = ? LIMIT 1", (key,)):
            self._access.change("DELETE FROM evidence WHERE memory = ?", (key,))
        sql = f"INSERT INTO evidence (memory, position, message, {EVIDENCE_COLUMNS}) VALUES ({marks(12)})"
        for position, e in enumerate(memory.evidence):
            message = row_key(owner, e.message) if e.message else first_key(owner)
            self._access.change(sql, (key, position, message, *evidence_row(e)))

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
        known = self._access.kept(owner, HEAT)
        if missing := set(seqs).difference(known):
            listed, keys = keys_in(owner, missing)
            rows = self._access.rows(f"SELECT memory, visits, at FROM heat WHERE memory IN ({listed})", keys)
            known |= dict.fromkeys(missing) | {seq_of(memory): _heat_of(visits, at) for memory, visits, at in rows}
        return {seq: heat for seq in seqs if (heat := known[seq]) is not None}

    def set_heat(self, scope: Scope, heats: Mapping[int, Heat]) -> None:
        self._access.check_writable()
        owner = self._access.owner(scope)
        if owner is None:
            return
        sql = (
            "INSERT INTO heat (memory, visits, at) SELECT key, ?, ? FROM memory WHERE key = ?"
            " ON CONFLICT (memory) DO UPDATE SET visits = excluded.visits, at = excluded.at"
        )
        self._access.change_many(
            sql,
            [
                (heat.visits, micros(heat.at), row_key(owner, seq))
                for seq, heat in sorted(heats.items())
                if 1 <= seq <= MAX_SEQ
            ],
        )


@damage
def _heat_of(visits: float | None, at: int) -> Heat | None:
    return None if visits is None else Heat(visits, instant(at))


def _chunks(values: Iterable[str], size: int = 500) -> list[list[str]]:
    """Distinct values in lists that fit into one statement."""
    distinct = sorted(set(values))
    return [distinct[start : start + size] for start in range(0, len(distinct), size)]
