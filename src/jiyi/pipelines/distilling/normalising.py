"""Dates and amounts of what was said, resolved when it is written (SPEC C8).

The memory's text keeps the words and says the date beside them where the words alone would not tell it later; its value is
the date or the amount, so that 50万, 500,000元 and 五十万 are one value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from jiyi.domain.memory import Language
from jiyi.domain.relations import Relation
from jiyi.pipelines.distilling.fitting import Found
from jiyi.pipelines.distilling.grammar import Constructions, compiled
from jiyi.text.calendars import Calendar, Grain, When
from jiyi.text.numbers import Quantity, find_numbers, plain
from jiyi.text.time_reading import Lean
from jiyi.text.times import TimeExpression, Times

DATE, AMOUNT = "date", "amount"
_BRACKETS = {Language.ZH: "（{}）", Language.EN: " ({})"}
# What an amount without a currency is in, where the language leaves no doubt (SPEC C3).
_CURRENCY = {Language.ZH: "CNY", Language.EN: ""}


@dataclass(frozen=True, slots=True)
class Normalising:
    """Reads the times and amounts of objects. Built once.

    `fold` is the segmenter's folding; `character` folds one character into one, so that places stay.
    """

    times: Times
    constructions: Constructions
    fold: Callable[[str], str]
    character: Callable[[str], str]

    def dated(self, found: Found, at: datetime) -> str:
        """The object with the dates that its relative words mean: 年底（2026-12）前拿到驾照."""
        relation = found.relation
        if relation is not None and not self._is_dated(relation, found.object):
            return found.object
        return self.with_dates(found.object, at, found.language, self._lean(relation))

    def _is_dated(self, relation: Relation, said: str) -> bool:
        if relation.object_type in self.constructions.dated:
            return True
        words = self.constructions.dated_words.get(relation.object_type)
        return words is not None and compiled(self.constructions.types[words]).fullmatch(said) is not None

    def with_dates(self, text: str, at: datetime, language: Language, lean: Lean | None = None) -> str:
        """A text with a date after each expression that needs one."""
        out, end = [], 0
        for expression in self.times.find(self._plain(text), at, lean):
            if bracket := _bracket(expression, language, lean):
                out += [text[end : expression.end], bracket]
                end = expression.end
        return "".join([*out, text[end:]])

    def phrase(self, found: Found, text: str) -> str:
        """The time beside the object, as said and as a date: 下周三（2026-03-18）; in English with a space before it."""
        if found.time is None:
            return ""
        words = text[found.time.start : found.time.end] + _bracket(found.time, found.language, None)
        return words if found.language is Language.ZH else f" {self.times.inside_sentence(words)}"

    def until(self, found: Found, at: datetime) -> datetime | None:
        """When what was said is over by itself: an appointment with its day, a deadline with its date."""
        if at.tzinfo is not None and (due := self._deadline(found, at)) is not None:
            return Calendar(at.tzinfo).day(due.last_day).end
        if found.time is None or found.time.when is None or not found.expires or at.tzinfo is None:
            return None
        return Calendar(at.tzinfo).day(found.time.when.last_day).end

    def _deadline(self, found: Found, at: datetime) -> When | None:
        """The date that is all that a statement of what lies ahead tells: 截止日期是3月5日 (SPEC F3)."""
        relation = found.relation
        if relation is None or relation.object_type != DATE or relation.name not in self.constructions.ahead:
            return None
        return None if found.negated else self._only_date(found.object, at, self._lean(relation))

    def value(self, relation: Relation, said: str, folded: str, at: datetime, language: Language) -> str:
        """The object for comparing: a date, an amount, or the folded words where they are neither. Words of time compare
        by their dates: 周四之前交报告, said again next week, is another task."""
        if relation.object_type == DATE:
            lean = self._lean(relation)
            when = self._only_date(said, at, lean)
            return folded if when is None else _label(when, lean)
        if relation.object_type == AMOUNT and (quantity := self.amount(said)) is not None:
            unit = quantity.unit or _CURRENCY[language]
            return f"{plain(quantity.value)} {unit}".strip()
        if self._is_dated(relation, said):
            dated = self.with_dates(said, at, language, self._lean(relation))
            return folded if dated == said else self.fold(dated).strip()
        return folded

    def amount(self, said: str) -> Quantity | None:
        """The exact amount that an object is, give or take an 大约; None when it says more, or less, than one."""
        said = self._plain(said)
        found = find_numbers(said)
        if len(found) != 1:
            return None
        [quantity] = found
        rest = (said[: quantity.start], said[quantity.end :])
        return quantity if all(self._idle(AMOUNT, part) for part in rest) else None

    def _only_date(self, said: str, at: datetime, lean: Lean | None) -> When | None:
        said = self._plain(said)
        found = self.times.find(said, at, lean)
        if len(found) != 1 or not found[0].names_day:
            return None
        rest = (said[: found[0].start], said[found[0].end :])
        return found[0].when if all(self._idle(DATE, part) for part in rest) else None

    def _plain(self, text: str) -> str:
        return text if text.isascii() else "".join(map(self.character, text))

    def _idle(self, kind: str, words: str) -> bool:
        """Whether words beside a date or an amount leave it as it is."""
        pattern = compiled(rf"(?:\s|{self.constructions.beside[kind]})*")
        return pattern.fullmatch(words) is not None

    def _lean(self, relation: Relation | None) -> Lean | None:
        return Lean.FUTURE if relation is not None and relation.name in self.constructions.ahead else None


def label_of(found: Found) -> Iterator[str]:
    """The date of what happened once: the same deed on another day is another one. A home is the same since whenever."""
    state = found.relation is not None and found.relation.single
    if not state and found.time is not None and found.time.when is not None:
        yield found.time.when.label


def _bracket(expression: TimeExpression, language: Language, lean: Lean | None) -> str:
    if expression.when is None or not (expression.relative and expression.names_day):
        return ""
    return _BRACKETS[language].format(_label(expression.when, lean))


def _label(when: When, lean: Lean | None) -> str:
    """What is due by a weekend is due by its last day."""
    return when.last_day.isoformat() if lean is Lean.FUTURE and when.grain is Grain.SPAN else when.label
