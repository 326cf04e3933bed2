"""Which forms may fit in a stretch of text, by the texts they cannot do without: one pass, however many forms there are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from jiyi.pipelines.distilling.grammar import Form

# Where a needed text may begin: a word, or any character that is none of an ASCII word.
_STARTS = re.compile(r"(?<![a-z0-9])[a-z0-9]|[^a-z0-9\s]")


class Narrowing:
    """An index over the forms of one language. Sets of forms are bits of whole numbers, in the order of the file."""

    __slots__ = ("_always", "_forms", "_heads", "_kinds", "_timed")

    def __init__(self, forms: Sequence[Form]) -> None:
        self._forms = forms
        self._timed = _bits(i for i, form in enumerate(forms) if form.timed)
        self._kinds = {kind: _bits(i for i, f in enumerate(forms) if f.trigger == kind) for kind in _kinds(forms)}
        # Of each of the two groups: the forms that have none, and those that each text is enough for.
        self._always = tuple(_bits(i for i, form in enumerate(forms) if len(form.needs) <= group) for group in (0, 1))
        needs: dict[str, list[int]] = {}
        for i, form in enumerate(forms):
            for group, texts in enumerate(form.needs):
                for text in texts:
                    needs.setdefault(text, [0, 0])[group] |= 1 << i
        self._heads: dict[str, list[tuple[str, int, int]]] = {}
        for text, (first, second) in needs.items():
            self._heads.setdefault(text[:2], []).append((text, first, second))

    def forms(self, lower: str, start: int, end: int, kinds: Iterable[str], *, timed: bool) -> list[Form]:
        """The forms that may fit somewhere in `lower[start:end]`, in their order.

        Args:
            kinds: the kinds of trigger found there; forms without one always count.
            timed: whether a date was found.
        """
        (one, other), heads = self._always, self._heads
        for place in _STARTS.finditer(lower, start, end):
            at = place.start()
            head = lower[at : at + 2]
            for need, first, second in (*heads.get(head, ()), *heads.get(head[:1], ())):
                if lower.startswith(need, at):
                    one |= first
                    other |= second
        found = one & other
        allowed = self._kinds.get("", 0)
        for kind in kinds:
            allowed |= self._kinds.get(kind, 0)
        found &= allowed
        if not timed:
            found &= ~self._timed
        return [self._forms[i] for i in _each(found)]


def _kinds(forms: Iterable[Form]) -> set[str]:
    return {form.trigger for form in forms}


def _bits(numbers: Iterable[int]) -> int:
    return sum(1 << n for n in numbers)


def _each(bits: int) -> Iterator[int]:
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low
