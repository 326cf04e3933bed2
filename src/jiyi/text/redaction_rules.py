"""The data of redaction, read and compiled: classes of values, words around them, shapes of vendors' keys (SPEC C11)."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jiyi.errors import SettingsError
from jiyi.text.assigned import BARE
from jiyi.text.assigned import BLANK as BLANK


@dataclass(frozen=True, slots=True)
class SecretClass:
    """A class of `redaction.toml`."""

    name: str
    zh: str
    en: str
    shown: tuple[int, int]
    near: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RedactionRules:
    """`redaction.toml`, read and compiled."""

    classes: Mapping[str, SecretClass]
    vendors: re.Pattern[str]
    near: Mapping[str, re.Pattern[str]]
    innocent: re.Pattern[str]
    units: re.Pattern[str]
    assigned: re.Pattern[str]
    key_names: re.Pattern[str]
    placeholders: frozenset[str]
    phrases: re.Pattern[str]
    phrase_names: tuple[str, ...]
    prose: frozenset[str]
    articles: frozenset[str]
    candidates: tuple[re.Pattern[str], ...]
    vendor_starts: tuple[str, ...]
    name_stems: tuple[str, ...]


def parse_redaction(data: Mapping[str, Any]) -> RedactionRules:
    """The rules from the parsed `redaction.toml`.

    Raises:
        SettingsError: a table or a shape cannot be used; says which.
    """
    try:
        classes = {
            name: SecretClass(name, c["zh"], c["en"], (c["shown"][0], c["shown"][1]), tuple(c["near"]))
            for name, c in data["classes"].items()
        }
        assigned, innocent, keys = data["assigned"], data["innocent"], data["keys"]
        shapes = "|".join(k["shape"] for k in keys)
        starts = [s for k in keys for s in k["starts"]]
        key_names = [*assigned["key"], *assigned["key_zh"]]
        names = [*assigned["password"], *assigned["password_zh"], *key_names]
        phrases = [*assigned["phrase"], *assigned["phrase_zh"]]
        return RedactionRules(
            classes=classes,
            vendors=re.compile(rf"(?<![A-Za-z0-9])(?:{shapes})(?![A-Za-z0-9])"),
            near={name: _before(c.near, _NEARBY) for name, c in classes.items() if c.near},
            innocent=_before(innocent["before"], _FILLER),
            units=re.compile(rf"\s?(?:{_any(innocent['units'])})(?![A-Za-z])", re.I),
            assigned=_assigned(names),
            key_names=re.compile(_names(key_names), re.I),
            placeholders=frozenset(assigned["placeholders"]),
            phrases=_phrases(phrases),
            phrase_names=tuple(phrases),
            prose=frozenset(assigned["prose"]),
            articles=frozenset(assigned["articles"]),
            candidates=_candidates([*names, *phrases, *starts]),
            vendor_starts=tuple(starts),
            # How names begin: few, and quick to look for.
            name_stems=tuple(sorted({n.split("_")[0][:6].lower() for n in names})),
        )
    except (KeyError, TypeError, IndexError, AttributeError, re.error) as error:
        raise SettingsError(f"redaction.toml: {type(error).__name__} {error}") from error


def _any(words: Sequence[str]) -> str:
    return "|".join(re.escape(w) for w in sorted(words, key=len, reverse=True))


# What may stand between a word and its number: a stretch of the same sentence without another number, or hardly anything.
_NEARBY = rf"[^0-9。！？!?\n{BLANK}]{{0,14}}"
_FILLER = r"(?:\s|号码?|编号|number|no\.?|id|code|was|is|[是为:：=#\"'(（\[]){0,6}"


def _before(words: Sequence[str], between: str) -> re.Pattern[str]:
    """One of the words at the end of a stretch of text."""
    latin = [w for w in words if w[0].isascii() and w[0].isalpha()]
    other = [w for w in words if w not in latin]
    choice = "|".join(filter(None, (rf"(?<![a-z])(?:{_any(latin)})(?![a-z])" if latin else "", _any(other))))
    return re.compile(rf"(?:{choice}){between}\Z", re.I)


def _names(names: Sequence[str]) -> str:
    return "|".join(re.escape(n).replace("_", "[_-]?") for n in sorted(names, key=len, reverse=True))


def _assigned(names: Sequence[str]) -> re.Pattern[str]:
    """A name, what joins it to its value, and the value, quoted or bare. For a text in lower case."""
    latin, other = [n.lower() for n in names if n.isascii()], [n.lower() for n in names if not n.isascii()]
    return re.compile(
        rf"(?P<name>(?:(?:pass|pw)(?=\s?[:=])(?<![a-z]pass)(?<![a-z]pw)|{_names(latin)})(?![A-Za-z])|{_names(other)})"
        r"(?P<join>[\"'`]?\s{0,3}(?:=>|:=|={1,3}|:)\s{0,3}|\s{0,2}(?:(?:还|就|也|都)?(?:是|为|改成了?|改为|换成了?|设成了?|设为|设置为|设置成|用的是|叫)|号?[是为])\s{0,2}[::]?\s{0,2}"
        r"|\s{1,3}(?:is now|is|was|to|are|will be)\s{1,3}:?\s?|\s{0,2})"
        rf"(?:\"(?P<q1>[^\"\n{BLANK}]{{1,300}})\"|'(?P<q2>[^'\n{BLANK}]{{1,300}})'|“(?P<q3>[^”\n{BLANK}]{{1,300}})”|「(?P<q4>[^」\n{BLANK}]{{1,300}})」"
        rf"|`(?P<q5>[^`\n{BLANK}]{{1,300}})`|(?P<bare>{BARE}+))"
    )


_WORD = "[a-z]{2,16}"


def _phrases(names: Sequence[str]) -> re.Pattern[str]:
    """A name, what joins it to its value, and a value of three words or more in small letters. For a text in lower case."""
    return re.compile(
        rf"(?:{_any(names)})(?![a-z])[\"'”’]?(?: (?:for|to|of) (?:the |my |our )?[a-z]{{2,16}}(?: [a-z]{{2,16}})?)?\s{{0,2}}(?P<join>(?:=>|:=|=|:)|(?:还|就|也|都)?(?:是|为|改成了?|改为|换成了?)[:]?"
        r"|(?:is now|is|was|are)(?::|(?=\s)))\s{0,2}[\"'“‘]?"
        rf"(?P<value>{_WORD}(?:[ -]{_WORD}){{2,23}}|{_WORD}(?:, ?{_WORD}){{2,23}})(?![a-z])(?=[\"'”’]|\s{{0,2}}(?:[.;!?。；！？,，、\n{BLANK}]|\Z|[\u4e00-\u9fff]))"
    )


# What shows that there may be something, besides the words of the rules.
_SIGNS = (
    "@", "://", "::", "-----begin", " -p", " -a", " -u", "bearer ", "basic ", "plate", "护照", "passport",
    *(f"{word}{blank}{mark}" for word in ("pass", "pw") for blank in ("", " ") for mark in ":="),
)  # fmt: skip


def _candidates(words: Sequence[str]) -> tuple[re.Pattern[str], ...]:
    """Where none of these is found, nothing could match at all. They run on the lower-case shadow, so they need no flag; each
    begins with a few characters, so that a search passes over all others."""
    return (
        re.compile(
            r"\d(?:(?:[ ().x-]{0,3}\d){5}|[号栋幢座弄]|[a-z]? (?:[nsew]\.? )?[a-z0-9]+ [a-z]|\d{0,2}\.(?:\d{1,3}\.){2}\d)"
        ),
        re.compile(r"[〇零一二三四五六七八九十百]号"),
        re.compile(r"[京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼使领][a-z]"),
        re.compile(r":(?<=[0-9a-f]:)[0-9a-f]{1,4}:"),
        re.compile(_tree({w for word in words for w in _joints(word.lower())}.union(_SIGNS))),
    )


def _joints(word: str) -> Sequence[str]:
    """A name with its parts joined in every way: api_key, api-key, apikey."""
    first, *others = word.split("_")
    found = [first]
    for part in others:
        found = [f"{before}{joint}{part}" for before in found for joint in ("", "_", "-")]
    return found


def _tree(words: Collection[str]) -> str:
    """Whether one of the words begins at a place, asked letter by letter however many there are."""
    if "" in words:
        return ""
    begun: dict[str, list[str]] = {}
    for word in words:
        begun.setdefault(word[0], []).append(word[1:])
    return f"(?:{'|'.join(re.escape(letter) + _tree(rest) for letter, rest in sorted(begun.items()))})"
