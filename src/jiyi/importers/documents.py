"""JSON read from a file, with the place of every value at hand: a wrong shape is refused by line and path."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from jiyi.errors import UnreadableFile

_SURROGATE = re.compile("[\ud800-\udfff]")

# How much of a path inside a file an error shows.
_SHOWN = 160

_BYTE_ORDER_MARKS = ((b"\xff\xfe\x00\x00", "UTF-32"), (b"\x00\x00\xfe\xff", "UTF-32"), (b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Document:
    """One JSON text: a whole file, or a line of one. `first_line` counts from 1."""

    path: Path
    text: str
    first_line: int = 1


@dataclass(frozen=True, slots=True)
class Node:
    """A value inside a document. Every step down checks the shape and raises UnreadableFile where it is wrong."""

    value: Any
    document: Document
    steps: tuple[str | int, ...] = ()

    @property
    def where(self) -> str:
        """The path inside the document: `[0].mapping.n1`."""
        shown = "".join(f"[{s}]" if isinstance(s, int) else f".{printable(s)}" for s in self.steps).lstrip(".")
        return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"

    @property
    def place(self) -> str:
        """File, line and path, for a message."""
        line = line_of(self.document, self.steps)
        return f"{self.document.path}, line {line}" + (f", {self.where}" if self.steps else "")

    def fail(self, reason: str) -> NoReturn:
        where = f"{self.where}: " if self.steps else ""
        raise UnreadableFile(self.document.path, f"{where}{reason}", line_of(self.document, self.steps))

    def has(self, key: str) -> bool:
        """Whether there is such a member and it is not null."""
        return isinstance(self.value, Mapping) and self.value.get(key) is not None

    def get(self, key: str) -> Node | None:
        """A member that may be absent or null."""
        value = self.mapping().get(key)
        return None if value is None else Node(value, self.document, (*self.steps, key))

    def at(self, key: str) -> Node:
        """A member that must be there."""
        if key not in self.mapping():
            self.fail(f"{key!r} is missing")
        return Node(self.value[key], self.document, (*self.steps, key))

    def mapping(self) -> Mapping[str, Any]:
        if not isinstance(self.value, dict):
            self.fail(f"expected an object {{…}}, found {_kind(self.value)}")
        return self.value

    def members(self) -> Iterator[tuple[str, Node]]:
        for key, value in self.mapping().items():
            yield key, Node(value, self.document, (*self.steps, key))

    def items(self) -> Iterator[Node]:
        if not isinstance(self.value, list):
            self.fail(f"expected a list […], found {_kind(self.value)}")
        for index, value in enumerate(self.value):
            yield Node(value, self.document, (*self.steps, index))

    def text(self) -> str:
        if not isinstance(self.value, str):
            self.fail(f"expected text, found {_kind(self.value)}")
        if _SURROGATE.search(self.value):
            self.fail("the text holds half a character (a lone surrogate), which cannot be stored: export it again")
        return self.value

    def optional_text(self, key: str) -> str | None:
        """A text member; absent, null and empty are the same."""
        node = self.get(key)
        return (node.text() or None) if node is not None else None


def decode(path: Path, data: bytes) -> str:
    """UTF-8 with or without byte order mark.

    Raises:
        UnreadableFile: another encoding, or nothing in it.
    """
    for mark, name in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            raise UnreadableFile(path, f"the file is {name}, expected UTF-8: save it as UTF-8 and import it again", 1)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UnreadableFile(path, f"not UTF-8 (byte 0x{data[error.start]:02x}){_other_encoding(data)}", line) from None
    if not text.strip():
        raise UnreadableFile(path, "the file is empty")
    return text


def parse(document: Document) -> Node:
    """Read one JSON text.

    Raises:
        UnreadableFile: broken JSON, with its line; a key given twice, where one value would be lost in silence.
    """
    try:
        return Node(json.loads(document.text, object_pairs_hook=_unique), document)
    except json.JSONDecodeError as error:
        line = document.first_line + error.lineno - 1
        raise UnreadableFile(document.path, f"not valid JSON: {error.msg} at column {error.colno}", line) from None
    except _GivenTwiceError as error:
        line_if_known = document.first_line if "\n" not in document.text else None
        raise UnreadableFile(document.path, str(error), line_if_known) from None
    except RecursionError:
        raise UnreadableFile(document.path, "nested too deeply", document.first_line) from None
    except ValueError:
        # The only other refusal of the parser: Python does not read numbers of more than 4 300 digits.
        raise UnreadableFile(document.path, "a number with too many digits", document.first_line) from None


def lines(path: Path, text: str) -> Iterator[Document]:
    """The lines that hold something. Only a line feed ends one: JSON text may hold the other separators raw."""
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield Document(path, line, number)


def line_of(document: Document, steps: tuple[str | int, ...]) -> int:
    """The line of a value in a text that is known to be valid JSON."""
    if "\n" not in document.text:
        return document.first_line
    position = _blank(document.text, 0)
    for step in steps:
        position = _step(document.text, position, step)
    return document.first_line + document.text.count("\n", 0, position)


def printable(name: str, length: int = 40) -> str:
    """A name from a file as an error can show it."""
    clean = "".join(c if c.isprintable() else "�" for c in name)
    return clean if len(clean) <= length else f"{clean[:length]}…"


class _GivenTwiceError(ValueError):
    def __init__(self, key: str) -> None:
        super().__init__(f"the key {printable(key)!r} is given twice in one object, so one of its values would be lost")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for key, value in pairs:
        if key in members:
            raise _GivenTwiceError(key)
        members[key] = value
    return members


_decoder = json.JSONDecoder()
_space = re.compile(r"[ \t\n\r]*")


def _blank(text: str, position: int) -> int:
    match = _space.match(text, position)
    return match.end() if match else position


def _step(text: str, position: int, step: str | int) -> int:
    """From the start of an object or list to the start of the member `step`."""
    position = _blank(text, position + 1)
    index = 0
    while True:
        key: object = index
        if isinstance(step, str):
            key, position = _decoder.raw_decode(text, position)
            position = _blank(text, _blank(text, position) + 1)
        if key == step:
            return position
        _, position = _decoder.raw_decode(text, position)
        position = _blank(text, _blank(text, position) + 1)
        index += 1


def _kind(value: object) -> str:
    if value is None:
        return "null"
    kinds = {dict: "an object", list: "a list", str: "text", bool: "true or false", int: "a number", float: "a number"}
    return kinds.get(type(value), type(value).__name__)


def _other_encoding(data: bytes) -> str:
    try:
        data.decode("gb18030")
    except UnicodeDecodeError:
        return ": save it as UTF-8 and import it again"
    return ", it may be GB18030 (GBK): save it as UTF-8 and import it again"
