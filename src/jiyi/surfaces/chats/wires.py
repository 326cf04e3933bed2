"""The two ways in which models are spoken to, as far as memory is concerned: who said what, and where a block goes.

Requests and answers are plain JSON, or the same as objects of an SDK. They are never changed in place, and nothing but the
system role is changed at all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from jiyi.domain.scope import check_name
from jiyi.errors import InputError
from jiyi.pipelines.context import CLOSE, OPEN, WORDS

_HEADS = "|".join(re.escape(words["head"]) for words in WORDS.values())
_BEGIN = re.compile(rf"{OPEN}\n(?:{_HEADS})\n")
"""How a block of ours begins, as `context` writes it; text that merely looks similar is somebody's own."""


def without_blocks(text: str, *, ends: bool = False) -> str:
    """Text without blocks of ours, and without the space before them. It is read once, however it is made: what clients and
    models send may be long, and be meant to take long.

    Args:
        ends: the text may end within a block, which is then left out as far as it came.
    """
    kept, at = list[str](), 0
    while (begin := _BEGIN.search(text, at)) is not None:
        close = text.find(CLOSE, begin.end())
        if close < 0 and not ends:
            break
        kept.append(text[at : begin.start()].rstrip())
        at = len(text) if close < 0 else close + len(CLOSE)
    return "".join([*kept, text[at:]])


@dataclass(frozen=True, slots=True)
class Turn:
    """What a person said: their words alone, without pictures and what tools brought."""

    text: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """What a request says. `new`: what people said since the model last answered. `goes_on`: it carries answers already."""

    turns: tuple[Turn, ...]
    new: tuple[Turn, ...]
    goes_on: bool

    @property
    def first(self) -> str:
        return self.turns[0].text if self.turns else ""

    @property
    def question(self) -> str:
        """The last words of a person: also while tools work for an answer, so that the block stays the same meanwhile."""
        return self.turns[-1].text if self.turns else ""


class Wire(Protocol):
    """One way to speak to a model."""

    @property
    def name(self) -> str:
        """As the settings call it."""

    @property
    def path(self) -> str:
        """Below the address of an API."""

    def with_block(self, request: Mapping[str, Any], block: str) -> dict[str, Any]:
        """The request with one block at the end of its system role; one that is there already is replaced."""

    def system(self, request: Mapping[str, Any]) -> str:
        """The words of the system role."""

    def answer(self, document: Any) -> str:
        """The model's words in a whole answer."""

    def piece(self, event: Any) -> tuple[int, str]:
        """The model's words in one event of a stream, and which part of the answer they belong to."""


def field_of(value: Any, name: str) -> Any:
    """A field of a mapping, or of an object of an SDK; None where there is none."""
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _plain(value: Any) -> Any:
    """A mapping for what may be an object of an SDK."""
    dump = getattr(value, "model_dump", None)
    return dump() if callable(dump) else value


def said(request: Mapping[str, Any]) -> Said:
    """What people say in a request; both wires have `messages` with `role` and `content`."""
    turns: list[Turn] = []
    fresh, goes_on = 0, False
    for message in messages_of(request):
        role = field_of(message, "role")
        if role == "assistant":
            goes_on, fresh = True, len(turns)
        elif role == "user" and (text := text_of(field_of(message, "content")).strip()):
            turns.append(Turn(text, _name(field_of(message, "name"))))
    return Said(tuple(turns), tuple(turns[fresh:]), goes_on)


def _name(value: Any) -> str | None:
    """Who speaks, if it can be a name; what cannot is no reason to lose the words."""
    try:
        return check_name("name", value)
    except InputError:
        return None


def messages_of(request: Mapping[str, Any]) -> Sequence[Any]:
    messages = request.get("messages")
    return messages if isinstance(messages, Sequence) and not isinstance(messages, str) else ()


def text_of(content: Any) -> str:
    """The words in a message's content, which is text or a list of parts."""
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        return ""
    texts = [p if isinstance(p, str) else field_of(p, "text") for p in content if _is_words(p)]
    return "\n".join(t for t in texts if isinstance(t, str))


