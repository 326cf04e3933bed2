"""Misspelt words: a Latin word that stands nowhere is looked for as the word it nearly is (SPEC R1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from jiyi.domain.fusion import FusionPolicy
from jiyi.domain.scope import Scope
from jiyi.pipelines.recalling.question import Question
from jiyi.ports import MAX_QUERY_TERMS, Kind, Unit
from jiyi.text.synonyms import Wider

SHORTEST = 5
"""Letters from which on one wrong letter leaves a word that means nothing else; house and horse are both short."""
LONGEST = 24
KINDS = (Kind.MESSAGE, Kind.MEMORY)


def spelt(unit: Unit, scope: Scope, question: Question, policy: FusionPolicy) -> Question:
    """The question, widened by what its unknown words nearly are. A word that is held anywhere is never doubted."""
    latin = [t.text for t in question.content if _may_be_misspelt(t.text)]
    if policy.misspelt <= 0 or not latin or unit.text.indexed_up_to(scope) < unit.messages.last_seq(scope):
        return question
    # Of all its words, since the channels of words ask for the others next: together they are counted in one go.
    every = [t.text for t in question.content]
    known = {word for kind in KINDS for word in unit.text.frequencies(scope, kind, every)[1]}
    wider = list(question.wider)
    for word in (word for word in latin if word not in known):
        held = _together(unit.text.slips(scope, kind, word) for kind in KINDS)
        if held and len(question.content) + len(wider) < MAX_QUERY_TERMS:
            best = max(held, key=lambda near: (held[near], near))
            origin = next(i for i, t in enumerate(question.content) if t.text == word)
            wider.append(Wider(replace(question.content[origin], text=best), origin, policy.misspelt, slip=True))
    return question if len(wider) == len(question.wider) else replace(question, wider=tuple(wider))


def _together(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """In how many texts of all kinds each word stands."""
    held: dict[str, int] = {}
    for some in counts:
        for word, count in some.items():
            held[word] = held.get(word, 0) + count
    return held


def _may_be_misspelt(word: str) -> bool:
    return SHORTEST <= len(word) <= LONGEST and word.isascii() and word.isalpha()
