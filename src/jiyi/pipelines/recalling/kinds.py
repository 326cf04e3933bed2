"""Questions that ask by the kind of a thing are widened by those things of that kind that were named here (SPEC R7)."""

from __future__ import annotations

from dataclasses import replace

from jiyi.domain.fusion import FusionPolicy
from jiyi.domain.scope import Scope
from jiyi.pipelines.recalling.question import Question
from jiyi.ports import MAX_QUERY_TERMS, Kind, Unit
from jiyi.text.kinds import Kinds
from jiyi.text.synonyms import Wider

HELD_BY = (Kind.MESSAGE, Kind.MEMORY)


def named(unit: Unit, scope: Scope, question: Question, kinds: Kinds, policy: FusionPolicy) -> Question:
    """The question, widened by the rarest of the things that it asks for by their kind."""
    asked = kinds.asked(question.content, question.folded) if policy.kind_word > 0 else []
    if not asked:
        return question
    have = {t.text for t in question.content} | {w.term.text for w in question.wider}
    things = {t.text: (t, a.origin) for a in reversed(asked) for t in a.things if t.text not in have}
    counts: dict[str, int] = {}
    for kind in HELD_BY:
        for term, count in unit.text.frequencies(scope, kind, list(things))[1].items():
            counts[term] = counts.get(term, 0) + count
    room = min(policy.kind_words, MAX_QUERY_TERMS - len(question.content) - len(question.wider))
    rarest = sorted(counts, key=lambda term: (counts[term], term))[: max(0, room)]
    wider = (Wider(things[term][0], things[term][1], policy.kind_word) for term in rarest)
    return replace(question, wider=(*question.wider, *wider)) if rarest else question
