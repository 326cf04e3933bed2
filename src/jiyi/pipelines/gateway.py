"""The one door: every change of memory passes here as a plan (SPEC W1, W2, W4).

No other module calls `memories.write`, `ledger.append`, `ledger.erase` or what restores an export; a test reads the source to make sure.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import TypeVar

from jiyi.domain.belief import ended
from jiyi.domain.memory import Evidence, Memory, Message, Status, memory_id, plan_id
from jiyi.domain.plans import (
    Actor,
    Change,
    GatewayPolicy,
    Impact,
    Plan,
    Verb,
    check_limit,
    impact,
    undo,
)
from jiyi.domain.scope import Scope
from jiyi.errors import NotFound, PlanRefused
from jiyi.pipelines.archive import Archive
from jiyi.pipelines.indexing import Indexing, rebuild
from jiyi.ports import Kind, Unit

T = TypeVar("T")

FORGOTTEN = "▇"
"""Stands for each forgotten character of a message that other memories still rest on: their spans keep their place."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a call did. `plan_id` is None when nothing had to change."""

    verb: Verb
    plan_id: str | None
    plan: Plan
    impact: Impact

    @property
    def memories(self) -> tuple[Memory, ...]:
        """The live memories that the plan added or altered."""
        after = [c.after for c in self.plan.changes]
        return tuple(m for m in after if m is not None and m.status is Status.LIVE)

    @property
    def ended(self) -> tuple[Memory, ...]:
        """The memories that stopped being believed, as they were before."""
        return tuple(c.before for c in self.plan.changes if c.ends_belief and c.before is not None)


@dataclass(frozen=True, slots=True)
class Gateway:
    """Applies plans. Holds no state but its policy."""

    indexing: Indexing
    policy: GatewayPolicy

    def preview(self, plan: Plan) -> Receipt:
        """What `apply` would answer, without doing it."""
        return Receipt(plan.verb, None, plan, impact(plan, self.policy))

    def apply(self, unit: Unit, scope: Scope, plan: Plan) -> Receipt:
        """Carry a plan out, all of it or nothing.

        A plan without changes is recorded only if a verdict refused something.

        Raises:
            PlanRefused: over the limit of W1, or memory moved since the plan was made.
        """
        if not plan.changes and not plan.judgements:
            return self.preview(plan)
        check_limit(plan, self.policy)
        self._check_current(unit, scope, plan)
        unit.memories.write(scope, plan.changes)
        self._reindex(unit, scope, plan)
        entry = unit.ledger.append(scope, plan)
        return Receipt(plan.verb, plan_id(entry.seq), plan, impact(plan, self.policy))

    def undo(self, unit: Unit, scope: Scope, seq: int, actor: Actor, now: datetime) -> Receipt:
        """Take an applied plan back to the exact prior state (SPEC W2). An undo can itself be undone.

        Raises:
            NotFound: no such plan.
            PlanRefused: it forgot something, or later plans changed the same memories.
        """
        entry = unit.ledger.get(scope, seq)
        if entry is None:
            raise NotFound(f"no plan {plan_id(seq)} here: the ledger lists them")
        current = {m.seq: m for m in unit.memories.get(scope, [c.seq for c in entry.plan.changes])}
        return self.apply(unit, scope, undo(entry, current, actor, now))

    def plan_forgetting(self, unit: Unit, scope: Scope, seq: int, actor: Actor, now: datetime) -> Plan:
        """The plan to forget one memory (SPEC F6): it goes, and what pointed to it points nowhere.

        A memory that an undo removed can still be forgotten: the ledger holds its pictures until then.

        Raises:
            NotFound: no such memory, now or in the ledger.
        """
        memory = _last_picture(unit, scope, seq)
        if memory is None:
            raise NotFound(f"no memory {memory_id(seq)} here")
        pointing = [m for m in unit.memories.listing(scope, status=None) if m.successor == seq and m.seq != seq]
        # What it replaced stays past, whatever becomes of the memory that says why.
        changes = [Change(m, replace(ended(m, m.valid_to or now), successor=None)) for m in pointing]
        return Plan(Verb.FORGET, actor, now, f"{memory_id(seq)} forgotten on request", (Change(memory, None), *changes))

    def forget(self, unit: Unit, scope: Scope, plan: Plan) -> Receipt:
        """Carry out a plan of `plan_forgetting`: the memory, its index, its pictures in the ledger, its heat,
        and its words in the messages it rested on. The ledger keeps that something was forgotten, not what.
        """
        memory = plan.changes[0].before
        assert memory is not None
        stored = unit.memories.get(scope, [memory.seq])
        changes = plan.changes if stored else plan.changes[1:]
        self._check_current(unit, scope, replace(plan, changes=changes))
        self._forget_words(unit, scope, memory)
        unit.memories.write(scope, changes)
        self._reindex(unit, scope, replace(plan, changes=changes))
        unit.ledger.erase(scope, [memory.seq])
        entry = unit.ledger.append(scope, replace(plan, changes=plan.changes[1:]))
        return Receipt(plan.verb, plan_id(entry.seq), plan, impact(plan, self.policy))

    def restore(self, unit: Unit, scope: Scope, archive: Archive) -> None:
        """Bring an exported scope back exactly as it was (SPEC F7). Not a plan of its own: its ledger comes with it.

        Raises:
            PlanRefused: the scope holds something, or once did.
        """
        if unit.messages.last_seq(scope) or unit.memories.last_seq(scope) or unit.ledger.last_seq(scope):
            raise PlanRefused(
                f"{scope} already has a memory, and an export is never mixed into one: import it as a new user"
            )
        for messages in _chunks(archive.messages()):
            unit.messages.restore(scope, messages)
        for memories in _chunks(archive.memories()):
            unit.memories.write(scope, [Change(None, m) for m in memories])
        unit.memories.skip_to(scope, archive.numbers.memory)
        unit.memories.set_heat(scope, dict(archive.heats()))
        for entries in _chunks(archive.entries()):
            unit.ledger.restore(scope, entries)
        rebuild(unit, scope, self.indexing)

    def _forget_words(self, unit: Unit, scope: Scope, memory: Memory) -> None:
        """A message that nothing else rests on goes whole; from another only the span goes (SPEC F6).

        An undo takes evidence from a memory, not what was said: messages that it once rested on go too.
        """
        spans = _ever_rested_on(unit, scope, memory)
        seqs = {e.message for e in spans}
        resting = unit.memories.resting_on(scope, seqs)
        others = {seq: [m for m in memories if m != memory.seq] for seq, memories in resting.items()}
        neighbours = {m.seq: m for m in unit.memories.get(scope, {m for ms in others.values() for m in ms})}
        for message in unit.messages.get(scope, seqs):
            if message.forgotten:
                continue
            kept = [e for m in others.get(message.seq, ()) for e in neighbours[m].evidence if e.message == message.seq]
            text = _without(message.text, memory, [e for e in spans if e.message == message.seq], kept)
            if text != message.text:
                self._replace_words(unit, scope, message, text if kept else "")

    def _replace_words(self, unit: Unit, scope: Scope, message: Message, text: str) -> None:
        indexed = message.seq <= unit.text.indexed_up_to(scope)
        if indexed:
            unit.text.remove(scope, Kind.MESSAGE, [self.indexing.message(message)])
        unit.messages.replace_text(scope, message.seq, text, forgotten=not text)
        if indexed and text:
            unit.text.add(scope, Kind.MESSAGE, [self.indexing.message(replace(message, text=text))])

    def _check_current(self, unit: Unit, scope: Scope, plan: Plan) -> None:
        current = {m.seq: m for m in unit.memories.get(scope, [c.seq for c in plan.changes])}
        moved = [memory_id(c.seq) for c in plan.changes if current.get(c.seq) != c.before]
        if moved:
            raise PlanRefused(f"{', '.join(moved)} changed since this plan was made: look again and make a new one")

    def _reindex(self, unit: Unit, scope: Scope, plan: Plan) -> None:
        """Only what is searched by counts: a memory that merely ended keeps its terms."""
        gone, come = [], []
        for change in plan.changes:
            before, after = change.before, change.after
            if before and after and (before.text, before.keywords) == (after.text, after.keywords):
                continue
            if before is not None:
                gone.append(self.indexing.memory(before))
            if after is not None:
                come.append(self.indexing.memory(after))
        unit.text.remove(scope, Kind.MEMORY, gone)
        unit.text.add(scope, Kind.MEMORY, come)


