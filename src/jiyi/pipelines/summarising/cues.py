"""The words by which an extractive summary knows what a sentence tells: `vocabulary/summary.toml`, compiled (SPEC R6)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jiyi.domain.summary import PointKind
from jiyi.errors import SettingsError
from jiyi.text.details import Details


@dataclass(frozen=True, slots=True)
class Cues:
    """`kinds` in the order in which they win a sentence."""

    kinds: tuple[tuple[PointKind, re.Pattern[str]], ...]
    asking: re.Pattern[str]
    small_talk: re.Pattern[str]
    opener: re.Pattern[str]
    details: Details

    def kind(self, folded: str) -> PointKind | None:
        """What a sentence tells by its words, None when no word says so."""
        return next((kind for kind, words in self.kinds if words.search(folded)), None)


def parse_cues(data: Mapping[str, Any]) -> Cues:
    """Raises: SettingsError, naming what is missing or wrong."""
    try:
        details = data["details"]
        return Cues(
            kinds=tuple((PointKind(name), _words(data["cue"][name])) for name in data["order"]),
            asking=_words(data["asking"]),
            small_talk=_words(data["small_talk"]),
            opener=re.compile(
                rf"\s*(?:{_choices(data['opener'])})(?:\s*[,，、。.!！~～…:：]+\s*|\s+(?=[^\sa-z]))", re.I
            ),
            details=Details.of(details["commands"], details["subcommands"], details["endings"], details["units"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError, re.error) as error:
        raise SettingsError(f"summary.toml: {type(error).__name__} {error}") from error


def _words(table: Mapping[str, Sequence[str]]) -> re.Pattern[str]:
    return re.compile(_choices(table), re.I)


def _choices(table: Mapping[str, Sequence[str]]) -> str:
    """English words stand free of other letters; Chinese has no such bounds."""
    zh, en = (sorted(table[language], key=len, reverse=True) for language in ("zh", "en"))
    latin = [w for w in (*zh, *en) if w.isascii()]
    other = [w for w in zh if not w.isascii()]
    return "|".join([*map(re.escape, other), rf"(?<![a-z])(?:{'|'.join(map(re.escape, latin))})(?![a-z])"])
