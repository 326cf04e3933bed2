"""`jiyi doctor`: is everything jiyi needs in order, and what to do where it is not (SPEC O1, U4)."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from jiyi.assembly import open_memory
from jiyi.backends import REFERENCE, repair_database
from jiyi.errors import JiyiError, MissingExtra, SegmenterMismatch, SettingsError
from jiyi.memory_layer import MemoryLayer
from jiyi.ports import Check
from jiyi.settings import Settings, zone
from jiyi.shipped import load_segmenter
from jiyi.surfaces.cli.calls import Call
from jiyi.surfaces.cli.output import Line, counted
from jiyi.surfaces.cli.upkeep import rebuild_index

OLDEST_PYTHON, OLDEST_SQLITE = (3, 11), (3, 40, 0)
SPARE_BYTES = 100 * 1024 * 1024
"""Free disk space below which writing is at risk."""
PRIVATE = 0o600
SICK = 1

Repair: TypeAlias = Callable[[], str]
"""Makes it right and says what it did."""


def doctor(
    call: Call,
    fix: Annotated[bool, typer.Option("--fix", "--repair", help="Repair what can be repaired safely.")] = False,
) -> int | None:
    """Check Python, SQLite, the segmenter, the database, its jobs and the language model, which is asked a small question.

    Exit code 1 when something is wrong.
    """
    repaired: list[str] = []
    if fix:
        try:
            repaired = list(_repairs(call))
        except JiyiError as error:
            repaired = [f"could not repair: {error}"]
    checks = list(_examine(call))
    failed = sum(not c.ok for c in checks)
    document = {
        "ok": not failed,
        "checks": [{"name": c.name, "ok": c.ok, "detail": c.detail, "fix": None if c.ok else c.fix} for c in checks],
        "repaired": repaired,
    }
    call.out.show(document, _lines(checks, repaired, failed))
    return SICK if failed else None


def _lines(checks: list[Check], repaired: list[str], failed: int) -> Iterator[Line]:
    yield from (f"repaired: {done}" for done in repaired)
    width = max(len(c.name) for c in checks)
    for check in checks:
        mark = ("ok", "green") if check.ok else ("✗ ", "bold red")
        yield (mark, f" {check.name:<{width}}  {check.detail}")
        if not check.ok and check.fix:
            yield f"   {'':<{width}}  → {check.fix}"
    yield "all is well" if not failed else f"{failed} of {len(checks)} checks failed"


# ------------------------------------------------------------------ checks


def _examine(call: Call) -> Iterator[Check]:
    yield _python()
    yield from _sqlite()
    try:
        settings = call.settings
    except SettingsError as error:
        yield Check("settings", False, str(error), "correct the setting it names, in jiyi.toml or the environment")
        return
    yield Check("settings", True, "jiyi.toml" if Path("jiyi.toml").is_file() else "no jiyi.toml here")
    yield _time_zone(settings, call)
    yield _segmenter(settings)
    path = call.database
    if call.server:
        yield from _database(call)
    elif path is None:
        yield Check("database", True, "in memory, gone when closed")
        yield from _model(settings)
    elif not path.exists():
        yield _place(path)
        yield from _model(settings)
    else:
        yield from _file(path)
        yield from _database(call)


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    wanted = ".".join(map(str, OLDEST_PYTHON))
    return Check("Python", sys.version_info >= OLDEST_PYTHON, version, f"install Python {wanted} or newer")


def _sqlite() -> Iterator[Check]:
    wanted = ".".join(map(str, OLDEST_SQLITE))
    new_enough = sqlite3.sqlite_version_info >= OLDEST_SQLITE
    yield Check("SQLite", new_enough, sqlite3.sqlite_version, f"use a Python built with SQLite {wanted} or newer")
    with closing(sqlite3.connect(":memory:")) as connection:
        fts5 = _runs(connection, "CREATE VIRTUAL TABLE t USING fts5(x)")
        ln = _runs(connection, "SELECT ln(2.0)")
    need = "use a Python whose SQLite has FTS5, or stay with the text index postings"
    yield Check("FTS5", fts5, "there, for the text index native" if fts5 else "missing", need)
    yield Check("ln()", True, "built in" if ln else "not built in, so jiyi brings its own")


def _runs(connection: sqlite3.Connection, sql: str) -> bool:
    try:
        connection.execute(sql).fetchall()
    except sqlite3.OperationalError:
        return False
    return True


def _time_zone(settings: Settings, call: Call) -> Check:
    try:
        here = call.now.astimezone(zone(settings.timezone)).strftime("%Y-%m-%d %H:%M")
    except SettingsError as error:
        return Check("time zone", False, str(error), "pass --tz, or set JIYI_TIMEZONE, to a name such as Asia/Shanghai")
    return Check("time zone", True, f"{settings.timezone}, where it is {here}")


def _segmenter(settings: Settings) -> Check:
    try:
        segmenter = load_segmenter(stop_words=settings.stop_words)
    except (MissingExtra, SettingsError) as error:
        return Check("segmenter", False, str(error), "install what it names, or correct `stop_words` in the settings")
    return Check("segmenter", True, f"{segmenter.identity}, before the words that a database brings")


def _place(path: Path) -> Check:
    folder = next(p for p in path.absolute().parents if p.exists())
    able = os.access(folder, os.W_OK)
    detail = f"none yet in {path}; it is made at the first use" if able else f"{folder} cannot be written to"
    return Check("database", able, detail, "name another place with --db or JIYI_PATH")


def _file(path: Path) -> Iterator[Check]:
    size = sum(p.stat().st_size for p in _files(path))
    able = os.access(path, os.W_OK) and os.access(path.absolute().parent, os.W_OK)
    yield Check("database", able, f"{path}, {size:,} bytes", f"make {path} and its folder writable for you")
    if os.name == "posix":
        open_files = [p for p in _files(path) if _mode(p) & 0o077]
        yield Check(
            "file mode", not open_files,
            f"{_mode(path):04o}" if not open_files else f"{', '.join(p.name for p in open_files)} open to other users",
            f"`chmod 600 {path}`, or `jiyi doctor --fix`",
        )  # fmt: skip
    free = shutil.disk_usage(path.absolute().parent).free
    # A backup, a migration and a purge each need room for a second copy.
    yield Check("disk space", free >= max(SPARE_BYTES, size), f"{free:,} bytes free", "free some space on this disk")


def _files(path: Path) -> list[Path]:
    return [
        p
        for p in (path, Path(f"{path}-wal"), Path(f"{path}-shm"), Path(f"{path}.key"), Path(f"{path}.forgotten"))
        if p.exists()
    ]


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def _database(call: Call) -> Iterator[Check]:
    try:
        with open_memory(settings=call.settings) as layer:
            info = layer.info()
            details = ", ".join(f"{name} {value}" for name, value in info.details.items())
            yield Check("store", True, f"{info.kind}, version {info.schema_version}; {details}")
            yield from layer.check()
            yield _jobs(layer)
            yield from layer.check_model()
    except SegmenterMismatch as error:
        yield Check("text index", False, str(error), "`jiyi reindex`, or `jiyi doctor --fix`")
    except JiyiError as error:
        yield Check("opening", False, str(error), "do what it says, or bring back a backup with `jiyi restore`")


def _model(settings: Settings) -> Iterator[Check]:
    """The language model where there is no database yet."""
    try:
        with open_memory(settings=replace(settings, path=REFERENCE, worker=False)) as layer:
            yield from layer.check_model()
    except MissingExtra as error:
        yield Check("packages", False, str(error), "install what it names")
    except JiyiError as error:
        yield Check("model", False, str(error), "correct [model] in jiyi.toml, or set the variable that it names")


def _jobs(layer: MemoryLayer) -> Check:
    left = layer.lag()
    detail = f"{left.waiting} waiting, {left.running} running, {left.dead} given up"
    if left.oldest_at is not None:
        detail += f", the oldest since {left.oldest_at:%Y-%m-%d %H:%M %Z}"
    # Whether any died is a line of the store's own check.
    return Check("jobs", True, detail)


# ------------------------------------------------------------------ repairs


def _repairs(call: Call) -> Iterator[str]:
    """Nothing here can lose a memory that was not to be forgotten: rights of files, indexes, counters, what came back."""
    path = call.database
    if not call.server and (path is None or not path.exists()):
        return
    if path is not None and os.name == "posix":
        for file in _files(path):
            if _mode(file) & 0o077:
                file.chmod(PRIVATE)
                yield f"{file} is now readable by you alone"
    yield from repair_database(call.settings)
    if _index_is_stale(call):
        with open_memory(settings=call.settings, reindexing=True) as layer:
            yield f"{counted(rebuild_index(layer, call), 'entry', 'entries')} of indexes made anew"
    with open_memory(settings=call.settings) as layer:
        if again := layer.forget_again():
            yield f"forgot again what had come back to {counted(len(again), 'user')}"


def _index_is_stale(call: Call) -> bool:
    try:
        with open_memory(settings=call.settings) as layer:
            return any("jiyi reindex" in check.fix for check in layer.check() if not check.ok)
    except SegmenterMismatch:
        return True
