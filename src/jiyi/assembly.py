"""`open_memory`: the only place that knows concrete stores, files, the environment and the clock."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime
from functools import cache
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Any, get_args

from jiyi.domain.relations import Vocabulary, parse_vocabulary
from jiyi.errors import SegmenterMismatch, SettingsError, StoreError
from jiyi.jobs import Clock
from jiyi.memory_layer import SEGMENTER, MemoryLayer, Parts
from jiyi.pipelines.context import Context
from jiyi.pipelines.distil import Distiller
from jiyi.pipelines.facts import FactFinder
from jiyi.pipelines.gateway import Gateway
from jiyi.pipelines.grammar import Constructions, parse_constructions
from jiyi.pipelines.indexing import Indexing
from jiyi.pipelines.recall import Recall
from jiyi.ports import Store
from jiyi.settings import Settings, TextIndexName, read_settings
from jiyi.text.segmentation import Segmenter, StopWords, parse_dictionary

SETTINGS_FILE = "jiyi.toml"
REFERENCE = "reference"
"""In place of a path: an in-memory store of plain dicts, gone when closed. For tests and experiments."""

UNFINISHED = "(a rebuild that did not finish)"
"""Stands for the segmenter of an index while it is rebuilt."""


def wall_clock() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 — the one clock


def open_memory(
    path: str | os.PathLike[str] | None = None,
    *,
    settings: Settings | None = None,
    clock: Clock = wall_clock,
    reindexing: bool = False,
    **overrides: Any,
) -> MemoryLayer:
    """Open a memory, creating or migrating its database.

    Args:
        path: a file (made if missing), or "reference" for an in-memory store; `~/.jiyi/memory.db` by default.
        settings: a whole tree; otherwise `jiyi.toml` in the working directory, `JIYI_*` variables and keywords.
        clock: what time it is, as an aware datetime.
        reindexing: open although the text index was built with another segmenter, in order to rebuild it.
        overrides: single settings, e.g. `timezone="Asia/Shanghai"`, `worker=False`.

    Raises:
        SettingsError: a setting that cannot be used.
        SegmenterMismatch: the index was built with another segmenter or dictionary; names `jiyi reindex`.
        StoreError: the file is no jiyi database, is damaged, or comes from a newer jiyi.
    """
    if settings is None:
        settings = load_settings(None if path is None else os.fspath(path), **overrides)
    elif overrides or path is not None:
        raise SettingsError("give either settings= or a path and keywords, not both")
    parts = assemble(settings)
    store = _open_store(settings, reindexing=reindexing)
    try:
        _check_segmenter(store, parts.indexing.segmenter, reindexing=reindexing)
    except BaseException:
        store.close()
        raise
    return MemoryLayer(store, parts, clock)


def load_settings(path: str | None = None, **overrides: Any) -> Settings:
    """Settings from `jiyi.toml` in the working directory, the environment, and keywords."""
    file = Path(SETTINGS_FILE)
    if path is not None:
        overrides["path"] = path
    return read_settings(
        os.environ, _read_toml(file.read_text("utf-8"), SETTINGS_FILE) if file.is_file() else None, **overrides
    )


def assemble(settings: Settings) -> Parts:
    """Everything but the store."""
    vocabulary = load_vocabulary()
    segmenter = load_segmenter(settings.dictionary)
    indexing = Indexing(segmenter)
    facts = FactFinder(vocabulary, segmenter.fold)
    recall = Recall(indexing, facts, settings.ranking, settings.confidence, settings.heat, settings.limits.query_chars)
    return Parts(
        settings=settings,
        vocabulary=vocabulary,
        distiller=Distiller(vocabulary, load_constructions(), segmenter.fold, settings.confidence),
        indexing=indexing,
        gateway=Gateway(indexing, settings.gateway),
        recall=recall,
        context=Context(recall, settings.context, settings.profile, settings.confidence, vocabulary),
    )


def _open_store(settings: Settings, *, reindexing: bool) -> Store:
    if settings.path == REFERENCE:
        from jiyi.stores.reference import open_reference

        return open_reference()
    from jiyi.stores.sqlite.store import open_sqlite

    path, wanted = Path(settings.path).expanduser(), (settings.memory_index, settings.message_index)
    if not reindexing:
        return open_sqlite(path, text_index=wanted[0], message_index=wanted[1], synchronous=settings.synchronous)
    return _open_to_reindex(path, wanted, settings)


def _open_to_reindex(path: Path, wanted: tuple[TextIndexName, TextIndexName], settings: Settings) -> Store:
    """Open with whatever indexes the file has, and empty them for the wanted ones.

    Until the rebuild is done the file says so: whoever opens it after a crash is told to reindex (SPEC O1).
    """
    from jiyi.stores.sqlite.store import open_sqlite

    refused: StoreError | None = None
    for memory, message in (wanted, *product(get_args(TextIndexName), repeat=2)):
        try:
            store = open_sqlite(path, text_index=memory, message_index=message, synchronous=settings.synchronous)
        except StoreError as error:
            refused = refused or error
        else:
            store.set_meta(SEGMENTER, UNFINISHED)
            store.rebuild_text_index(memory=wanted[0], message=wanted[1])
            return store
    assert refused is not None
    raise refused


def repair_database(settings: Settings) -> list[str]:
    """Make the indexes and counters of a database right again; returns what was done, one line each.

    Raises:
        StoreError: it cannot be opened.
    """
    if settings.path == REFERENCE:
        return []
    from jiyi.stores.sqlite.store import open_sqlite

    store = open_sqlite(
        Path(settings.path).expanduser(),
        text_index=settings.memory_index,
        message_index=settings.message_index,
        synchronous=settings.synchronous,
    )
    with closing(store):
        return store.repair()


def restore_database(source: Path, target: Path, *, replace: bool = False) -> Path | None:
    """Put a backup in the place of a database; returns where the old one is kept, None if there was none.

    Raises:
        StoreError: the source is no healthy database of jiyi, or the target exists and `replace` is false.
        StoreBusy: the target is in use.
    """
    from jiyi.stores.sqlite.backup import restore

    return restore(source, target, replace=replace)


def _check_segmenter(store: Store, segmenter: Segmenter, *, reindexing: bool) -> None:
    stored = store.meta(SEGMENTER)
    if stored is None:
        store.set_meta(SEGMENTER, segmenter.identity)
    elif stored != segmenter.identity and not reindexing:
        raise SegmenterMismatch(
            f"the text index was built with segmenter {stored!r}, this is {segmenter.identity!r}: "
            "run `jiyi reindex`, or go back to the dictionary it was built with"
        )


# ------------------------------------------------------------------ data files


def _shipped(name: str) -> str:
    return (resources.files("jiyi") / "vocabulary" / name).read_text("utf-8")


def _read_toml(text: str, name: str) -> Mapping[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{name}: {error}") from error


@cache
def load_vocabulary() -> Vocabulary:
    """The shipped relations."""
    return parse_vocabulary(_read_toml(_shipped("relations.toml"), "relations.toml"))


@cache
def load_constructions() -> Constructions:
    """The shipped constructions."""
    return parse_constructions(_read_toml(_shipped("constructions.toml"), "constructions.toml"))


@cache
def load_segmenter(dictionary: str | None = None) -> Segmenter:
    """The one segmenter, with the shipped dictionary and the user's own (one word a line).

    Raises:
        SettingsError: the user's dictionary cannot be read.
    """
    words = parse_dictionary(_shipped("dictionary.txt"))
    if dictionary is not None:
        try:
            words += parse_dictionary(Path(dictionary).expanduser().read_text("utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"dictionary {dictionary}: {error}") from error
    stop_words = StopWords.parse(_read_toml(_shipped("stopwords.toml"), "stopwords.toml"))
    return Segmenter(user_words=words, stop_words=stop_words)
