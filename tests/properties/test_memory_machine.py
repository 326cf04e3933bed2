"""Two users at random against every backend: whatever happens, it answers as the reference does."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from jiyi.assembly import assemble, open_memory
from jiyi.domain.plans import replay, replay_standing
from jiyi.errors import NotFound, PlanRefused
from jiyi.memory_layer import MemoryLayer
from jiyi.scoped_memory import ScopedMemory
from jiyi.settings import AccessPolicy, Settings
from jiyi.stores.reference import open_reference
from tests.conftest import FULL, Clock, count
from tests.postgres.server import Emptied, Server
from tests.postgres.stores import one_server, open_on

SAYINGS = (
    "我们的数据库用的是 MySQL。",
    "数据库从 MySQL 换成 PostgreSQL 了。",
    "我们的数据库用的是 Oracle。",
    "我喜欢绿茶。",
    "我现在不喜欢绿茶了。",
    "我住在杭州。",
    "我搬到苏州了。",
    "请记住：周五之前把报表发给财务。",
    "今天天气真好。",
    "谢谢！",
    "Our database is SQLite.",
    "I live in Leeds.",
    "I moved to York.",
    "I love hiking.",
    "Remember that the staging server is called heron.",
)
STATEMENTS = (
    "预算是80万",
    "我的猫叫年糕",
    "My dog is called Biscuit",
    "以后都用英文回答我",
    "部署脚本在 tools/release.sh",
)
QUERIES = ("数据库", "绿茶", "我住在哪里", "database", "hiking", "报表 财务", "猫", "heron staging", "release.sh")
USERS = ("ming", "nora")
WAITING = 1_000_000
"""Counts of reads, which rank, are written aside once there are so many, or when work is done: here by work alone."""


class MemoryMachine(RuleBasedStateMachine):
    """The same calls to the reference and to one backend, then the same questions."""

    index = "postings"
    exact_scores = True

    @initialize()
    def start(self) -> None:
        self.clock = Clock()
        self.folder = Path(tempfile.mkdtemp(prefix="jiyi-machine-"))
        self.data = open_reference().data
        self.oracle = self._open_oracle()
        self.backend = self._open()
        self.said = 0

    def _open_oracle(self) -> MemoryLayer:
        settings = Settings(worker=False, access=AccessPolicy(flush_after=WAITING))
        return MemoryLayer(open_reference(self.data), assemble(settings), self.clock)

    def _open(self) -> MemoryLayer:
        return open_memory(
            self.folder / "memory.db", clock=self.clock, worker=False,
            memory_index=self.index, message_index=self.index, access={"flush_after": WAITING},
        )  # fmt: skip

    def _both(self, user: str) -> tuple[ScopedMemory, ScopedMemory]:
        return self.oracle.scope(user), self.backend.scope(user)

    def _same(self, user: str, call: object) -> None:
        """The same call on both gives the same outcome, errors included."""
        outcomes = []
        for memory in self._both(user):
            try:
                outcomes.append(call(memory))  # type: ignore[operator]
            except (NotFound, PlanRefused) as error:
                outcomes.append((type(error), str(error)))
        assert outcomes[0] == outcomes[1]

    @rule(
        user=st.sampled_from(USERS),
        text=st.sampled_from(SAYINGS),
        session=st.sampled_from(["s1", "s2"]),
        work=st.booleans(),
    )
    def observe(self, user: str, text: str, session: str, work: bool) -> None:
        self.said += 1
        self.clock.advance(minutes=1)
        message = {"role": "user", "text": text, "id": f"t{self.said}"}
        self._same(user, lambda memory: memory.observe([message], session=session))
        if work:
            assert self.oracle.work() == self.backend.work()

    @rule(user=st.sampled_from(USERS), text=st.sampled_from(STATEMENTS))
    def remember(self, user: str, text: str) -> None:
        self._same(user, lambda memory: memory.remember(text))

    @rule(
        user=st.sampled_from(USERS), number=st.integers(1, 8), text=st.sampled_from([*STATEMENTS, "PostgreSQL", "南京"])
    )
    def correct(self, user: str, number: int, text: str) -> None:
        self.clock.advance(minutes=1)
        self._same(user, lambda memory: memory.correct(f"m{number}", text))

    @rule(user=st.sampled_from(USERS), number=st.integers(1, 8))
    def forget(self, user: str, number: int) -> None:
        self._same(user, lambda memory: memory.forget(memory=f"m{number}"))

    @rule(user=st.sampled_from(USERS), number=st.integers(1, 12))
    def undo(self, user: str, number: int) -> None:
        self._same(user, lambda memory: memory.undo(f"p{number}"))

    @rule(user=st.sampled_from(USERS), detail=st.sampled_from(["minimal", "balanced", "everything"]))
    def turn_the_dial(self, user: str, detail: str) -> None:
        self._same(user, lambda memory: memory.retention(detail))

    @rule(user=st.sampled_from(USERS))
    def trim_the_past(self, user: str) -> None:
        self._same(user, lambda memory: memory.retention("minimal", past=True))

    @rule(user=st.sampled_from(USERS), stop=st.booleans())
    def pause_or_resume(self, user: str, stop: bool) -> None:
        self.clock.advance(minutes=1)
        self._same(user, lambda memory: memory.pause() if stop else memory.resume())

    @rule(user=st.sampled_from(USERS), given_=st.booleans())
    def consent(self, user: str, given_: bool) -> None:
        self._same(user, lambda memory: memory.consent(given=given_, notice="第 2 版"))

    @rule(days=st.integers(1, 90))
    def wait(self, days: int) -> None:
        self.clock.advance(days=days)

    @rule()
    def reopen(self) -> None:
        # Both, since closing writes the counts of reads, which warm what was read.
        self.backend.close()
        self.backend = self._open()
        self.oracle.close()
        self.oracle = self._open_oracle()

    @invariant()
    def memories_agree(self) -> None:
        if not hasattr(self, "backend"):
            return
        for user in USERS:
            oracle, backend = self._both(user)
            assert backend.memories(status=None) == oracle.memories(status=None)
            assert backend.ledger() == oracle.ledger()
            assert backend.profile() == oracle.profile()
            assert backend.retention() == oracle.retention()
            standing = replay_standing(backend.ledger())
            assert backend.retention().paused_at == standing.paused_at
            assert backend.retention().consent == standing.consent
            replayed = replay(backend.ledger())
            assert replayed == {m.seq: m for m in backend.memories(status=None)}

    @precondition(lambda self: hasattr(self, "backend"))
    @rule(user=st.sampled_from(USERS), query=st.sampled_from(QUERIES), messages=st.booleans())
    def recall(self, user: str, query: str, messages: bool) -> None:
        kinds = {"message"} if messages else None
        one, other = (memory.recall(query, kinds=kinds, limit=50) for memory in self._both(user))
        if self.exact_scores:
            assert other == one
        else:
            assert {i.id for i in other.items} == {i.id for i in one.items}

    @precondition(lambda self: hasattr(self, "backend"))
    @rule()
    def healthy(self) -> None:
        wrong = [c for c in self.backend.check() if not c.ok]
        assert wrong == []

    def teardown(self) -> None:
        if hasattr(self, "backend"):
            self.backend.close()
            self.oracle.close()
            shutil.rmtree(self.folder)


class NativeMachine(MemoryMachine):
    index = "native"
    exact_scores = False


class PostgresMachine(MemoryMachine):
    """`database` is emptied before each example."""

    database: Emptied

    @initialize()
    def start(self) -> None:
        self.database.empty()
        super().start()

    def _open(self) -> MemoryLayer:
        index: dict[str, Any] = {"memory_index": self.index, "message_index": self.index}
        return open_on(self.database.url, self.folder, self.clock, access=AccessPolicy(flush_after=WAITING), **index)


LIMITS = settings(
    max_examples=count("machine_examples"), stateful_step_count=count("machine_steps"), deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip

# Each step is many round trips to a server.
POSTGRES_LIMITS = settings(LIMITS, max_examples=count("machine_examples") // 6)


@pytest.mark.full
@pytest.mark.machine
class TestPostings(MemoryMachine.TestCase):
    settings = LIMITS


@pytest.mark.full
@pytest.mark.machine
class TestNative(NativeMachine.TestCase):
    settings = LIMITS


@pytest.mark.full
@pytest.mark.machine
@pytest.mark.parametrize("index", ["postings", "native"] if FULL else ["postings"])
@one_server
def test_postgres(postgres: Server, index: str) -> None:
    with closing(postgres.emptied()) as database:
        machine = type("OnOneServer", (PostgresMachine,), {"database": database, "index": index})
        run_state_machine_as_test(machine, settings=POSTGRES_LIMITS)
