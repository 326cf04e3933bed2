"""Where words go: data to stdout, chatter and progress to stderr, one JSON document with `--json`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, TypeAlias

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

Line: TypeAlias = str | tuple[str | tuple[str, str], ...]
"""A line for people: plain, or pieces of which some have a style, `("m4", "bold")`."""

Step: TypeAlias = Callable[[int], None]
"""Tells a progress display that so many more units are done."""

# Text from memories may hold anything; an escape sequence must not reach the terminal. Tabs and line ends may.
_CONTROL = {code: "�" for code in (*range(0x20), *range(0x7F, 0xA0)) if code not in (0x09, 0x0A)}


def harden_streams() -> None:
    """What the locale cannot show is written as an escape (\\u8bb0) instead of failing half-way."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def silence_stdout() -> None:
    """Whoever read our output has left: nothing more can be written, also not by Python when it ends."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # no real file behind it, so nothing that could fail at the end
        return


def harmless(text: str) -> str:
    """Text without control characters, but for tabs and line ends."""
    return text.translate(_CONTROL)


def dump(document: Any, stream: TextIO) -> str:
    """JSON that the stream can take: as it is, or in ASCII where the locale has no such letters."""
    text = json.dumps(document, ensure_ascii=False, indent=2)
    try:
        text.encode(stream.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return json.dumps(document, ensure_ascii=True, indent=2)
    return text


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 message`, `1,200 messages`"""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


class Output:
    """The two streams of one command."""

    def __init__(self, *, json: bool = False, quiet: bool = False) -> None:
        self.json, self.quiet = json, quiet
        self._out = Console(file=sys.stdout, highlight=False, markup=False, emoji=False, soft_wrap=True)
        self._err = Console(file=sys.stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)

    def show(self, document: Any, lines: Iterable[Line]) -> None:
        """The answer of a command: the document with `--json`, else the lines."""
        if self.json:
            self._write(dump(document, sys.stdout))
        else:
            for line in lines:
                self._out.print(_text(line))

    def verbatim(self, document: Any, text: str) -> None:
        """Text for another program: not a byte is changed, but on a terminal escape sequences are disarmed."""
        if self.json:
            self._write(dump(document, sys.stdout))
        elif text:
            self._write(harmless(text) if self._out.is_terminal else text)

    def piece(self, text: str) -> None:
        """A part of a text that is still coming."""
        sys.stdout.write(harmless(text))
        sys.stdout.flush()

    def note(self, line: Line) -> None:
        """Chatter; silent with `--quiet`."""
        if not self.quiet:
            sys.stdout.flush()
            self._err.print(_text(line))

    @contextmanager
    def progress(self, what: str, total: int, noun: str) -> Iterator[Step]:
        """A bar when stderr is a terminal, else one line at the start and one at the end."""
        if self.quiet or total == 0:
            yield lambda _done: None
        elif self._err.is_terminal:
            with self._bar() as bar:
                task = bar.add_task(harmless(what), total=total)
                yield lambda done: bar.advance(task, done)
        else:
            steps = 0

            def step(done: int) -> None:
                nonlocal steps
                steps += done

            self.note(f"{what}: {counted(total, noun)} …")
            yield step
            self.note(f"{what}: {counted(steps, noun)} done")

    def _bar(self) -> Progress:
        return Progress(
            TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
            TimeRemainingColumn(), console=self._err,
        )  # fmt: skip

    @staticmethod
    def _write(text: str) -> None:
        sys.stdout.write(f"{text}\n")


def _text(line: Line) -> Text:
    pieces = (line,) if isinstance(line, str) else line
    return Text.assemble(*(harmless(p) if isinstance(p, str) else (harmless(p[0]), p[1]) for p in pieces))
