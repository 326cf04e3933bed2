"""A data set's file, from a folder that the caller names: nothing of any data set is part of jiyi."""

from __future__ import annotations

from pathlib import Path

from jiyi.errors import InputError
from jiyi.importers.documents import Document, Node, decode, parse


def read_json(path: Path) -> Node:
    """Raises: InputError: no such file. UnreadableFile: no JSON."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; --data names the folder that holds the data sets") from error
    return parse(Document(path, decode(path, data)))
