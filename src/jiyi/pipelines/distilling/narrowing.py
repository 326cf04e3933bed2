"""What may fit in a stretch of text, by the texts it cannot do without: one pass, however many forms and patterns there are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from jiyi.pipelines.distilling.grammar import GROUPS, Form


class Narrowing:
    """An index over the forms and the named patterns of one language.

    What a stretch of text shows is a whole number, its *signs*: a bit for the first group of needed texts of each form, in the
    order of the file, then for the second groups and so on, then one for each name of a pattern.
    """

    __slots__ = ("_always", "_forms", "_heads", "_kinds", "_named", "_starts", "_timed")

    def __init__(self, forms: Sequence[Form], cues: Mapping[str, Sequence[str]]) -> None:
        """`cues`: for each name of a pattern the texts one of which stands wherever it matches; none: it may match anywhere."""
        self._forms = forms
        self._timed = _bits(i for i, form in enumerate(forms) if form.timed)
        self._kinds = {kind: _bits(i for i, f in enumerate(forms) if f.trigger == kind) for kind in _kinds(forms)}
        self._named = {name: 1 << GROUPS * len(forms) + i for i, name in enumerate(cues)}
        shown: dict[str, int] = {}
        self._always = 0
        for bit, texts in self._needs(forms, cues):
            self._always |= 0 if texts else bit
            for text in texts:
                shown[text] = shown.get(text, 0) | bit
        self._heads = _by_head(shown)
        self._starts = _starts({text[0] for text in shown})

    def _needs(self, forms: Sequence[Form], cues: Mapping[str, Sequence[str]]) -> Iterator[tuple[int, Sequence[str]]]:
        for i, form in enumerate(forms):
            for group in range(GROUPS):
                yield 1 << group * len(forms) + i, form.needs[group] if group < len(form.needs) else ()
        for name, texts in cues.items():
            yield self._named[name], texts

    def signs(self, lower: str, start: int, end: int) -> int:
        """What shows in `lower[start:end]`."""
        signs, heads = self._always, self._heads
        for place in self._starts.finditer(lower, start, end):
            at, head = place.start(), place.group()
            found = heads.get(head) if place.lastindex else heads.get(lower[at : at + 2]) or heads.get(head)
            if found is not None:
                sure, longer = found
                signs |= sure
                for text, bits in longer:
                    if lower.startswith(text, at):
                        signs |= bits
        return signs

    def may(self, name: str, signs: int) -> bool:
        """Whether the pattern of that name may match in a stretch with these signs: never False where it does."""
        return signs & self._named[name] != 0

    def forms(self, signs: int, kinds: Iterable[str], *, timed: bool) -> list[Form]:
        """The forms that may fit somewhere in a stretch with these signs, in their order.

        Args:
            kinds: the kinds of trigger found there; forms without one always count.
            timed: whether a date was found.
        """
        allowed = self._kinds.get("", 0)
        for kind in kinds:
            allowed |= self._kinds.get(kind, 0)
        found = allowed
        for _ in range(GROUPS):
            found &= signs
            signs >>= len(self._forms)
        if not timed:
            found &= ~self._timed
        return [self._forms[i] for i in _each(found)]


_Heads = dict[str, tuple[int, tuple[tuple[str, int], ...]]]
_WORD = re.compile(r"[a-z]+")


def _by_head(shown: Mapping[str, int]) -> _Heads:
    """What a text begins with: the bits that this alone shows, and the longer texts with theirs. A head is a whole word of
    Latin letters, else one character or two."""
    texts: dict[str, list[str]] = {}
    for text in shown:
        word = _WORD.match(text)
        texts.setdefault(word.group() if word else text[:2], []).append(text)
    return {
        head: (
            shown.get(head, 0) | (0 if _WORD.match(head) else shown.get(head[0], 0)),
            tuple((text, shown[text]) for text in begun if text != head),
        )
        for head, begun in texts.items()
    }


def _starts(characters: Iterable[str]) -> re.Pattern[str]:
    """Where a text with one of these first characters may begin; the group is a word."""
    letters, others = ("".join(sorted(c for c in characters if bool(_WORD.match(c)) is word)) for word in (True, False))
    sides = ([rf"(?<![a-z])([{letters}][a-z]*)"] if letters else []) + ([f"[{re.escape(others)}]"] if others else [])
    return re.compile("|".join(sides) or r"(?!)")


def _kinds(forms: Iterable[Form]) -> set[str]:
    return {form.trigger for form in forms}


def _bits(numbers: Iterable[int]) -> int:
    return sum(1 << n for n in numbers)


def _each(bits: int) -> Iterator[int]:
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low
