"""What waits to be done, in PostgreSQL: the queue of jobs and the schedule (SPEC O5).

The jobs of one owner and lane are a queue in order of `turn`; only its first job carries `due_at`. So looking for
work reads one index of first jobs, however long the queues are, and no two jobs of a queue can run at once. Workers skip
what another is claiming this moment; whatever moves a queue holds its scope.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from jiyi.domain.encoding import instant, micros, to_json
from jiyi.domain.scope import Scope
from jiyi.ports import DeadJob, Due, Job, JobCounts, Jobs, Lane, Schedule
from jiyi.stores.encoding import damage, stored_instant, stored_optional_instant
from jiyi.stores.numbering import at_most
from jiyi.stores.postgres.access import PostgresAccess

_PAUSED = "EXISTS (SELECT 1 FROM standing AS p WHERE p.owner = {}.owner AND p.paused_at IS NOT NULL)"

# Materialised: a subquery that locks may not be run again for each row of a join.
OF_ONE = "AND owner = (SELECT number FROM owner WHERE tenant = %(tenant)s AND usr = %(user)s)"

CLAIM = f"""
    WITH next AS MATERIALIZED (
        SELECT owner, id FROM job WHERE due_at IS NOT NULL AND lane = %(lane)s {{of_owner}}
               AND (due_at <= %(now)s OR attempt = 0) AND NOT {_PAUSED.format("job")}
        ORDER BY turn LIMIT 1 FOR UPDATE SKIP LOCKED)
    UPDATE job SET state = 'running', attempt = attempt + 1, due_at = %(lease)s
    FROM next, owner WHERE job.owner = next.owner AND job.id = next.id AND number = job.owner
    RETURNING job.id, tenant, usr, kind, payload, attempt, queued_at
"""

TAKE = f"""
    WITH due AS MATERIALIZED (
        SELECT s.owner, s.kind FROM schedule AS s WHERE due_at <= %s AND NOT {_PAUSED.format("s")}
        ORDER BY due_at, s.owner, s.kind LIMIT %s FOR UPDATE SKIP LOCKED)
    DELETE FROM schedule USING due, owner WHERE schedule.owner = due.owner AND schedule.kind = due.kind AND number = schedule.owner
    RETURNING due_at, schedule.owner, schedule.kind, tenant, usr
