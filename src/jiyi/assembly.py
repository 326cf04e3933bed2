"""`open_memory`: the only place that knows concrete stores, files, the environment and the clock."""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from collections.abc import Callable, Generator, Mapping
from datetime import UTC, datetime
from functools import cache, lru_cache, partial
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jiyi.backends import beside, open_graph_engine, open_store
from jiyi.domain.closing import Closings, parse_closings
from jiyi.domain.memory import Language
from jiyi.domain.nights import next_night
from jiyi.domain.questions import parse_answers
from jiyi.domain.refining import Refining, parse_refining
from jiyi.domain.relations import Phrases, Vocabulary, parse_vocabulary
from jiyi.embedders import follow_embedder, open_embedding, vector_rules
from jiyi.engine import Parts
from jiyi.errors import SegmenterMismatch, SettingsError
from jiyi.graph_files import follow_graph, load_entities, open_graphing
from jiyi.jobs import Clock
from jiyi.memory_layer import DICTIONARY, SEGMENTER, MemoryLayer
from jiyi.pipelines.answering import Answering
from jiyi.pipelines.context import Context
from jiyi.pipelines.distil import Distiller
from jiyi.pipelines.distilling.grammar import Constructions, parse_constructions, relative
from jiyi.pipelines.forgetting import Forgetting
from jiyi.pipelines.gateway import Gateway
from jiyi.pipelines.graph.patterns import Noticing, PatternView
from jiyi.pipelines.guarding import EchoRules, Guard, parse_echo
from jiyi.pipelines.high_value import HighValue, parse_high_value
from jiyi.pipelines.indexing import Indexing
from jiyi.pipelines.judging import Judging
from jiyi.pipelines.merging import MergeWords, Merging
from jiyi.pipelines.model_distil import ModelDistiller
from jiyi.pipelines.modelling.candidates import Candidates
from jiyi.pipelines.modelling.prompting import Prompt, Prompting, parse_prompt
from jiyi.pipelines.modelling.spending import Spending
from jiyi.pipelines.modelling.support import Support, Wording, parse_wordings
from jiyi.pipelines.once import OnceView
from jiyi.pipelines.recall import Recall
from jiyi.pipelines.recalling.activation import Activation
from jiyi.pipelines.recalling.arising import Arising
from jiyi.pipelines.recalling.asking import Asking
from jiyi.pipelines.recalling.facts import FactFinder
from jiyi.pipelines.recalling.passages import Passages
from jiyi.pipelines.recalling.question import QuestionReader
from jiyi.pipelines.recalling.relevance import Relevance, RelevanceWords
from jiyi.pipelines.recalling.tracing import TraceView
from jiyi.pipelines.redacting import Redaction
from jiyi.pipelines.redistil import Redistiller
from jiyi.pipelines.retaining import Retaining
from jiyi.pipelines.summarise import Summariser
from jiyi.pipelines.summarising.cues import Cues, parse_cues
from jiyi.pipelines.upkeep import Upkeep
from jiyi.pipelines.user_file import ReadingBack
from jiyi.pipelines.vectors import Embedding, VectorView
from jiyi.ports import Carried, ChatModel, Embedder, Keys, Store
from jiyi.settings import EmbedderName, GuardPolicy, Settings, read_settings, zone
from jiyi.stores.carried import NothingCarried
from jiyi.stores.keys import MemoryKeys
from jiyi.text.cleaning import Cleaner, CleaningRules, parse_cleaning
from jiyi.text.kinds import Kinds
from jiyi.text.poisoning import PoisoningRules, Screen, parse_poisoning
from jiyi.text.query_reading import Announcements
from jiyi.text.redaction import Redactor
from jiyi.text.redaction_rules import RedactionRules, parse_redaction
from jiyi.text.segmentation import Segmenter, StopWords, check_dictionary, parse_dictionary
from jiyi.text.signs import Signs, parse_signs
from jiyi.text.synonyms import Synonyms, has_terms, parse_synonyms
from jiyi.text.times import Times
from jiyi.text.voice import Voice

if TYPE_CHECKING:
    from jiyi.aio import AsyncMemoryLayer

SETTINGS_FILE = "jiyi.toml"

