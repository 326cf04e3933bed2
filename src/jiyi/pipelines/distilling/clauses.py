"""Cut a message into sentences and clauses without losing a character's place (SPEC C6).

Everything works on a *shadow* of the text: same length, full-width and traditional characters folded, quoted text and
code blanked out. So a position in the shadow is a position in the message, and evidence spans are exact.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from unicodedata import category, normalize

from jiyi.pipelines.distilling.grammar import TIME, Grammar, compiled
from jiyi.text.time_reading import Lean
from jiyi.text.times import TimeExpression, Times

# Stands for each character of quoted text and code: it can be inside a value, but states nothing.
MASK = "\ufffc"
# Longer runs without punctuation are pasted data, not talk.
MAX_CLAUSE = 240
# A comma that opens the rest of an English list (…, swimming and tennis) is this near to the sentence's end.
LONGEST_LIST = 160
# My best friend, before "and I", takes no more characters.
LONGEST_PERSON = 40

_MASKED = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]+`|“[^”\n]*”|「[^」\n]*」|『[^』\n]*』|\"[^\"\n]*\"|(?m:^[ \t]*>.*$)|\*[^*\n]{1,80}\*|https?://[^\s,，。）)]+",
    re.DOTALL,
)
# Both begin with a set of characters, so that a search passes over all others; what stands before is asked afterwards.
_END = re.compile(
    r"[。!?;\n\u2026.](?:(?<=[^.])[。!?;\n\u2026]*"
    r"|(?<!\bmr\.)(?<!\bms\.)(?<!\bdr\.)(?<!\bst\.)(?<!\bvs\.)(?<!\bmrs\.)(?<!e\.g\.)(?<!i\.e\.)(?<=\.)\.*(?=\s|$|[\u4e00-\u9fff]))",
    re.I,
)
_COMMA = re.compile(
    r"[,\s()~\u2014-](?:(?<=[()])|(?<=,)(?:(?<!\d,)|(?!\s?\d))|(?<=\s)\s*[-\u2013\u2014]+\s+|(?<=[a-z]-)\s+(?!and\b|or\b|to\b)"
    r"|(?<=\u2014)\u2014*|(?<=~)~*)"
)
_ITEM = r"(?!(?:i|we|my|our|it|he|she|they|but|so|which|because|and|though)\b)[\w'&-]+(?: [\w'&-]+){0,2}"
_LIST_TAIL = re.compile(rf"\s*(?:{_ITEM},\s*)*(?:{_ITEM},?\s+)?(?:and|or|&)\s+{_ITEM}\s*$", re.I)
# 我喜欢唱歌，健身，旅游，摄影: what is left of a sentence is the rest of a list of short words. 下雨的雨 spells a name.
_HAN_ITEM = r"(?![^,、]{1,4}的[^,、](?:[,、]|\Z))(?:(?![我你他她它您这那像如比例尤特也还包和叫名说会住想觉感希])[\u4e00-\u9fff](?<![我你是有在很不没也都还就才又但而因所])){2,6}"
_HAN_LIST_TAIL = re.compile(rf"\s*{_HAN_ITEM}(?:\s*[,、]\s*{_HAN_ITEM})*\s*(?:[,和]\s*{_HAN_ITEM})(?:等|等等)?")
# The comma of "a safe, inviting place" parts no clauses.
_ADJECTIVE_BEFORE = re.compile(
    r"\b(?:an?|such|very|so|nice|good|big|small|warm|long|old|new|cozy|quiet)(?: [a-z-]+)?$", re.I
)
_ADJECTIVE = re.compile(
    r" ?(?:and )?[a-z-]*(?:ing|[^lt]y|ful|al|ous|ive|ble|ent|ant|ic|less|warm|dark|old|new|small|big|calm|safe|quiet) [a-z]+"
)
_APOSTROPHES = str.maketrans("’‘`´", "''''")


@dataclass(frozen=True, slots=True)
class Clause:
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Sentence:
    """`asked`: it ends with a question mark."""

    start: int
    end: int
    asked: bool


@dataclass(frozen=True, slots=True)
class View:
    """A text as the reader sees it: as written, as its shadow, and the shadow in lower case; all of one length.

    `timed` is the shadow with the dates that are known blotted out, so that a form sees where a date stands. `times` are
    those, by where they begin; they were resolved against `at`. `ahead` and `behind` are those that are known only as what
    is to come, or what was.
    """

    text: str
    shadow: str
    lower: str
    timed: str
    times: dict[int, TimeExpression]
    at: datetime
    ahead: dict[int, TimeExpression] = field(default_factory=dict)
    behind: dict[int, TimeExpression] = field(default_factory=dict)
    # Objects by where they were cut from, and those that will do by what is asked of them: several forms ask the same.
    trims: dict[tuple[int, int], Clause] = field(default_factory=dict, compare=False)
    objects: dict[tuple[int, int, bool, str], list[Clause]] = field(default_factory=dict, compare=False)
    # Where the subject that opens a clause may end, and its class, by the clause: clauses are looked at several times.
    openings: dict[tuple[int, int], list[tuple[int, str]]] = field(default_factory=dict, compare=False)

    def date_at(self, start: int) -> TimeExpression | None:
        """The date that begins there, whichever way it is meant."""
        return self.times.get(start) or self.ahead.get(start) or self.behind.get(start)

    def in_date(self, start: int, end: int) -> bool:
        """Whether a stretch ends inside a date that begins in it."""
        return any(dated is not None and end <= dated.end for dated in map(self.date_at, range(start, end)))


def view_of(text: str, at: datetime, times: Times, fold_character: Callable[[str], str]) -> View:
    """A text ready for matching. `at`: when it was said, in the zone where the user was."""
    folded = "".join(c if c < "\x80" else fold_character(c) for c in text)
    shadow = _MASKED.sub(lambda m: MASK * len(m.group()), folded).translate(_APOSTROPHES)
    lower = shadow.lower()
    if len(lower) != len(shadow):
        lower = "".join(c.lower() if len(c.lower()) == 1 else c for c in shadow)
    found = times.find(shadow, at)
    known = {t.start: t for t in found if t.when is not None and t.names_day}
    ahead: dict[int, TimeExpression] = {}
    behind: dict[int, TimeExpression] = {}
    if any(t.when is None for t in found):
        # A bare 周五 is the next one in what lies ahead, the last one in what was done, and no day elsewhere.
        for lean, leaning in ((Lean.FUTURE, ahead), (Lean.PAST, behind)):
            dated = (t for t in times.find(shadow, at, lean) if t.when is not None and t.names_day)
            leaning.update((t.start, t) for t in dated if t.start not in known)
    timed = shadow
    for t in (*known.values(), *ahead.values()):
        timed = timed[: t.start] + TIME * (t.end - t.start) + timed[t.end :]
    return View(text, shadow, lower, timed, known, at, ahead, behind)


def fold_character(character: str, fold: Callable[[str], str]) -> str:
    """A character's plain form where that is one character; its case is kept, since names are known by it."""
    plain = normalize("NFKC", character)
    if len(plain) != 1:
        return character
    folded = fold(plain)
    return folded if len(folded) == 1 and folded != plain.lower() else plain


