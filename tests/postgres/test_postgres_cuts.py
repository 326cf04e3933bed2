"""Whichever statement of a verb the server is lost under, the verb is done (SPEC O2): what reads is read again, what writes is
written once. The verbs are those of the façade, so that a new one has to say here what it does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from inspect import isfunction
from pathlib import Path
from typing import Any

import psycopg
import pytest

from jiyi.errors import WriteUncertain
from jiyi.memory_layer import MemoryLayer
from jiyi.memory_reader import MemoryReader
from jiyi.scoped_memory import ScopedMemory
from tests.conftest import count
from tests.postgres.stores import one_server, open_on

NOW = datetime(2026, 3, 1, 9, tzinfo=UTC)


class Cuts:
    """Ends the backend of a connection just before it is given the statement of that number."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
        self._admin = psycopg.connect(url, autocommit=True)
        self.number, self.left, self.cut = 0, 0, ""
        for name in ("execute", "executemany"):
            monkeypatch.setattr(psycopg.Cursor, name, self._counting(getattr(psycopg.Cursor, name)))

    def _counting(self, execute: Callable[..., Any]) -> Callable[..., Any]:
        def counted(cursor: psycopg.Cursor[Any], query: Any, *rest: Any, **named: Any) -> Any:
            if cursor.connection is not self._admin:
                self.number += 1
                self.left -= 1
                if self.left == 0:
                    self.cut = str(query)
                    pid = cursor.connection.info.backend_pid
                    self._admin.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))
            return execute(cursor, query, *rest, **named)

        return counted

    def close(self) -> None:
        self._admin.close()

    @contextmanager
    def at(self, number: int) -> Iterator[None]:
        """Of the statements inside. `cut` is what was to be run then, empty where there are fewer."""
        self.number, self.left, self.cut = 0, number, ""
        try:
            yield
        finally:
            self.left = 0


@pytest.fixture
def cuts(monkeypatch: pytest.MonkeyPatch, postgres_url: str) -> Iterator[Cuts]:
    made = Cuts(monkeypatch, postgres_url)
    yield made
    made.close()


# ------------------------------------------------------------------------------ the verbs


READING: dict[str, Callable[[ScopedMemory], Any]] = {
    "recall": lambda me: [item.text for item in me.recall("我喝什么？").items],
    "context": lambda me: me.context("我喝什么？", session="s1").text,
    "conversation": lambda me: me.conversation("s"),
    "history": lambda me: me.history("咖啡"),
    "sessions": lambda me: me.sessions(),
    "summaries": lambda me: me.summaries(),
    "profile": lambda me: me.profile(),
    "memories": lambda me: me.memories(),
    "memory": lambda me: me.memory("m1"),
    "versions": lambda me: me.versions("m1"),
    "evidence": lambda me: me.evidence("m1"),
    "confidence": lambda me: me.confidence(me.memory("m1"), at=NOW),
    "patterns": lambda me: me.patterns(),
    "questions": lambda me: me.questions(),
    "receipts": lambda me: me.receipts(),
    "ledger": lambda me: me.ledger(),
    "lag": lambda me: me.lag(),
    "entities": lambda me: me.entities(),
    "entity": lambda me: me.entity("李明"),
    "neighbours": lambda me: me.neighbours("李明"),
    "paths": lambda me: me.paths("李明", "杭州"),
    "match": lambda me: me.match([("?who", "*", "杭州")]),
    "derived": lambda me: me.derived(),
    "graph": lambda me: me.graph(),
    "explain": lambda me: me.explain(me.recall("咖啡").trace_id or "").trace.query,
    "traces": lambda me: [trace.query for trace in me.traces()][:1],
    "retention": lambda me: me.retention(),
    "verify_forgotten": lambda me: me.verify_forgotten(),
    "upkeep": lambda me: me.upkeep(dry_run=True),
    "redistil": lambda me: me.redistil(dry_run=True),
}
"""The answer is the same as without a cut."""

LAYER: dict[str, Callable[[MemoryLayer], Any]] = {
    "is_there": lambda layer: layer.is_there(layer.scope("u").user),
    "lag": lambda layer: layer.lag(),
    "dead_jobs": lambda layer: layer.dead_jobs(),
    "service_keys": lambda layer: layer.service_keys(),
    "service_key": lambda layer: layer.service_key("nothing"),
    "visitor": lambda layer: layer.visitor("nothing"),
    "usage": lambda layer: layer.usage(),
    "scopes": lambda layer: layer.scopes(),
    "info": lambda layer: layer.info(),
    "work": lambda layer: layer.work(),
    "redistil": lambda layer: layer.redistil(),
    "carry_forward": lambda layer: layer.carry_forward(),
    "forget_again": lambda layer: layer.forget_again(),
    "forget_user": lambda layer: layer.forget_user("u", role="admin", dry_run=True).erased,
    "forget_tenant": lambda layer: [
        r.erased for r in layer.forget_tenant("default", role="admin", dry_run=True).values()
    ],
}
"""The same of what an operator asks."""

Deed = Callable[[], object]


def believed(me: ScopedMemory, text: str) -> str:
    """The id of a memory that was just made."""
    after = me.remember(text).plan.changes[0].after
    assert after is not None
    return after.id