DISTILLER_VERSION = 2
"""Raise it with any change of the code that makes the distiller read otherwise: `doctor` then advises to redistil."""


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
    given = _read_toml(_own_file(SETTINGS_FILE, "settings"), SETTINGS_FILE) if file.is_file() else None
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
    constructions = load_constructions()
    facts = load_facts(vocabulary, segmenter, constructions)
    read = QuestionReader(
        segmenter, load_synonyms(segmenter, settings.synonyms), load_announcements(), load_times(), settings.fusion, load_voice()
    )  # fmt: skip
    graphing = open_graphing(settings, vocabulary, segmenter)
    arising = Arising(load_signs(segmenter), graphing.view)
    recall = Recall(
        indexing, read, Passages(indexing, settings.fusion), facts, settings.ranking, settings.confidence, settings.heat, settings.limits.query_chars, settings.tiers,
        load_kinds(segmenter), embedding, arising, Activation(graphing.view, segmenter, settings.confidence, settings.activation),
    )  # fmt: skip
    nights = partial(next_night, zone=zone(settings.timezone), policy=settings.night)
    vectors = VectorView(wanted=embedding is not None)
    views = (TraceView(), OnceView(), PatternView())
    gateway = Gateway(indexing, settings.gateway, nights, graphing.view, vectors, views)
    merging = Merging(segmenter, load_merge_words(segmenter), settings.merging, settings.heat)
    redaction = Redaction(Redactor(load_redaction(), settings.redaction), keys or MemoryKeys())
    distiller = Distiller(
        vocabulary, constructions, load_times(), segmenter.fold, settings.confidence, load_authorship()
    )
    judging = Judging(
        vocabulary, settings.confidence, settings.arbitration, settings.tiers, load_refining(segmenter),
        load_closings(segmenter), segmenter.fold,
    )  # fmt: skip
    answers = parse_answers(_read_toml(_shipped("answers.toml"), "answers.toml"), segmenter.fold)
    guard = _guard(segmenter, settings.guard)
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
        context=Context(
            recall,
            settings.context,
            settings.profile,
            settings.working,
            settings.confidence,
            vocabulary,
            Relevance(load_relevance(segmenter), segmenter, settings.relevance),
        ),
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
        candidates=Candidates(distiller, vocabulary, support, redaction),
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


PROMPTS = "pipelines/prompts"


def _shipped(name: str, folder: str = "vocabulary") -> str:
    return resources.files("jiyi").joinpath(*folder.split("/"), name).read_text("utf-8")


