"""What a language model was asked, and where sessions were cut for it, in SQLite (SPEC C7, U8)."""

from __future__ import annotations

from datetime import datetime

from jiyi.domain.asking import OK, ModelCall, Spent
from jiyi.domain.encoding import micros
from jiyi.domain.scope import Scope
from jiyi.ports import ModelCalls, Segments
from jiyi.stores.encoding import stored_instant
from jiyi.stores.numbering import Row, at_most, seq_of
from jiyi.stores.sqlite.access import Access, first_key, last_key, row_key


class SqliteSegments(Segments):
    def __init__(self, access: Access) -> None:
        self._access = access

    def open_at(self, scope: Scope, seq: int) -> None:
        self._mark(scope, seq, 0)

    def cut_after(self, scope: Scope, seq: int) -> None:
        self._mark(scope, seq, 1)

    def _mark(self, scope: Scope, seq: int, behind: int) -> None:
        owner = self._access.make_owner(scope)
        session = self._access.value("SELECT session FROM message WHERE key = ?", (row_key(owner, seq),))
        for key, _ in self._marks(owner, session):
            self._access.change("DELETE FROM segment WHERE message = ?", (key,))
        self._access.change("INSERT INTO segment (message, behind) VALUES (?, ?)", (row_key(owner, seq), behind))

    def opened(self, scope: Scope) -> list[str]:
        owner = self._access.owner(scope)
        sql = """
            SELECT session FROM segment CROSS JOIN message ON key = segment.message
            WHERE segment.message > ? AND segment.message <= ? AND behind = 0 ORDER BY segment.message
        """
        keys = (first_key(owner or 0), last_key(owner or 0))
        return [session for (session,) in self._access.rows(sql, keys)]

    def open_from(self, scope: Scope, session: str) -> int | None:
        owner = self._access.owner(scope)
        found = [] if owner is None else self._marks(owner, session)
        return seq_of(found[0][0]) + int(found[0][1]) if found else None

    def _marks(self, owner: int, session: str) -> list[Row]:
        # From the end: the mark of a session that goes on is among the latest of all.
        sql = """
            SELECT segment.message, behind FROM segment CROSS JOIN message ON key = segment.message
            WHERE segment.message > ? AND segment.message <= ? AND session = ? ORDER BY segment.message DESC LIMIT 1
        """
        return self._access.rows(sql, (first_key(owner), last_key(owner), session))


class SqliteModelCalls(ModelCalls):
    def __init__(self, access: Access) -> None:
        self._access = access

    def add(self, scope: Scope | None, call: ModelCall) -> None:
        owner = 0 if scope is None else self._access.make_owner(scope)
        sql = """
            INSERT INTO model_call (owner, at, job, kind, model, tokens_in, tokens_out, cost, seconds, outcome)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """
        row = (
            owner, micros(call.at), call.job, call.kind, call.model, call.tokens_in, call.tokens_out, call.cost,
            call.seconds, call.outcome,
        )  # fmt: skip
        self._access.change(sql, row)

    def spent(self, since: datetime, model: str | None = None) -> Spent:
        sql = """
            SELECT count(*), coalesce(sum(outcome <> ?), 0), coalesce(sum(tokens_in), 0), coalesce(sum(tokens_out), 0),
                   coalesce(sum(cost), 0.0), coalesce(sum(seconds), 0.0)
            FROM model_call WHERE at >= ? AND (? IS NULL OR model = ?)
        """
        [row] = self._access.rows(sql, (OK, micros(since), model, model))
        return Spent(*row)

    def latest(self, limit: int = 50) -> list[ModelCall]:
        sql = """
            SELECT at, job, kind, model, tokens_in, tokens_out, cost, seconds, outcome
            FROM model_call ORDER BY id DESC LIMIT ?
        """
        return [ModelCall(stored_instant(at), *rest) for at, *rest in self._access.rows(sql, (at_most(limit),))]
