"""What ships with the package: vocabulary, rules, prompts, each read once, and files of the user's own in their place."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from functools import cache, lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from jiyi.domain.closing import Closings, parse_closings
from jiyi.domain.entities import EntityWords, parse_entities
from jiyi.domain.memory import Language
from jiyi.domain.refining import Refining, parse_refining
from jiyi.domain.relations import COMPANY, USER, Phrases, Vocabulary, parse_vocabulary, subject_name
from jiyi.errors import SettingsError
from jiyi.pipelines.distilling.grammar import Constructions, parse_constructions, relative
from jiyi.pipelines.distilling.reading import Reader
from jiyi.pipelines.guarding import EchoRules, Guard, parse_echo
from jiyi.pipelines.high_value import HighValue, parse_high_value
from jiyi.pipelines.merging import MergeWords
from jiyi.pipelines.modelling.pointing import Pointing, parse_pointing
from jiyi.pipelines.modelling.prompting import Prompt, parse_prompt
from jiyi.pipelines.modelling.support import Wording, parse_wordings
from jiyi.pipelines.recalling.asking import Asking
from jiyi.pipelines.recalling.facts import FactFinder
from jiyi.pipelines.recalling.relevance import RelevanceWords
from jiyi.pipelines.summarising.cues import Cues, parse_cues
from jiyi.settings import GuardPolicy
from jiyi.text.cleaning import Cleaner, CleaningRules, parse_cleaning
from jiyi.text.expecting import Expecting, parse_expecting
from jiyi.text.kinds import Kinds
from jiyi.text.poisoning import PoisoningRules, Screen, parse_poisoning
from jiyi.text.query_reading import Announcements
from jiyi.text.redaction_rules import RedactionRules, parse_redaction
from jiyi.text.segmentation import Segmenter, StopWords, check_dictionary, parse_dictionary
from jiyi.text.signs import Signs, parse_signs
from jiyi.text.synonyms import Synonyms, has_terms, parse_synonyms
from jiyi.text.times import Times
from jiyi.text.voice import Voice

DISTILLER_VERSION = 5
"""Raise it with any change of the code that makes the distiller read otherwise: `doctor` then advises to redistil."""

PROMPTS = "pipelines/prompts"


def shipped_text(name: str, folder: str = "vocabulary") -> str:
    return resources.files("jiyi").joinpath(*folder.split("/"), name).read_text("utf-8")


def read_toml(text: str, name: str) -> Mapping[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(f"{name}: {error}") from error


@cache
def distiller_identity() -> str:
    """Names the rules by which messages are distilled: their data, and the version of the code that reads it."""
    data = [
        read_toml(shipped_text(name), name)
        for name in ("relations.toml", "constructions.toml", "times.toml", "high_value.toml")
    ]
    text = json.dumps([DISTILLER_VERSION, *data], ensure_ascii=False, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@cache
def load_facts(segmenter: Segmenter) -> FactFinder:
    """The channel of facts, with the shipped ways of asking for them."""
    data, vocabulary = read_toml(shipped_text("asking.toml"), "asking.toml"), load_vocabulary()
    return FactFinder(
        vocabulary, Asking(data, vocabulary, segmenter.fold), data, segmenter.fold, load_constructions().kin
    )


@cache
def load_vocabulary() -> Vocabulary:
    """The shipped relations."""
    return parse_vocabulary(read_toml(shipped_text("relations.toml"), "relations.toml"))


@cache
def load_refining(segmenter: Segmenter) -> Refining:
    """What makes a value a more precise form of another."""
    return parse_refining(
        read_toml(shipped_text("refining.toml"), "refining.toml"), segmenter.word_starts, segmenter.stems
    )


@cache
def load_closings(segmenter: Segmenter) -> Closings:
    """What is over once something happened."""
    kin = read_toml(shipped_text("constructions.toml"), "constructions.toml")["kin"]
    subjects = {name: relative(words) for name, words in kin.items()}
    words = {subjects[name]: (*said["zh"], *said["en"]) for name, said in kin.items()}
    data = read_toml(shipped_text("closing.toml"), "closing.toml")
    return parse_closings(data, load_vocabulary(), subjects, words, segmenter.fold, segmenter.stems)


@cache
def load_constructions() -> Constructions:
    """The shipped constructions."""
    return parse_constructions(read_toml(shipped_text("constructions.toml"), "constructions.toml"))


@cache
def load_reader(segmenter: Segmenter) -> Reader:
    """The reader of the shipped constructions. It keeps nothing between texts, so one serves every memory of a process."""
    return Reader(load_vocabulary(), load_constructions(), segmenter.fold)


@cache
def load_times() -> Times:
    """The shipped words of time."""
    return Times(read_toml(shipped_text("times.toml"), "times.toml"))


@cache
def load_authorship() -> Phrases:
    """The shipped marks that somebody else wrote a turn in the user's name."""
    marks = read_toml(shipped_text("authorship.toml"), "authorship.toml")
    return Phrases(tuple(marks["zh"]), tuple(marks["en"]))