def session(me: ScopedMemory, number: int) -> str:
    me.observe(
        [{"role": "user", "text": f"第{number}次会议改到周五下午三点。", "id": f"e{number}"}], session=f"e{number}"
    )
    return f"e{number}"


def observing(me: ScopedMemory, number: int) -> Deed:
    said = {"role": "user", "text": f"我在第{number}号仓库上班，同事叫林晓。", "id": f"x{number}"}
    return lambda: me.observe([said], session="s2")


def remembering(me: ScopedMemory, number: int) -> Deed:
    return lambda: me.remember(f"我的第{number}个柜子放工具")


def correcting(me: ScopedMemory, number: int) -> Deed:
    wrong = believed(me, f"我的第{number}个柜子放书")
    return lambda: me.correct(wrong, f"我的第{number}个柜子放茶叶")


def judging(me: ScopedMemory, number: int) -> Deed:
    held = believed(me, f"我喜欢第{number}路公交车")
    return lambda: me.feedback(held, "helpful")


def undoing(me: ScopedMemory, number: int) -> Deed:
    plan = me.remember(f"我的第{number}个箱子是红的").plan_id
    return lambda: me.undo(plan or "")


def forgetting(me: ScopedMemory, number: int) -> Deed:
    gone = believed(me, f"我的第{number}把钥匙在门口")
    return lambda: me.forget(memory=gone)


def ending(me: ScopedMemory, number: int) -> Deed:
    name = session(me, number)
    return lambda: me.end(name)


WRITING: dict[str, Callable[[ScopedMemory, int], Deed]] = {
    "observe": observing,
    "remember": remembering,
    "correct": correcting,
    "feedback": judging,
    "undo": undoing,
    "forget": forgetting,
    "end": ending,
    "merge_entities": lambda me, number: lambda: me.merge_entities("李明", "杭州", dry_run=True),
    "split_entities": lambda me, number: lambda: me.split_entities("李明", "杭州", dry_run=True),
    "retention": lambda me, number: lambda: me.retention("balanced"),
    "pause": lambda me, number: lambda: (me.pause(), me.resume()),
    "resume": lambda me, number: me.resume,
    "consent": lambda me, number: lambda: me.consent(given=True, notice="v1"),
}


# What reaches nothing, or is cut elsewhere: `answer` and the profile's file are a plan like the others here; an archive and a
# backup have tests of their own (test_postgres_moving, test_postgres_opening), and so has what only an operator's role may do.
ELSEWHERE = {
    "user", "limits", "settings", "once", "answer", "write_profile", "read_profile", "export", "import_", "scope", "shared",
    "together", "close", "backup", "rotate_key", "check", "check_model", "reindex", "repair", "graph_engine", "retry_job",
    "make_service_key", "revoke_service_key", "open_visitor", "link",
}  # fmt: skip


def test_every_verb_is_among_them() -> None:
    there = {
        name
        for part in (MemoryReader, ScopedMemory, MemoryLayer)
        for name, found in vars(part).items()
        if not name.startswith("_") and (isfunction(found) or isinstance(found, property))
    }
    assert there == {*READING, *LAYER, *WRITING, *ELSEWHERE}


# ------------------------------------------------------------------------------ cutting


def numbers() -> Iterator[int]:
    """Every statement at full counts. Else thinner and thinner: what a verb begins with is in most of them."""
    step = count("cut_steps")
    number = 1.0
    while True:
        yield int(number)
        number = max(number + 1, number * step / 10)


@pytest.fixture
def layer(postgres_url: str, tmp_path: Path) -> Iterator[MemoryLayer]:
    with open_on(postgres_url, tmp_path, lambda: NOW) as opened:
        me = opened.scope("u")
        me.observe([{"role": "user", "text": text} for text in SAID], session="s1")
        opened.work()
        opened.scope("u").recall("咖啡")
        yield opened


SAID = ("我早上喝咖啡。", "李明住在杭州，在一家茶厂做品控。", "我女儿七岁，对花生过敏。", "周三下午三点和李明开会。")


@one_server
@pytest.mark.parametrize("verb", [f"me.{name}" for name in READING] + [f"layer.{name}" for name in LAYER])
def test_what_reads_answers_as_ever(layer: MemoryLayer, cuts: Cuts, verb: str) -> None:
    side, _, name = verb.partition(".")

    def asked() -> object:
        return READING[name](layer.scope("u")) if side == "me" else LAYER[name](layer)

    asked()
    answer = asked()
    for number in numbers():
        with cuts.at(number):
            found = asked()
        if not cuts.cut:
            break
        assert found == answer, f"cut at {number}: {cuts.cut}"


@one_server
@pytest.mark.parametrize("verb", WRITING)
def test_what_writes_is_done(layer: MemoryLayer, cuts: Cuts, verb: str) -> None:
    me = layer.scope("u")
    for number in numbers():
        deed = WRITING[verb](me, number)
        with cuts.at(number):
            try:
                deed()
            except WriteUncertain:
                # No answer came: only who names the request can have it done again.
                assert "COMMIT" in cuts.cut, f"cut at {number}: {cuts.cut}"
        if not cuts.cut:
            break
    layer.work()
    assert [check for check in layer.check() if not check.ok] == []
