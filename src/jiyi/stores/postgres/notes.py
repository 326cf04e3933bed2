"""What stands beside the memories, in PostgreSQL: standings, traces, model calls, segments."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from jiyi.domain.asking import OK, ModelCall, Spent
from jiyi.domain.encoding import micros, to_json, trace_fields
from jiyi.domain.scope import Scope
from jiyi.domain.standing import UNDECIDED, Standing
from jiyi.domain.traces import Trace
from jiyi.errors import InputError
from jiyi.ports import ModelCalls, Segments, Standings, Traces
from jiyi.stores.encoding import stored_instant
from jiyi.stores.numbering import MAX_SEQ, Row, at_most
from jiyi.stores.postgres.access import PostgresAccess
from jiyi.stores.rows import STANDING_COLUMNS, standing_of, standing_row, trace_of


class PostgresStandings(Standings):
    def __init__(self, access: PostgresAccess) -> None:
        self._access = access

    def get(self, scope: Scope) -> Standing:
        owner = self._access.owner(scope)
        if owner is None:
            return UNDECIDED
        kept = self._access.kept(owner, "standing")
        if owner not in kept:
            found = self._access.rows(f"SELECT {STANDING_COLUMNS} FROM standing WHERE owner = %s", (owner,))
            kept[owner] = standing_of(found[0]) if found else UNDECIDED
        standing: Standing = kept[owner]
        return standing

    def set(self, scope: Scope, standing: Standing) -> None:
        owner = self._access.make_owner(scope)
        self._access.change("DELETE FROM standing WHERE owner = %s", (owner,))
        if standing == UNDECIDED:
            return
        sql = f"INSERT INTO standing (owner, {STANDING_COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s, %s)"
        self._access.change(sql, (owner, *standing_row(standing)))


class PostgresTraces(Traces):
    def __init__(self, access: PostgresAccess) -> None:
        self._access = access

    def add(self, scope: Scope, traces: Sequence[Trace]) -> None:
        if not traces:
            self._access.check_writable()
            return
        owner = self._access.make_owner(scope)
        latest = {t.id: t for t in traces}
        self._access.note_many("DELETE FROM trace WHERE owner = %s AND id = %s", [(owner, trace) for trace in latest])
        self._access.note_many(
            "INSERT INTO trace (owner, at, id, fields) VALUES (%s, %s, %s, %s)",
            [(owner, micros(t.at), t.id, to_json(trace_fields(t))) for t in latest.values()],
        )

    def get(self, scope: Scope, trace_id: str) -> Trace | None:
        owner = self._access.owner(scope)
        fields = self._access.value("SELECT fields FROM trace WHERE owner = %s AND id = %s", (owner, trace_id))
        return None if fields is None else trace_of(fields)

    def latest(self, scope: Scope, limit: int) -> list[Trace]:
        sql = "SELECT fields FROM trace WHERE owner = %s ORDER BY at DESC, id DESC LIMIT %s"
        return [trace_of(fields) for (fields,) in self._access.rows(sql, (self._access.owner(scope), at_most(limit)))]

    def trim(self, scope: Scope, keep: int, since: datetime) -> None:
        self._access.check_writable()
        owner = self._access.owner(scope)
        sql = """
            DELETE FROM trace WHERE owner = %(owner)s AND (at < %(since)s OR (at, id) NOT IN (
                SELECT at, id FROM trace WHERE owner = %(owner)s ORDER BY at DESC, id DESC LIMIT %(keep)s))
        """
        self._access.note_many(sql, [{"owner": owner, "since": micros(since), "keep": at_most(keep)}])

    def clear(self, scope: Scope) -> int:
        self._access.check_writable()
        return self._access.change("DELETE FROM trace WHERE owner = %s", (self._access.owner(scope),))


class PostgresSegments(Segments):
    def __init__(self, access: PostgresAccess) -> None:
        self._access = access

    def open_at(self, scope: Scope, seq: int) -> None:
        self._mark(scope, seq, 0)

    def cut_after(self, scope: Scope, seq: int) -> None:
        self._mark(scope, seq, 1)

    def _mark(self, scope: Scope, seq: int, behind: int) -> None:
        owner = self._access.make_owner(scope)
        session = self._access.value("SELECT session FROM message WHERE owner = %s AND seq = %s", (owner, seq))
        if session is None:
            raise InputError(f"message number {seq} is outside 1 to {MAX_SEQ:,}, or there is none")
        for message, _ in self._marks(owner, session):
            self._access.change("DELETE FROM segment WHERE owner = %s AND message = %s", (owner, message))
        sql = "INSERT INTO segment (owner, message, behind) VALUES (%s, %s, %s)"
        self._access.change(sql, (owner, seq, behind))

    def opened(self, scope: Scope) -> list[str]:
        owner = self._access.owner(scope)
        sql = """
            SELECT session FROM segment JOIN message ON message.owner = %(owner)s AND seq = segment.message
            WHERE segment.owner = %(owner)s AND behind = 0 ORDER BY segment.message
        """
        return [session for (session,) in self._access.rows(sql, {"owner": owner})]

    def open_from(self, scope: Scope, session: str) -> int | None:
        owner = self._access.owner(scope)
        found = [] if owner is None else self._marks(owner, session)
        return int(found[0][0]) + int(found[0][1]) if found else None

    def _marks(self, owner: int, session: str) -> list[Row]:
        sql = """
            SELECT segment.message, behind FROM segment JOIN message ON message.owner = %(owner)s AND seq = segment.message
            WHERE segment.owner = %(owner)s AND session = %(session)s ORDER BY segment.message DESC LIMIT 1
        """
        return self._access.rows(sql, {"owner": owner, "session": session})


class PostgresModelCalls(ModelCalls):
    def __init__(self, access: PostgresAccess) -> None:
        self._access = access

    def add(self, scope: Scope | None, call: ModelCall) -> None:
        owner = 0 if scope is None else self._access.make_owner(scope)
        if scope is None:
            self._access.operate()
        sql = """
            INSERT INTO model_call (owner, at, job, kind, model, tokens_in, tokens_out, cost, seconds, outcome)
            VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
        """
        row = (
            owner, micros(call.at), call.job, call.kind, call.model, call.tokens_in, call.tokens_out, call.cost,
            call.seconds, call.outcome,
        )  # fmt: skip
        self._access.change(sql, row)

    def spent(self, since: datetime, model: str | None = None) -> Spent:
        self._access.operate()
        sql = """
            SELECT count(*), count(*) FILTER (WHERE outcome <> %s), coalesce(sum(tokens_in), 0)::bigint,
                   coalesce(sum(tokens_out), 0)::bigint, coalesce(sum(cost), 0.0), coalesce(sum(seconds), 0.0)
            FROM model_call WHERE at >= %s AND (%s::text IS NULL OR model = %s)
        """
        [row] = self._access.rows(sql, (OK, micros(since), model, model))
        return Spent(*row)

    def latest(self, limit: int = 50) -> list[ModelCall]:
        self._access.operate()
        sql = """
            SELECT at, job, kind, model, tokens_in, tokens_out, cost, seconds, outcome
            FROM model_call ORDER BY id DESC LIMIT %s
        """
        return [ModelCall(stored_instant(at), *rest) for at, *rest in self._access.rows(sql, (at_most(limit),))]