def sentences(shadow: str) -> Iterator[Sentence]:
    """The sentences of a shadow, in order; none is empty."""
    start = 0
    for match in _END.finditer(shadow):
        if shadow[start : match.start()].strip():
            yield Sentence(start, match.start(), "?" in match.group())
        start = match.end()
    if shadow[start:].strip():
        yield Sentence(start, len(shadow), False)


def clauses(shadow: str, start: int, end: int, grammar: Grammar) -> list[Clause]:
    """The clauses of a stretch of a sentence: cut at commas and before words like 但是 and "and I"."""
    cuts: list[tuple[int, int]] = []
    for match in _COMMA.finditer(shadow, start, end):
        short = end - match.end() <= LONGEST_LIST
        if short and match.group() == "," and _LIST_TAIL.match(shadow, match.end(), end):
            break
        if short and match.group() == "," and _HAN_LIST_TAIL.fullmatch(shadow, match.end(), end):
            break
        if match.group() == "," and between_adjectives(shadow, start, match.span(), end):
            continue
        cuts.append(match.span())
    joints = (m.span() for m in compiled(grammar.joint).finditer(shadow, start, end))
    cuts += [joint for joint in joints if not _pairs(shadow, start, joint, grammar)]
    found, at = [], start
    for left, right in sorted(cuts):
        if left >= at:
            found.append(Clause(at, left))
            at = right
    found.append(Clause(at, end))
    return [c for c in (trimmed(shadow, c.start, c.end) for c in found) if 0 < c.end - c.start <= MAX_CLAUSE]


def _pairs(shadow: str, start: int, joint: tuple[int, int], grammar: Grammar) -> bool:
    """Whether "and I" goes on from a bare person: my friend and I went there."""
    if not shadow.startswith(("i ", "I "), joint[1]):
        return False
    person = rf"(?:^|[.,!?:;\-]\s*|\b(?:today|yesterday|tonight|when|then|so|and|but|since)\s)(?:(?:my|our|a|some)\s(?:[a-z]+\s)?{grammar.kin}|(?-i:[A-Z])[a-z]+)$"
    return compiled(person).search(shadow[max(start, joint[0] - LONGEST_PERSON) : joint[0]]) is not None


def between_adjectives(shadow: str, start: int, comma: tuple[int, int], end: int) -> bool:
    """Whether a comma stands between two words of one description: a safe, inviting place."""
    if _ADJECTIVE.match(shadow, comma[1], end) is None:
        return False
    return _ADJECTIVE_BEFORE.search(shadow, max(start, comma[0] - 30), comma[0]) is not None


_SHARP = re.compile(r"(?<![A-Za-z])[A-Za-z]#\Z")  # C#, F#
_OUTSIDE = " \t\r\n,.:;!、~*#•·|-"


def trimmed(shadow: str, start: int, end: int) -> Clause:
    """Without the blanks and marks around it. A leading dot stays when a name follows (.env)."""
    while start < end and _outside(shadow[start]):
        if shadow[start] == "." and start + 1 < end and shadow[start + 1].isalnum():
            break
        start += 1
    while end > start and _outside(shadow[end - 1]) and not _SHARP.search(shadow, start, end):
        end -= 1
    return Clause(start, end)


def _outside(character: str) -> bool:
    """Blanks, marks and emoji."""
    return character in _OUTSIDE or (
        character > "\x7f" and character != MASK and category(character) in ("So", "Cf", "Zs", "Mn")
    )
