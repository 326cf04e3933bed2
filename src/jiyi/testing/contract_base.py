"""What the contract suites share: the fixtures to override, and short ways to make things."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from jiyi.domain.memory import NO_LABELS, Category, Evidence, IncomingMessage, Memory, Role, Source, Status, Triple
from jiyi.domain.plans import Actor, Change, Plan, Verb
from jiyi.domain.relations import fact_key
from jiyi.domain.scope import Scope
from jiyi.ports import BM25, Store, Unit

SHANGHAI = timezone(timedelta(hours=8))
NOW = datetime(2026, 3, 1, 9, 0, 0, 123456, tzinfo=SHANGHAI)

ME = Scope("u001")
YOU = Scope("u002")
# The same name in another tenant is another person (SPEC S1).
NAMESAKE = Scope("u001", "other")
OTHERS = (YOU, NAMESAKE)

# One store serves all examples of a property; each example takes a scope of its own, so nothing is shared.
# That one suite runs as many classes, which hypothesis calls differing executors, is the purpose of a suite.
shared_store = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors, HealthCheck.too_slow],
    max_examples=15,
    deadline=None,
)
_numbers = count(1)


def fresh_scope() -> Scope:
    return Scope(f"fresh{next(_numbers)}")


class Contract:
    """Base of the suites. Give a subclass two fixtures:

    - `store`: an empty store, closed at the end;
    - `reopen`: a callable that gives another handle on the data of `store`, closed at the end.

    Say what the store can do in the class attributes.
    """

    bm25 = BM25()
    """The parameters that `store` scores with."""

    exact_scores = True
    """The text index gives the scores of `ports.BM25`. Without it only the matches are checked, not their order."""

    @pytest.fixture
    def store(self) -> Iterator[Store]:
        raise NotImplementedError("the suite needs a `store` fixture that gives an empty store")

    @pytest.fixture
    def reopen(self) -> Iterator[Callable[[], Store]]:
        raise NotImplementedError("the suite needs a `reopen` fixture: a callable that gives another handle")


def later(minutes: float = 0, **more: float) -> datetime:
    return NOW + timedelta(minutes=minutes, **more)


def utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC)


def message(
    message_id: str, text: str = "我们用 PostgreSQL", at: datetime = NOW, session: str = "s1", **more: Any
) -> IncomingMessage:
    return IncomingMessage(message_id, session, more.pop("role", Role.USER), text, at, **more)


def memory(seq: int, text: str = "数据库：PostgreSQL", **more: Any) -> Memory:
    """A live memory; with `triple` its key and value follow from it."""
    triple: Triple | None = more.get("triple")
    moment: datetime = more.pop("at", NOW)
    if triple is not None:
        more.setdefault("key", fact_key(triple.subject, triple.relation))
        more.setdefault("value", triple.object.casefold())
    fields: dict[str, Any] = {
        "category": Category.PROJECT,
        "importance": 3,
        "source": Source.DECLARED,
        "start": 0.95,
        "affirmed_at": moment,
        "valid_from": moment,
        "learnt_at": moment,
        "value": text.casefold(),
    }
    return Memory(seq, text, **(fields | more))


def over(status: Status = Status.ENDED) -> dict[str, Any]:
    """What a memory has that is no longer believed."""
    return {"status": status, "valid_to": later(60), "retired_at": later(61)}


def evidence(number: int, start: int = 0, end: int = 4) -> Evidence:
    return Evidence(number, start, end, NOW, "s1")


def added(*memories: Memory) -> list[Change]:
    return [Change(None, m) for m in memories]


def plan(*changes: Change, **more: Any) -> Plan:
    fields: dict[str, Any] = {"verb": Verb.REMEMBER, "actor": Actor(), "at": NOW, "reason": "用户说的"}
    return Plan(changes=changes, **(fields | more))


def put_messages(store: Store, scope: Scope, *messages: IncomingMessage) -> list[int]:
    """Store messages and give their numbers."""
    return [m.seq for m, _ in store.write(lambda unit: unit.messages.add(scope, messages))]


def put_memories(store: Store, scope: Scope, *memories: Memory) -> None:
    store.write(lambda unit: unit.memories.write(scope, added(*memories)))


def blot(unit: Unit, scope: Scope, seq: int, text: str = "", *, digest: bool = False) -> None:
    """Rewrite a message as forgetting does: nothing left is a tombstone, and that or a digest has lost who said it."""
    for message in unit.messages.get(scope, [seq]):
        left = replace(message, text=text, forgotten=not text, digest=digest)
        unit.messages.rewrite(scope, [left if text and not digest else replace(left, name=None, labels=NO_LABELS)])
