"""The channel of the graph: what a question names brings up what stands near it (SPEC R1, G2, decision 0040).

names of things, what they are to the user (竞品) ─▶ things ─▶ their neighbours, fading ─▶ memories
                                                       └─▶ other names of them, as words to look for
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from jiyi.domain.activation import OWN_SIDE, Activated, ActivationPolicy, spread
from jiyi.domain.confidence import ConfidencePolicy
from jiyi.domain.entities import EntityType, Name
from jiyi.domain.graph import Link
from jiyi.domain.scope import Scope
from jiyi.pipelines.graph.view import GraphView
from jiyi.pipelines.recalling.kinds import HELD_BY
from jiyi.pipelines.recalling.question import Question
from jiyi.pipelines.recalling.relation_names import Places, names_of_relations
from jiyi.ports import MAX_QUERY_TERMS, Unit
from jiyi.text.segmentation import QueryTerm, Segmenter
from jiyi.text.synonyms import Wider

_UNIT = re.compile(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+(?:['’&.+#/-]+[^\W\u3400-\u9fff]+)*[+#]*")
NAMELESS = frozenset((EntityType.VALUE, EntityType.EVENT, EntityType.THING))


@dataclass(frozen=True, slots=True)
class CameToMind:
    """The question, with the other names of what it names; and the memories near that, by number: their
    energy is what each counts for."""

    question: Question
    memories: Mapping[int, Activated] = field(default_factory=dict)


class Reminding:
    """Goes from a question into the graph of a scope. Built once."""

    def __init__(
        self, view: GraphView, segmenter: Segmenter, confidence: ConfidencePolicy, policy: ActivationPolicy
    ) -> None:
        self.view, self.policy = view, policy
        self._segmenter, self._confidence = segmenter, confidence
        self._nouns = names_of_relations(view.vocabulary, segmenter.fold)
        # Who or what is something to the user has a name; of an appointment the question says itself which it is.
        words = view.words
        self._identities = frozenset(view.identity_relations)
        self._calling = frozenset(r.name for r in view.vocabulary if r.identity or r.object_type == "name")
        named = (r.name for r in view.vocabulary if words.object_type(r) not in NAMELESS)
        self._naming = frozenset(named) - self._calling
        self._places, self._own_places = Places(self._nouns), Places(view.words.own)

    def __call__(self, unit: Unit, scope: Scope, question: Question, now: datetime) -> CameToMind:
        if self.policy.weight <= 0 or not unit.graph.listing(scope, limit=1):
            return CameToMind(question)
        text = self._segmenter.fold(question.core)
        asked = self._asked(text)
        starts = self._named(unit, scope, text)
        if self._naming.intersection(asked):
            starts |= {node: Activated(1.0, ()) for node in OWN_SIDE}
        if not starts:
            return CameToMind(question)
        edges = self.policy.edges

        def links_of(node: str) -> list[Link]:
            relations = sorted(self._naming.intersection(asked) if node in OWN_SIDE else asked)
            found = unit.graph.links(scope, node, relations, edges) if relations else []
            if node not in OWN_SIDE:
                found += unit.graph.links(scope, node, (), edges)
            # Of what tells of names only how a thing is called.
            told = {k.edge.memory: k for k in found if (k.start == k.end) == (k.edge.relation in self._identities)}
            return [k for k in told.values() if k.edge.holds(now)]

        things, memories = spread(
            starts, asked, self._calling, links_of, lambda edge: edge.sure(now, self._confidence), self.policy
        )  # fmt: skip
        weighed = {m: replace(a, energy=round(a.energy * self.policy.weight, 6)) for m, a in memories.items()}
        return CameToMind(self._widened(unit, scope, question, things), weighed)

    def _asked(self, text: str) -> dict[str, str]:
        """The relations that a question names, each with its longest word for it. Unlike keyed facts also those within others:
        竞品方案 asks for the plan, and whose it is."""
        found: dict[str, str] = {}
        for start, end in sorted(self._places(text), key=lambda s: (s[0] - s[1], s[0])):
            for relation in self._nouns[text[start:end]]:
                found.setdefault(relation, text[start:end])
        return found

    def _named(self, unit: Unit, scope: Scope, text: str) -> dict[str, Activated]:
        """The things whose names stand in the question, the longest names first; of the user's own side only relatives."""
        words, spans = self.view.words, list(self._spans(text))
        own = {(a, b): words.own[text[a:b]] for a, b in self._own_places(text)}
        bases = {(a, b): words.named(text[a:b]) for a, b in spans if (a, b) not in own}
        by_base: dict[str, list[Name]] = {}
        for name in unit.graph.alike(scope, sorted({n.base for n in bases.values()})):
            by_base.setdefault(name.base, []).append(name)
        placed = {n.name: n.node for n in unit.graph.named(scope, sorted(set(own.values())))} if own else {}
        found, taken = dict[str, Activated](), list[tuple[int, int]]()
        for start, end in sorted({*spans, *own}, key=lambda s: (s[0] - s[1], s[0])):
            if any(start < b and a < end for a, b in taken):
                continue
            node = placed.get(own.get((start, end), ""))
            if node is None and (start, end) in bases:
                named = bases[start, end]
                alike = by_base.get(named.base, [])
                node = next((n.node for n in alike if n.spelling == named.spelling), alike[0].node if alike else None)
            if node is not None:
                taken.append((start, end))
                if node not in OWN_SIDE:
                    found.setdefault(node, Activated(1.0, (text[start:end],), meant=True))
        return found

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Where in a text a name may stand: some words or characters in a row, not a stop word at either end."""
        policy, is_stop = self.policy, self._segmenter.is_stop
        units = [m.span() for _, m in zip(range(policy.looked_through), _UNIT.finditer(text), strict=False)]
        ends = [is_stop(text[a:b]) for a, b in units]
        for first, (start, _) in enumerate(units):
            for last in range(first, min(first + policy.longest, len(units))):
                end = units[last][1]
                if last > first and text[units[last - 1][1] : units[last][0]].strip():
                    break  # a mark stands between
                if not (ends[first] or ends[last]) and end - start > 1:
                    yield start, end

    def _widened(self, unit: Unit, scope: Scope, question: Question, things: Mapping[str, Activated]) -> Question:
        """The question, with all names of what it speaks of among the words that are looked for."""
        policy = self.policy
        meant = {node: thing for node, thing in things.items() if thing.meant and thing.way}
        if policy.name_word <= 0 or not meant:
            return question
        found = (n for n in unit.graph.names_of(scope, sorted(meant)) if not n.name.startswith("@"))
        names = sorted(found, key=lambda n: (meant[n.node].rank, n.name))
        names = [n for n in names if self._segmenter.fold(n.name) not in question.folded][: policy.names]
        terms = {n.name: [t for t in self._segmenter.query_terms(n.name) if not t.stop] for n in names}
        rarest = self._rarest(unit, scope, terms)
        content, wider = list(question.content), dict[str, Wider]()
        have = {t.text for t in content} | {w.term.text for w in question.wider}
        for name in names:
            thing, term = meant[name.node], rarest.get(name.name)
            origin = _origin(content, thing.way[0])
            if term is not None and origin is not None and term.text not in have:
                # What has a name is a word, also where the dictionary knows no more than pairs of characters.
                content[origin] = replace(content[origin], weight=1.0)
                share = policy.name_word * thing.energy
                wider.setdefault(term.text, Wider(replace(term, weight=1.0), origin, share))
        room = max(0, MAX_QUERY_TERMS - len(content) - len(question.wider))
        more = (*question.wider, *list(wider.values())[:room])
        return replace(question, content=tuple(content), wider=more) if wider and room else question

    def _rarest(self, unit: Unit, scope: Scope, terms: Mapping[str, Sequence[QueryTerm]]) -> dict[str, QueryTerm]:
        """Of each name the term that tells most: 东篱, not 科技, of 东篱科技."""
        every = sorted({t.text for some in terms.values() for t in some})
        counts: dict[str, int] = {}
        for kind in HELD_BY:
            for term, count in unit.text.frequencies(scope, kind, every)[1].items():
                counts[term] = counts.get(term, 0) + count
        found = {name: [t for t in some if counts.get(t.text)] for name, some in terms.items()}
        return {n: min(some, key=lambda t: (counts[t.text], t.text)) for n, some in found.items() if some}


def _origin(content: Sequence[QueryTerm], word: str) -> int | None:
    """The place of the term that a word of the question is searched by, the longest that it holds."""
    held = [(-len(t.text), i) for i, t in enumerate(content) if t.text in word]
    return min(held)[1] if held else None
