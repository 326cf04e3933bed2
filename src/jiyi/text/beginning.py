"""Whether any of many patterns matches somewhere in a text, each tried only where it may begin (SPEC R1, O6).

A search for all of them at once tries each at every place. Few can begin with the character that stands there, and which ones is
read off their syntax.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile
from re import _parser  # type: ignore[attr-defined]
from typing import Any

MANY = 200
"""A pattern that may begin with more characters is searched for by itself."""
DIGIT, ANYTHING, NOTHING = r"\d", "anything", ""


class AnyPattern:
    """Several patterns, as one question to a text."""

    __slots__ = ("_anywhere", "_begun")

    def __init__(self, patterns: Sequence[str]) -> None:
        self._anywhere: list[re.Pattern[str]] = []
        heads: dict[str, dict[str, list[Callable[[str, int], object]]]] = {}
        for source in patterns:
            pattern, (edge, first) = re.compile(source), beginning(source)
            if first is None:
                self._anywhere.append(pattern)
            for character in first or ():
                heads.setdefault(edge, {}).setdefault(character, []).append(pattern.match)
        self._begun = [(re.compile(f"{edge}[{_class_of(found)}]"), found) for edge, found in heads.items()]

    def search(self, text: str) -> bool:
        """Whether one of them matches anywhere."""
        for beginnings, heads in self._begun:
            for place in beginnings.finditer(text):
                start = place.start()
                for match in heads.get(text[start]) or heads[DIGIT]:
                    if match(text, start):
                        return True
        return any(pattern.search(text) for pattern in self._anywhere)


def beginning(pattern: str) -> tuple[str, set[str] | None]:
    r"""Where a pattern may begin: `\b` where only at the edge of a word, and the characters, digits of any script as `DIGIT`.
    None where that cannot be told, or it need not hold any."""
    tree = _parser.parse(pattern)
    first = _first(tree)
    if {NOTHING, ANYTHING} & first or len(first) > MANY or tree.state.flags != re.UNICODE:
        return "", None
    before = takewhile(lambda item: _first([item]) == {NOTHING}, tree)
    return (r"\b" if any(str(what) == "AT_BOUNDARY" for _, what in before) else ""), first


def _first(items: Iterable[tuple[Any, Any]]) -> set[str]:
    """The characters with which a sequence may begin."""
    found = set[str]()
    for operation, what in items:
        some = _first_of(str(operation), what)
        found |= some - {NOTHING}
        if NOTHING not in some:
            return found
    return found | {NOTHING}


def _first_of(operation: str, what: Any) -> set[str]:
    match operation:
        case "AT" | "ASSERT" | "ASSERT_NOT":
            return {NOTHING}
        case "LITERAL":
            return {chr(what)}
        case "RANGE":
            return {chr(code) for code in range(what[0], what[1] + 1)}
        case "CATEGORY" if str(what) == "CATEGORY_DIGIT":
            return {*"0123456789", DIGIT}
        case "IN":
            return set[str]().union(*(_first_of(str(one), which) for one, which in what))
        case "BRANCH":
            return set[str]().union(*map(_first, what[1]))
        case "SUBPATTERN" if not (what[1] or what[2]):
            return _first(what[3])
        case "MAX_REPEAT" | "MIN_REPEAT":
            return _first(what[2]) | ({NOTHING} if what[0] == 0 else set())
    return {ANYTHING}


def _class_of(characters: Iterable[str]) -> str:
    return "".join(c if c == DIGIT else re.escape(c) for c in sorted(characters))