"""


class PostgresJobs(Jobs):
    def __init__(self, access: PostgresAccess) -> None:
        self._access = access

    def put(
        self,
        scope: Scope,
        kind: str,
        payload: Mapping[str, Any],
        now: datetime,
        *,
        lane: Lane = Lane.QUICK,
    ) -> int:
        owner = self._access.make_owner(scope)
        sql = """
            INSERT INTO job (owner, state, queued_at, kind, payload, lane)
            VALUES (%s, 'waiting', %s, %s, %s, %s) RETURNING id
        """
        row = (owner, micros(now), kind, to_json(dict(payload)), lane.value)
        [(job_id,)] = self._access.change_returning(sql, row)
        self._step_up(owner, lane.value)
        return int(job_id)

    def _step_up(self, owner: int, lane: str) -> None:
        """Give the first job of the queue its due time, if it has none yet. The scope is held."""
        sql = """
            UPDATE job SET due_at = queued_at
            WHERE owner = %(owner)s AND due_at IS NULL AND id = (
                SELECT id FROM job WHERE owner = %(owner)s AND lane = %(lane)s AND state <> 'dead' ORDER BY turn LIMIT 1)
        """
        self._access.change(sql, {"owner": owner, "lane": lane})

    def claim(
        self, now: datetime, lease_until: datetime, lane: Lane = Lane.QUICK, scope: Scope | None = None
    ) -> Job | None:
        self._access.check_writable()
        self._access.operate()
        arguments = {"now": micros(now), "lease": micros(lease_until), "lane": lane.value}
        if scope is not None:
            arguments |= {"tenant": scope.tenant, "user": scope.user}
        found = self._access.change_returning(CLAIM.format(of_owner="" if scope is None else OF_ONE), arguments)
        return _job(*found[0]) if found else None

    def renew(self, job: Job, lease_until: datetime) -> bool:
        self._access.check_writable()
        self._access.operate()  # Without holding the scope: a write of it may be under way.
        sql = "UPDATE job SET due_at = %s WHERE id = %s AND attempt = %s AND state = 'running'"
        return self._access.change(sql, (micros(lease_until), job.id, job.attempt)) > 0

    def finish(self, job: Job) -> bool:
        self._access.check_writable()
        owner = self._access.owner(job.scope)
        sql = "DELETE FROM job WHERE owner = %s AND id = %s AND attempt = %s AND state = 'running' RETURNING lane"
        gone = self._access.change_returning(sql, (owner, job.id, job.attempt))
        for (lane,) in gone:
            self._step_up(owner or 0, lane)
        return bool(gone)

    def fail(self, job: Job, error: str, now: datetime, retry_at: datetime | None) -> None:
        self._access.check_writable()
        owner = self._access.owner(job.scope)
        held = "WHERE owner = %s AND id = %s AND attempt = %s AND state = 'running'"
        if retry_at is not None:
            sql = f"UPDATE job SET state = 'waiting', due_at = %s, error = %s {held}"
            self._access.change(sql, (micros(retry_at), error, owner, job.id, job.attempt))
            return
        sql = f"UPDATE job SET state = 'dead', due_at = NULL, error = %s, died_at = %s {held} RETURNING lane"
        for (lane,) in self._access.change_returning(sql, (error, micros(now), owner, job.id, job.attempt)):
            self._step_up(owner or 0, lane)

    def recall(self, scope: Scope, now: datetime) -> int:
        self._access.check_writable()
        owner = self._access.owner(scope)
        # The next claim raises the attempt, so the old holder's can never come back.
        sql = "UPDATE job SET state = 'waiting', due_at = %s WHERE owner = %s AND state = 'running'"
        return self._access.change(sql, (micros(now), owner))

    def drop(self, scope: Scope) -> int:
        self._access.check_writable()
        return self._access.change("DELETE FROM job WHERE owner = %s", (self._access.owner(scope),))

    def counts(self, scope: Scope | None, now: datetime) -> JobCounts:
        if scope is None:
            self._access.operate()
            of_owner, owner = "", None
        else:
            of_owner, owner = "AND owner = %(owner)s", self._access.owner(scope)
        # A lease that has passed counts as waiting again.
        sql = f"""
            SELECT coalesce(state = 'running' AND due_at > %(now)s, false) AS is_running, count(*), min(queued_at)
            FROM job WHERE state <> 'dead' {of_owner} GROUP BY is_running
        """
        arguments = {"now": micros(now), "owner": owner}
        alive = {running: (count, oldest) for running, count, oldest in self._access.rows(sql, arguments)}
        dead = self._access.value(f"SELECT count(*) FROM job WHERE state = 'dead' {of_owner}", {"owner": owner})
        waiting, oldest = alive.get(False, (0, None))
        running, _ = alive.get(True, (0, None))
        return JobCounts(waiting, running, dead, stored_optional_instant(oldest))

    def dead(self, limit: int = 100) -> list[DeadJob]:
        self._access.operate()
        sql = """
            SELECT id, tenant, usr, kind, attempt, error, died_at FROM job JOIN owner ON number = job.owner
            WHERE state = 'dead' ORDER BY died_at, id LIMIT %s
        """
        return [
            DeadJob(job_id, Scope(user, tenant), kind, attempts, error or "", stored_instant(died_at))
            for job_id, tenant, user, kind, attempts, error, died_at in self._access.rows(sql, (at_most(limit),))
        ]

    def revive(self, job_id: int, now: datetime, *, approved: bool = False) -> bool:
        self._access.check_writable()
        self._access.operate()
        sql = "SELECT tenant, usr, payload FROM job JOIN owner ON number = job.owner WHERE id = %s AND state = 'dead'"
        found = self._access.rows(sql, (job_id,))
        if not found:
            return False
        tenant, user, payload = found[0]
        owner = self._access.owner(Scope(user, tenant))
        if approved:
            payload = to_json({**json.loads(payload), "approved": True})
        # At the end of its owner's queue: jobs behind it may have been done, or be running, meanwhile.
        sql = """
            UPDATE job SET state = 'waiting', attempt = 0, queued_at = %s, due_at = NULL, error = NULL, died_at = NULL,
                           turn = nextval('job_turn'), payload = %s
            WHERE owner = %s AND id = %s AND state = 'dead' RETURNING lane
        """
        revived = self._access.change_returning(sql, (micros(now), payload, owner, job_id))
        for (lane,) in revived:
            self._step_up(owner or 0, lane)
        return bool(revived)


@damage
def _job(job_id: int, tenant: str, user: str, kind: str, payload: str, attempt: int, queued_at: int) -> Job:
    return Job(job_id, Scope(user, tenant), kind, json.loads(payload), attempt, instant(queued_at))


_PUT = (
    "INSERT INTO schedule (owner, kind, due_at) VALUES (%s, %s, %s)"
    " ON CONFLICT (owner, kind) DO UPDATE SET due_at = excluded.due_at"
)


class PostgresSchedule(Schedule):
    """One narrow row per scope and kind, found by when it is due."""

    def __init__(self, access: PostgresAccess) -> None:
        self._access = access

    def put(self, scope: Scope, kind: str, at: datetime) -> None:
        self._access.change(_PUT, (self._access.make_owner(scope), kind, micros(at)))

    def sooner(self, scope: Scope, kind: str, at: datetime) -> None:
        sql = f"{_PUT} WHERE excluded.due_at < schedule.due_at"
        self._access.change(sql, (self._access.make_owner(scope), kind, micros(at)))

    def get(self, scope: Scope, kind: str) -> datetime | None:
        owner = self._access.owner(scope)
        sql = "SELECT due_at FROM schedule WHERE owner = %s AND kind = %s"
        return None if owner is None else stored_optional_instant(self._access.value(sql, (owner, kind)))

    def drop(self, scope: Scope, kind: str) -> None:
        self._access.check_writable()
        owner = self._access.owner(scope)
        self._access.change("DELETE FROM schedule WHERE owner = %s AND kind = %s", (owner, kind))

    def take(self, now: datetime, limit: int) -> list[Due]:
        self._access.check_writable()
        self._access.operate()
        due = sorted(self._access.change_returning(TAKE, (micros(now), at_most(limit))))
        return [Due(Scope(user=user, tenant=tenant), kind, stored_instant(at)) for at, _, kind, tenant, user in due]
