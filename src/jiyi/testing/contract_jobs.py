"""What `ports.Jobs` promises."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from jiyi.domain.scope import Scope
from jiyi.ports import DeadJob, Job, JobCounts, Lane, Store, Unit
from jiyi.testing.contract_base import ME, NOW, OTHERS, YOU, Contract, later

LEASE = 5
"""Minutes that `claim` below leases a job for."""


def put(store: Store, scope: Scope = ME, kind: str = "index", at: datetime = NOW, **payload: Any) -> int:
    return store.write(lambda unit: unit.jobs.put(scope, kind, payload, at))


def claim(store: Store, minutes: float = 0) -> Job | None:
    return store.write(lambda unit: unit.jobs.claim(later(minutes), later(minutes + LEASE)))


def claimed(store: Store, minutes: float = 0) -> Job:
    job = claim(store, minutes)
    assert job is not None
    return job


def claimed_slow(store: Store, minutes: float = 0) -> Job:
    job = store.write(lambda unit: unit.jobs.claim(later(minutes), later(minutes + LEASE), Lane.SLOW))
    assert job is not None
    return job


def finish(store: Store, job: Job) -> bool:
    return store.write(lambda unit: unit.jobs.finish(job))


def fail(store: Store, job: Job, minutes: float, retry: float | None, error: str = "broken") -> None:
    retry_at = later(retry) if retry is not None else None
    store.write(lambda unit: unit.jobs.fail(job, error, later(minutes), retry_at))


def revive(store: Store, number: int, minutes: float = 0) -> bool:
    return store.write(lambda unit: unit.jobs.revive(number, later(minutes)))


def counts(store: Store, scope: Scope | None = None, minutes: float = 0) -> JobCounts:
    with store.read() as unit:
        return unit.jobs.counts(scope, later(minutes))


def dead(store: Store, limit: int = 100) -> list[DeadJob]:
    with store.read() as unit:
        return unit.jobs.dead(limit)


class JobsContract(Contract):
    def test_an_empty_queue_gives_nothing(self, store: Store) -> None:
        assert claim(store) is None
        assert counts(store) == counts(store, ME) == JobCounts(0, 0, 0, None)
        assert dead(store) == []
        assert revive(store, 1) is False

    # ------------------------------------------------------------------ one after another

    def test_a_claimed_job_says_what_was_put(self, store: Store) -> None:
        payload = {"session": "会话 1", "seqs": [1, 2], "deep": {"a": [None, True, 1.5, "é'\""]}}
        number = put(store, ME, "distil", NOW, **payload)
        assert claim(store, 1) == Job(number, ME, "distil", payload, 1, NOW)
        assert claim(store, 1) is None

    def test_the_payload_is_what_it_was_when_put(self, store: Store) -> None:
        payload: dict[str, Any] = {"seqs": [1]}

        def work(unit: Unit) -> None:
            unit.jobs.put(ME, "index", payload, NOW)
            payload["seqs"].append(2)

        store.write(work)
        held: Mapping[str, Any] = claimed(store).payload
        assert held == {"seqs": [1]}

    def test_jobs_of_one_scope_run_one_after_another(self, store: Store) -> None:
        numbers = [put(store, at=later(-i), n=i) for i in range(3)]
        assert len(set(numbers)) == 3
        for i, number in enumerate(numbers):
            job = claimed(store, i)
            assert (job.id, job.payload, job.queued_at) == (number, {"n": i}, later(-i))
            assert claim(store, i) is None
            assert finish(store, job) is True
        assert claim(store, 9) is None

    def test_scopes_do_not_wait_for_one_another(self, store: Store) -> None:
        scopes = (ME, *OTHERS)
        numbers = {put(store, scope, n=n): scope for n in range(2) for scope in scopes}
        assert len(numbers) == 6
        first = [claimed(store) for _ in scopes]
        assert {job.scope for job in first} == set(scopes)
        assert all(job.payload == {"n": 0} and numbers[job.id] == job.scope for job in first)
        assert claim(store) is None
        assert finish(store, first[1])
        second = claimed(store)
        assert (second.scope, second.payload) == (first[1].scope, {"n": 1})
        assert claim(store) is None

    def test_one_scope_may_be_asked_alone(self, store: Store) -> None:
        def ask(scope: Scope, minutes: float = 0) -> Job | None:
            return store.write(lambda unit: unit.jobs.claim(later(minutes), later(minutes + LEASE), scope=scope))

        numbers = [put(store, scope, n=n) for scope in (ME, YOU) for n in range(2)]
        first = ask(YOU)
        assert first is not None
        assert (first.id, first.scope, first.payload, first.attempt) == (numbers[2], YOU, {"n": 0}, 1)
        assert ask(YOU) is None
        assert [ask(scope) for scope in OTHERS if scope != YOU] == [None] * (len(OTHERS) - 1)
        assert claimed(store).id == numbers[0]
        fail(store, first, 0, 10)
        assert ask(YOU, 9) is None
        again = ask(YOU, 10)
        assert (again and again.id, again and again.attempt) == (numbers[2], 2)
        assert finish(store, again or first)
        second = ask(YOU, 10)
        assert (second and second.id) == numbers[3]

    def test_a_finished_job_is_gone(self, store: Store) -> None:
        put(store)
        job = claimed(store)
        assert finish(store, job) is True
        assert finish(store, job) is False
        assert counts(store) == JobCounts(0, 0, 0, None)
        assert claim(store, 60) is None

    def test_a_number_is_never_used_twice(self, store: Store) -> None:
        first = put(store)
        assert finish(store, claimed(store))
        assert put(store) != first

    # ------------------------------------------------------------------ lanes

    def test_each_lane_is_a_queue_of_its_own(self, store: Store) -> None:
        slow = store.write(lambda unit: unit.jobs.put(ME, "model", {}, NOW, lane=Lane.SLOW))
        quick, later_slow = put(store), store.write(lambda unit: unit.jobs.put(ME, "model", {}, NOW, lane=Lane.SLOW))
        assert claimed(store).id == quick
        assert claim(store) is None
        job = store.write(lambda unit: unit.jobs.claim(NOW, later(LEASE), Lane.SLOW))
        assert job is not None
        assert job.id == slow
        assert store.write(lambda unit: unit.jobs.claim(NOW, later(LEASE), Lane.SLOW)) is None
        fail(store, job, 0, 30)
        assert store.write(lambda unit: unit.jobs.claim(later(1), later(LEASE), Lane.SLOW)) is None
        fail(store, claimed_slow(store, 31), 31, None)
        assert claimed_slow(store, 31).id == later_slow
        assert revive(store, slow, 32)
        assert claim(store, 33) is not None  # the quick one, whose lease has passed
        assert counts(store, ME, 33) == JobCounts(1, 2, 0, later(32))

    def test_a_lease_can_be_renewed_while_it_is_held(self, store: Store) -> None:
        put(store)
        first = claimed(store)
        assert store.write(lambda unit: unit.jobs.renew(first, later(60))) is True
        assert claim(store, LEASE + 1) is None
        second = claimed(store, 61)
        assert store.write(lambda unit: unit.jobs.renew(first, later(90))) is False
        assert finish(store, second)
        assert store.write(lambda unit: unit.jobs.renew(second, later(90))) is False

    # ------------------------------------------------------------------ leases

    def test_a_lease_holds_until_it_passes(self, store: Store) -> None:
        number = put(store)
        assert claimed(store, 0).attempt == 1
        assert claim(store, LEASE - 0.1) is None
        job = claimed(store, LEASE + 0.1)
        assert (job.id, job.attempt, job.queued_at) == (number, 2, NOW)
        assert claim(store, LEASE + 1) is None

    def test_a_lost_lease_comes_before_later_jobs(self, store: Store) -> None:
        first, second = put(store), put(store)
        assert claimed(store).id == first
        assert claimed(store, LEASE + 1).id == first
        job = claimed(store, 3 * LEASE)
        assert (job.id, job.attempt) == (first, 3)
        assert finish(store, job)
        assert claimed(store, 3 * LEASE).id == second

    def test_who_lost_the_lease_changes_nothing(self, store: Store) -> None:
        put(store)
        late = claimed(store)
        holder = claimed(store, LEASE + 1)
        assert finish(store, late) is False
        fail(store, late, LEASE + 1, retry=LEASE + 2)
        fail(store, late, LEASE + 1, retry=None)
        assert claim(store, LEASE + 3) is None
        assert counts(store, minutes=LEASE + 3) == JobCounts(0, 1, 0, None)
        assert dead(store) == []
        assert finish(store, holder) is True
        fail(store, holder, LEASE + 4, retry=None)
        assert finish(store, late) is False
        assert counts(store, minutes=LEASE + 4) == JobCounts(0, 0, 0, None)

    # ------------------------------------------------------------------ failing

    def test_a_failed_job_waits_for_its_retry(self, store: Store) -> None:
        number = put(store)
        fail(store, claimed(store), 1, retry=10)
        assert claim(store, 9.9) is None
        job = claimed(store, 10)
        assert (job.id, job.attempt, job.queued_at) == (number, 2, NOW)

    def test_who_failed_cannot_finish(self, store: Store) -> None:
        put(store)
        job = claimed(store)
        fail(store, job, 1, retry=2)
        assert finish(store, job) is False
        fail(store, job, 1, retry=None)
        assert dead(store) == []
        assert claimed(store, 2).attempt == 2

    def test_a_waiting_retry_holds_back_later_jobs_of_its_scope(self, store: Store) -> None:
        first, second, other = put(store), put(store), put(store, YOU)
        fail(store, claimed(store), 1, retry=10)
        assert claimed(store, 2).id == other
        assert claim(store, 2) is None
        job = claimed(store, 10)
        assert job.id == first
        assert finish(store, job)
        assert claimed(store, 10).id == second

    def test_a_job_without_retry_goes_to_the_dead_letters(self, store: Store) -> None:
        first, second = put(store, kind="distil"), put(store)
        fail(store, claimed(store), 1, retry=1)
        fail(store, claimed(store, 1), 2, retry=None, error="模型没有回答: 'timeout'")
        assert dead(store) == [DeadJob(first, ME, "distil", 2, "模型没有回答: 'timeout'", later(2))]
        assert counts(store, minutes=2) == JobCounts(1, 0, 1, NOW)
        assert claimed(store, 99).id == second

    def test_dead_letters_come_oldest_first(self, store: Store) -> None:
        numbers = [put(store, scope) for scope in (ME, *OTHERS)]
        jobs = {job.id: job for job in [claimed(store) for _ in numbers]}
        for minutes, number in zip((3, 1, 2), numbers, strict=True):
            fail(store, jobs[number], minutes, retry=None)
        expected = [numbers[1], numbers[2], numbers[0]]
        assert [letter.id for letter in dead(store)] == expected
        assert [letter.id for letter in dead(store, 2)] == expected[:2]

    # ------------------------------------------------------------------ reviving

    def test_a_revived_job_starts_from_attempt_one(self, store: Store) -> None:
        number = put(store, kind="distil", n=1)
        fail(store, claimed(store), 1, retry=1)
        fail(store, claimed(store, 1), 2, retry=None)
        assert revive(store, number, 30) is True
        assert dead(store) == []
        assert counts(store, minutes=30) == JobCounts(1, 0, 0, later(30))
        assert claimed(store, 30) == Job(number, ME, "distil", {"n": 1}, 1, later(30))

    def test_a_revived_job_queues_at_the_end(self, store: Store) -> None:
        first, second = put(store), put(store)
        fail(store, claimed(store), 1, retry=None)
        assert revive(store, first, 2)
        for minutes, number in ((3, second), (4, first)):
            job = claimed(store, minutes)
            assert job.id == number
            assert finish(store, job)

    def test_a_revived_job_can_die_again(self, store: Store) -> None:
        number = put(store)
        for minutes in (1, 2):
            fail(store, claimed(store, minutes), minutes, retry=None)
            assert [(d.id, d.attempts, d.died_at) for d in dead(store)] == [(number, 1, later(minutes))]
            assert revive(store, number, minutes) is True
        assert finish(store, claimed(store, 3)) is True

    def test_only_dead_letters_can_be_revived(self, store: Store) -> None:
        number = put(store)
        assert revive(store, number) is False
        job = claimed(store)
        assert revive(store, number) is False
        fail(store, job, 1, retry=None)
        assert [revive(store, number), revive(store, number)] == [True, False]
        assert revive(store, 10**9) is False

    def test_who_held_it_before_it_died_cannot_finish_it(self, store: Store) -> None:
        number = put(store)
        job = claimed(store)
        fail(store, job, 1, retry=None)
        revive(store, number, 1)
        assert finish(store, job) is False
        assert counts(store, minutes=1).waiting == 1

    # ------------------------------------------------------------------ counting

    def test_counts_of_one_scope_and_of_all(self, store: Store) -> None:
        put(store, ME, at=later(-3))
        put(store, ME, at=later(-2))
        put(store, YOU, at=later(-5).astimezone(UTC))
        assert counts(store, ME) == JobCounts(2, 0, 0, later(-3))
        assert counts(store, YOU) == JobCounts(1, 0, 0, later(-5))
        assert counts(store) == JobCounts(3, 0, 0, later(-5))
        jobs = {job.scope: job for job in (claimed(store), claimed(store))}
        assert counts(store, ME) == JobCounts(1, 1, 0, later(-2))
        assert counts(store, YOU) == JobCounts(0, 1, 0, None)
        assert counts(store) == JobCounts(1, 2, 0, later(-2))
        fail(store, jobs[ME], 1, retry=9)
        fail(store, jobs[YOU], 1, retry=None)
        assert counts(store, ME, 1) == JobCounts(2, 0, 0, later(-3))
        assert counts(store, YOU, 1) == JobCounts(0, 0, 1, None)
        assert counts(store, None, 1) == JobCounts(2, 0, 1, later(-3))
        assert counts(store, OTHERS[1]) == JobCounts(0, 0, 0, None)

    def test_a_job_whose_lease_has_passed_counts_as_waiting(self, store: Store) -> None:
        put(store)
        claimed(store)
        assert counts(store, minutes=LEASE - 1) == JobCounts(0, 1, 0, None)
        assert counts(store, minutes=LEASE + 1) == JobCounts(1, 0, 0, NOW)

    # ------------------------------------------------------------------ transactions

    def test_nothing_of_a_failed_write_is_kept(self, store: Store) -> None:
        number = put(store)

        def queue(unit: Unit) -> None:
            unit.jobs.put(ME, "index", {}, NOW)
            raise RuntimeError("stop")

        def take(unit: Unit) -> None:
            assert unit.jobs.claim(NOW, later(LEASE)) is not None
            raise RuntimeError("stop")

        for work in (queue, take):
            with pytest.raises(RuntimeError, match="stop"):
                store.write(work)
        job = claimed(store)
        assert (job.id, job.attempt) == (number, 1)

        def done(unit: Unit) -> None:
            assert unit.jobs.finish(job)
            raise RuntimeError("stop")

        with pytest.raises(RuntimeError, match="stop"):
            store.write(done)
        assert finish(store, job) is True
        assert claim(store, 60) is None

    def test_an_approved_dead_letter_says_so_and_keeps_the_rest(self, store: Store) -> None:
        store.write(lambda unit: unit.jobs.put(ME, "distil", {"first": 3}, NOW))
        job = claim(store)
        assert job is not None
        fail(store, job, 0, None)
        assert store.write(lambda unit: unit.jobs.revive(job.id, later(1), approved=True))
        again = claim(store, 1)
        assert again is not None
        assert dict(again.payload) == {"first": 3, "approved": True}
