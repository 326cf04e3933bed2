"""A data set's file, from a folder that the caller names: nothing of any data set is part of jiyi."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jiyi.errors import InputError, UnreadableFile
from jiyi.importers.documents import Document, Node, decode, lines, parse


@contextmanager
def measuring() -> Iterator[None]:
    """Reading what is to be measured: a broken file says that nothing was, since nothing would have been imported.

    Raises:
        UnreadableFile: what was raised inside, in these words.
    """
    try:
        yield
    except UnreadableFile as error:
        raise UnreadableFile(error.path, error.reason, error.line, "Nothing was measured") from error


def read_json(path: Path) -> Node:
    """Raises: InputError: no such file. UnreadableFile: no JSON."""
    return parse(Document(path, decode(path, read_bytes(path))))


def read_bytes(path: Path) -> bytes:
    """Raises: InputError: no such file."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; --data names the folder that holds the data sets") from error


def read_lines(path: Path) -> Iterator[Node]:
    """The JSON texts of a file that has one on each line. Raises what `read_json` does."""
    for line in lines(path, decode(path, read_bytes(path))):
        yield parse(line)
