"""Read a language model's answer: JSON in whatever wrapping, each item checked against the schema (SPEC C7).

Also read is A2's plain shape, `{"memories": [{"content", "category", "importance"}]}`. Nothing here trusts that a schema was
kept to.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jiyi.domain.memory import Category, Mode

LIST_KEYS = ("memories", "memory", "items", "data", "results")
MAX_ITEMS = 100
MODES = {m.value: m for m in (Mode.STATEMENT, Mode.CHANGE, Mode.CORRECTION, Mode.DENIAL)}

_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_COMMA = re.compile(r",(\s*[}\]])")
_SPACE = re.compile(r"\s+")
# SPEC C7: keys and values are checked by pattern. A relation is a name or a few words, a subject and an object are one line.
_RELATION = re.compile(r"[^\W_][\w \-/']{0,60}")
_SUBJECT = re.compile(r"@?[^\W_][^\n\r\t|<>{}]{0,79}")
_OBJECT = re.compile(r"[^\n\r\t\x00-\x1f]{1,200}")
_OUTLINE = re.compile(r"^\s*(?:[-*•]|\d+[.)、])\s+")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One item of an answer, its shape checked and nothing else.

    `lines` are the numbers it cites; empty where the answer has the plain shape. Without a relation the other two are empty.
    """

    content: str
    category: Category
    importance: int
    lines: tuple[int, ...] = ()
    subject: str = ""
    relation: str = ""
    object: str = ""
    mode: Mode = Mode.STATEMENT
    heard: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """An answer as read: the good items, and why others were dropped. `fault` says why it is no answer at all."""

    candidates: tuple[Candidate, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=Counter)
    fault: str = ""


def read_answer(text: str, *, whole: bool, lines: int, max_chars: int) -> Reading:
    """Read an answer.

    Args:
        whole: the provider says that it was not cut off.
        lines: how many lines the question had.
        max_chars: of a memory.
    """
    if not whole:
        return Reading(fault="it was cut off")
    if not text.strip():
        return Reading(fault="it is empty")
    document = _document(text)
    if document is None:
        return Reading(fault="it holds no JSON")
    items = _items(document)
    if items is None:
        return Reading(fault='it has no list "memories"')
    candidates: list[Candidate] = []
    dropped: Counter[str] = Counter()
    for item in items[:MAX_ITEMS]:
        read = _candidate(item, lines, max_chars)
        if isinstance(read, Candidate):
            candidates.append(read)
        else:
            dropped[read] += 1
    dropped["too many"] += len(items[MAX_ITEMS:])
    if items and not candidates:
        return Reading(dropped=+dropped, fault=f"no item has the shape asked for ({', '.join(+dropped)})")
    return Reading(tuple(dict.fromkeys(candidates)), +dropped)


# ------------------------------------------------------------------ JSON


def _document(text: str) -> Any:
    """The first JSON object or list of a text that may have thoughts, fences and words around it; None without one."""
    text = _THOUGHT.sub("", text)
    decoder = json.JSONDecoder()
    for attempt in (text, _COMMA.sub(r"\1", text)):
        for start in _openings(attempt):
            try:
                return decoder.raw_decode(attempt, start)[0]
            except (ValueError, RecursionError):
                continue
    return None


def _openings(text: str, most: int = 8) -> Iterator[int]:
    """Where JSON may begin: braces and brackets that are not inside what was tried before them."""
    for number, match in enumerate(re.finditer(r"[{\[]", text)):
        if number == most:
            return
        yield match.start()


def _items(document: Any) -> Sequence[Any] | None:
    if isinstance(document, Mapping):
        for key in LIST_KEYS:
            found = document.get(key)
            if isinstance(found, list):
                return found
            if isinstance(found, Mapping):
                return [found]
        return [document] if "content" in document else None
    if isinstance(document, list) and all(isinstance(item, Mapping) for item in document):
        return document
    return None


# ------------------------------------------------------------------ items


def _candidate(item: Any, lines: int, max_chars: int) -> Candidate | str:
    """A candidate, or the reason why the item is none."""
    if not isinstance(item, Mapping):
        return "no object"
    content = item.get("content")
    if not isinstance(content, str) or not content.strip():
        return "no content"
    content = _SPACE.sub(" ", _OUTLINE.sub("", content)).strip()
    if len(content) > max_chars:
        return "longer than a memory"
    cited = _lines(item, lines)
    if cited is None:
        return "cites no line"
    subject, relation, value = (_text(item.get(name)) for name in ("subject", "relation", "object"))
    if not (relation and value):
        subject = relation = value = ""
    elif not (_RELATION.fullmatch(relation) and _OBJECT.fullmatch(value) and _SUBJECT.fullmatch(subject or "user")):
        return "key or value of no usable form"
    return Candidate(
        content=content,
        category=_category(item.get("category")),
        importance=_importance(item.get("importance")),
        lines=cited,
        subject=subject or ("user" if relation else ""),
        relation=relation,
        object=value,
        mode=MODES.get(_text(item.get("mode")).lower(), Mode.STATEMENT),
        heard=item.get("heard") is True,
    )


def _lines(item: Mapping[str, Any], count: int) -> tuple[int, ...] | None:
    """The numbers cited: () where the shape has none, None where they name no line."""
    if "messages" not in item:
        return ()
    given = item["messages"]
    numbers = [_whole(n) for n in (given if isinstance(given, list) else [given])]
    good = sorted({n for n in numbers if n is not None and 1 <= n <= count})
    return tuple(good) if good and len(good) == len(set(numbers)) else None


def _whole(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    text = value.strip("[]hH#m ") if isinstance(value, str) else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 8 else None


def _text(value: Any) -> str:
    text = _SPACE.sub(" ", value).strip() if isinstance(value, str) else ""
    return "" if text.lower() in ("null", "none", "n/a") else text


def _category(value: Any) -> Category:
    try:
        return Category(_text(value).lower())
    except ValueError:
        return Category.GENERAL


def _importance(value: Any) -> int:
    return min(max(_whole(value) or 3, 1), 5)
