"""The data of redaction, read and compiled: classes of values, words around them, shapes of vendors' keys (SPEC C11)."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jiyi.errors import SettingsError
from jiyi.text.assigned import BARE
from jiyi.text.assigned import BLANK as BLANK
from jiyi.text.place_rules import PlaceRules, parse_places


@dataclass(frozen=True, slots=True)
class SecretClass:
    """A class of `redaction.toml`."""

    name: str
    zh: str
    en: str
    shown: tuple[int, int]
    near: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Named:
    """Values of one shape that only the word before them tells."""

    kind: str
    words: tuple[str, ...]
    value: re.Pattern[str]
    unless: re.Pattern[str] | None


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
    vendors_seen: re.Pattern[str]
    names_seen: re.Pattern[str]
    distant: re.Pattern[str]
    open_keys: frozenset[str]
    parameters: re.Pattern[str]
    cookies: re.Pattern[str]
    named: tuple[Named, ...]
    named_seen: re.Pattern[str]
    public_ips: frozenset[str]
    places: PlaceRules


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
        assigned, innocent, keys, urls = data["assigned"], data["innocent"], data["keys"], data["urls"]
        named = [_named(entry) for entry in data["named"]]
        if strange := {n.kind for n in named} - set(classes):
            raise KeyError(f"named: no class {', '.join(sorted(strange))}")
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
            key_names=re.compile(_longest([j for n in key_names for j in _joints(n.lower())])),
            placeholders=frozenset(assigned["placeholders"]),
            phrases=_phrases(phrases),
            phrase_names=tuple(phrases),
            prose=frozenset(assigned["prose"]),
            articles=frozenset(assigned["articles"]),
            candidates=_candidates(
                [*names, *phrases, *starts, *(w for n in data["named"] if n.get("short") for w in n["words"])],
            ),
            vendors_seen=re.compile(_tree(starts)),
            names_seen=re.compile(_tree({"pass", "pw"}.union(j for n in names for j in _joints(n.lower())))),
            distant=_distant([*assigned["password_zh"], *assigned["key_zh"]]),
            open_keys=frozenset(assigned["open_keys"]),
            parameters=re.compile(
                rf"[?&#;](?:amp;)?(?:{_longest(urls['parameters'])})=([^&\s#\"'<>{BLANK}]{{16,2000}})"
            ),
            cookies=re.compile(rf"(?<![\w.-])(?:{_longest(urls['cookies'])})=([^;,\s\"'&<>{BLANK}]{{16,4000}})"),
            named=tuple(named),
            named_seen=re.compile(_tree({w for n in named for w in n.words})),
            public_ips=frozenset(data["ips"]["public"]),
            places=parse_places(data["places"]),
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


# What joins a name to its value. In the order tried: signs; a value of its own attribute or line; an element; words with what the
# name is for (the password for the gate is …); words.
_JOINED = "|".join(
    (
        r"\\?[\"'`]?\]?\s{0,3}(?:=>|:=|={1,3}|:|->|→|⇒|➜)\s{0,3}",
        r"[\"'],?\s{0,12}[\"']?value[\"']?\s{0,2}[:=]\s{0,2}|\s{0,3}\n\s{0,20}value\s?:\s{0,2}",
        r"[\"']?>",
        r"[\"']\s?,\s?(?=[\"'])",
        r"\((?=[^()\s]{4,40}\))",
        r"\s(?:for|of|on|to|at|in)\s(?:(?:the|my|our|his|her|their|your)\s)?[a-z.'-]{1,24}(?:\s[a-z.'-]{1,24}){0,2}?(?:\s(?:is now|is|was)\s|\s?[:=]\s?)",
        r"\s{0,2}(?:(?:还|就|也|都)?(?:是|为|改成了?|改为|换成了?|设成了?|设为|设置为|设置成|用的是|叫)|号?[是为])\s{0,2}[::]?\s{0,2}",
        r"\s{1,3}(?:(?:itself|now|currently|there) )?(?:is now|is|was|to|are|will be)\s{1,3}:?\s?",
        r"\s{0,2}",
    )
)


def _assigned(names: Sequence[str]) -> re.Pattern[str]:
    """A name, what joins it to its value, and the value, quoted or bare. For a text in lower case."""
    latin = _longest([j for n in names if n.isascii() for j in _joints(n.lower())])
    other = _longest([n.lower() for n in names if not n.isascii()])
    return re.compile(
        rf"(?P<name>{other}|(?:(?:pass|pw)(?=\s?[:=])(?<![a-z]pass)(?<![a-z]pw)|pw(?= is )(?<![a-z]pw)|{latin})(?![A-Za-z]))"
        rf"(?P<join>{_JOINED})"
        rf"(?:\"(?P<q1>[^\"\n{BLANK}]{{1,300}})\"|'(?P<q2>[^'\n{BLANK}]{{1,300}})'|“(?P<q3>[^”\n{BLANK}]{{1,300}})”|「(?P<q4>[^」\n{BLANK}]{{1,300}})」"
        rf"|`(?P<q5>[^`\n{BLANK}]{{1,300}})`|\\\"(?P<q6>[^\"\\\n{BLANK}]{{1,300}})\\\"|(?P<bare>{BARE}+)|(?P<han>(?<=[:=是为成叫 ])[\u4e00-\u9fff]{{2,8}}[0-9]{{3,12}}(?![\w])))"
    )


def _distant(names: Sequence[str]) -> re.Pattern[str]:
    """A Chinese name, a few words, and a value: 密码我换了，新的是…. For a text in lower case."""
    return re.compile(
        rf"(?:{_longest([n.lower() for n in names])})(?P<gap>(?:现在|[^0-9a-z。！？!?\n:=(在里用从到{BLANK}]){{1,12}}?(?:是|为|成|那个|这个|[:]))\s?[\"'“「]?(?P<value>{BARE}{{6,64}})"
    )


def _named(entry: Mapping[str, Any]) -> Named:
    """An entry of [[named]]. Words in capitals are read as they stand."""
    exact = [w for w in entry["words"] if w.isascii() and not any(c.islower() for c in w)]
    latin = [w for w in entry["words"] if w.isascii() and w not in exact]
    other = [w for w in entry["words"] if not w.isascii()]
    latins = "|".join(filter(None, (_any(exact), f"(?i:{_any(latin)})" if latin else "")))
    words = "|".join(filter(None, (rf"(?<![A-Za-z])(?:{latins})(?![A-Za-z])" if latins else "", _any(other))))
    unless = entry.get("unless")
    return Named(
        entry["class"],
        tuple(w.lower() for w in entry["words"]),
        re.compile(rf"(?:{words})(?i:{_FILLER})(?i:(?P<value>{entry['shape']}))(?![0-9A-Za-z])"),
        re.compile(unless, re.I) if unless else None,
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
    "box ", "straße ", "strasse ", "weg ", "platz ", "allee ", "gasse ", " dot ", "(dot", "[dot", "_key", "cookie", "cvv", "cvc", ":5432:", ":5433:", ":6432:", "creds", "authorization", "账号密码", "用户名密码", "账密", "pw is ", "net use ", "privatekey", "private-lines", " code", "验证码", "jdbc:", "sqlplus", "signature", "@", "://", "::", "-----begin", " -p", " -a", " -u", "bearer ", "basic ", "plate", "护照", "passport",
    *(f"{word}{blank}{mark}" for word in ("pass", "pw") for blank in ("", " ") for mark in ":="),
)  # fmt: skip


def _candidates(words: Sequence[str]) -> tuple[re.Pattern[str], ...]:
    """Where none of these is found, nothing could match at all. They run on the lower-case shadow, so they need no flag; each
    begins with a few characters, so that a search passes over all others."""
    return (
        re.compile(
            r"\d(?:(?:[ ().x-]{0,3}\d){5}|[a-z]? ?[号栋幢座弄]|楼[- ]?\d|[a-z]?,? (?:[nsew]\.? )?[a-z0-9'’.-]+ [a-z]|\d{0,2}\.(?:\d{1,3}\.){2}\d)"
        ),
        re.compile(r"[〇零一二三四五六七八九十百]号|[座栋幢塔](?<=[a-z].)|\d-\d{1,2}-\d{3}|\d[门楼]\d{3}"),
        re.compile(r"[京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼使领][a-z]"),
        re.compile(r":(?<=[0-9a-f]:)[0-9a-f]{1,4}:"),
        re.compile(r"k[ :=](?<=[as]k.)(?<![a-z][as]k.)"),
        re.compile(r"\d, ?[a-z]{1,2}\d[a-z0-9]? \d[a-z]{2}"),
        re.compile(r"=[^\s;,\"'&]{16}"),
        re.compile(_tree({w for word in words for w in _joints(word.lower())}.union(_SIGNS))),
    )


def _joints(word: str) -> Sequence[str]:
    """A name with its parts joined in every way: api_key, api-key, api key, apikey."""
    first, *others = word.split("_")
    found = [first]
    for part in others:
        found = [f"{before}{joint}{part}" for before in found for joint in ("", "_", "-", " ")]
    return found


def _tree(words: Collection[str]) -> str:
    """Whether one of the words begins at a place, asked letter by letter however many there are."""
    if "" in words:
        return ""
    begun: dict[str, list[str]] = {}
    for word in words:
        begun.setdefault(word[0], []).append(word[1:])
    return f"(?:{'|'.join(re.escape(letter) + _tree(rest) for letter, rest in sorted(begun.items()))})"


def _longest(words: Collection[str]) -> str:
    """The longest of the words that begins at a place, asked letter by letter however many there are."""
    begun: dict[str, list[str]] = {}
    for word in words:
        if word:
            begun.setdefault(word[0], []).append(word[1:])
    choice = "|".join(re.escape(letter) + _longest(rest) for letter, rest in sorted(begun.items()))
    if not choice:
        return ""
    return f"(?:{choice})?" if "" in words else f"(?:{choice})"