def load_synonyms(segmenter: Segmenter, file: str | None = None) -> Synonyms:
    """The shipped synonyms, with those of a file of one's own as it is now.

    Raises:
        SettingsError: the file cannot be read, has another shape, or holds what would change nothing.
    """
    return _synonyms(segmenter, None if file is None else (file, own_file(file, "synonyms")))


@cache
def _synonyms(segmenter: Segmenter, own: tuple[str, str] | None) -> Synonyms:
    groups = parse_synonyms(read_toml(shipped_text("synonyms.toml"), "synonyms.toml"), "synonyms.toml")
    if own is not None:
        file, text = own
        groups += parse_synonyms(read_toml(text, file), file, lambda word: has_terms(word, segmenter))
    return Synonyms(groups, segmenter)


@cache
def load_kinds(segmenter: Segmenter) -> Kinds:
    """The shipped kinds of things."""
    return Kinds(read_toml(shipped_text("kinds.toml"), "kinds.toml"), segmenter)


@cache
def load_signs(segmenter: Segmenter) -> Signs:
    """The shipped signs of occasions and wishes, with the well-known names among them."""
    signs = parse_signs(read_toml(shipped_text("patterns.toml"), "patterns.toml"), segmenter.fold)
    of_kind: dict[str, set[str]] = {}
    for sign in signs.conditions.values():
        for kind in sign.kinds:
            of_kind.setdefault(kind, set()).add(sign.name)
    words = load_entities(segmenter)
    names = {name: frozenset(of_kind.get(words.kind_of(base), ())) for name, base in words.known.items()}
    return signs.with_names({name: conditions for name, conditions in names.items() if conditions})


@cache
def load_entities(segmenter: Segmenter) -> EntityWords:
    """The shipped names of things, and the words of the user's own side."""
    words = parse_entities(read_toml(shipped_text("entities.toml"), "entities.toml"), segmenter.fold)
    own = {segmenter.fold(told).strip(): subject for told, subject in _own_side().items()}
    return replace(words, own=own)


def _own_side() -> dict[str, str]:
    told = {subject_name(one, language): one for one in (USER, COMPANY) for language in Language}
    for words in read_toml(shipped_text("constructions.toml"), "constructions.toml")["kin"].values():
        subject = relative(words)
        told |= {f"{whose}{word}": subject for word in words["zh"] for whose in ("用户的", "我的", "我")}
        told |= {f"{whose} {word}": subject for word in words["en"] for whose in ("user's", "my")}
    return told


@cache
def load_acknowledging(segmenter: Segmenter) -> frozenset[str]:
    """The terms of the shipped words with which an assistant says that it has heard."""
    data = read_toml(shipped_text("relevance.toml"), "relevance.toml")["acknowledging"]
    return frozenset(t.text for words in data.values() for word in words for t in segmenter.query_terms(word))


@cache
def load_people(segmenter: Segmenter) -> frozenset[str]:
    """The terms of the shipped words for whom a user knows: of several words the last (younger female cousin)."""
    kin = read_toml(shipped_text("constructions.toml"), "constructions.toml")["kin"].values()
    told = (segmenter.query_terms(word) for words in kin for language in Language for word in words[language.value])
    whole = ([t for t in terms if t.kind in ("word", "char") and not t.stop] for terms in told)
    return frozenset(terms[-1].text for terms in whole if terms)


@cache
def load_relevance(segmenter: Segmenter) -> RelevanceWords:
    """The shipped words of relevance."""
    return RelevanceWords.parse(read_toml(shipped_text("relevance.toml"), "relevance.toml"), segmenter)


@cache
def load_announcements() -> Announcements:
    """The shipped words by which a question announces itself."""
    phrases = read_toml(shipped_text("questions.toml"), "questions.toml")
    return Announcements([*phrases["zh"], *phrases["en"]])


