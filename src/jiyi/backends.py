"""The part of assembly that knows concrete stores: which one the settings name, and what lies beside it. One branch each."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from jiyi.domain.forgetting import Copy
from jiyi.domain.relations import Vocabulary
from jiyi.errors import SettingsError
from jiyi.memory_layer import SEGMENTER, UNFINISHED
from jiyi.ports import Carried, GraphEngine, Keys, Store
from jiyi.settings import Settings
from jiyi.stores import moving
from jiyi.stores.carried import FileCarried, NothingCarried, carry_beside
from jiyi.stores.keys import copy_keys, open_keys
from jiyi.stores.moving import Moved, Step
from jiyi.stores.sqlite.vectors import VectorRules

if TYPE_CHECKING:
    from jiyi.stores.postgres.moving import PostgresMoving
    from jiyi.stores.postgres.store import PostgresStore
    from jiyi.stores.sqlite.moving import SqliteMoving
    from jiyi.stores.sqlite.store import SqliteStore

Showing: TypeAlias = Callable[[str, int], AbstractContextManager[Step]]
"""Shows how far a long work is: given what it is and how many rows there are, what is told of those done."""

REFERENCE = "reference"
"""In place of a path: an in-memory store of plain dicts, gone when closed. For tests and experiments."""
SERVERS = ("postgresql://", "postgres://")
"""How the address of a PostgreSQL server begins, in place of a path."""


def is_server(path: str) -> bool:
    return path.startswith(SERVERS)


def without_password(path: str) -> str:
    """An address as it may be shown. Rather too much goes than too little, also where it is written wrongly."""
    if _ADDRESS.match(path) is None:
        return path
    return _PASSWORD.sub(r"\1***", _SECRET.sub(r"\1:***@", path))


# Also as libpq takes it in words: it is no name of a file either.
_ADDRESS = re.compile(
    r"\s*(?:\w[\w+.-]+://|postgres(?:ql)?:|(?:host|hostaddr|port|dbname|user|password|passfile|service|sslmode)\s*=)",
    re.IGNORECASE,
)
_SECRET = re.compile(r"^(\s*[\w+.-]+:(?://)?[^:@?]*):.*@", re.DOTALL)
_PASSWORD = re.compile(r"((?:^|[?&\s])\w*password\s*=\s*)(?:'[^']*'?|[^&\s]*)", re.IGNORECASE)


def database_file(settings: Settings) -> Path:
    """The path of a database that is a file, `~` expanded.

    Raises:
        SettingsError: there is no such home, or it is the address of a server of another kind.
    """
    if (found := _ADDRESS.match(settings.path)) is not None:
        raise SettingsError(
            f"path begins with {found.group().strip()}: memory is kept in a file, or in PostgreSQL as postgresql://USER@HOST/DATABASE"
        )
    try:
        return Path(settings.path).expanduser()
    except RuntimeError as error:
        raise SettingsError(f"path = {settings.path!r}: {error}") from error


def open_store(settings: Settings, *, reindexing: bool, vectors: VectorRules) -> Store:
    """The store that the settings name. With `reindexing` its text index is emptied, to be made again.

    Raises:
        SettingsError: a setting that this kind of store has no use for. StoreError: it cannot be opened.
    """
    if settings.path == REFERENCE:
        from jiyi.stores.reference import open_reference

        return open_reference()
    if is_server(settings.path):
        return _open_postgres(settings, reindexing=reindexing, vectors=vectors)
    from jiyi.stores.sqlite.store import open_sqlite

    path = database_file(settings)
    if not reindexing:
        return open_sqlite(
            path,
            text_index=settings.memory_index,
            message_index=settings.message_index,
            synchronous=settings.synchronous,
            vectors=vectors,
            kept=settings.sqlite,
        )
    store = open_sqlite(path, synchronous=settings.synchronous, vectors=vectors)
    _mark_unfinished(store)
    store.rebuild_text_index(memory=settings.memory_index, message=settings.message_index)
    return store


def _open_postgres(settings: Settings, *, reindexing: bool, vectors: VectorRules) -> Store:
    from jiyi.stores.postgres.store import open_postgres

    if vectors.engine is not None:
        raise SettingsError("PostgreSQL looks through its vectors itself: leave vector_engine out")
    durable = settings.synchronous == "FULL"
    if not reindexing:
        return open_postgres(
            settings.path,
            settings.postgres,
            durable=durable,
            text_index=settings.memory_index,
            message_index=settings.message_index,
            scan=vectors.scan,
        )
    store = open_postgres(settings.path, settings.postgres, durable=durable, scan=vectors.scan)
    _mark_unfinished(store)
    store.rebuild_text_index(memory=settings.memory_index, message=settings.message_index)
    return store


def _mark_unfinished(store: Store) -> None:
    """Until the rebuild is done the database says so: whoever opens it after a crash is told to reindex (SPEC O1)."""
    if store.meta(SEGMENTER) is not None:
        store.set_meta(SEGMENTER, UNFINISHED)


def open_graph_engine(settings: Settings, vocabulary: Vocabulary) -> GraphEngine | None:
    """The engine that is to follow the graph and answer questions about it, None without one.

    Raises:
        SettingsError: an address that is none. MissingExtra: its driver is not installed.
    """
    if settings.graph_engine is None:
        return None
    from jiyi.stores.neo4j import Shape, open_neo4j

    return open_neo4j(settings.graph_engine, Shape(frozenset(r.name for r in vocabulary), settings.confidence))


def beside(settings: Settings, store: Store) -> tuple[Keys, Carried]:
    """What is kept apart from the database: the keys of redacted values, and what was forgotten."""
    place = _place(settings, store.secret)
    return open_keys(store, place), NothingCarried() if place is None else FileCarried(place, store.secret)


def _place(settings: Settings, secret: bytes) -> Path | None:
    """What the files beside a database are named after; for a server, by what tells its database from others."""
    if settings.path == REFERENCE:
        return None
    if is_server(settings.path):
        name = f"postgresql-{sha256(b'beside' + secret).hexdigest()[:12]}"
        return Path(settings.postgres.folder).expanduser() / name
    return database_file(settings)


def repair_database(settings: Settings) -> list[str]:
    """Make the indexes and counters of a database right again; returns what was done, one line each.

    Raises:
        StoreError: it cannot be opened.
    """
    if settings.path == REFERENCE:
        return []
    with closing(_repairable(settings)) as store:
        done = store.repair()
        # A forgetting that was killed before its end, or that a long reader held up, may have left bytes behind.
        store.purge()
        keys, _ = beside(settings, store)
        lost = keys.accept_loss()
        accepted = [f"accepted that {', '.join(lost)} of the redaction keys is lost"] if lost else []
        what = "the tables" if is_server(settings.path) else "the file"
        return [*done, f"wrote {what} anew, without what was erased", *accepted]


def _repairable(settings: Settings) -> SqliteStore | PostgresStore:
    if is_server(settings.path):
        from jiyi.stores.postgres.store import open_postgres

        return open_postgres(settings.path, settings.postgres)
    from jiyi.stores.sqlite.store import open_sqlite

    return open_sqlite(database_file(settings), synchronous=settings.synchronous)


def restore_server(source: Path, settings: Settings) -> None:
    """Put a backup into a database of a server that holds no memory yet.

    Raises:
        StoreError: the source is no backup of such a database, or there is a memory already.
    """
    from jiyi.stores.postgres.backup import restore

    restore(source, settings.path, settings.postgres)
    with closing(open_store(settings, reindexing=False, vectors=VectorRules())) as store:
        target = _place(settings, store.secret)
        assert target is not None
        copy_keys(source, target)
        carry_beside(source, target, None, store.secret)


def restore_database(source: Path, target: Path, *, replace: bool = False) -> Path | None:
    """Put a backup in the place of a database; returns where the old one is kept, None if there was none.

    Raises:
        StoreError: the source is no healthy database of jiyi, or the target exists and `replace` is false.
        StoreBusy: the target is in use.
    """
    from jiyi.stores.sqlite.backup import restore, secret_of

    kept = restore(source, target, replace=replace)
    if kept is not None:
        copy_keys(target, kept)
    # A backup that came without its keys is left with those of the database it replaces: it may be of the same one.
    copy_keys(source, target)
    carry_beside(source, target, kept, secret_of(target))
    return kept


def move_database(source: Settings, target: Settings, now: datetime, showing: Showing) -> Moved:
    """Move a whole database, with what lies beside it, into one that holds nothing; or go on where that was stopped.

    The source can be read meanwhile, and is left as it is. Who writes to it waits. Where its text index was the
    engine's own, the target has to be opened with `reindexing` next.

    Args:
        now: when the file that is left becomes a copy of what the target holds.
        showing: is told what is being done and of how many rows, and gives what is told of the rows done.

    Raises:
        StoreError: the source holds no memory, or the target another one. StoreBusy: the source is being written to.
        StoreCorrupt: the two differ at the end.
    """
    if REFERENCE in (source.path, target.path):
        raise SettingsError("a memory in memory cannot be moved: name a file, or postgresql://…")
    if _same(source, target):
        raise SettingsError("source and target are one database: name another target")
    with _movable(source, as_source=True) as ours, _movable(target, as_source=False) as theirs:
        progress = moving.begin(ours, theirs)
        total = sum(map(ours.count, ours.tables))
        with showing("moving", max(total - progress.rows, 0)) as step:
            moving.copy(ours, theirs, progress, step)
        with showing("comparing", total) as step:
            moved = moving.compare(ours, theirs, step)
        native = ours.native()
        _move_beside(source, target, ours.secret)
        # What the engine's own index held is no table that is moved: it is not found before it is indexed again.
        copy = None if is_server(source.path) else Copy("backup", str(database_file(source).absolute()), now)
        theirs.finish(ours.sequences(), {SEGMENTER: UNFINISHED} if native else {}, copy)
    return replace(moved, native=tuple(native))


def _same(source: Settings, target: Settings) -> bool:
    if is_server(source.path) or is_server(target.path):
        return (source.path, source.postgres.schema) == (target.path, target.postgres.schema)
    ours, theirs = database_file(source).absolute(), database_file(target).absolute()
    try:
        # A link is the same file by another name, for which SQLite would keep another log.
        return ours == theirs or ours.samefile(theirs)
    except OSError:  # one of them is not there
        return False


def _movable(settings: Settings, *, as_source: bool) -> AbstractContextManager[SqliteMoving | PostgresMoving]:
    if is_server(settings.path):
        from jiyi.stores.postgres import moving as servers

        return (servers.open_source if as_source else servers.open_target)(settings.path, settings.postgres)
    from jiyi.stores.sqlite import moving as files

    return (files.open_source if as_source else files.open_target)(database_file(settings).absolute())


def _move_beside(source: Settings, target: Settings, secret: bytes) -> None:
    """The keys of redacted values and what was forgotten: without them equal values would not be seen to be equal."""
    here, there = _place(source, secret), _place(target, secret)
    assert here is not None
    assert there is not None
    if here != there:
        copy_keys(here, there)
        carry_beside(here, there, None, secret)
