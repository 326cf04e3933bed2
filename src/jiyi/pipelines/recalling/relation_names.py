"""What people call relations (竞品, competitor), and the two ways of finding words in a question: one after the other, or also within
each other."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from jiyi.domain.relations import Vocabulary

_BEGINNING = re.compile(r"(?<![a-z0-9])[a-z0-9]|[^\sa-z0-9]")
_RUNS_ON = re.compile(r"[a-z0-9]{2}")


def names_of_relations(vocabulary: Vocabulary, fold: Callable[[str], str]) -> dict[str, tuple[str, ...]]:
    """What people call relations, folded, each with those that it may mean."""
    found: dict[str, dict[str, None]] = {}
    for relation in vocabulary:
        for name in relation.names.all:
            found.setdefault(fold(name).strip(), {})[relation.name] = None
    return {name: tuple(of) for name, of in found.items() if name}


class AnyOf:
    """Finds names one after the other, at each place the first that fits. ASCII names match whole words only: `db` is not in
    `feedback`.

    By first letters, so that a place in a question is held against a few names and not against all of them.
    """

    def __init__(self, names: Iterable[str]) -> None:
        heads: dict[str, list[str]] = {}
        for name in names:
            end = r"(?![a-z0-9])" if name[-1].isascii() and name[-1].isalnum() else ""
            heads.setdefault(name[0], []).append(re.escape(name[1:]) + end)
        self._heads = {head: re.compile(f"{re.escape(head)}(?:{'|'.join(rest)})") for head, rest in heads.items()}

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """Each name where it stands in a folded text; none begins within another."""
        end = 0
        for beginning in _BEGINNING.finditer(text):
            pattern = self._heads.get(beginning.group()) if beginning.start() >= end else None
            if pattern is not None and (match := pattern.match(text, beginning.start())):
                end = match.end()
                yield match


class Places:
    """Finds where words of two characters or more stand in a text, also within each other. ASCII words stand alone: `rent` is not
    in `current`.

    By their first two characters, so that a place is held against a few words and not against all of them.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self._heads: dict[str, list[str]] = {}
        for word in words:
            if len(word) > 1:
                self._heads.setdefault(word[:2], []).append(word)

    def __call__(self, text: str) -> Iterator[tuple[int, int]]:
        for match in _BEGINNING.finditer(text):
            start = match.start()
            for word in self._heads.get(text[start : start + 2], ()):
                if text.startswith(word, start) and not _RUNS_ON.match(text, start + len(word) - 1):
                    yield start, start + len(word)
