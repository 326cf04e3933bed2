"""The constructions in which people state things, read from data and compiled once (SPEC C6).

`vocabulary/constructions.toml` holds them, Chinese and English side by side. A *form* is written almost as it is
said: `{verb}` and `{name}` stand for the wordings of a relation, `{subject}`, `{object}`, `{old}` and `{topic}` are what is
found out, `{adv*}` is any number of words of the list `adv`, `[x]` may be missing, `(a|b)` is a choice. The file's own
header explains the rest. Nothing here knows a relation or a word of either language.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from typing import Any
from unicodedata import normalize

from jiyi.domain.memory import Language, Mode
from jiyi.domain.relations import WHOEVER, relative_of_user
from jiyi.errors import SettingsError
from jiyi.pipelines.distilling.choices import BEGINS, ENDS, by_letter, literal, one_beginning, whole

# A form takes its relation from what was named before it in the message (不对，是 30 万).
LAST = "@last"
SUBJECT_CLASSES = ("nobody", "user", "declared_user", "company", "we", "pronoun", "kin", "name")

# More texts than these are hardly ever absent.
MOST_NEEDS = 600
# So many groups of them are asked for, the most telling ones.
GROUPS = 3
# How rare a digit is, beside words of so many letters; longer words are as rare as each other.
DIGIT, LONG = 3, 6
# Stands for each character of a date that is known.
TIME = "\ue000"
_BUILT_IN = {
    "any": r".{0,40}?",
    "few": f"[^\\s,，、{TIME}]{{0,6}}?",
    "word": r"[^\s,，、]+",
    "han": r"[\u4e00-\u9fff]",
    "number": r"(?:\d[\d,.]*|[零〇一二三四五六七八九十百千万两]+)",
    "capital": r"(?-i:[A-Z])",
    "open": r"\(",
    "end": r"(?=[\s.!,。！，…)]*$)",
    "not_one": r"(?!一[家所间])",  # 一家公司 and 一所学校 count nothing
    "one": r"(?=一[家个所间])",  # in Suzhou, at a factory: where the second begins
    "uncounted": r"(?<![前这那好十过隔近每头])",  # 前几天 and 好几次 ask for no number
    "unpast": r"(?![前后来])",
    "not_i": r"(?!(?-i:I)(?![A-Za-z0-9]))",  # my mum I live with
    "not_found": r"(?!我对.{1,12}过敏)",  # 原来我对青霉素不过敏 was found out, 我原来 was before
    "no_more": r"(?=\s*(?:[,.;!]|$))",  # gave up, but not gave up smoking
    "him": "(?<!吉)他",  # 弹吉他 speaks of nobody
    "rest": r".*",
    "other_time": f"{TIME}+",
    "small": r"(?-i:[a-z])",
    "letters": r"[A-Za-z0-9-]*",
    "gerund": r"[A-Za-z-]+ing(?![A-Za-z])",
    "id": r"[A-Za-z0-9_./\\:~$@-]*[A-Za-z0-9_](?:[._/\\:-][A-Za-z0-9_]+)*",
}
# Word lists of which it is found out which word was said.
_FOUND_OUT = ("owner", "kin_said", "name_said", "name_too")
# Word lists of which no shorter word may stand for a longer one: an ex-wife is no wife, a brother in law no brother.
_WHOLE = ("kin_word", "kin_said")
_TRIGGERS = ("{name}", "{verb}", "{deed}")
_SLOTS = {"object": r".+?", "old": r".+?", "topic": r"[^\s,，:：]{2,12}?", "second": r".+?", "time": f"{TIME}+"}
# Up to three words that do not begin with who or which it is.
_SHORT_NOUN = r"(?!(?:i|we|you|my|our|he|she|they|it|this|that|the|there)\b)[^\s,:]+(?: [^\s,:]+){0,2}?"
# My best friend and I: tried before anything shorter.
_PAIR = r"(?:(?:my|our|a|some|the)\s[^,:]{1,30}?|(?-i:[A-Z])[a-z]+)\sand\si(?![a-z'])"
_HAN = re.compile(r"[\u4e00-\u9fff]")
_DIGITS = (*"0123456789", *"零〇一二三四五六七八九十百千万两")
_WORD = re.compile(r"[a-zA-Z]+")
_TOKEN = re.compile(r"\{([a-z_0-9]+)(\*?)(?::([a-z_]+))?\}|([\[\]()|])|( +)|([^{}\[\]()| ]+)")


@cache
def compiled(source: str) -> re.Pattern[str]:
    """The regex of a source. Compiled when first needed: all of them together would delay every start by a second."""
    return re.compile(source, re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Form:
    """One wording: regexes for what stands before and after the relation's trigger (or for the whole clause).

    `trigger` is "name", "verb", "be", "deed" or "" for a form that fixes its `relation`. A `subject` that opens the form "must"
    or "may" be there; `before` goes on after it, and `bare` holds for a clause without one. Every clause of the form
    contains a text of each group of `needs`. `who` are the classes of subject that it takes. `also` relations receive the same object.
    `route` sends an object of a known type to the relation for that type. `across` forms run over two clauses. `timed`
    forms hold a date (`moved`: and the one that it was), which must lie in the `tense` "past" or "future" where one is given; what lies in the future is
    over when its date is. `follows`: relations one of which the sentence must have stated before. `from_party` is the
    relation of the object to the one company that was named. `second` is the relation of the slot of that name, told of the
    form's subject, or with `of_object` of the relative or animal that the object names. A `dropped` subject is the user,
    unless somebody else is spoken of before. `known`: a fact of one of these relations must name what it speaks of.
    """

    written: str
    mode: Mode
    trigger: str
    subject: str
    before: str
    bare: str
    after: str
    needs: tuple[tuple[str, ...], ...]
    relation: str = ""
    types: Mapping[str, str] = field(default_factory=dict)
    only: frozenset[str] = frozenset()
    who: frozenset[str] = frozenset()
    also: tuple[str, ...] = ()
    route: bool = False
    implied: bool = False
    across: bool = False
    timed: bool = False
    moved: bool = False
    tense: str = ""
    follows: frozenset[str] = frozenset()
    from_party: str = ""
    second: str = ""
    of_object: bool = False
    dropped: bool = False
    known: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Marker:
    """Words that change how the rest of the sentence is meant (记错了, 换工作了)."""

    mode: Mode
    pattern: str
    only: frozenset[str]


@dataclass(frozen=True, slots=True)
class Grammar:
    """Everything about one language. Patterns are regexes for the folded text, not compiled yet.

    `kin_of` is the subject that a word for a relative is filed under, `one_of` the one for each of several of them, and
    `presupposed` the relation and the object of one who is taken for granted.
    `cues` are texts one of which stands wherever the pattern of that name, or of that source for a subject, matches; none when
    it may match anywhere.
    """

    forms: tuple[Form, ...]
    markers: tuple[Marker, ...]
    subjects: tuple[tuple[str, str], ...]
    kin: str
    kin_of: Mapping[str, str]
    one_of: Mapping[str, str]
    presupposed: Mapping[str, tuple[str, str]]
    patterns: Mapping[str, str]
    cues: Mapping[str, tuple[str, ...]]
    joint: str
    rewrite: tuple[tuple[str, str], ...]

    def relative(self, written: str) -> str:
        """The subject that a word for a relative is filed under, however it is spaced."""
        return self.kin_of[" ".join(written.lower().split())]


@dataclass(frozen=True, slots=True)
class Constructions:
    """The grammar of both languages, and what objects of each type look like."""

    grammars: Mapping[Language, Grammar]
    types: Mapping[str, str]
    vague: Mapping[str, str]
    routes: Mapping[str, tuple[str, str]]
    who: Mapping[str, frozenset[str]]
    written: frozenset[str]
    introduces: frozenset[str]
    only_find: frozenset[str]
    dated: frozenset[str]
    dated_words: Mapping[str, str]
    ahead: frozenset[str]
    beside: Mapping[str, str]
    naming: str
    plain: frozenset[str]
    at_home: frozenset[str]
    plans: frozenset[str]
    paired: frozenset[str]
    puts_down: frozenset[str]
    gives_up: frozenset[str]
    spelled_out: frozenset[str]
    judged: frozenset[str]
    told_by_name: frozenset[str]
    told_by_order: frozenset[str]
    freely_named: frozenset[str]
    kin: Mapping[str, tuple[str, ...]]
    relations: frozenset[str] = field(default=frozenset())


# Lists that each language must give, and how their patterns are used.
_AT_START = ("lead", "head", "glue", "request", "kept", "kept_weak", "stative", "personal", "hearsay", "asks", "namely")
_ANYWHERE = (
    "message",
    "sentence",
    "clause",
    "formerly",
    "question",
    "rest",
    "instruction",
    "instruction_alone",
    "todo",
    "refused",
    "not_meant",
    "cut",
    "reject",
    "never",
    "no_list",
    "addressed",
    "others",
    "no_split",
    "presupposed",
    "absent",
    "nowadays",
    "third",
    "visiting",
    "bodies",
    "for_now",
    "resumed",
    "rebuttal",
    "abandoned",
    "undecided",
    "decided",
    "apposed",
    "listed",
    "presenting",
)
_AT_END = ("tail", "particle", "kept_after", "tag")
LISTS = _AT_START + _ANYWHERE + _AT_END + ("split", "starters", "continuation")


def parse_constructions(data: Mapping[str, Any]) -> Constructions:
    """Read a parsed constructions file.

    Raises:
        SettingsError: a table lacks a list, a form names an unknown word, slot or mode, or is not well formed.
    """
    try:
        lists = {Language(code): data[code] for code in ("zh", "en")}
        types = {**data["types"], **data["members"]}
        kin = data["kin"]
        presupposed = data["presupposed"]
        builders = {language: _Builder(language, table, types, kin, presupposed) for language, table in lists.items()}
        forms: dict[Language, list[Form]] = {language: [] for language in builders}
        markers: dict[Language, list[Marker]] = {language: [] for language in builders}
        for entry in data["construction"]:
            for language, builder in builders.items():
                forms[language] += [builder.form(written, entry) for written in entry.get(language, ())]
        for entry in data["marker"]:
            for language, builder in builders.items():
                if entry.get(language):
                    markers[language].append(builder.marker(entry))
        anyone = builders[Language.ZH]
        return Constructions(
            grammars={k: b.grammar(tuple(forms[k]), tuple(markers[k])) for k, b in builders.items()},
            types={name: anyone.source(written, f"types.{name}") for name, written in types.items()},
            vague={name: anyone.source(written, f"vague.{name}") for name, written in data["vague"].items()},
            written=frozenset(data["written"]),
            introduces=frozenset(data["introduces"]),
            who={
                name: frozenset(relative(kin[c]) if c in kin else c for c in who) for name, who in data["who"].items()
            },
            routes={kind: (str(route["away"]), str(route["to"])) for kind, route in data["routes"].items()},
            only_find=frozenset(data["only_find"]),
            dated=frozenset(data["dated"]),
            dated_words={str(k): str(v) for k, v in data["dated_words"].items()},
            ahead=frozenset(data["ahead"]),
            beside={kind: anyone.source(words, f"beside.{kind}") for kind, words in data["beside"].items()},
            naming=str(data["naming"]),
            plain=frozenset(data["plain"]),
            at_home=frozenset(data["at_home"]),
            plans=frozenset(data["plans"]),
            paired=frozenset(data["paired"]),
            puts_down=frozenset(data["puts_down"]),
            gives_up=frozenset(data["gives_up"]),
            spelled_out=frozenset(data["spelled_out"]),
            judged=frozenset(data["judged"]),
            told_by_name=frozenset(data["told_by_name"]),
            told_by_order=frozenset(data["told_by_order"]),
            freely_named=frozenset(relative(kin[c]) for c in data["freely_named"]),
            kin={relative(words): (*words["zh"], *words["en"]) for words in kin.values()},
            relations=frozenset(r for found in forms.values() for f in found for r in _named(f)) | set(presupposed),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, SettingsError):
            raise
        raise SettingsError(f"constructions: missing or wrong value {error}") from error


def _named(form: Form) -> Iterable[str]:
    named = {*form.only, *form.also, *form.follows, *form.known, form.relation, form.from_party, form.second}
    return named - {"", LAST, WHOEVER}


def relative(words: Mapping[str, Sequence[str]]) -> str:
    """The subject of a kind of relative, by the first of its words in each language."""
    return relative_of_user(words["zh"][0], words["en"][0])


class _Builder:
    """Turns written forms of one language into regexes."""

    def __init__(
        self,
        language: Language,
        table: Mapping[str, Any],
        types: Mapping[str, Sequence[str]],
        kin: Mapping[str, Mapping[str, Any]],
        presupposed: Mapping[str, Mapping[str, Mapping[str, str]]],
    ) -> None:
        self.language = language
        self.table = table
        self.kin = kin
        self.types = types
        self.kin_of = {word.lower(): relative(words) for words in kin.values() for word in words[language]}
        self.one_of = {relative(words): relative(kin[words["one"]]) for words in kin.values() if "one" in words}
        self.presupposed = {w: (name, said) for name, told in presupposed.items() for w, said in told[language].items()}
        self.words: Mapping[str, Sequence[str]] = {
            **table["words"],
            "kin_word": list(self.kin_of),
            "kin_said": list(self.presupposed),
        }
        self.space = r"\s*" if language is Language.ZH else r"\s+"
        # Who a subject is, is looked up afterwards: the same long lists inside every form would take long to compile.
        nobody = re.escape(table["not_subjects"])
        self.anybody = rf"(?![{nobody}])[^\s,:]{{1,12}}?" if language is Language.ZH else rf"{_PAIR}|[^,:]{{1,40}}?"

    def form(self, written: str, entry: Mapping[str, Any]) -> Form:
        unknown = set(entry) - {
            "zh", "en", "mode", "relation", "only", "who", "also", "route", "implied", "tense", "follows", "from_party",
            "second", "of_object", "dropped", "known",
        }  # fmt: skip
        if unknown:
            raise SettingsError(f"construction {written!r}: unknown field {', '.join(sorted(unknown))}")
        triggers = re.findall(r"\{(name|verb|deed)\}", written)
        if len(triggers) > 1 or bool(triggers) == bool(entry.get("relation")):
            raise SettingsError(
                f"construction {written!r}: needs one {{name}}, {{verb}} or {{deed}}, or else a relation"
            )
        if written.count("{object") != 1 or written.count("{old") > 1:
            raise SettingsError(f"construction {written!r}: needs {{object}} once, and {{old}} at most once")
        if written.count("{second") != bool(entry.get("second")):
            raise SettingsError(f"construction {written!r}: {{second}} goes with the relation that it names")
        if entry.get("tense", "past") not in ("past", "future"):
            raise SettingsError(f"construction {written!r}: tense is past or future, not {entry['tense']!r}")
        # Checked once the object is found: a type spelled out inside every form would take long to compile.
        types = dict(re.findall(r"\{(object|old|topic|second):([a-z_]+)\}", written))
        for missing in set(types.values()) - set(self.types):
            raise SettingsError(f"construction {written!r}: unknown type {missing!r}")
        trigger = triggers[0] if triggers else ""
        before, _, after = written.partition(f"{{{trigger}}}") if trigger else (written, "", "")
        subject, link, rest = _opening(before)
        return Form(
            written=written,
            mode=Mode(entry.get("mode", "statement")),
            trigger="be" if trigger == "verb" and "{be}" in before else trigger,
            subject=subject,
            before=_numbered(self.translate(link + rest, written)),
            bare=_numbered(self.translate(rest, written)),
            after=_numbered(self.translate(after, written)),
            needs=self.needs(written),
            relation=str(entry.get("relation", "")),
            types=types,
            only=frozenset(entry.get("only", ())),
            who=frozenset(relative(self.kin[c]) if c in self.kin else c for c in entry.get("who", ())),
            also=tuple(entry.get("also", ())),
            route=bool(entry.get("route", False)),
            implied=bool(entry.get("implied", False)),
            across="，" in written or ", " in written,
            timed="{time}" in written,
            moved="{time}" in written and "{other_time}" in written,
            tense=str(entry.get("tense", "")),
            follows=frozenset(entry.get("follows", ())),
            from_party=str(entry.get("from_party", "")),
            second=str(entry.get("second", "")),
            of_object=bool(entry.get("of_object", False)),
            dropped=bool(entry.get("dropped", False)),
            known=frozenset(entry.get("known", ())),
        )

    def marker(self, entry: Mapping[str, Any]) -> Marker:
        pattern = self.source(entry[self.language], f"marker {entry[self.language]}")
        return Marker(Mode(entry["mode"]), pattern, frozenset(entry.get("only", ())))

    def grammar(self, forms: tuple[Form, ...], markers: tuple[Marker, ...]) -> Grammar:
        table, patterns = self.table, {}
        for name in LISTS:
            source = self.source(table[name], f"{self.language}.{name}")
            if name in ("lead", "head", "glue"):
                source = rf"(?:{source}[\s,]*)+"
            elif name in ("tail", "particle"):
                source = rf"(?:\s*{source})+\s*$"
            patterns[name] = _numbered(source)
        subjects = [
            (name, written, self.translate(written, f"{self.language}.subjects.{name}"))
            for name in SUBJECT_CLASSES
            for written in _joined(table["subjects"][name], name)
        ]
        return Grammar(
            forms=forms,
            markers=markers,
            subjects=tuple((name, source) for name, _, source in subjects),
            kin=self.translate("{kin_word}", "kin_word"),
            kin_of=self.kin_of,
            one_of=self.one_of,
            presupposed=self.presupposed,
            joint=self._joint(patterns["split"], patterns["no_split"], patterns["starters"]),
            patterns=patterns,
            cues={
                **{name: self._one_of(table[name], 0) for name in LISTS},
                **{source: self._one_of([written], 0) for _, written, source in subjects},
            },
            rewrite=tuple((self.source([k], "rewrite"), str(v)) for k, v in table["rewrite"].items()),
        )

    def _joint(self, split: str, no_split: str, starters: str) -> str:
        """Where a clause ends without a comma: before 但是, or at "and" before "I live"."""
        if self.language is Language.ZH:
            return rf"(?<=.)(?!{no_split})(?={split})"
        return rf"\s+{split}\s+(?!{no_split})(?={starters}\b)"

    def source(self, written: Sequence[str], where: str) -> str:
        """An alternation of written forms; matches nothing when there are none."""
        if isinstance(written, str):
            raise SettingsError(f"{where}: expected a list")
        # Longest first, so that 改成了 is not read as 改成.
        return self._choice(sorted(written, key=len, reverse=True), where, 0) if written else r"(?!)"

    def _choice(self, written: Sequence[str], where: str, depth: int) -> str:
        """One of several; whole words share their boundaries, which is much faster to compile and to run."""
        words = [w for w in written if _WORD.fullmatch(w)]
        parts = [rf"{BEGINS}{by_letter(words)}{ENDS}"] if len(words) > 1 else []
        parts += [self.translate(w, where, depth) for w in written if len(words) <= 1 or w not in words]
        return f"(?:{'|'.join(one_beginning(parts))})"

    def needs(self, written: str) -> tuple[tuple[str, ...], ...]:
        """Groups of texts: a text of each stands in whatever the form fits. The most telling ones.

        Most forms are put aside by this alone, so that a clause costs little however many forms there are.
        """
        return tuple(sorted(self._groups(written, 0), key=_telling, reverse=True)[:GROUPS])

    def _groups(self, written: str, depth: int) -> list[tuple[str, ...]]:
        groups: list[tuple[str, ...]] = []
        for piece in _pieces(written):
            if piece.startswith("("):
                groups.append(self._one_of(_choices(piece[1:-1]), depth))
            elif piece in _TRIGGERS:
                continue
            elif piece == "{number}":
                groups.append(_DIGITS)
            elif piece.startswith("{") and not piece.endswith("*}"):
                groups.append(self._one_of(self._words_of(piece.strip("{}")), depth))
            elif piece[0] not in "[{":
                groups.append((normalize("NFKC", piece).lower(),))
        return [group for group in groups if group]

    def _one_of(self, choices: Sequence[str], depth: int) -> tuple[str, ...]:
        """The texts one of which stands in every one of several wordings; () when there is none."""
        if depth > 3 or not 0 < len(choices) <= MOST_NEEDS:
            return ()
        if self.language is Language.EN:  # English sentences hold no Chinese wordings
            choices = [c for c in choices if not _HAN.search(c)] or choices
        groups = [max(self._groups(choice, depth + 1), key=_telling, default=()) for choice in choices]
        needed = tuple(dict.fromkeys(text for group in groups for text in group))
        return needed if all(groups) and len(needed) <= MOST_NEEDS else ()

    def _words_of(self, slot: str) -> Sequence[str]:
        name, _, kind = slot.partition(":")
        if name in ("object", "old", "topic", "second"):
            return self.types.get(kind, ())
        return self.types.get(name) or self.words.get(name, ())

    def translate(self, written: str, where: str, depth: int = 0) -> str:
        """The regex of a written form."""
        if depth > 5:
            raise SettingsError(f"{where}: words refer to each other in a circle")
        out: list[str] = []
        at = 0
        for match in _TOKEN.finditer(written):
            if match.start() != at:
                break
            at = match.end()
            word, star, kind, mark, space, said = match.groups()
            if word:
                out.append(self._slot(word, bool(star), kind, where, depth))
            elif mark:
                out.append({"[": "(?:", "]": ")?", "(": "(?:"}.get(mark, mark))
            elif space:
                out.append(self.space)
            else:
                out.append(literal(said))
        if at != len(written):
            raise SettingsError(f"{where}: cannot read {written[at:]!r} in {written!r}")
        if written.count("[") != written.count("]") or written.count("(") != written.count(")"):
            raise SettingsError(f"{where}: brackets do not match in {written!r}")
        return "".join(out)

    def _slot(self, word: str, star: bool, kind: str | None, where: str, depth: int) -> str:
        if word == "topic" and self.language is Language.EN:
            return rf"(?P<topic>{_SHORT_NOUN})"
        if word in _SLOTS:
            return f"(?P<{word}>{_SLOTS[word]})"
        if word == "subject":
            return f"(?P<subject>{self.anybody})"
        if word in _BUILT_IN:
            return _BUILT_IN[word]
        if word == "given":  # a character of a given name
            return rf"(?![{re.escape(self.table['not_in_names'])}]){_BUILT_IN['han']}"
        if word in self.types:
            return self._choice(self.types[word], f"types.{word}", depth + 1)
        if word not in self.words:
            raise SettingsError(f"{where}: unknown word list or slot {{{word}}}")
        words = sorted(self.words[word], key=len, reverse=True)
        kin = word in _WHOLE and self.language is Language.EN
        choice = whole(words, self.kin_of) if kin else self._choice(words, f"words.{word}", depth + 1)
        if word in _FOUND_OUT:
            return f"(?P<{word}>{choice})"
        # A bounded number, so that no text can make the search explode.
        return f"(?:{choice}{self.space}){{0,4}}" if star else choice


def _opening(before: str) -> tuple[str, str, str]:
    """How a form opens: whether a subject must or may be there, what ties it to the rest, and the rest."""
    if before.startswith("{subject}"):
        return "must", "", before.removeprefix("{subject}")
    if not before.startswith("[{subject}"):
        return "", "", before
    depth = 0
    for at, character in enumerate(before):
        depth += {"[": 1, "]": -1}.get(character, 0)
        if depth == 0:
            return "may", before[len("[{subject}") : at], before[at + 1 :]
    return "may", "", ""  # a bracket is missing: translating the form says so


def _pieces(written: str) -> list[str]:
    """A form cut at its top level: choices, options and slots whole, and the words between them."""
    pieces, start, depth = [], 0, 0
    for at, character in enumerate(written):
        if character in "[({" and (depth := depth + 1) == 1:
            pieces += re.split(r"[ ,，]", written[start:at])
            start = at
        elif character in "])}" and (depth := depth - 1) == 0:
            pieces.append(written[start : at + 1])
            start = at + 1
    return [p for p in pieces + re.split(r"[ ,，]", written[start:]) if p]


def _choices(written: str) -> list[str]:
    """The sides of a choice, cut at its top level."""
    sides, depth = [""], 0
    for character in written:
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(character, 0)
        if character == "|" and depth == 0:
            sides.append("")
        else:
            sides[-1] += character
    return sides


def _telling(needs: tuple[str, ...]) -> float:
    """How much is put aside by asking for these: longer texts are rarer, and few are."""
    if not needs:
        return 0.0
    rarity = sum(DIGIT if n in _DIGITS else min(len(n), LONG) for n in needs) / len(needs)
    return rarity - len(needs) / MOST_NEEDS


def _joined(written: Sequence[str], name: str) -> Sequence[str]:
    """Names may end at several places (张三 or 张三负 in 张三负责), so each of their forms is tried by itself."""
    if name == "name" or not written:
        return written
    return [f"({'|'.join(sorted(written, key=len, reverse=True))})"]


def _numbered(source: str) -> str:
    """A form may give the subject in several places, a regex may name a group only once."""
    numbers = count(1)
    return re.sub(re.escape("(?P<subject>"), lambda _: f"(?P<subject{next(numbers)}>", source)
