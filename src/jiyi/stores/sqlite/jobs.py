"""The job queue in SQLite (SPEC O5).

The jobs of one owner and lane are a queue in order of `turn`; only its first job carries `due_at`. So looking for
work reads one index of first jobs, however long the queues are, and no two jobs of a queue can run at once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from jiyi.domain.encoding import instant, micros, to_json
from jiyi.domain.scope import Scope
from jiyi.ports import DeadJob, Job, JobCounts, Jobs, Lane
from jiyi.stores.encoding import damage, stored_instant, stored_optional_instant
from jiyi.stores.numbering import at_most
from jiyi.stores.sqlite.access import Access


class SqliteJobs(Jobs):
    def __init__(self, access: Access) -> None:
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
            INSERT INTO job (owner, turn, state, queued_at, kind, payload, lane)
            VALUES (?, (SELECT coalesce(max(turn), 0) + 1 FROM job), 'waiting', ?, ?, ?, ?) RETURNING id
        """
        row = (owner, micros(now), kind, to_json(dict(payload)), lane.value)
        [(job_id,)] = self._access.change_returning(sql, row)
        self._step_up(owner, lane.value)
        return int(job_id)

    def _step_up(self, owner: int, lane: str) -> None:
        """Give the first job of the queue its due time, if it has none yet."""
        sql = """
            UPDATE job SET due_at = queued_at
            WHERE id = (SELECT id FROM job WHERE owner = ? AND lane = ? AND state <> 'dead' ORDER BY turn LIMIT 1)
                  AND due_at IS NULL
        """
        self._access.change(sql, (owner, lane))

    def claim(
        self, now: datetime, lease_until: datetime, lane: Lane = Lane.QUICK, scope: Scope | None = None
    ) -> Job | None:
        of_owner = "" if scope is None else "AND owner = :owner AND state <> 'dead'"
        sql = f"""
            UPDATE job SET state = 'running', attempt = attempt + 1, due_at = :lease
            WHERE id = (SELECT id FROM job WHERE due_at IS NOT NULL AND lane = :lane {of_owner}
                          AND (due_at <= :now OR attempt = 0)
                          AND NOT EXISTS (SELECT 1 FROM standing AS p WHERE p.owner = job.owner AND p.paused_at IS NOT NULL)
                        ORDER BY turn LIMIT 1)
            RETURNING id, owner, kind, payload, attempt, queued_at
        """
        owner = None if scope is None else self._access.owner(scope)
        arguments = {"now": micros(now), "lease": micros(lease_until), "lane": lane.value, "owner": owner}
        found = self._access.change_returning(sql, arguments)
        if not found:
            return None
        return self._job(*found[0])

    @damage
    def _job(self, job_id: int, owner: int, kind: str, payload: str, attempt: int, queued_at: int) -> Job:
        return Job(job_id, self._scope(owner), kind, json.loads(payload), attempt, instant(queued_at))

    def renew(self, job: Job, lease_until: datetime) -> bool:
        sql = "UPDATE job SET due_at = ? WHERE id = ? AND attempt = ? AND state = 'running'"
        return self._access.change(sql, (micros(lease_until), job.id, job.attempt)) > 0

    def finish(self, job: Job) -> bool:
        sql = "DELETE FROM job WHERE id = ? AND attempt = ? AND state = 'running' RETURNING owner, lane"
        gone = self._access.change_returning(sql, (job.id, job.attempt))
        for owner, lane in gone:
            self._step_up(owner, lane)
        return bool(gone)

    def fail(self, job: Job, error: str, now: datetime, retry_at: datetime | None) -> None:
        held = "WHERE id = ? AND attempt = ? AND state = 'running'"
        if retry_at is not None:
            sql = f"UPDATE job SET state = 'waiting', due_at = ?, error = ? {held}"
            self._access.change(sql, (micros(retry_at), error, job.id, job.attempt))
            return
        sql = f"UPDATE job SET state = 'dead', due_at = NULL, error = ?, died_at = ? {held} RETURNING owner, lane"
        for owner, lane in self._access.change_returning(sql, (error, micros(now), job.id, job.attempt)):
            self._step_up(owner, lane)

    def recall(self, scope: Scope, now: datetime) -> int:
        owner = self._access.owner(scope)
        # The next claim raises the attempt, so the old holder's can never come back.
        sql = "UPDATE job SET state = 'waiting', due_at = ? WHERE owner = ? AND state = 'running'"
        return self._access.change(sql, (micros(now), owner))

    def drop(self, scope: Scope) -> int:
        return self._access.change("DELETE FROM job WHERE owner = ?", (self._access.owner(scope),))

    def counts(self, scope: Scope | None, now: datetime) -> JobCounts:
        owner = None if scope is None else self._access.owner(scope) or 0
        of_owner = "" if owner is None else "AND owner = :owner"
        # A lease that has passed counts as waiting again.
        sql = f"""
            SELECT state = 'running' AND due_at > :now AS is_running, count(*), min(queued_at)
            FROM job WHERE state <> 'dead' {of_owner} GROUP BY is_running
        """
        arguments = {"now": micros(now), "owner": owner}
        alive = {running: (count, oldest) for running, count, oldest in self._access.rows(sql, arguments)}
        dead = self._access.value(f"SELECT count(*) FROM job WHERE state = 'dead' {of_owner}", {"owner": owner})
        waiting, oldest = alive.get(0, (0, None))
        running, _ = alive.get(1, (0, None))
        return JobCounts(waiting, running, dead, stored_optional_instant(oldest))

    def dead(self, limit: int = 100) -> list[DeadJob]:
        sql = """
            SELECT id, owner, kind, attempt, error, died_at FROM job
            WHERE state = 'dead' ORDER BY died_at, id LIMIT ?
        """
        return [
            DeadJob(job_id, self._scope(owner), kind, attempts, error or "", stored_instant(died_at))
            for job_id, owner, kind, attempts, error, died_at in self._access.rows(sql, (at_most(limit),))
        ]

    def revive(self, job_id: int, now: datetime, *, approved: bool = False) -> bool:
        # At the end of its owner's queue: jobs behind it may have been done, or be running, meanwhile.
        sql = """
            UPDATE job SET state = 'waiting', attempt = 0, queued_at = ?, due_at = NULL, error = NULL, died_at = NULL,
                           turn = (SELECT max(turn) + 1 FROM job),
                           payload = CASE WHEN ? THEN json_set(payload, '$.approved', json('true')) ELSE payload END
            WHERE id = ? AND state = 'dead' RETURNING owner, lane
        """
        revived = self._access.change_returning(sql, (micros(now), approved, job_id))
        for owner, lane in revived:
            self._step_up(owner, lane)
        return bool(revived)

    def _scope(self, owner: int) -> Scope:
        [(tenant, user)] = self._access.rows("SELECT tenant, user FROM owner WHERE number = ?", (owner,))
        return Scope(user=user, tenant=tenant)