@cache
def load_expecting() -> Expecting:
    """What questions expect of their answers."""
    return parse_expecting(read_toml(shipped_text("expecting.toml"), "expecting.toml"))


@cache
def load_voice() -> Voice:
    """How the user would say what is said about them."""
    return Voice.parse(read_toml(shipped_text("voice.toml"), "voice.toml"))


@cache
def load_merge_words(segmenter: Segmenter) -> MergeWords:
    """The shipped words of merging."""
    return MergeWords.parse(read_toml(shipped_text("merging.toml"), "merging.toml"), segmenter)


@cache
def load_high_value() -> HighValue:
    """The shipped rules of what is worth keeping unasked."""
    names = [relation.name for relation in load_vocabulary()]
    return parse_high_value(read_toml(shipped_text("high_value.toml"), "high_value.toml"), names)


@cache
def load_redaction() -> RedactionRules:
    """The shipped rules of redaction."""
    return parse_redaction(read_toml(shipped_text("redaction.toml"), "redaction.toml"))


@cache
def load_wordings() -> Mapping[Language, Wording]:
    """The shipped words by which a model's statements are checked."""
    return parse_wordings(read_toml(shipped_text("support.toml"), "support.toml"))


@cache
def load_pointing() -> Pointing:
    """The shipped words that point at things and do not name them."""
    return parse_pointing(read_toml(shipped_text("pointing.toml"), "pointing.toml"))


@cache
def load_prompts() -> Mapping[Language, Prompt]:
    """The shipped prompts of distilling."""
    names = {language: f"distil.{language.value}.md" for language in Language}
    return {language: parse_prompt(shipped_text(name, PROMPTS), name) for language, name in names.items()}


@cache
def load_schema() -> Mapping[str, Any]:
    """The published JSON schema of a model's answer."""
    schema: Mapping[str, Any] = json.loads(shipped_text("memories.schema.json", PROMPTS))
    return schema


@cache
def load_guard_rules() -> tuple[CleaningRules, PoisoningRules, EchoRules]:
    """The shipped wordings of what is kept out of memory."""
    cleaning, poisoning, echo = (
        read_toml(shipped_text(f"{name}.toml"), f"{name}.toml") for name in ("cleaning", "poisoning", "echo")
    )
    return parse_cleaning(cleaning), parse_poisoning(poisoning), parse_echo(echo)


def load_guard(segmenter: Segmenter, policy: GuardPolicy) -> Guard:
    cleaning, poisoning, echo = load_guard_rules()
    return Guard(Cleaner(cleaning), Screen(poisoning, lru_cache(maxsize=8192)(segmenter.fold)), echo, policy)


@cache
def load_cues() -> Cues:
    """The shipped words of summarising."""
    return parse_cues(read_toml(shipped_text("summary.toml"), "summary.toml"))


def read_dictionary(file: str) -> tuple[str, ...]:
    """Words of a dictionary file, one a line, `#` for comments.

    Raises:
        SettingsError: the file cannot be read, or a line of it is no word.
    """
    text = own_file(file, "dictionary")
    check_dictionary(text, file)
    return parse_dictionary(text)


def load_segmenter(dictionary: tuple[str, ...] = (), stop_words: str | None = None) -> Segmenter:
    """The one segmenter, with the shipped words and those of the database.

    Args:
        stop_words: a TOML file in place of the shipped stop words, as it is now.

    Raises:
        SettingsError: the file of stop words cannot be read, or has another shape.
    """
    own = ("stopwords.toml", shipped_text("stopwords.toml")) if stop_words is None else None
    return _segmenter(dictionary, own or (str(stop_words), own_file(str(stop_words), "stop_words")))


@cache
def _segmenter(dictionary: tuple[str, ...], stop_words: tuple[str, str]) -> Segmenter:
    words = parse_dictionary(shipped_text("dictionary.txt")) + dictionary
    name, text = stop_words
    return Segmenter(user_words=words, stop_words=StopWords.parse(read_toml(text, name), name))


def own_file(file: str, setting: str) -> str:
    try:
        return Path(file).expanduser().read_text("utf-8")
    except (OSError, ValueError, RuntimeError) as error:  # also bytes that are no UTF-8, and a home that is not there
        raise SettingsError(f"{setting} {file}: {error}") from error
