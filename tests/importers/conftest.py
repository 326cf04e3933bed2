"""Files of other systems, written by us in their shapes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from jiyi.importers.formats import read_file
from jiyi.importers.parsed import ParsedFile

SHANGHAI = ZoneInfo("Asia/Shanghai")

Saved = Callable[..., Path]
Read = Callable[..., ParsedFile]


@pytest.fixture
def saved(tmp_path: Path) -> Saved:
    """Write a value as JSON, a list of values as JSON lines, text or bytes as they are; gives the path."""

    def save(name: str, content: Any, *, indent: int | None = None) -> Path:
        path = tmp_path / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif isinstance(content, str):
            path.write_bytes(content.encode())
        elif name.endswith(".jsonl"):
            path.write_text("".join(json.dumps(v, ensure_ascii=False) + "\n" for v in content), encoding="utf-8")
        else:
            path.write_text(json.dumps(content, ensure_ascii=False, indent=indent), encoding="utf-8")
        return path

    return save


@pytest.fixture
def read() -> Read:
    """`read_file` for somebody in Shanghai."""

    def call(path: Path, **options: Any) -> ParsedFile:
        return read_file(path, **{"zone": SHANGHAI, **options})

    return call


@pytest.fixture
def evaldata() -> Path:
    place = os.environ.get("JIYI_EVALDATA")
    if not place:
        pytest.skip("not verified: JIYI_EVALDATA is not set")
    return Path(place)
