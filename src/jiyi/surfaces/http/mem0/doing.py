"""What the calls of mem0 do, over the façade."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Any

from jiyi.domain.memory import Memory, Message, Status, Tier, message_handle, parse_id
from jiyi.errors import InputError, NotFound
from jiyi.pipelines.observe import instant
from jiyi.scoped_memory import ScopedMemory
from jiyi.surfaces.http.calls import Call
from jiyi.surfaces.http.mem0 import bodies
from jiyi.surfaces.http.mem0.filters import check_said, read_filter
from jiyi.surfaces.http.mem0.names import ANY, id_of, memory_in
from jiyi.surfaces.http.mem0.records import OURS, Records, labels_of, meant
from jiyi.surfaces.instants import read_instant
from jiyi.surfaces.shapes import moment

PATIENCE, LITTLE, PAUSE = 2.0, 0.3, 0.01
"""Seconds that adding waits for the rules at the most: where nothing but rules is queued, and beside a model, whose jobs look
the same from here; and between two looks."""
JOBS = 20
"""Background jobs that one call runs at the most at a time, where no worker of this process does."""
FILTERED = 200
"""Memories that are searched through for those that fit a filter."""


# ------------------------------------------------------------------ in


def add(call: Call, body: bodies.Mem0Add) -> bodies.Mem0Added:
    """Store turns, and tell what the rules made of them. A language model may add to that later."""
    labels = labels_of(body.metadata or {}) | _ids(body)
    run = labels.get("run")
    at = None if body.timestamp is None else datetime.fromtimestamp(body.timestamp, UTC).isoformat()
    now = call.service.clock().astimezone(call.zone)
    # A run is a conversation; what names none is of its day.
    session = run or f"mem0 {(now if at is None else instant(at).astimezone(call.zone)).date().isoformat()}"
    turns = [{**_turn(t), "labels": labels, **({} if at is None else {"at": at})} for t in body.messages if t.content]
    if not turns:
        raise InputError("none of the messages holds text: nothing was done")
    stored = call.me.observe(turns, session=session)
    if stored.paused:
        return bodies.Mem0Added(message="This memory is paused", status="PAUSED", event_id=None, results=[])
    me = plain(call)
    read = _wait(call, me)
    if not body.infer and read:
        _remember(me, stored.messages)
    first, last = (message_handle(stored.messages[n].seq) for n in (0, -1))
    event = id_of(me.user, f"{first}-{last}")
    told = "Memories processed" if read else "Memory processing continues in the background"
    return bodies.Mem0Added(
        message=told, status="SUCCEEDED" if read else "PENDING", event_id=event,
        results=_learnt(me, {m.seq for m in stored.messages}, stored.messages),
    )  # fmt: skip


def _turn(turn: bodies.Mem0Turn) -> dict[str, Any]:
    told = {"role": turn.role, "content": turn.content, "name": turn.name}
    return {name: value for name, value in told.items() if value is not None}


def _ids(body: bodies.Mem0Add) -> dict[str, str]:
    """The labels that agent, app and run become, wherever they are named."""
    inside = body.filters or {}
    if unknown := sorted(inside.keys() - {"user_id", *OURS}):
        raise InputError(f"filters of what is added hold ids, and {', '.join(unknown)} is none: nothing was done")
    given = {ours: getattr(body, theirs) or inside.get(theirs) for theirs, ours in OURS.items()}
    return {ours: value for ours, value in given.items() if value is not None}


def plain(call: Call) -> ScopedMemory:
    """The memory of a call that is not bound to one request: what follows a change is no change of its own."""
    scope = call.scope
    return call.service.memory.scope(scope.user, tenant=scope.tenant, surface="http", who=call.identity.who)


def _wait(call: Call, me: ScopedMemory) -> bool:
    """Give the rules a moment; whether they have read everything by then."""
    settings, until = call.service.settings, time.monotonic() + (LITTLE if _slow(call) else PATIENCE)
    while True:
        if not settings.worker:
            call.service.memory.work(JOBS, slow=False)
        if _read(call, me):
            return True
        if time.monotonic() >= until:
            return False
        time.sleep(PAUSE)


def _slow(call: Call) -> bool:
    """Whether jobs may wait that are not those of the rules."""
    settings = call.service.settings
    return settings.embedder != "none" or settings.model.name is not None


def _read(call: Call, me: ScopedMemory) -> bool:
    counts = me.lag()
    return not counts.running and (not counts.waiting or _slow(call))


def _remember(me: ScopedMemory, messages: Collection[Message]) -> None:
    """`infer=False`: what no rule has read is remembered as it was said."""
    known = me.memories(status=None)
    cited = {e.message for memory in known for e in memory.evidence}
    texts = {memory.text for memory in known if memory.status is Status.LIVE}
    for message in messages:
        if message.seq not in cited and message.text not in texts and not message.forgotten:
            me.remember(message.text, session=message.session)


def _learnt(me: ScopedMemory, messages: Collection[int], said: Collection[Message] = ()) -> list[bodies.Mem0Event]:
    """What rests on these messages now. A memory is added by the first that states it, and updated where it took the place of
    another; saying again what is known is no event."""
    every = me.memories(status=None)
    before = {memory.successor: memory for memory in every if memory.successor is not None}
    told = {(m.session, m.text) for m in said}
    events = []
    for memory in every:
        outright = any(not e.message and (e.session, memory.text) in told for e in memory.evidence)
        sources = {e.message for e in memory.evidence if e.message}
        if memory.status is not Status.LIVE or not (outright or (sources and min(sources) in messages)):
            continue
        old = before.get(memory.seq)
        events.append(
            bodies.Mem0Event(
                id=id_of(me.user, memory.id), memory=memory.text, event="ADD" if old is None else "UPDATE",
                previous_memory=None if old is None else old.text,
            )
        )  # fmt: skip
    return events


def event(call: Call, given: str) -> bodies.Mem0EventStatus:
    """What became of what was added. Raises: NotFound."""
    first, _, last = memory_in(given).partition("-")
    start, end = parse_id(first, "h"), parse_id(last or first, "h")
    if not 0 <= end - start < bodies.MOST:
        raise NotFound("no such event here")
    me = plain(call)
    found = me.history(around=first, limit=200).messages
    done = _read(call, me)
    return bodies.Mem0EventStatus(
        id=given, status="SUCCEEDED" if done else "PENDING",
        results=_learnt(me, range(start, end + 1), [m for m in found if start <= m.seq <= end]),
    )  # fmt: skip


# ------------------------------------------------------------------ out


def listed(call: Call, wanted: bodies.Mem0List, *, page: int, page_size: int, url: str) -> bodies.Mem0Page:
    """A page of memories, the newest first. `url`: of the request without its page."""
    records, found = _fitting(call, wanted, call.me.memories(tiers=tuple(Tier)))
    found.sort(key=lambda memory: memory.seq, reverse=True)
    start = (page - 1) * page_size
    shown = found[start : start + page_size]

    def at(number: int, there: bool) -> str | None:
        return f"{url}page={number}&page_size={page_size}" if there else None

    return bodies.Mem0Page(
        results=[records.record(memory) for memory in shown], count=len(found),
        next=at(page + 1, start + page_size < len(found)), previous=at(page - 1, page > 1),
    )  # fmt: skip


def _fitting(call: Call, wanted: bodies.Mem0Wanted, memories: Collection[Memory]) -> tuple[Records, list[Memory]]:
    records = Records(call.me, call.zone)
    filters = [wanted.filters, {n: getattr(wanted, n) for n in OURS if getattr(wanted, n) is not None}]
    if wanted.categories:
        filters.append({"categories": wanted.categories})
    if isinstance(wanted, bodies.Mem0List):
        since, until = (
            None if text is None else read_instant(text, what, call.zone, end=what == "end_date").isoformat()
            for what, text in (("start_date", wanted.start_date), ("end_date", wanted.end_date))
        )
        filters.append({"created_at": {n: t for n, t in (("gte", since), ("lt", until)) if t is not None}})
    tests = [read_filter(one, call.zone) for one in filters]
    return records, [m for m in memories if all(test(records.fields(m)) for test in tests)]


def search(call: Call, wanted: bodies.Mem0Search) -> bodies.Mem0Memories:
    """The memories that answer a question, best first. Scores are those of recall, at most 1: they order one answer, and are no
    similarities."""
    limit = wanted.top_k or wanted.limit or 10
    narrow = any(getattr(wanted, name) for name in (*OURS, "filters", "categories"))
    found = call.me.recall(wanted.query, kinds=("fact", "memory"), limit=FILTERED if narrow else limit)
    call.service.metrics.recalled(found.took)
    items = {i.memory.seq: i for i in found.items if i.memory is not None}
    scores = {seq: min(1.0, item.score) for seq, item in items.items()}
    records, fitting = _fitting(call, wanted, [i.memory for i in items.values() if i.memory is not None])
    least = wanted.threshold or 0.0
    shown = [m for m in fitting if scores[m.seq] >= least][:limit]
    return bodies.Mem0Memories(results=[records.record(m, score=scores[m.seq]) for m in shown])


def one(call: Call, given: str) -> bodies.Mem0Memory:
    memory = meant(call.me, given)
    record = Records(call.me, call.zone).record(memory)
    return record.model_copy(update={"id": id_of(call.scope, memory_in(given))})


def history(call: Call, given: str) -> list[bodies.Mem0Version]:
    """What a memory said, one after another. Raises: NotFound."""
    wanted = call.me.memory(memory_in(given))
    every = {memory.seq: memory for memory in call.me.memories(status=None)}
    before = {memory.successor: memory for memory in every.values() if memory.successor is not None}
    chain = [wanted]
    while chain[0].seq in before and before[chain[0].seq] not in chain:
        chain.insert(0, before[chain[0].seq])
    while chain[-1].successor in every and every[chain[-1].successor] not in chain:
        chain.append(every[chain[-1].successor])
    name, told = id_of(call.scope, wanted.id), []
    for number, memory in enumerate(chain):
        old = chain[number - 1].text if number else None
        told.append(_version(call, name, "UPDATE" if number else "ADD", old, memory.text, memory.learnt_at, number))
    last = chain[-1]
    if last.status in (Status.ENDED, Status.RETRACTED):
        at = last.retired_at or last.learnt_at
        told.append(_version(call, name, "DELETE", last.text, None, at, len(chain)))
    return told


def _version(
    call: Call, name: str, event: Any, old: str | None, new: str | None, at: datetime, number: int
) -> bodies.Mem0Version:
    when = moment(at, call.zone)
    return bodies.Mem0Version(
        id=f"{name}.{number}", memory_id=name, user_id=call.scope.user, input=[], old_memory=old, new_memory=new, event=event,
        created_at=when, updated_at=when, is_deleted=event == "DELETE",
    )  # fmt: skip


def entities(call: Call) -> bodies.Mem0Entities:
    """The user, and the agents, apps and runs that their memories come from."""
    memories = call.me.memories(tiers=tuple(Tier))
    labels = Records(call.me, call.zone).labels(memories)
    found = [("user", call.scope.user, memories)] if memories else []
    found += [
        (ours, value, some)
        for ours in ("agent", "app", "run")
        for value, some in sorted(labels.get(ours, {}).items())
    ]  # fmt: skip
    told = [
        bodies.Mem0Entity.model_validate({
            "id": name, "name": name, "type": kind, "total_memories": len(some),
            "created_at": moment(min(m.learnt_at for m in some), call.zone),
            "updated_at": moment(max(m.affirmed_at for m in some), call.zone),
        })
        for kind, name, some in found
    ]  # fmt: skip
    return bodies.Mem0Entities(count=len(told), results=told)


# ------------------------------------------------------------------ changes


def update(call: Call, given: str, text: str) -> bodies.Mem0Updated:
    """A memory is corrected: the old one is kept as history, and its id goes on to mean the new one."""
    done = call.me.correct(meant(call.me, given).id, text)
    now = next(iter(done.memories), None) or meant(call.me, given)
    return bodies.Mem0Updated(message="Memory updated successfully!", id=id_of(call.scope, now.id), memory=now.text)


def update_many(call: Call, changes: Collection[bodies.Mem0Change]) -> bodies.Mem0Done:
    """All are looked at before the first is changed."""
    found = [(meant(call.me, change.memory_id), change.text) for change in changes]
    for memory, text in found:
        if not text.strip():
            raise InputError(f"{memory.id}: there is no text to put in its place; nothing was done")
    for memory, text in found:
        call.me.correct(memory.id, text)
    return bodies.Mem0Done(message=f"Successfully updated {len(found)} memories")


def delete(call: Call, given: str) -> bodies.Mem0Done:
    try:
        name = meant(call.me, given).id
    except NotFound:
        name = memory_in(given)  # it was asked for before, or does not hold any more
    call.me.forget(memory=name)
    return bodies.Mem0Done(message="Memory deleted successfully!")


def delete_many(call: Call, ids: Collection[str]) -> bodies.Mem0Done:
    """All are looked at before the first is forgotten."""
    found = list(dict.fromkeys(meant(call.me, given).id for given in ids))
    _forget(call.me, found)
    return bodies.Mem0Done(message=f"Successfully deleted {len(found)} memories")


def _forget(me: ScopedMemory, memories: Collection[str]) -> None:
    for memory in memories:
        try:
            me.forget(memory=memory)
        except NotFound:  # it went with another
            continue


def delete_all(call: Call, ids: Mapping[str, str], filters: Mapping[str, Any]) -> bodies.Mem0Done:
    """Forget the user, or what fits: then also the words that those memories rest on.

    Args:
        ids: `user_id`, `agent_id`, `app_id` and `run_id` as they were named; at least one, here or in the filters.
    """
    if not ids and not filters:
        raise InputError("name whose memories go: user_id, agent_id, app_id or run_id; nothing was done")
    check_said(filters)
    # Whose memory it is was looked at before. Where more is said about it, as by `ne`, that is a filter like any other.
    named = {n: v for n, v in {**filters, **ids}.items() if n != "user_id" or not isinstance(v, str)}
    if not named:
        call.me.forget(everything=True)
    elif named.keys() == {"run_id"} and isinstance(named["run_id"], str) and named["run_id"] != ANY:
        _forget_run(call.me, named["run_id"])
    else:
        _, found = _fitting(call, bodies.Mem0List(filters=named), call.me.memories(status=None))
        _forget(call.me, [memory.id for memory in found])
    return bodies.Mem0Done(message="Memories deleted successfully!")


def _forget_run(me: ScopedMemory, run: str) -> None:
    try:
        me.forget(session=run)
    except NotFound:  # nothing was said in it
        return


def delete_entity(call: Call, kind: str, name: str) -> bodies.Mem0Done:
    """Raises: NotFound: nothing comes from there."""
    if kind == "user":
        call.me.forget(everything=True)
    else:
        labels = Records(call.me, call.zone).labels(call.me.memories(tiers=tuple(Tier)))
        if name not in labels.get(kind, {}):
            raise NotFound(f"no {kind} of that name here")
        # It is the name itself that is meant, also where it is the one that stands for any.
        _forget_run(call.me, name) if kind == "run" else delete_all(call, {}, {f"{kind}_id": {"eq": name}})
    return bodies.Mem0Done(message="Entity deleted successfully!")
