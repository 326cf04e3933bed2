"""How a question asks for what is kept: which relations it is about, whose they are, and whether a former value is meant (SPEC R1).

names of a relation, anywhere ──────────┐
its own verbs behind a question word ───┼─▶ relation, and the words that say whose it is
the questions of asking.toml, a clause ─┘
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from jiyi.domain.relations import Relation, Vocabulary
from jiyi.errors import SettingsError
from jiyi.pipelines.recalling.relation_names import AnyOf, names_of_relations

MAX_CLAUSE = 120
"""Characters up to which a clause is held against the questions; longer ones are talk."""
SHARED_BY = 3
"""A verb of more relations than this asks for none of them (有, have)."""
_CLAUSE = re.compile(r"[.。!！?？;；,，\n:：]+(?=\s|$|[\u2e80-\uffff])|[。！？；，：\n?]")
_WORD = re.compile(r"[^\W_][\w+#.'’-]*")
_SPELT = re.compile("[^ ]+")
_FAVOURITE_ZH = re.compile(r"^(?:最?喜欢|最?爱)的(?P<noun>.+)$")
_FAVOURITE_EN = re.compile(r"^favou?rite (?P<noun>.+)$")
_HAN = "\u2e80"
SPEAKING = frozenset({"i", "we", "he", "she", "they"})


@dataclass(frozen=True, slots=True)
class Ask:
    """A relation that is asked for, by which words, and the folded text in which whose it is stands. `outright`: the
    whole clause is that question; a name may merely stand in it."""

    relation: str
    by: str
    who: str
    outright: bool


@dataclass(frozen=True, slots=True)
class _Form:
    """A way of asking for relations. One of `keys` stands in every text that it fits. `derived`: it follows from the verb
    of a relation, so what is written for a question goes before it."""

    relations: tuple[str, ...]
    keys: tuple[str, ...]
    written: str
    derived: bool = False


class Asking:
    """Reads questions. Built once; `fold` must be the folding of the segmenter, so that 數據庫 finds what 数据库 names."""

    def __init__(self, data: Mapping[str, Any], vocabulary: Vocabulary, fold: Callable[[str], str]) -> None:
        """From `asking.toml` and the relations. Raises: SettingsError: another shape, or a relation that is not there."""
        self._fold = fold
        self._names = names_of_relations(vocabulary, fold)
        # Longest first: 数据库连接串 asks for the connection string, not for the database.
        self._named = AnyOf(sorted(self._names, key=lambda n: (-len(n), n)))
        try:
            self._zh = _Chinese(data["zh"])
            self._en = _English(data["en"])
            asks = [(tuple(ask["of"]), tuple(ask["zh"]), tuple(ask["en"])) for ask in data["ask"]]
        except (KeyError, TypeError) as error:
            raise SettingsError(f"asking: missing or wrong value {error}") from error
        for of, _, _ in asks:
            if missing := [name for name in of if vocabulary.get(name) is None]:
                raise SettingsError(f"asking: there is no relation {missing[0]}")
        self._zh.learn([(of, form) for of, zh, _ in asks for form in zh], vocabulary)
        self._en.learn([(of, form) for of, _, en in asks for form in en], vocabulary)

    def named(self, question: str) -> dict[str, tuple[str, str]]:
        """Relations that the question names: `{relation: (the name found, the text before it)}`."""
        found: dict[str, tuple[str, str]] = {}
        folded = self._fold(question)
        for match in self._named.finditer(folded):
            for relation in self._names[match.group()]:
                found.setdefault(relation, (match.group(), folded[: match.start()]))
        return found

    def __call__(self, question: str) -> list[Ask]:
        """The relations that a question asks for, each once: those that it asks for outright first."""
        asks: dict[str, Ask] = {}
        for clause in _CLAUSE.split(question):
            if clause.strip() and len(clause) <= MAX_CLAUSE:
                form = self._zh if any(c >= _HAN for c in clause) else self._en
                for ask in form.asked(self._fold(clause)):
                    asks.setdefault(ask.relation, ask)
        for relation, (name, before) in self.named(question).items():
            asks.setdefault(relation, Ask(relation, name, before, outright=False))
        return list(asks.values())

    def former(self, question: str) -> bool:
        """Whether the value before the one that stands is meant (以前住哪, my old job)."""
        folded = self._fold(question)
        return self._zh.former(folded) or self._en.former(folded)


@lru_cache(maxsize=4096)
def _pattern(written: str) -> re.Pattern[str]:
    """Made when a text first holds a key of it: there are over a thousand, and most questions need a few."""
    return re.compile(written)


class _Forms:
    """Ways of asking, found by their keys: over a thousand are there, and a text holds the keys of a few."""

    def __init__(self) -> None:
        self._forms: list[_Form] = []
        self._of: dict[str, list[int]] = {}
        self._heads: dict[str, list[str]] = {}

    def add(self, form: _Form) -> None:
        for key in form.keys:
            if key not in self._of:
                self._heads.setdefault(key[:2], []).append(key)
            self._of.setdefault(key, []).append(len(self._forms))
        self._forms.append(form)

    def fitting(self, text: str, starts: Iterable[int]) -> Iterator[tuple[_Form, re.Match[str]]]:
        """The forms that a whole text fits, in their order; those that follow from verbs only where no other does.

        `starts`: where in the text a key may begin.
        """
        held = set[str]()
        for start in starts:
            # By their first two characters; a key of one, or of none, is its own head.
            for head in ("", text[start : start + 1], text[start : start + 2]):
                if head in self._heads:
                    held.update([key for key in self._heads[head] if text.startswith(key, start)])
        numbers = {number for key in held for number in self._of[key]}
        fitted = False
        for form in (self._forms[number] for number in sorted(numbers)):
            if not (fitted and form.derived) and (match := _pattern(form.written).fullmatch(text)):
                fitted = fitted or not form.derived
                yield form, match


class _Chinese:
    """Questions without spaces: other writings made one, fillers left out, the rest held against whole forms."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._same = dict(data["same"])
        left_out = dict.fromkeys((*data["filler"], *data["former"]), "")
        self._readings = {**self._same, **left_out}
        self._reading = re.compile("|".join(sorted(map(re.escape, self._readings), key=lambda w: (-len(w), w))))
        self._former = re.compile("|".join(map(re.escape, data["former"])))
        self._question = "|".join(map(re.escape, data["question"]))
        self._linking = re.compile(rf"(?:的是|是|的)(?={self._question})")
        between, behind = ("|".join(map(re.escape, data[name])) for name in ("between", "behind"))
        self._who = (
            rf"(?P<who>[^{''.join(sorted({w[0] for w in data['question']} - {'多', '怎'}))}]{{0,12}}?)(?:{between})*?"
        )
        self._behind = rf"(?:{behind})*"
        self._ends = tuple(sorted(data["ends"], key=lambda w: -len(w)))
        self._forms = _Forms()

    def former(self, folded: str) -> bool:
        return self._former.search(folded) is not None

    def learn(self, asks: Sequence[tuple[tuple[str, ...], str]], vocabulary: Vocabulary) -> None:
        for of, form in asks:
            self._forms.add(self._form(of, _choices(form), _keys_zh(form)))
        for relation in vocabulary:
            for name in relation.names.zh:
                if match := _FAVOURITE_ZH.match(name):
                    noun = match["noun"]
                    written = rf"最?(?:喜欢|爱)(?:看|听|读|玩|去|的)*(?:什么|哪.?){re.escape(noun)}"
                    self._forms.add(self._form((relation.name,), written, (noun,)))
        verbs = ((r, v) for r in vocabulary for v in r.verbs.zh)
        for verb, of in _shared((self._stem(v), r.name) for r, v in verbs):
            if len(verb) > 1:
                written = rf"{re.escape(verb)}(?:了|着|过|的|是|在|到)*(?:{self._question})[^，。]{{0,4}}?"
                self._forms.add(replace(self._form(of, written, (verb,)), derived=True))

    def _stem(self, verb: str) -> str:
        changed = True
        while changed:
            end = next((e for e in self._ends if verb.endswith(e) and len(verb) > len(e)), "")
            changed, verb = bool(end), verb.removesuffix(end)
        return verb

    def _form(self, of: tuple[str, ...], written: str, keys: tuple[str, ...]) -> _Form:
        return _Form(of, keys, f"{self._who}(?:{written}){self._behind}")

    def asked(self, folded: str) -> Iterator[Ask]:
        text = "".join(folded.split())
        # A writing made one may leave a filler beside it.
        text = self._reading.sub(lambda m: self._readings[m[0]], text)
        text = self._linking.sub("", text)
        for form, match in self._forms.fitting(text, range(len(text))):
            for relation in form.relations:
                yield Ask(relation, match.group()[len(match["who"]) :], match["who"], outright=True)