def _is_words(part: Any) -> bool:
    return isinstance(part, str) or field_of(part, "type") == "text"


def _without_block(content: Any) -> Any:
    """Content without a block of ours; parts that held nothing else are left out."""
    if isinstance(content, str):
        return without_blocks(content)
    if not isinstance(content, Sequence):
        return content
    left = []
    for part in content:
        text = field_of(part, "text")
        rest = without_blocks(text) if isinstance(text, str) else text
        if rest == text:
            left.append(part)
        elif rest:
            left.append({**_plain(part), "text": rest})
    return left


def _extended(content: Any, block: str) -> Any:
    """Content with a block at its end: what stands before it, and what providers cache of it, stays as it is."""
    kept = _without_block(content)
    if isinstance(kept, str):
        return f"{kept}\n\n{block}" if kept else block
    if isinstance(kept, Sequence):
        return [*kept, {"type": "text", "text": block}]
    return block


@dataclass(frozen=True, slots=True)
class OpenAIChat:
    """Chat completions: the system role is a message, also under the name developer."""

    name: str = "openai"
    path: str = "/chat/completions"

    def with_block(self, request: Mapping[str, Any], block: str) -> dict[str, Any]:
        messages = list(request.get("messages") or ())
        leading = 0
        while leading < len(messages) and _is_system(messages[leading]):
            leading += 1
        for place, message in enumerate(messages):
            content = field_of(message, "content")
            if _is_system(message) and (kept := _without_block(content)) != content:
                messages[place] = {**_plain(message), "content": kept}
        if leading:
            last = _plain(messages[leading - 1])
            messages[leading - 1] = {**last, "content": _extended(last.get("content"), block)}
        else:
            messages.insert(0, {"role": "system", "content": block})
        return {**request, "messages": messages}

    def system(self, request: Mapping[str, Any]) -> str:
        return "\n\n".join(text_of(field_of(m, "content")) for m in messages_of(request) if _is_system(m))

    def answer(self, document: Any) -> str:
        return text_of(field_of(field_of(_first_choice(document), "message"), "content"))

    def piece(self, event: Any) -> tuple[int, str]:
        return 0, text_of(field_of(field_of(_first_choice(event), "delta"), "content"))


def _is_system(message: Any) -> bool:
    return field_of(message, "role") in ("system", "developer")


def _first_choice(document: Any) -> Any:
    choices = field_of(document, "choices")
    found = choices if isinstance(choices, list) else []
    return next((c for c in found if field_of(c, "index") in (0, None)), None)


@dataclass(frozen=True, slots=True)
class AnthropicMessages:
    """Messages: the system role is a field of its own, text or a list of blocks."""

    name: str = "anthropic"
    path: str = "/messages"

    def with_block(self, request: Mapping[str, Any], block: str) -> dict[str, Any]:
        system = request.get("system")
        # An SDK says by a mark of its own that it is left out.
        given = system if isinstance(system, str | list | tuple) else ""
        return {**request, "system": _extended(given, block)}

    def system(self, request: Mapping[str, Any]) -> str:
        return text_of(request.get("system"))

    def answer(self, document: Any) -> str:
        blocks = field_of(document, "content")
        texts = [field_of(b, "text") for b in blocks if _is_words(b)] if isinstance(blocks, list) else []
        return "\n\n".join(t for t in texts if isinstance(t, str) and t)

    def piece(self, event: Any) -> tuple[int, str]:
        kind = field_of(event, "type")
        holders = {"content_block_start": "content_block", "content_block_delta": "delta"}
        part = field_of(event, holders[kind]) if isinstance(kind, str) and kind in holders else None
        text, index = field_of(part, "text"), field_of(event, "index")
        return index if isinstance(index, int) else 0, text if isinstance(text, str) else ""


OPENAI, ANTHROPIC = OpenAIChat(), AnthropicMessages()
WIRES: Mapping[str, Wire] = {wire.name: wire for wire in (OPENAI, ANTHROPIC)}