def _chunks(items: Iterator[T], size: int = 500) -> Iterator[list[T]]:
    while some := list(islice(items, size)):
        yield some


def _last_picture(unit: Unit, scope: Scope, seq: int) -> Memory | None:
    if stored := unit.memories.get(scope, [seq]):
        return stored[0]
    pictures = [c for entry in unit.ledger.about(scope, seq) for c in entry.plan.changes if c.seq == seq]
    return (pictures[-1].after or pictures[-1].before) if pictures else None


def _ever_rested_on(unit: Unit, scope: Scope, memory: Memory) -> set[Evidence]:
    pictures = [c for entry in unit.ledger.about(scope, memory.seq) for c in entry.plan.changes if c.seq == memory.seq]
    known = [memory, *(m for c in pictures for m in (c.before, c.after) if m is not None)]
    return {e for m in known for e in m.evidence}


def _without(text: str, memory: Memory, spans: Collection[Evidence], kept: Collection[Evidence]) -> str:
    """`text` with the characters of the spans blotted out. Where a kept span needs them too (从 A 换成 B rests under
    both), only what the memory itself says goes: its object, or all of it when that is not there word for word."""
    needed = {i for e in kept for i in range(e.start, e.end)}
    told = {i for e in spans for i in range(e.start, min(e.end, len(text)))}
    own = told.intersection(_places(text, memory.triple.object)) if memory.triple else set()
    gone = told - needed | (own or told)
    return "".join(FORGOTTEN if i in gone else character for i, character in enumerate(text))


def _places(text: str, words: str) -> set[int]:
    """The places of the characters that say these words, in capitals or not."""
    found = re.finditer(re.escape(words), text, re.IGNORECASE)
    return {i for match in found for i in range(match.start(), match.end())}
