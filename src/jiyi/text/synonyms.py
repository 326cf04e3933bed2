"""Other words for what a question asks: names of one thing, irregular forms, words that point at it (SPEC R7).

They widen what is looked for and never what is stored, so the index knows nothing of them and a file of one's own needs
no reindex.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jiyi.errors import SettingsError
from jiyi.text.segmentation import QueryTerm, Segmenter

SAME, NEAR = "same", "near"


@dataclass(frozen=True, slots=True)
class Wider:
    """A term that is looked for because of another: `origin` is that one's place in the question, `share` what it is
    worth beside it, in (0, 1]. `slip`: the other one may be a misspelling of it."""

    term: QueryTerm
    origin: int
    share: float
    slip: bool = False


Group = tuple[str, tuple[str, ...]]
"""Whether its words are the `same` or `near`, and the words."""


LANGUAGES = ("zh", "en")


def parse_synonyms(
    data: Mapping[str, Any], name: str, usable: Callable[[str], bool] = lambda word: bool(word.strip())
) -> tuple[Group, ...]:
    """From `synonyms.toml`: tables of languages with the lists `same` and `near`, each a list of groups of words.

    Args:
        usable: whether a word can be looked for at all (see `has_terms`).

    Raises:
        SettingsError: another shape, or a word that would change nothing; says where, and what to do.
    """
    return tuple(_groups(data, name, usable))


def has_terms(word: str, segmenter: Segmenter) -> bool:
    """Whether a question can hold the word, and an index find it."""
    return bool(_terms(word, segmenter))


def _groups(data: Mapping[str, Any], name: str, usable: Callable[[str], bool]) -> Iterator[Group]:
    for language, table in data.items():
        if language not in LANGUAGES:
            raise SettingsError(f"{name}: [{language}] is no table of it: put the groups under [zh] or [en]")
        if not isinstance(table, Mapping) or not table.keys() <= {SAME, NEAR}:
            raise SettingsError(f'{name}: [{language}] holds lists `same` and `near`, as same = [["mother", "mom"]]')
        for kind, groups in table.items():
            for number, group in enumerate(groups if isinstance(groups, list) else [groups], 1):
                where = f"{name}: [{language}] {kind}, group {number} = {group!r}"
                if not isinstance(group, list) or len(group) < 2 or not all(isinstance(w, str) for w in group):
                    raise SettingsError(f"{where}: a group is a list of two words or more")
                if len({w.strip().casefold() for w in group}) < len(group):
                    raise SettingsError(f"{where}: it holds a word twice: leave one out")
                for word in group:
                    if not usable(word):
                        raise SettingsError(
                            f"{where}: {word!r} would never be looked for, since it is empty, a stop word or unknown to the "
                            "dictionary: leave it out, or put it into a dictionary of your own (setting `dictionary`)"
                        )
                yield kind, tuple(group)


class Synonyms:
    """Groups of words, ready to widen questions. Built once; pure, so one may serve all threads."""

    __slots__ = ("_by_term",)

    def __init__(self, groups: Iterable[Group], segmenter: Segmenter) -> None:
        self._by_term: dict[str, list[tuple[str, tuple[QueryTerm, ...]]]] = {}
        for kind, words in groups:
            terms = [_terms(word, segmenter) for word in words]
            for i, own in enumerate(terms):
                others = tuple(t for j, other in enumerate(terms) if j != i for t in other)
                if own and others:
                    self._by_term.setdefault(own[0].text, []).append((kind, others))

    def wider(self, terms: Sequence[QueryTerm], same: float, near: float, limit: int) -> list[Wider]:
        """What else to look for, the worthiest first; nothing that the question asks for itself.

        Args:
            same, near: what a word of such a group is worth beside the one that was asked for; 0 leaves them out.
        """
        have, found = {t.text for t in terms}, dict[str, Wider]()
        for origin, term in enumerate(terms):
            for kind, others in self._by_term.get(term.text, ()):
                share = same if kind == SAME else near
                for other in others if share > 0 else ():
                    known = found.get(other.text)
                    if other.text not in have and (known is None or known.share < share):
                        found[other.text] = Wider(other, origin, share)
        return sorted(found.values(), key=lambda w: -w.share * w.term.weight)[:limit]


def _terms(word: str, segmenter: Segmenter) -> tuple[QueryTerm, ...]:
    """The terms of a word, the whole first. Of what the dictionary does not know, pairs of characters would select chance."""
    return tuple(t for t in segmenter.query_terms(word) if not t.stop and t.kind != "bigram")
