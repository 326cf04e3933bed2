"""`jiyi eval extract`: public data through observe → work → memories, and what came of it as tables (SPEC R12)."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from jiyi.errors import InputError
from jiyi.evaluation.datasets import locomo, memdaily, realmem
from jiyi.evaluation.datasets.files import measuring
from jiyi.evaluation.extraction import (
    AttributeMap,
    Chat,
    Example,
    FactPolicy,
    FactScores,
    Scores,
    Talk,
    score_chat,
    score_talk,
)
from jiyi.evaluation.harness import TIMEZONE, OpenLayer, open_default
from jiyi.evaluation.observing import opened
from jiyi.shipped import load_segmenter, load_vocabulary

MEMDAILY, REALMEM, LOCOMO = "memdaily", "realmem", "locomo"
SETS = (MEMDAILY, REALMEM, LOCOMO)
MAP = Path(__file__).with_name("extract.toml")

Progress = Callable[[int], None]
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to measure: `sets` of SETS, `limit` talks or chats of each, evenly over all of them (0: all)."""

    data: Path
    sets: Sequence[str] = SETS
    half: str = "dev"
    limit: int = 0


@dataclass(frozen=True, slots=True)
class Extracted:
    """What each set came to."""

    attributes: dict[str, Scores] = field(default_factory=dict)
    facts: dict[str, FactScores] = field(default_factory=dict)
    policy: FactPolicy = field(default_factory=FactPolicy)

    def text(self, misses: int = 0, wrong: int = 0) -> str:
        """Markdown: a table for each set, how it was counted, and examples to look at."""
        parts = [_attribute_text(name, scores) for name, scores in self.attributes.items()]
        if self.facts:
            parts.append(_fact_text(self.facts, self.policy))
        for name, scores in self.attributes.items():
            parts += _examples(f"{name}: said and not found", scores.misses, misses)
            parts += _examples(f"{name}: stored and not true", scores.wrong, wrong)
        for name, facts in self.facts.items():
            parts += _examples(f"{name}: not stored", facts.misses, misses)
        return "\n\n".join(parts)

    def data(self, misses: int = 0, wrong: int = 0) -> dict[str, Any]:
        """The same as plain JSON values."""
        shown = {name: _attribute_data(s, misses, wrong) for name, s in self.attributes.items()}
        return shown | {name: _fact_data(s, misses) for name, s in self.facts.items()} | {"share": self.policy.share}


@dataclass(frozen=True, slots=True)
class Data:
    """The chosen sets, read."""

    talks: tuple[Talk, ...]
    chats: Mapping[str, Sequence[Chat]]

    @property
    def count(self) -> int:
        return len(self.talks) + sum(map(len, self.chats.values()))


def measure(
    data: Data,
    *,
    open_layer: OpenLayer = open_default,
    policy: FactPolicy | None = None,
    step: Progress = lambda _: None,
) -> Extracted:
    """Observe each talk in a scope of its own, and hold its memories against the truth.

    Args:
        step: called with 1 after each talk.
    """
    result = Extracted(policy=policy or FactPolicy())
    with opened(open_layer) as observed:
        if data.talks:
            rules, scores = load_map(), Scores()
            for talk in data.talks:
                score_talk(talk, observed(talk.id, talk.messages).memories(), rules, scores)
                step(1)
            result.attributes[MEMDAILY] = scores
        for name, chats in data.chats.items():
            found = result.facts[name] = FactScores()
            for chat in chats:
                memories = observed(chat.id, chat.messages).memories()
                score_chat(chat, memories, content_words, load_vocabulary(), result.policy, found)
                step(1)
    return result


def load_map() -> AttributeMap:
    """The shipped `extract.toml`."""
    return AttributeMap.parse(tomllib.loads(MAP.read_text("utf-8")))


def content_words(text: str) -> frozenset[str]:
    """Stems of the words that are no stop words, by the segmenter that recall uses."""
    return frozenset(t.text for t in load_segmenter().query_terms(text) if t.kind == "word" and not t.stop)


@measuring()
def read_data(wanted: Wanted) -> Data:
    """Read the chosen sets.

    Raises:
        InputError: an unknown set, or no such files. UnreadableFile: a file of another shape.
    """
    if unknown := set(wanted.sets) - set(SETS):
        raise InputError(f"no set {', '.join(sorted(unknown))}: choose from {', '.join(SETS)}")
    zone, limit = ZoneInfo(TIMEZONE), wanted.limit
    talks: list[Talk] = []
    chats: dict[str, list[Chat]] = {}
    if MEMDAILY in wanted.sets:
        talks = evenly(memdaily.read_talks(wanted.data / MEMDAILY, wanted.half, zone), limit)
    if REALMEM in wanted.sets:
        chats[REALMEM] = evenly(realmem.read_chats(wanted.data / REALMEM, zone), limit)
    if LOCOMO in wanted.sets:
        chats[LOCOMO] = evenly(locomo.read_chats(wanted.data / LOCOMO, wanted.half, zone), limit)
    return Data(tuple(talks), chats)