def _read_toml(text: str, name: str) -> Mapping[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(f"{name}: {error}") from error


@cache
def distiller_identity() -> str:
    """Names the rules by which messages are distilled: their data, and the version of the code that reads it."""
    data = [
        _read_toml(_shipped(name), name)
        for name in ("relations.toml", "constructions.toml", "times.toml", "high_value.toml")
    ]
    text = json.dumps([DISTILLER_VERSION, *data], ensure_ascii=False, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def load_facts(vocabulary: Vocabulary, segmenter: Segmenter, constructions: Constructions) -> FactFinder:
    """The channel of facts, with the shipped ways of asking for them."""
    data = _read_toml(_shipped("asking.toml"), "asking.toml")
    return FactFinder(vocabulary, Asking(data, vocabulary, segmenter.fold), data, segmenter.fold, constructions.kin)


@cache
def load_vocabulary() -> Vocabulary:
    """The shipped relations."""
    return parse_vocabulary(_read_toml(_shipped("relations.toml"), "relations.toml"))


def load_refining(segmenter: Segmenter) -> Refining:
    """What makes a value a more precise form of another."""
    return parse_refining(
        _read_toml(_shipped("refining.toml"), "refining.toml"), segmenter.word_starts, segmenter.stems
    )


def load_closings(segmenter: Segmenter) -> Closings:
    """What is over once something happened."""
    kin = _read_toml(_shipped("constructions.toml"), "constructions.toml")["kin"]
    subjects = {name: relative(words) for name, words in kin.items()}
    words = {subjects[name]: (*said["zh"], *said["en"]) for name, said in kin.items()}
    data = _read_toml(_shipped("closing.toml"), "closing.toml")
    return parse_closings(data, load_vocabulary(), subjects, words, segmenter.fold, segmenter.stems)


@cache
def load_constructions() -> Constructions:
    """The shipped constructions."""
    return parse_constructions(_read_toml(_shipped("constructions.toml"), "constructions.toml"))


@cache
def load_times() -> Times:
    """The shipped words of time."""
    return Times(_read_toml(_shipped("times.toml"), "times.toml"))


@cache
def load_authorship() -> Phrases:
    """The shipped marks that somebody else wrote a turn in the user's name."""
    marks = _read_toml(_shipped("authorship.toml"), "authorship.toml")
    return Phrases(tuple(marks["zh"]), tuple(marks["en"]))


def load_synonyms(segmenter: Segmenter, file: str | None = None) -> Synonyms:
    """The shipped synonyms, with those of a file of one's own as it is now.

    Raises:
        SettingsError: the file cannot be read, has another shape, or holds what would change nothing.
    """
    return _synonyms(segmenter, None if file is None else (file, _own_file(file, "synonyms")))


@cache
def _synonyms(segmenter: Segmenter, own: tuple[str, str] | None) -> Synonyms:
    groups = parse_synonyms(_read_toml(_shipped("synonyms.toml"), "synonyms.toml"), "synonyms.toml")
    if own is not None:
        file, text = own
        groups += parse_synonyms(_read_toml(text, file), file, lambda word: has_terms(word, segmenter))
    return Synonyms(groups, segmenter)


@cache
def load_kinds(segmenter: Segmenter) -> Kinds:
    """The shipped kinds of things."""
    return Kinds(_read_toml(_shipped("kinds.toml"), "kinds.toml"), segmenter)


@cache
def load_signs(segmenter: Segmenter) -> Signs:
    """The shipped signs of occasions and wishes, with the well-known names among them."""
    signs = parse_signs(_read_toml(_shipped("patterns.toml"), "patterns.toml"), segmenter.fold)
    of_kind: dict[str, set[str]] = {}
    for sign in signs.conditions.values():
        for kind in sign.kinds:
            of_kind.setdefault(kind, set()).add(sign.name)
    words = load_entities(segmenter)
    names = {name: frozenset(of_kind.get(words.kind_of(base), ())) for name, base in words.known.items()}
    return signs.with_names({name: conditions for name, conditions in names.items() if conditions})


@cache
def load_relevance(segmenter: Segmenter) -> RelevanceWords:
    """The shipped words of relevance."""
    return RelevanceWords.parse(_read_toml(_shipped("relevance.toml"), "relevance.toml"), segmenter)


@cache
def load_announcements() -> Announcements:
    """The shipped words by which a question announces itself."""
    phrases = _read_toml(_shipped("questions.toml"), "questions.toml")
    return Announcements([*phrases["zh"], *phrases["en"]])


@cache
def load_voice() -> Voice:
    """How the user would say what is said about them."""
    return Voice.parse(_read_toml(_shipped("voice.toml"), "voice.toml"))


@cache
def load_merge_words(segmenter: Segmenter) -> MergeWords:
    """The shipped words of merging."""
    return MergeWords.parse(_read_toml(_shipped("merging.toml"), "merging.toml"), segmenter)


@cache
def load_high_value() -> HighValue:
    """The shipped rules of what is worth keeping unasked."""
    names = [relation.name for relation in load_vocabulary()]
    return parse_high_value(_read_toml(_shipped("high_value.toml"), "high_value.toml"), names)


@cache
def load_redaction() -> RedactionRules:
    """The shipped rules of redaction."""
    return parse_redaction(_read_toml(_shipped("redaction.toml"), "redaction.toml"))


@cache
def load_wordings() -> Mapping[Language, Wording]:
    """The shipped words by which a model's statements are checked."""
    return parse_wordings(_read_toml(_shipped("support.toml"), "support.toml"))


@cache
def load_prompts() -> Mapping[Language, Prompt]:
    """The shipped prompts of distilling."""
    names = {language: f"distil.{language.value}.md" for language in Language}
    return {language: parse_prompt(_shipped(name, PROMPTS), name) for language, name in names.items()}


@cache
def load_schema() -> Mapping[str, Any]:
    """The published JSON schema of a model's answer."""
    schema: Mapping[str, Any] = json.loads(_shipped("memories.schema.json", PROMPTS))
    return schema


@cache
def load_guard_rules() -> tuple[CleaningRules, PoisoningRules, EchoRules]:
    """The shipped wordings of what is kept out of memory."""
    cleaning, poisoning, echo = (
        _read_toml(_shipped(f"{name}.toml"), f"{name}.toml") for name in ("cleaning", "poisoning", "echo")
    )
    return parse_cleaning(cleaning), parse_poisoning(poisoning), parse_echo(echo)


def _guard(segmenter: Segmenter, policy: GuardPolicy) -> Guard:
    cleaning, poisoning, echo = load_guard_rules()
    return Guard(Cleaner(cleaning), Screen(poisoning, lru_cache(maxsize=8192)(segmenter.fold)), echo, policy)


@cache
def load_cues() -> Cues:
    """The shipped words of summarising."""
    return parse_cues(_read_toml(_shipped("summary.toml"), "summary.toml"))


def read_dictionary(file: str) -> tuple[str, ...]:
    """Words of a dictionary file, one a line, `#` for comments.

    Raises:
        SettingsError: the file cannot be read, or a line of it is no word.
    """
    text = _own_file(file, "dictionary")
    check_dictionary(text, file)
    return parse_dictionary(text)


def load_segmenter(dictionary: tuple[str, ...] = (), stop_words: str | None = None) -> Segmenter:
    """The one segmenter, with the shipped words and those of the database.

    Args:
        stop_words: a TOML file in place of the shipped stop words, as it is now.

    Raises:
        SettingsError: the file of stop words cannot be read, or has another shape.
    """
    own = ("stopwords.toml", _shipped("stopwords.toml")) if stop_words is None else None
    return _segmenter(dictionary, own or (str(stop_words), _own_file(str(stop_words), "stop_words")))


@cache
def _segmenter(dictionary: tuple[str, ...], stop_words: tuple[str, str]) -> Segmenter:
    words = parse_dictionary(_shipped("dictionary.txt")) + dictionary
    name, text = stop_words
    return Segmenter(user_words=words, stop_words=StopWords.parse(_read_toml(text, name), name))


def _own_file(file: str, setting: str) -> str:
    try:
        return Path(file).expanduser().read_text("utf-8")
    except (OSError, ValueError, RuntimeError) as error:  # also bytes that are no UTF-8, and a home that is not there
        raise SettingsError(f"{setting} {file}: {error}") from error
