"""Small facts for the store tests: a message, the memory it supports, its index entries and its plan."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from jiyi.domain.memory import Category, Evidence, IncomingMessage, Memory, Message, Role, Source
from jiyi.domain.plans import Actor, Change, Plan, Verb
from jiyi.domain.scope import Scope
from jiyi.ports import Check, Document, Kind, Store, Unit
from jiyi.testing.contract_base import blot

ME = Scope("u001")
YOU = Scope("u002")
NOW = datetime(2026, 3, 1, 1, tzinfo=UTC)


def document(seq: int, text: str) -> Document:
    """Terms by white space: enough for a store, which gets them segmented."""
    counts = Counter(text.split())
    return Document(seq, counts, counts.total())


def terms_of(kind: Kind, item: Memory | Message) -> Document:
    return document(item.seq, item.text)


def memory(seq: int, text: str, message: int) -> Memory:
    evidence = (Evidence(message, 0, len(text), NOW, "s1"),)
    return Memory(
        seq, text, Category.GENERAL, 3, Source.DECLARED, 0.95, NOW, NOW, NOW, text.casefold(), evidence=evidence
    )


def learn(unit: Unit, scope: Scope, message_id: str, text: str) -> int:
    """Store a message, index it, and believe it; gives the memory's number."""
    at = NOW + timedelta(seconds=unit.messages.last_seq(scope))
    [(message, _)] = unit.messages.add(scope, [IncomingMessage(message_id, "s1", Role.USER, text, at)])
    unit.text.add(scope, Kind.MESSAGE, [document(message.seq, text)])
    unit.text.mark_indexed_up_to(scope, message.seq)
    seq = unit.memories.next_seq(scope)
    changes = (Change(None, memory(seq, text, message.seq)),)
    unit.memories.write(scope, changes)
    unit.text.add(scope, Kind.MEMORY, [document(seq, text)])
    unit.ledger.append(scope, Plan(Verb.REMEMBER, Actor(), at, f"said: {text}", changes))
    return seq


def forget(unit: Unit, scope: Scope, seq: int) -> None:
    """Take a memory out everywhere, with the message it rested on."""
    [gone] = unit.memories.get(scope, [seq])
    unit.memories.write(scope, [Change(gone, None)])
    unit.text.remove(scope, Kind.MEMORY, [terms_of(Kind.MEMORY, gone)])
    unit.ledger.erase(scope, [seq])
    for message in unit.messages.get(scope, [e.message for e in gone.evidence]):
        unit.text.remove(scope, Kind.MESSAGE, [terms_of(Kind.MESSAGE, message)])
        blot(unit, scope, message.seq)


def failures(store: Store) -> list[Check]:
    return [check for check in store.check(terms_of) if not check.ok]


def spoil(path: Path, *statements: str | tuple[str, Sequence[object]]) -> None:
    """Change a closed database behind the store's back."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        for statement in statements:
            sql, arguments = statement if isinstance(statement, tuple) else (statement, ())
            connection.execute(sql, arguments)
    finally:
        connection.close()
