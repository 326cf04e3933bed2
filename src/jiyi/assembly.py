"""`open_memory`: the only place that knows concrete stores, files, the environment and the clock."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jiyi.backends import beside, open_graph_engine, open_store
from jiyi.domain.nights import next_night
from jiyi.domain.questions import parse_answers
from jiyi.domain.relations import Vocabulary
from jiyi.embedders import follow_embedder, open_embedding, vector_rules
from jiyi.engine import Parts
from jiyi.errors import SegmenterMismatch, SettingsError
from jiyi.graph_files import follow_graph, open_graphing
from jiyi.jobs import Clock
from jiyi.memory_layer import DICTIONARY, SEGMENTER, MemoryLayer
from jiyi.pipelines.answering import Answering
from jiyi.pipelines.context import Context
from jiyi.pipelines.distil import Distiller
from jiyi.pipelines.forgetting import Forgetting
from jiyi.pipelines.gateway import Gateway
from jiyi.pipelines.graph.exploring import Graphing
from jiyi.pipelines.graph.patterns import Noticing, PatternView
from jiyi.pipelines.guarding import Guard
from jiyi.pipelines.indexing import Indexing
from jiyi.pipelines.judging import Judging
from jiyi.pipelines.merging import Merging
from jiyi.pipelines.model_distil import ModelDistiller
from jiyi.pipelines.modelling.candidates import Candidates
from jiyi.pipelines.modelling.prompting import Prompting
from jiyi.pipelines.modelling.spending import Spending
from jiyi.pipelines.modelling.support import Support
from jiyi.pipelines.once import OnceView
from jiyi.pipelines.recall import Recall
from jiyi.pipelines.recalling.arising import Arising
from jiyi.pipelines.recalling.facts import FactFinder
from jiyi.pipelines.recalling.passages import Passages
from jiyi.pipelines.recalling.question import QuestionReader
from jiyi.pipelines.recalling.relevance import Relevance
from jiyi.pipelines.recalling.reminding import Reminding
from jiyi.pipelines.recalling.tracing import TraceView
from jiyi.pipelines.redacting import Redaction
from jiyi.pipelines.redistil import Redistiller
from jiyi.pipelines.retaining import Retaining
from jiyi.pipelines.summarise import Summariser
from jiyi.pipelines.upkeep import Upkeep
from jiyi.pipelines.user_file import ReadingBack
from jiyi.pipelines.vectors import Embedding, VectorView
from jiyi.ports import Carried, ChatModel, Embedder, Keys, Store
from jiyi.settings import EmbedderName, Settings, read_settings, zone
from jiyi.shipped import (
    distiller_identity,
    load_acknowledging,
    load_announcements,
    load_authorship,
    load_closings,
    load_constructions,
    load_cues,
    load_expecting,
    load_facts,
    load_guard,
    load_high_value,
    load_kinds,
    load_merge_words,
    load_people,
    load_pointing,
    load_prompts,
    load_reader,
    load_redaction,
    load_refining,
    load_relevance,
    load_schema,
    load_segmenter,
    load_signs,
    load_synonyms,
    load_times,
    load_vocabulary,
    load_voice,
    load_wordings,
    own_file,
    read_dictionary,
    read_toml,
    shipped_text,
)
from jiyi.stores.carried import NothingCarried
from jiyi.stores.keys import MemoryKeys
from jiyi.text.redaction import Redactor
from jiyi.text.segmentation import Segmenter, parse_dictionary

if TYPE_CHECKING:
    from jiyi.aio import AsyncMemoryLayer

SETTINGS_FILE = "jiyi.toml"


def wall_clock() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 — the one clock


def open_memory(
    path: str | os.PathLike[str] | None = None,
    *,
    settings: Settings | None = None,
    clock: Clock = wall_clock,
    reindexing: bool = False,
    chat: ChatModel | None = None,
    embedder: Embedder | EmbedderName | None = None,
    **overrides: Any,
) -> MemoryLayer:
    """Open a memory, creating or migrating its database.

    Args:
        path: a file (made if missing), `postgresql://…`, or "reference" for an in-memory store; `~/.jiyi/memory.db` by default.
        settings: a whole tree; otherwise `jiyi.toml` in the working directory, `JIYI_*` variables and keywords.
        clock: what time it is, as an aware datetime.
        reindexing: open although the text index was built with another segmenter, in order to rebuild it.
        chat: a language model of your own to distil with, in place of the one that the settings name.
        embedder: "none", "use", "e5", "both", "all" or "endpoint", as the setting of that name; or an embedder of your own.
        overrides: single settings, e.g. `timezone="Asia/Shanghai"`, `worker=False`.

    Raises:
        SettingsError: a setting that cannot be used.
        SegmenterMismatch: the index was built with another segmenter or dictionary; names `jiyi reindex`.
        MissingExtra: a model is configured, and the extra that it needs is not installed.
        StoreError: the file is no jiyi database, is damaged, or comes from a newer jiyi; the server cannot be reached or used.
    """
    if isinstance(embedder, str):
        overrides["embedder"] = embedder
    if settings is None:
        settings = load_settings(None if path is None else os.fspath(path), **overrides)
    elif overrides or path is not None:
        raise SettingsError("give either settings= or a path and keywords, not both")
    own = None if isinstance(embedder, str) else embedder
    store = open_store(settings, reindexing=reindexing, vectors=vector_rules(settings, own))
    try:
        words = _dictionary(store, settings.dictionary, reindexing=reindexing)
        keys, carried = beside(settings, store)
        chat = chat or open_model(settings, os.environ)
        embedding = open_embedding(settings, store, clock, os.environ, load_voice(), own)
        parts = assemble(settings, words, keys, chat, carried, embedding)
        _check_segmenter(store, parts.indexing.segmenter, reindexing=reindexing)
        follow_embedder(store, parts)
        follow_graph(store, parts.graphing.view)
    except BaseException:
        store.close()
        raise
    layer = MemoryLayer(store, parts, clock)
    try:
        layer.carry_forward()
    except BaseException:
        layer.close()
        raise
    return layer


def open_memory_async(path: str | os.PathLike[str] | None = None, **options: Any) -> Opening:
    """Open a memory for `await`: the same verbs, run in threads (SPEC U1). Takes and raises what `open_memory` does.

    Use it with `async with`, which closes it too, or await it.
    """
    return Opening(partial(open_memory, path, **options))


class Opening:
    """A memory that is being opened, by `await` or `async with`."""

    def __init__(self, opening: Callable[[], MemoryLayer]) -> None:
        self._opening = opening
        self._memory: AsyncMemoryLayer | None = None

    def __await__(self) -> Generator[Any, None, AsyncMemoryLayer]:
        return self._open().__await__()

    async def __aenter__(self) -> AsyncMemoryLayer:
        self._memory = await self._open()
        return self._memory

    async def __aexit__(self, *error: object) -> None:
        if self._memory is not None:
            await self._memory.close()

    async def _open(self) -> AsyncMemoryLayer:
        import asyncio

        from jiyi.aio import AsyncMemoryLayer  # Who does not use it need not load asyncio.

        return AsyncMemoryLayer(await asyncio.to_thread(self._opening))


def load_settings(path: str | None = None, **overrides: Any) -> Settings:
    """Settings from `jiyi.toml` in the working directory, the environment, and keywords."""
    file = Path(SETTINGS_FILE)
    if path is not None:
        overrides["path"] = path
    given = read_toml(own_file(SETTINGS_FILE, "settings"), SETTINGS_FILE) if file.is_file() else None
    return read_settings(os.environ, given, **overrides)


def assemble(
    settings: Settings,
    dictionary: tuple[str, ...] = (),
    keys: Keys | None = None,
    chat: ChatModel | None = None,
    carried: Carried | None = None,
    embedding: Embedding | None = None,
) -> Parts:
    """Everything but the store. `dictionary` holds the database's own words; `keys`, and what is kept beside the database
    of what was forgotten, are in memory by default."""
    vocabulary = load_vocabulary()
    segmenter = load_segmenter(dictionary, settings.stop_words)
    indexing = Indexing(segmenter)
    graphing = open_graphing(settings, vocabulary, segmenter)
    arising = Arising(load_signs(segmenter), graphing.view)
    recall = _recall(settings, indexing, load_facts(segmenter), graphing, arising, embedding)
    nights = partial(next_night, zone=zone(settings.timezone), policy=settings.night)
    vectors = VectorView(wanted=embedding is not None)
    views = (TraceView(), OnceView(), PatternView())
    gateway = Gateway(indexing, settings.gateway, nights, graphing.view, vectors, views)
    merging = Merging(segmenter, load_merge_words(segmenter), settings.merging, settings.heat)
    redaction = Redaction(Redactor(load_redaction(), settings.redaction), keys or MemoryKeys())
    distiller = Distiller(
        vocabulary, load_constructions(), load_times(), segmenter.fold, settings.confidence, load_authorship(),
        load_reader(segmenter),
    )  # fmt: skip
    judging = Judging(
        vocabulary, settings.confidence, settings.arbitration, settings.tiers, load_refining(segmenter),
        load_closings(segmenter), segmenter.fold,
    )  # fmt: skip
    answers = parse_answers(read_toml(shipped_text("answers.toml"), "answers.toml"), segmenter.fold)
    guard = load_guard(segmenter, settings.guard)
    retaining = Retaining(
        distiller,
        guard,
        gateway,
        load_high_value(),
        redaction,
        segmenter.content_words,
        segmenter.stems,
        settings.retention,
    )
    noticing = Noticing(arising, guard, retaining, judging, gateway, settings.patterns)
    model = None
    if chat is not None:
        model = _model_distiller(chat, settings, segmenter, distiller, judging, gateway, redaction, guard)
    return Parts(
        settings=settings,
        dictionary=dictionary,
        vocabulary=vocabulary,
        distiller=distiller,
        judging=judging,
        answering=Answering(judging, distiller, answers, settings.confidence, graphing),
        indexing=indexing,
        gateway=gateway,
        forgetting=Forgetting(indexing, vocabulary, judging.refining, graphing.view, settings.forgetting),
        carried=carried or NothingCarried(),
        recall=recall,
        context=_context(settings, vocabulary, recall),
        redaction=redaction,
        guard=guard,
        upkeep=Upkeep(gateway, merging, retaining, settings.tiers, settings.upkeep, noticing),
        noticing=noticing,
        reading_back=ReadingBack(judging, distiller),
        summariser=Summariser(load_cues(), indexing, distiller, redaction, settings.summaries),
        redistiller=Redistiller(retaining, judging, gateway, distiller_identity()),
        retaining=retaining,
        graphing=graphing,
        graph_engine=open_graph_engine(settings, vocabulary),
        model=model,
        embedding=embedding,
    )


def _recall(
    settings: Settings,
    indexing: Indexing,
    facts: FactFinder,
    graphing: Graphing,
    arising: Arising,
    embedding: Embedding | None,
) -> Recall:
    segmenter = indexing.segmenter
    synonyms = load_synonyms(segmenter, settings.synonyms)
    read = QuestionReader(segmenter, synonyms, load_announcements(), load_times(), settings.fusion, load_voice())
    return Recall(
        indexing=indexing,
        read=read,
        passages=Passages(
            indexing,
            settings.fusion,
            load_relevance(segmenter).names,
            load_acknowledging(segmenter),
            load_people(segmenter),
            load_expecting(),
        ),
        facts=facts,
        ranking=settings.ranking,
        confidence=settings.confidence,
        heat=settings.heat,
        max_query_chars=settings.limits.query_chars,
        tiers=settings.tiers,
        kinds=load_kinds(segmenter),
        embedding=embedding,
        arising=arising,
        reminding=Reminding(graphing.view, segmenter, settings.confidence, settings.activation),
    )


def _context(settings: Settings, vocabulary: Vocabulary, recall: Recall) -> Context:
    segmenter = recall.indexing.segmenter
    return Context(
        recall,
        settings.context,
        settings.profile,
        settings.working,
        settings.confidence,
        vocabulary,
        Relevance(load_relevance(segmenter), segmenter, settings.relevance, recall.embedding),
    )


def open_model(settings: Settings, environment: Mapping[str, str]) -> ChatModel | None:
    """The language model that the settings name, None when they name none. Its key is read from the environment.

    Raises:
        SettingsError: the settings do not fit together, or the key's variable is not set. MissingExtra: no HTTP client.
    """
    if not settings.model.configured:
        return None
    from jiyi.models.presets import ANTHROPIC, endpoint

    where = endpoint(settings.model, environment)
    if where.wire == ANTHROPIC:
        from jiyi.models.anthropic_wire import AnthropicWire

        return AnthropicWire(where, settings.model)
    from jiyi.models.openai_wire import OpenAIWire

    return OpenAIWire(where, settings.model)


def _model_distiller(
    chat: ChatModel,
    settings: Settings,
    segmenter: Segmenter,
    distiller: Distiller,
    judging: Judging,
    gateway: Gateway,
    redaction: Redaction,
    guard: Guard,
) -> ModelDistiller:
    vocabulary = distiller.vocabulary
    support = Support(load_wordings(), segmenter, distiller.times, distiller.character, settings.support)
    return ModelDistiller(
        spending=Spending(chat, settings.model, zone(settings.timezone)),
        prompting=Prompting(load_prompts(), load_schema(), vocabulary),
        candidates=Candidates(distiller, vocabulary, support, redaction, load_pointing()),
        judging=judging,
        gateway=gateway,
        redaction=redaction,
        guard=guard,
        policy=settings.model,
        memory_chars=settings.limits.memory_chars,
    )


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
