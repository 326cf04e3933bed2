"""Does a message support what a language model says of it? (SPEC C7: no invented facts)

Each number, date, name and word of a statement stands in the messages it cites: a number in whatever writing, a date as what
it means, a word as it is, in another form, or as one that means the same. Only the words of the teller (the user says that …)
stand nowhere. What the statement denies, the clause it rests on denies, and what it states was neither asked nor supposed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from jiyi.domain.memory import Evidence, Language, Message
from jiyi.settings import SupportPolicy
from jiyi.text.calendars import When
from jiyi.text.numbers import Quantity, find_numbers, plain
from jiyi.text.segmentation import Segmenter
from jiyi.text.times import TimeExpression, Times

_CLAUSE_END = re.compile(
    r"[。！？!?；;，,\n…—]+|(?<!\b[A-Za-z])\.+(?=[\s\"'”’)]|$)|\s-+\s|\s+(?=(?:but|although|though|because|so|and i)\b)|(?=但是|但|不过|所以|因为|而且|然后)",
    re.IGNORECASE,
)
_ASKED = re.compile(r"[?？]")
_LATIN = re.compile(r"[^\W\d_㐀-鿿]?[A-Za-z0-9À-ɏ][\w.+#/@'’&-]*")
# 是不是, 该不该, 有没有: asking, not denying.
_A_NOT_A = re.compile(r"([㐀-鿿])[不没]\1")
_HAN = re.compile(r"[㐀-鿿]+")
_DIGITS = re.compile(r"\d+(?:[.,:]\d+)*")
_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_UNSAID = (
    "not",
    "cannot",
    "can't",
    "couldn't",
    "don't",
    "doesn't",
    "didn't",
    "isn't",
    "won't",
    "never",
    "no longer",
    "不",
    "没",
    "没有",
    "不能",
    "不再",
)
# Counted things are no amounts to find_numbers: 两只猫.
# 三 in 三只 counts something, in 星期三 and 三月 it does not.
_COUNTED = r"(?<![周期拜第])(?:{})(?![月号日点年百千万亿])"
_GAPS = re.compile(r"[\s\"'“”‘’《》「」『』]+")
_HAN_DIGITS = {"二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9, "十": 10}
_CAPITALS = frozenset({"i", "i'm", "i've", "ok", "user", "user's", *_MONTHS, *_DAYS})


@dataclass(frozen=True, slots=True)
class Wording:
    """The words of one language that tell what a clause does with what it says."""

    negative: tuple[str, ...]
    harmless: tuple[str, ...]
    change: tuple[str, ...]
    correction: tuple[str, ...]
    question: tuple[str, ...]
    affirming: tuple[str, ...]
    addressed: tuple[str, ...]
    condition: tuple[str, ...]
    told: frozenset[str]
    asking: tuple[str, ...]
    same: tuple[tuple[str, ...], ...]


def parse_wordings(data: Mapping[str, Any]) -> Mapping[Language, Wording]:
    """Read `vocabulary/support.toml`. Raises: KeyError when it lacks a list."""
    names = (
        "negative", "harmless", "change", "correction", "question", "affirming", "addressed", "condition", "asking",
    )  # fmt: skip
    return {
        language: Wording(
            told=frozenset(data[language.value]["told"]),
            same=tuple(tuple(group) for group in data[language.value]["same"]),
            **{n: tuple(data[language.value][n]) for n in names},
        )
        for language in Language
    }


@dataclass(frozen=True, slots=True)
class Clause:
    """A stretch of a message, folded character by character, so that places stay. `asked`: it ends with a question mark."""

    message: Message
    start: int
    end: int
    text: str
    asked: bool
    terms: frozenset[str]
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """Why a statement is not supported ("" when it is), and the spans that it rests on."""

    reason: str = ""
    evidence: tuple[Evidence, ...] = ()
    clauses: tuple[Clause, ...] = ()

    def __bool__(self) -> bool:
        return not self.reason


class Support:
    """Checks statements against messages. Built once; pure, so one may serve all threads."""

    def __init__(
        self,
        wordings: Mapping[Language, Wording],
        segmenter: Segmenter,
        times: Times,
        character: Callable[[str], str],
        policy: SupportPolicy,
    ) -> None:
        self._wordings, self._segmenter, self._times, self._policy = wordings, segmenter, times, policy
        self._character = character
        self._stems = lru_cache(maxsize=4096)(lambda word: frozenset(segmenter.index_terms(word).counts))
        # Whether a denial is borne out is asked of clauses, not of words.
        own = (word for w in wordings.values() for word in (*w.told, *_UNSAID))
        self._own = frozenset(form for word in own for form in self._forms(word))
        self._same: dict[str, set[str]] = {}
        for group in (g for w in wordings.values() for g in w.same):
            forms = {form for word in group for form in self._forms(word)}
            for form in forms:
                self._same.setdefault(form, set()).update(forms)

    def check(
        self,
        statement: str,
        language: Language,
        cited: Sequence[Message],
        value: str = "",
        speakers: Sequence[str] = (),
    ) -> Finding:
        """Whether these messages say this.

        Args:
            statement: in words of the teller. value: what must stand there as it is, or as the same number or date.
            speakers: names of those who take part in the talk; they may be named without being cited.
        """
        clauses = [c for m in cited for c in self._clauses(m)]
        shadow = self._shadow(statement)
        said = _Said(clauses, cited, self._shadow, self._times)
        names = frozenset(form for name in speakers for w in self._segmenter.words(name) for form in self._forms(w))
        at = cited[-1].at
        times = self._times.find(shadow, at)
        rest = _blotted(shadow, [(t.start, t.end) for t in times])
        numbers = find_numbers(rest)
        rest = _blotted(rest, [(q.start, q.end) for q in numbers])
        if not all(said.holds_time(t) for t in times):
            return Finding("a date that is not said")
        if not all(said.holds_number(q, shadow) for q in numbers):
            return Finding("a number that is not said")
        if not all(said.holds_digits(d) for d in _DIGITS.findall(rest)):
            return Finding("a number that is not said")
        terms = {term for clause in clauses for term in clause.terms}
        if not all(names & self._forms(w) or self._stands(w, terms, said.text) for w in self._names(rest)):
            return Finding("a name that is not said")
        if value and not self._holds_value(value, said, at):
            return Finding("a value that is not said")
        words = [w for w in self._words(rest) if names.isdisjoint(self._forms(w))]
        if sum(not any(self._says(w, c) for c in clauses) for w in words) > self._policy.unsaid:
            return Finding("words that are not said")
        return self._attitude(shadow, language, clauses, words, value)

    def says_change(self, finding: Finding, language: Language) -> bool:
        """Whether the clauses that a statement rests on say that something is no longer as it was."""
        return self._any(self._wordings[language].change, finding.clauses)

    def says_correction(self, finding: Finding, language: Language) -> bool:
        return self._any(self._wordings[language].correction, finding.clauses)

    def addresses(self, finding: Finding) -> bool:
        """Whether a clause that a statement rests on speaks to somebody, or of both who talk."""
        return any(
            _has(f" {clause.text} ", word, language)
            for clause in finding.clauses
            for language, wording in self._wordings.items()
            for word in wording.addressed
        )

    def denies(self, text: str, language: Language) -> bool:
        """Whether a stretch of text denies, refuses or ends something."""
        return self._denials(text, language) > 0

    def _denials(self, text: str, language: Language) -> int:
        """How often it does so, the longest wordings first, each stretch once."""
        wording = self._wordings[language]
        lower = _A_NOT_A.sub("＿", f" {self._shadow(text).lower()} ")
        for harmless in wording.harmless:
            lower = lower.replace(harmless, "＿")
        count = 0
        for word in sorted(wording.negative, key=len, reverse=True):
            if _has(lower, word, language):
                count += lower.count(word) if language is Language.ZH else 1
                lower = lower.replace(word, "＿")
        return count

    def _agree(self, one: str, other: str, language: Language) -> bool:
        """Whether two clauses deny alike. In Chinese 不担心无法跟上 denies what 担心无法跟上 does not."""
        first, second = self._denials(one, language), self._denials(other, language)
        same = (first > 0) is (second > 0)
        return same and (language is Language.EN or first % 2 == second % 2)

    def alike(self, one: str, other: str) -> bool:
        """Whether two statements are the same but for a few words."""
        first, second = (frozenset(self._words(self._shadow(t))) for t in (one, other))
        return bool(first | second) and len(first & second) >= self._policy.same * len(first | second)

    # ------------------------------------------------------------------ texts

    def _shadow(self, text: str) -> str:
        return text if text.isascii() else "".join(c if c < "\x80" else self._character(c) for c in text)

    def _clauses(self, message: Message) -> Iterator[Clause]:
        shadow, start = self._shadow(message.text), 0
        ends = [*((m.start(), m.end()) for m in _CLAUSE_END.finditer(shadow)), (len(shadow), len(shadow))]
        for end, following in ends:
            if text := shadow[start:end].strip():
                asked = bool(_ASKED.search(shadow[end:following]))
                terms = frozenset(self._segmenter.index_terms(text).counts)
                first = start + len(shadow[start:end]) - len(shadow[start:end].lstrip())
                words = tuple(self._segmenter.words(text))
                yield Clause(message, first, first + len(text), text.lower(), asked, terms, words)
            start = following

    def _names(self, text: str) -> list[str]:
        """Latin words that must stand as they are: with digits or capitals, or between Han characters."""
        found = []
        chinese = _HAN.search(text) is not None
        for match in _LATIN.finditer(text):
            word = match.group().strip(".'’-/&")
            lower = word.lower().removesuffix("'s").removesuffix("’s")
            opens = not text[: match.start()].strip(" \"'(") or text[: match.start()].rstrip().endswith((".", "!", "?"))
            named = any(c.isdigit() for c in word) or word[1:] != word[1:].lower() or (word[:1].isupper() and not opens)
            if word and lower not in _CAPITALS and (chinese or named):
                found.append(lower)
        return found

    def _stands(self, name: str, terms: set[str], text: str) -> bool:
        return _holds(text, name) or bool(self._stems(name) and self._stems(name) <= terms)

    def _words(self, shadow: str) -> list[str]:
        """The words that carry what a statement says, without those of the teller."""
        words = self._segmenter.words(shadow)
        return [
            w for w in words if self._own.isdisjoint(self._forms(w)) and not w.isdigit() and any(map(str.isalnum, w))
        ]

    def _forms(self, word: str) -> frozenset[str]:
        """A word as it is compared: English words by their stems too."""
        folded = self._segmenter.fold(word)
        return frozenset([folded]) if _HAN.search(folded) else self._stems(folded) | {folded}

    def _says(self, word: str, clause: Clause) -> bool:
        """Whether a clause has the word, or one that means the same."""
        forms = self._forms(word)
        if len(word) > 1 and word[0] in "不没":
            forms = forms | {word[1:]}  # whether it is denied is asked of the clause
        if word[0] in _HAN_DIGITS:
            forms = forms | {f"{_HAN_DIGITS[word[0]]}{word[1:]}"}  # 三只 and 3只
        return any(_stands(w, clause) for w in forms.union(*(self._same.get(form, ()) for form in forms)))

    @staticmethod
    def _weight(word: str) -> float:
        return 1.0 if not _HAN.fullmatch(word) else min(len(word), 4) / 2

    # ------------------------------------------------------------------ values

    def _holds_value(self, value: str, said: _Said, at: datetime) -> bool:
        shadow = self._shadow(value).lower().strip()
        if _holds(said.text, shadow):
            return True
        numbers, times = find_numbers(shadow), self._times.find(shadow, at)
        whole = len(numbers) == 1 and not shadow.replace(shadow[numbers[0].start : numbers[0].end], "").strip()
        if whole and said.holds_number(numbers[0], shadow):
            return True
        return len(times) == 1 and times[0].text.strip().lower() == shadow and said.holds_time(times[0])

    # ------------------------------------------------------------------ attitude

    def _attitude(
        self, shadow: str, language: Language, clauses: Sequence[Clause], words: Sequence[str], value: str
    ) -> Finding:
        """Each clause of a statement must do with its words what the clause that it rests on does."""
        rests: list[Clause] = []
        wording = self._wordings[language]
        asks = any(_has(f" {shadow.lower()} ", w, language) for w in wording.asking)
        parts = [(p, w) for p in _CLAUSE_END.split(shadow) if (w := self._words(p))]
        for part, said_words in parts or [(shadow, list(words))]:
            best = self._best(said_words, clauses)
            if not best:
                continue
            alike = [c for c in best if self._agree(c.text, part, language)]
            if not alike:
                return Finding("a denial that does not agree")
            firm = [c for c in alike if not self._open(c, wording, language)]
            if not firm and not asks:
                return Finding("asked or supposed, not said")
            every = self._segmenter.words(part)
            rests.append(max(firm or alike, key=lambda c: sum(self._says(w, c) for w in every)))
        tight = _tight(self._shadow(value).lower())
        if tight and not any(tight in _tight(c.text) for c in rests):
            rests += [c for c in clauses if tight in _tight(c.text)][:1]
        rests += self._holding(words, rests, clauses)
        return Finding("", _spans(rests), tuple({(c.message.seq, c.start): c for c in rests}.values()))

    def _best(self, words: Sequence[str], clauses: Sequence[Clause]) -> list[Clause]:
        scored = [(self._overlap(words, c), c) for c in clauses]
        top = max((score for score, _ in scored), default=0.0)
        return [c for score, c in scored if score == top] if top > 0 else []

    def _overlap(self, words: Sequence[str], clause: Clause) -> float:
        return sum(self._weight(w) for w in words if self._says(w, clause))

    def _holding(self, words: Sequence[str], rests: Sequence[Clause], clauses: Sequence[Clause]) -> list[Clause]:
        """The clauses that hold the words which those found so far do not."""
        more: list[Clause] = []
        for word in words:
            if not any(self._says(word, c) for c in (*rests, *more)):
                more += [c for c in clauses if self._says(word, c)][:1]
        return more

    def _open(self, clause: Clause, wording: Wording, language: Language) -> bool:
        """Whether a clause asks or supposes."""
        lower = f" {clause.text} "
        end = clause.text.rstrip("。 ")[-1:] if language is Language.ZH else ""
        if clause.asked or end in ("吗", "么") or (end == "呢" and not self._affirms(clause, wording)):
            return True
        if _A_NOT_A.search(lower):
            return True
        return any(lower.lstrip(" 我").startswith(w) for w in wording.condition)

    def _affirms(self, clause: Clause, wording: Wording) -> bool:
        """还拍了照片呢 states, and 还有谁呢 asks."""
        return any(w in clause.text for w in wording.affirming) and not any(w in clause.text for w in wording.question)

    def _any(self, words: Sequence[str], clauses: Sequence[Clause]) -> bool:
        texts = {c.message.seq: self._shadow(c.message.text).lower() for c in clauses}
        return any(word in text for text in texts.values() for word in words)


class _Said:
    """The numbers and times of what is cited, and its words."""

    def __init__(
        self, clauses: Sequence[Clause], cited: Sequence[Message], shadow: Callable[[str], str], times: Times
    ) -> None:
        self.text = "\n".join(shadow(m.text).lower() for m in cited)
        self._numbers: list[Quantity] = find_numbers(self.text)
        # 50 does not stand in 50万.
        self._rest = _blotted(self.text, [(q.start, q.end) for q in self._numbers])
        self._times: list[TimeExpression] = [t for m in cited for t in times.find(shadow(m.text), m.at)]
        self._days = [m.at.date().isoformat() for m in cited]

    def holds_number(self, wanted: Quantity, shadow: str) -> bool:
        written = shadow[wanted.start : wanted.end].strip().lower()
        if _holds(self.text, written) or (wanted.value <= 1 and not any(c.isdigit() for c in written)):
            return True
        if any(
            digit == wanted.value and re.search(_COUNTED.format(han), self.text) for han, digit in _HAN_DIGITS.items()
        ):
            return True
        same = (q for q in self._numbers if q.value == wanted.value)
        return any(not q.unit or not wanted.unit or q.unit == wanted.unit for q in same) or (
            not wanted.unit and self.holds_digits(plain(wanted.value))
        )

    def holds_digits(self, digits: str) -> bool:
        """Digits that no amount and no date explains must stand as they are, or inside a date that was said."""
        labels = [t.when.label for t in self._times if t.when is not None]
        runs = {run for text in (self._rest, *labels) for run in _runs(text)}
        return digits.replace(",", "").lstrip("0") in runs

    def holds_time(self, wanted: TimeExpression) -> bool:
        if _holds(self.text, wanted.text.strip().lower()):
            return True
        if wanted.when is None:
            return False
        known = [t.when for t in self._times if t.when is not None]
        if any(_within(when, wanted.when) for when in known):
            return True
        # "On 8 May …" of something that was said on that day, where the words name no other day.
        relative = any(t.relative and t.names_day for t in self._times)
        return not relative and any(day.startswith(wanted.when.label) for day in self._days)


def _stands(word: str, clause: Clause) -> bool:
    if not _HAN.search(word):
        return word in clause.terms
    return word in clause.text or (len(word) > 1 and _apart(word, clause.words))


def _apart(word: str, words: Sequence[str]) -> bool:
    """买车 in 买了一辆车, 踢球 in 踢足球: its characters in order, each a word or the end of one. 上海 is not in 晚上吃海鲜."""
    rest = word
    for said in words:
        if rest and said[-1:] == rest[0]:
            rest = rest[1:]
    return not rest


def _within(when: When, wanted: When) -> bool:
    return wanted.label == when.label or (wanted.start <= when.start and when.end <= wanted.end)


def _runs(text: str) -> set[str]:
    return {run.replace(",", "").lstrip("0") for run in _DIGITS.findall(text)} | {
        run.lstrip("0") for run in re.findall(r"\d+", text)
    }


def _holds(text: str, words: str) -> bool:
    """Whether a text has these words as they are: 50万 does not stand in 150万, nor Ann in Anna."""
    pieces = [re.escape(p) for p in _GAPS.split(words) if p]
    if not pieces:
        return False
    before = r"(?<![a-z0-9])" if words.lstrip()[0].isascii() and words.lstrip()[0].isalnum() else ""
    after = r"(?![a-z0-9])" if words.rstrip()[-1].isascii() and words.rstrip()[-1].isalnum() else ""
    return re.search(before + _GAPS.pattern.replace("+", "*").join(pieces) + after, text) is not None


def _tight(text: str) -> str:
    return _GAPS.sub("", text)


def _blotted(text: str, spans: Sequence[tuple[int, int]]) -> str:
    for start, end in spans:
        text = text[:start] + " " * (end - start) + text[end:]
    return text


def _has(text: str, word: str, language: Language) -> bool:
    """Whether a word stands in a text in lower case with a space on either side; English words stand free."""
    if language is Language.ZH or word == "n't":
        return word in text
    return re.search(rf"(?<![\w']){re.escape(word)}(?![\w'])", text) is not None


def _spans(clauses: Sequence[Clause]) -> tuple[Evidence, ...]:
    """For each message the stretch from its first clause to its last one."""
    spans: dict[int, Evidence] = {}
    for clause in clauses:
        held = spans.get(clause.message.seq)
        start, end = (clause.start, clause.end) if held is None else (held.start, held.end)
        spans[clause.message.seq] = Evidence(
            clause.message.seq,
            min(start, clause.start),
            max(end, clause.end),
            clause.message.at,
            clause.message.session,
        )
    return tuple(sorted(spans.values(), key=lambda e: e.place))
