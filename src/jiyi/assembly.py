"""`open_memory`: the only place that knows concrete stores, files, the environment and the clock."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from jiyi.domain.relations import Vocabulary, parse_vocabulary
from jiyi.errors import SegmenterMismatch, SettingsError
from jiyi.jobs import Clock
from jiyi.memory_layer import DICTIONARY, SEGMENTER, UNFINISHED, MemoryLayer, Parts
from jiyi.pipelines.context import Context
from jiyi.pipelines.distil import Distiller
from jiyi.pipelines.distilling.grammar import Constructions, parse_constructions
from jiyi.pipelines.facts import FactFinder
from jiyi.pipelines.gateway import Gateway
from jiyi.pipelines.indexing import Indexing
from jiyi.pipelines.recall import Recall
from jiyi.ports import Store
from jiyi.settings import Settings, read_settings
from jiyi.text.segmentation import Segmenter, StopWords, parse_dictionary

SETTINGS_FILE = "jiyi.toml"
REFERENCE = "reference"
"""In place of a path: an in-memory store of plain dicts, gone when closed. For tests and experiments."""


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
    store = _open_store(settings, reindexing=reindexing)
    try:
        parts = assemble(settings, _dictionary(store, settings.dictionary, reindexing=reindexing))
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


def assemble(settings: Settings, dictionary: tuple[str, ...] = ()) -> Parts:
    """Everything but the store. `dictionary` holds the database's own words."""
    vocabulary = load_vocabulary()
    segmenter = load_segmenter(dictionary, settings.stop_words)
    indexing = Indexing(segmenter)
    facts = FactFinder(vocabulary, segmenter.fold)
    recall = Recall(indexing, facts, settings.ranking, settings.confidence, settings.heat, settings.limits.query_chars)
    return Parts(
        settings=settings,
        dictionary=dictionary,
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

    path = Path(settings.path).expanduser()
    if not reindexing:
        return open_sqlite(
            path,
            text_index=settings.memory_index,
            message_index=settings.message_index,
            synchronous=settings.synchronous,
        )
    store = open_sqlite(path, synchronous=settings.synchronous)
    if store.meta(SEGMENTER) is not None:
        # Until the rebuild is done the file says so: whoever opens it after a crash is told to reindex (SPEC O1).
        store.set_meta(SEGMENTER, UNFINISHED)
    store.rebuild_text_index(memory=settings.memory_index, message=settings.message_index)
    return store


def repair_database(settings: Settings) -> list[str]:
    """Make the indexes and counters of a database right again; returns what was done, one line each.

    Raises:
        StoreError: it cannot be opened.
    """
    if settings.path == REFERENCE:
        return []
    from jiyi.stores.sqlite.store import open_sqlite

    with closing(open_sqlite(Path(settings.path).expanduser(), synchronous=settings.synchronous)) as store:
        return store.repair()


def restore_database(source: Path, target: Path, *, replace: bool = False) -> Path | None:
    """Put a backup in the place of a database; returns where the old one is kept, None if there was none.

    Raises:
        StoreError: the source is no healthy database of jiyi, or the target exists and `replace` is false.
        StoreBusy: the target is in use.
    """
    from jiyi.stores.sqlite.backup import restore

    return restore(source, target, replace=replace)


def _dictionary(store: Store, file: str | None, *, reindexing: bool) -> tuple[str, ...]:
    """The database's own words: one dictionary per database, so that one index has one tokenizer (SPEC R7).

    Raises:
        SegmenterMismatch: the settings name another dictionary than the database was indexed with.
        SettingsError: the file cannot be read.
    """
    given = None if file is None else read_dictionary(file)
    stored = store.meta(DICTIONARY)
    words = None if stored is None else parse_dictionary(stored)
    if words is None:
        store.set_meta(DICTIONARY, "\n".join(given or ()))
        return given or ()
    if given is None or given == words:
        return words
    if reindexing:
        return given
    raise SegmenterMismatch(
        f"this database was indexed with another dictionary than {file}: "
        f"run `jiyi reindex --dictionary {file}`, or leave the setting out to use the database's own"
    )


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


def read_dictionary(file: str) -> tuple[str, ...]:
    """Words of a dictionary file, one a line, `#` for comments.

    Raises:
        SettingsError: the file cannot be read.
    """
    return parse_dictionary(_own_file(file, "dictionary"))


@cache
def load_segmenter(dictionary: tuple[str, ...] = (), stop_words: str | None = None) -> Segmenter:
    """The one segmenter, with the shipped words and those of the database.

    Args:
        stop_words: a TOML file in place of the shipped stop words.

    Raises:
        SettingsError: the file of stop words cannot be read.
    """
    words = parse_dictionary(_shipped("dictionary.txt")) + dictionary
    if stop_words is None:
        stops = StopWords.parse(_read_toml(_shipped("stopwords.toml"), "stopwords.toml"))
    else:
        stops = StopWords.parse(_read_toml(_own_file(stop_words, "stop_words"), stop_words))
    return Segmenter(user_words=words, stop_words=stops)


def _own_file(file: str, setting: str) -> str:
    try:
        return Path(file).expanduser().read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{setting} {file}: {error}") from error