def evenly(items: Sequence[Item], count: int) -> list[Item]:
    """`count` of the items, spread over all of them; 0: all."""
    size = len(items)
    return list(items) if count == 0 or count >= size else [items[i * size // count] for i in range(count)]


# ------------------------------------------------------------------ tables


def percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.1%}"


def _attribute_text(name: str, s: Scores) -> str:
    rows = [
        (a, s.stated[a], s.found[a], percent(s.recall(a)), s.stored[a], s.right[a], percent(s.precision(a)))
        for a in _order(s)
    ]
    total = s.stated.total(), s.found.total(), percent(s.recall()), s.stored.total(), s.right.total()
    rows.append(("**all**", *total, percent(s.precision())))
    lines = [
        f"## {name}: attributes of people ({s.talks:,} talks, {s.messages:,} messages)",
        "",
        "| attribute | stated | found | recall | stored | right | precision |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        *(f"| {' | '.join(map(str, row))} |" for row in rows),
        "",
        f"Not asked for, because redaction removes them: {s.redacted.total():,} stated "
        f"({', '.join(f'{a} {n:,}' for a, n in s.redacted.items()) or 'none'}). Messages whose value fits two attributes "
        f"alike: {s.unclear:,}. Messages about one known person that hold none of that person's values: {s.unmatched:,}. Memories with such a relation about somebody or something else: {s.others:,}, not judged.",
        "",
        "stated: a message that speaks of exactly one known person holds that person's value (the user's own only near a cue). found: a live memory of the "
        "right person and relation, no denial, has it. stored: live memories that claim such an attribute of a known person. "
        "right: with the true value. Values are folded; dates by month and day, lengths in centimetres, ages as numbers; of "
        "two wordings the shorter may be the end of the longer and half of it (设计师 of 服装设计师), and a place a part of the "
        "other (深圳 of 广东深圳). No synonyms: other words for a true value count as wrong, so precision is a lower bound; "
        f"{s.reworded.total():,} of the {(s.stored - s.right).total():,} wrong ones say what a message without any listed value says. "
        f"If all of those are other words for the truth, precision is {percent(s.precision_at_most())}.",
    ]  # fmt: skip
    return "\n".join(lines)


def _order(s: Scores) -> list[str]:
    """Attributes that anything is known of, as in the map."""
    return [a.id for a in load_map().attributes if s.stated[a.id] or s.stored[a.id]]


def _fact_text(sets: dict[str, FactScores], policy: FactPolicy) -> str:
    lines = [
        "## Facts worth knowing",
        "",
        "| set | chats | user messages | memories | facts | stored | recall | sayable | of those stored | recall |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, s in sets.items():
        numbers = (s.chats, s.messages, s.memories, s.facts, s.stored)
        lines.append(
            f"| {name} | {' | '.join(f'{n:,}' for n in numbers)} | {percent(s.recall)} | {s.sayable:,} | "
            f"{s.stored_sayable:,} | {percent(s.recall_sayable)} |"
        )
    lines += [
        "",
        f"stored: the text of one live memory holds at least {policy.share:.0%} of the fact's content words (stems, without stop "
        f"words and the speakers' names), or all words of its object, at least {policy.key_words}, stand in the fact with a "
        "word for its relation. sayable: one message of the user in that session holds that share itself.",
    ]
    return "\n".join(lines)


def _examples(title: str, examples: Sequence[Example], count: int) -> list[str]:
    chosen = evenly(examples, count) if count else []
    if not chosen:
        return []
    lines = [f"- {e.talk} {e.attribute} {e.person}: {e.true!r} · {e.text}".rstrip(" ·") for e in chosen]
    return ["\n".join([f"### {title} ({len(chosen)} of {len(examples)})", "", *lines])]


def _attribute_data(s: Scores, misses: int, wrong: int) -> dict[str, Any]:
    table = {
        a: {
            "stated": s.stated[a], "found": s.found[a], "recall": s.recall(a),
            "stored": s.stored[a], "right": s.right[a], "precision": s.precision(a),
        }
        for a in _order(s)
    }  # fmt: skip
    total = {
        "stated": s.stated.total(), "found": s.found.total(), "recall": s.recall(),
        "stored": s.stored.total(), "right": s.right.total(), "precision": s.precision(),
    }  # fmt: skip
    return {
        "talks": s.talks, "messages": s.messages, "attributes": table, "all": total, "redacted": dict(s.redacted),
        "unclear": s.unclear, "unmatched": s.unmatched, "others": s.others,
        "reworded": dict(s.reworded), "precision_at_most": s.precision_at_most(),
        "misses": _shown(s.misses, misses), "wrong": _shown(s.wrong, wrong),
    }  # fmt: skip


def _fact_data(s: FactScores, misses: int) -> dict[str, Any]:
    return {
        "chats": s.chats, "messages": s.messages, "memories": s.memories, "facts": s.facts, "stored": s.stored,
        "recall": s.recall, "sayable": s.sayable, "stored_sayable": s.stored_sayable, "recall_sayable": s.recall_sayable,
        "misses": _shown(s.misses, misses),
    }  # fmt: skip


def _shown(examples: Sequence[Example], count: int) -> list[dict[str, str]]:
    chosen = evenly(examples, count) if count else []
    return [
        {"talk": e.talk, "attribute": e.attribute, "person": e.person, "true": e.true, "text": e.text} for e in chosen
    ]