class _English:
    """Questions as words with one space behind each; helping verbs may stand on either side of whose it is."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._irregular = {str(k): tuple(v) for k, v in data["irregular"].items()}
        self._question = frozenset(data["question"])
        self._ends = frozenset(data["ends"])
        self._helping = frozenset(data["helping"])
        helping = f"(?:(?:{'|'.join(map(re.escape, data['helping']))}) )*"
        self._who = rf"{helping}(?P<who>(?:[^ ]+ ){{1,5}}?){helping}"
        self._filler = _phrases((*data["filler"], *data["former"]))
        self._former = _phrases(data["former"])
        owner, behind = ("|".join(map(re.escape, data[name])) for name in ("owner", "former_of"))
        self._former_of = re.compile(rf"(?<= )(?P<owner>(?:{owner}|[^ ]+['’]s) )(?:{behind}) ")
        self._forms = _Forms()

    def former(self, folded: str) -> bool:
        words = self._words(folded)
        return self._former.search(words) is not None or self._former_of.search(words) is not None

    def learn(self, asks: Sequence[tuple[tuple[str, ...], str]], vocabulary: Vocabulary) -> None:
        for of, form in asks:
            self._forms.add(_Form(of, self._keys(form), self._expanded(form)))
        wh = f"(?:{'|'.join(sorted(self._question))}) "
        ends = f"(?:(?:{'|'.join(sorted(self._ends))}) )*"
        for relation in vocabulary:
            for name in relation.names.en:
                if match := _FAVOURITE_EN.match(name):
                    noun = match["noun"].replace("colour", "color").replace("color", "colou?r")
                    for written in (
                        f"{wh}{noun}s? {self._who}(?:like|love|prefer|enjoy) (?:best |most )?",
                        f"{wh}{self._who}(?:favou?rite|best) {noun}s? ",
                    ):
                        self._forms.add(_Form((relation.name,), (match["noun"][:3],), written))
        verbs = ((r, v) for r in vocabulary for v in (*r.verbs.en, *r.deeds.en))
        for verb, of in _shared((self._stem(v), r.name) for r, v in verbs):
            if verb:
                written = "".join(self._word(word) for word in verb.split())
                self._forms.add(_Form(of, self._keys(verb), f"{wh}{self._who}{written}{ends}", derived=True))

    def asked(self, folded: str) -> Iterator[Ask]:
        text = self._words(folded)
        # Behind a word of whose it is, "old" is left out; only then are the others.
        text = self._former_of.sub(lambda m: m["owner"], text)
        text = self._filler.sub(" ", text)[1:]
        for form, match in self._forms.fitting(text, (found.start() for found in _SPELT.finditer(text))):
            who = match["who"].split()
            # A question's own pronoun stands right before its verb: "what do i do for a" is nobody who lives somewhere.
            if not any(word in SPEAKING for word in who[:-1]):
                for relation in form.relations:
                    yield Ask(relation, text.strip(), " ".join(who), outright=True)

    @staticmethod
    def _words(folded: str) -> str:
        text = re.sub(r"\b(what|who|where|when|how|which)['’]s\b", r"\1 is", folded)
        text = re.sub(r"n['’]t\b", " not", text.replace("can't", "can not").replace("cannot", "can not"))
        text = re.sub(r"['’](?:m|re|ve|d|ll)\b", "", text)
        return "".join(f" {w.rstrip('.-')}" for w in _WORD.findall(text)) + " "

    def _stem(self, verb: str) -> str:
        """A verb without what helps it and what it is joined to its object by."""
        words = self._words(verb.casefold()).split()
        while words and words[0] in self._helping:
            words.pop(0)
        while words and words[-1] in self._ends:
            words.pop()
        return " ".join(words)

    def _keys(self, form: str) -> tuple[str, ...]:
        """What stands in every text that the form fits, or one of which does."""
        bare = re.sub(r"\[[^\]]*\]|\{\w+\}", " ", form)
        plain = [w for w in re.sub(r"\([^)]*\)", " ", bare).split() if w not in self._question and w not in self._ends]
        if plain:
            return self._beginnings(plain[0]) if plain[0] in self._irregular else (max(map(_root, plain), key=len),)
        choices = [w.split()[0] for group in re.findall(r"\(([^)]*)\)", bare) for w in group.split("|") if w.strip()]
        return tuple(key for w in choices for key in self._beginnings(w)) or ("",)

    def _beginnings(self, word: str) -> tuple[str, ...]:
        """One of these is the beginning of every form of a word."""
        return (word, *self._irregular[word]) if word in self._irregular else (_root(word),)

    def _expanded(self, form: str) -> str:
        """A written form as a pattern of words."""
        made: list[str] = []
        for piece in re.findall(r"\{\w+\}|[\[\]()|]|[^\s\[\](){}|]+", form):
            special = {
                "{who}": self._who, "{any}": "(?:[^ ]+ ){1,4}", "[": "(?:", "]": ")?", "(": "(?:", ")": ")", "|": "|"
            }  # fmt: skip
            made.append(special.get(piece) or self._word(piece))
        return "".join(made)

    def _word(self, word: str) -> str:
        """A word with the endings that it may take."""
        forms = self._irregular.get(word)
        if forms is not None:
            return f"(?:{'|'.join(map(re.escape, (word, *forms)))}) "
        if len(word) < 3 or word in self._question or word in self._ends or not word.isalpha():
            return f"{re.escape(word)} "
        root = _root(word)
        if word.endswith("y") and root != word:
            return f"{root}(?:y|ies|ied|ying) "
        return f"{root}(?:e|es|ed|ing|s|d)? "


def _root(word: str) -> str:
    """What the forms of an English word share at its beginning."""
    if len(word) > 5 and word.endswith("ed"):
        return word[:-2]
    if len(word) > 3 and (word[-1] == "e" or (word[-1] == "y" and word[-2] not in "aeiou")):
        return word[:-1]
    return word


def _phrases(phrases: Iterable[str]) -> re.Pattern[str]:
    longest = sorted(phrases, key=lambda p: (-len(p), p))
    return re.compile(rf" (?:(?:{'|'.join(map(re.escape, longest))}) )+")


def _choices(form: str) -> str:
    """A written form as a pattern: [x] may be missing, (a|b) is a choice."""
    return form.replace("(", "(?:").replace("[", "(?:").replace("]", ")?")


def _keys_zh(form: str) -> tuple[str, ...]:
    """A stretch of characters that stands in every text the form fits, or choices of which one does."""
    bare = re.sub(r"\[[^\]]*\]", " ", form)
    plain = re.sub(r"\([^)]*\)", " ", bare).split()
    if plain:
        return (max(plain, key=len),)
    first = re.search(r"\(([^)]*)\)", bare)
    return tuple(first[1].split("|")) if first else ("",)


def _shared(verbs: Iterable[tuple[str, str]]) -> list[tuple[str, tuple[str, ...]]]:
    """Verbs with the relations that have them, without those of too many."""
    of: dict[str, dict[str, None]] = {}
    for verb, relation in verbs:
        of.setdefault(verb, {})[relation] = None
    return [(verb, tuple(found)) for verb, found in of.items() if verb and len(found) <= SHARED_BY]


def about_person(relation: Relation | None) -> bool:
    return relation is not None and relation.of == ("person",)
