"""A bad recall becomes a case that fails until it is mended (SPEC R10, R12): what was asked, what stood in the way, what
was wanted, in the format of the golden cases.

The words are those of the memory it was asked in, redacted as they are stored; whose memory it is does not go along.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

from jiyi.domain.memory import Message, message_handle
from jiyi.domain.traces import Trace
from jiyi.errors import InputError, NotFound
from jiyi.evaluation.case_files import read_cases
from jiyi.evaluation.harness import START
from jiyi.memory_reader import MemoryReader

RIVALS = 12
"""Candidates whose evidence goes into the case, so that what outranked the wanted one does so there too."""

Told: TypeAlias = dict[int, Message]


def add_case(
    me: MemoryReader,
    trace_id: str,
    path: Path,
    *,
    wanted: Sequence[str],
    unwanted: Sequence[str] = (),
    case_id: str = "",
) -> str:
    """Write the case at the end of a TOML file, which is made where it is missing; gives the id of the case.

    Args:
        wanted: ids that the answer should have had: memories (m42) and turns (h17). unwanted: ids that it should not.
        case_id: by default the id of the trace.

    Raises:
        NotFound: the trace is not kept any more, or an id names nothing here.
        InputError: nothing is wanted or unwanted, no words of the question were kept, the file is no TOML of cases, or
            it has a case of that id.
    """
    trace = me.explain(trace_id).trace
    if not wanted and not unwanted:
        raise InputError("say what the answer should have had (--wanted ID) or not (--unwanted ID)")
    if not trace.query:
        raise InputError(f"the words of {trace_id} were not kept (detail = minimal), so it makes no case")
    name = case_id or trace_id
    if path.exists() and name in {case.id for case in read_cases(path)}:
        raise InputError(f"{path} has a case {name!r} already: name this one with --id")
    text = _case(me, trace, name, wanted, unwanted)
    before = path.read_text("utf-8") if path.exists() else ""
    fresh = path.with_name(f"{path.name}.new")
    fresh.write_text(f"{before.rstrip()}\n\n{text}".lstrip(), "utf-8")
    read_cases(fresh)
    fresh.replace(path)
    return name


def _case(me: MemoryReader, trace: Trace, name: str, wanted: Sequence[str], unwanted: Sequence[str]) -> str:
    rivals = [c.id for c in trace.considered[:RIVALS]]
    told: Told = {}
    outright: dict[str, str] = {}
    texts: dict[str, str] = {}
    for item in dict.fromkeys([*wanted, *unwanted, *rivals]):
        texts[item] = _gather(me, item, told, outright)
    steps = [_step(advance=f"{minutes}m")] if (minutes := _minutes(START, trace.at)) > 0 else []
    steps += [_step(remember=text, category=category) for text, category in outright.items()]
    steps += [_say(m) for m in sorted(told.values(), key=lambda m: (m.at, m.seq))]
    steps.append(_expectation(trace, [texts[i] for i in wanted], [texts[i] for i in unwanted]))
    body = "".join(f"  {step},\n" for step in steps)
    return f'[[case]]\nid = {_quoted(name)}\nrows = ["R10"]\nsteps = [\n{body}]\n'


def _gather(me: MemoryReader, item: str, told: Told, outright: dict[str, str]) -> str:
    """Take along what an item rests on; gives its text. A summary rests on turns that are made into one again."""
    if item.startswith("m"):
        memory = next((m for m in me.memories(status=None) if m.id == item), None)
        if memory is None:
            raise NotFound(f"no memory {item} here")
        messages: Iterable[Message] = me.evidence(item)
        if any(e.message == 0 for e in memory.evidence):
            outright[memory.text] = memory.category.value
        text = memory.text
    else:
        around = me.history(around=item, limit=50).messages
        messages = [m for m in around if item.startswith("s") or message_handle(m.seq) == item]
        text = "\n".join(m.text for m in messages)
    told.update((m.seq, m) for m in messages)
    return text


def _say(message: Message) -> str:
    more = {} if message.name is None else {"name": message.name}
    return _step(say=message.text, role=message.role.value, session=message.session, at=message.at.isoformat(), **more)


def _expectation(trace: Trace, wanted: Sequence[str], unwanted: Sequence[str]) -> str:
    if trace.verb == "context":
        return _step(context=trace.query, has=wanted, lacks=unwanted)
    return _step(recall=trace.query, kinds=trace.kinds, k=trace.limit, top=wanted, lacks=unwanted)


def _minutes(start: datetime, end: datetime) -> int:
    return int((end - start).total_seconds()) // 60


def _step(**fields: str | int | Sequence[str]) -> str:
    """One step; a list that is empty expects nothing, so it is left out."""
    told = [f"{name} = {_value(value)}" for name, value in fields.items() if value or value == 0]
    return f"{{ {', '.join(told)} }}"


def _value(value: str | int | Sequence[str]) -> str:
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return _quoted(value)
    return f"[{', '.join(map(_quoted, value))}]"


def _quoted(text: str) -> str:
    """A TOML basic string: JSON escapes all that TOML wants escaped but the delete character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
