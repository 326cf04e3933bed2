"""Passages of history: which turns answer a question, by their words and by what stands around them (SPEC R1, R5).

rare words ─▶ hits ─▶ weigh by frequent words ─▶ bridge ─▶ speakers named
     ─▶ fuse with vectors ─▶ places of neighbours ─▶ speaker · time · session · neighbours ─▶ texts of the best
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from jiyi.domain.fusion import Asked, FusionPolicy, Parts, Place, Surroundings, best_of, fuse, neighbours
from jiyi.domain.memory import Message, Role
from jiyi.domain.ranking import inverse_frequency
from jiyi.domain.scope import Scope
from jiyi.pipelines.indexing import Indexing
from jiyi.pipelines.recalling.matching import Match, overlay
from jiyi.pipelines.recalling.question import Question
from jiyi.pipelines.recalling.voices import named_in
from jiyi.ports import BM25, Kind, Unit
from jiyi.text.expecting import Expectation, Expecting
from jiyi.text.names import NameWords

TAIL = 200
"""Messages not indexed yet that recall reads itself, so that what was just said is found at once."""
SPARE = 8
"""Texts read beyond the items asked for, since some are left out once their memories are in the answer."""
LONGEST_NOD = 120
"""Characters beyond which a turn says more than that it has heard: longer ones are not read to see."""
FEW = 3
"""So many turns are few in the shortest history too, where a share of it is less than one."""
ROUNDING = 1e-5
"""Two ways of adding up one score differ by less."""
NOTHING: Mapping[int, float] = {}
_Rated = tuple[float, int, Message, Parts, str]
"""A turn in the order of answers: its score and its number, both turned round, what it is, and its folded text."""


@dataclass(frozen=True, slots=True)
class Found:
    """What the words found: scores by message number, and bits of the terms of the question's search that each holds.

    `chosen` are the places in that search of the terms that selected. The dicts grow while the channels are read. `over` are
    the words of another turn that led to the turns of `bridged`, `named` the speakers that the question names and what it
    calls them, `then` what was said in a time that it names.
    """

    scores: dict[int, float]
    matched: dict[int, int]
    documents: int
    holding: Mapping[str, int]
    chosen: Sequence[int]
    bridged: Mapping[int, float] = field(default_factory=dict)
    over: tuple[str, ...] = ()
    places: Mapping[int, Place] = field(default_factory=dict)
    named: Mapping[str, str] = field(default_factory=dict)
    then: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Passages:
    """What finding passages needs besides the store. `names`: what is a name. `acknowledging`: the terms with which an assistant only says that it has
    heard. `people`: those that name a person by what they are to the user. `expecting`: what questions expect of an answer."""

    indexing: Indexing
    policy: FusionPolicy
    names: NameWords
    acknowledging: frozenset[str] = frozenset()
    people: frozenset[str] = frozenset()
    expecting: Expecting = field(default_factory=Expecting)

    def find(self, unit: Unit, scope: Scope, question: Question) -> Found:
        """What the words of a question find. A message that asks several things is asked for each: the words of one would
        push what answers the other down, and each may have a half that somebody else answers."""
        if question.parts:
            return self._find_each(unit, scope, question)
        found = self._find(unit, scope, question)
        if not found.scores:
            return replace(found, then=self._then(unit, scope, question))
        self._weigh(unit, scope, question, found)
        # What key words alone ask for holds them; what a sentence asks may be said elsewhere, or stand beside its words.
        bridged, over = self._bridge(unit, scope, question, found) if question.asks else ({}, ())
        places = {p.seq: p for p in unit.messages.places(scope, found.scores.keys() | bridged.keys())}
        named = self._named(places.values(), question)
        found = replace(found, bridged=bridged, over=over, places=places, named=named)
        return self._with_then(unit, scope, question, found) if question.times else found

    def _find_each(self, unit: Unit, scope: Scope, question: Question) -> Found:
        """What each of several questions finds, as shares of its best, so that none counts for more than another."""
        scores, matched, holding = dict[int, float](), dict[int, int](), dict[str, int]()
        bridged, places, then = dict[int, float](), dict[int, Place](), dict[int, float]()
        documents, over, named = 0, list[str](), dict[str, str]()
        for terms in question.parts:
            asked, origins = question.part(terms)
            found = self.find(unit, scope, asked)
            words = _together(found)
            best = max(words.values(), default=0.0) or 1.0  # a word that all of very many turns hold scores 0
            for seq, score in words.items():
                bits = found.matched.get(seq, 0)
                scores[seq] = scores.get(seq, 0.0) + score / best
                matched[seq] = matched.get(seq, 0) | sum(1 << i for n, i in enumerate(origins) if bits >> n & 1)
            documents, named = max(documents, found.documents), {**named, **found.named}
            holding |= found.holding
            bridged |= dict.fromkeys(found.bridged, 0.0)
            places |= found.places
            then |= found.then
            over += found.over
        return Found(scores, matched, documents, holding, (), bridged, tuple(over), places, named, then)

    def __call__(
        self,
        unit: Unit,
        scope: Scope,
        question: Question,
        found: Found,
        limit: int,
        *,
        takes: Callable[[Place], bool] | None = None,
        vectors: Mapping[int, float] = NOTHING,
    ) -> list[Match]:
        """The best turns, best first, `limit` and some to spare.

        Args:
            found: what `find` gave for the question.
            takes: whether a turn at that place may be answered with; those around it count all the same.
            vectors: scores of the channel of meaning, by message number.
        """
        bridged, places, policy = found.bridged, dict(found.places), self.policy
        words = _together(found)
        scores = fuse([(words, policy.words), (vectors, policy.vectors), (found.then, policy.said_then)])
        if not scores:
            return []
        around = (scores.keys() | neighbours(scores, self.policy)) - places.keys()
        places |= {p.seq: p for p in unit.messages.places(scope, around)}
        asked = Asked(self._named(places.values(), question), question.times)
        surroundings = Surroundings(scores, places, asked, self.policy)
        totals = surroundings.totals(lent=question.asks)
        if takes is not None:
            totals = {seq: total for seq, total in totals.items() if takes(places[seq])}
        expected = self.expecting.of(question.folded) if question.asks and policy.expected > 0 else None
        share, many = 1.0, limit + 2 * SPARE
        if expected is not None:
            share, many = 1 + policy.expected, max(many, policy.rescored)
        rest, turns, least = best_of(totals, many, places=6), list[_Rated](), -1.0
        # The best first, and of the others those that would come among them if they held what is expected.
        while rest := [seq for seq in rest if totals[seq] * share >= least - ROUNDING]:
            some, rest = rest[: limit + SPARE], rest[limit + SPARE :]
            for message in unit.messages.get(scope, some):
                if message.seq in words or message.seq in found.then or self._tells(message, places):
                    folded, parts = self._as_expected(surroundings.parts(message.seq), message, expected)
                    turns.append((-round(parts.total, 6), -message.seq, message, parts, folded))
            turns.sort()
            if len(turns) >= limit + SPARE:
                turns = turns[: limit + SPARE]
                least = -turns[-1][0]
        covered = _Coverage(question, question.information(found.documents, found.holding), found.matched)
        top = max((parts.total for _, _, _, parts, _ in turns), default=0.0)
        return [
            _match(message, parts, top, covered, question, found.over if message.seq in bridged else (), folded)
            for _, _, message, parts, folded in turns
        ]

    def _as_expected(self, parts: Parts, message: Message, expected: Expectation | None) -> tuple[str, Parts]:
        """More where a turn holds something of the kind that is asked for; with its folded text, where that was looked through."""
        if expected is None:
            return "", parts
        folded = self.indexing.segmenter.fold(message.text)
        if not expected.holds.search(folded):
            return folded, parts
        return folded, parts._replace(expected=self.policy.expected * parts.total)

    def _tells(self, message: Message, places: Mapping[int, Place]) -> bool:
        """Whether a turn that holds no word of the question may answer it at all. What an assistant says only to show that it
        has heard (Thanks, noted. 好的，记下了。) stands beside an answer and is none."""
        if message.role is not Role.ASSISTANT:
            return True
        terms = self.indexing.segmenter.query_terms(message.text)
        told = {t.text for t in terms if not t.stop and t.kind not in ("bigram", "part")} - self.acknowledging
        before = places.get(message.seq - 1)
        answers = before is not None and before.session == message.session and before.asks
        return len(told) >= (min(1, self.policy.telling) if answers else self.policy.telling)

    # -------------------------------------------------------------- words

    def _find(self, unit: Unit, scope: Scope, question: Question) -> Found:
        """The hits of the words that select, and those among the turns that are not indexed yet."""
        terms = question.search
        documents, holding = unit.text.frequencies(scope, Kind.MESSAGE, [t for t, _ in terms])
        chosen = self._selecting(question, documents, [holding.get(t, 0) for t, _ in terms])
        found = Found({}, {}, documents, holding, chosen)
        for hit in unit.text.search(scope, Kind.MESSAGE, [terms[i] for i in chosen], self.policy.hits):
            found.scores[hit.seq] = hit.score
            found.matched[hit.seq] = sum(1 << i for place, i in enumerate(chosen) if hit.matched >> place & 1)
        indexed, last = unit.text.indexed_up_to(scope), unit.messages.last_seq(scope)
        if indexed < last:
            tail = unit.messages.after_seq(scope, max(indexed, last - TAIL), TAIL)
            told = [weight * inverse_frequency(documents, holding.get(term, 0)) for term, weight in terms]
            for hit in overlay([self.indexing.message(m) for m in tail], terms, told):
                found.scores[hit.seq], found.matched[hit.seq] = hit.score, hit.matched
        return found

    def _selecting(self, question: Question, documents: int, counts: Sequence[int]) -> list[int]:
        """Which terms of the search select, by their places in it: the rare ones, within what a search may read."""
        policy, own, read = self.policy, len(question.content), 0
        chosen: list[int] = []
        for i in sorted(filter(counts.__getitem__, range(len(counts))), key=lambda i: (i >= own, counts[i])):
            share = policy.frequent if i < own else policy.wider_share
            fits = read + counts[i] <= policy.entries
            if not chosen or (fits and (counts[i] <= share * documents + FEW or (i < own and len(chosen) < 2))):
                chosen.append(i)
                read += counts[i]
        return sorted(chosen)

    def _weigh(self, unit: Unit, scope: Scope, question: Question, found: Found) -> None:
        """Add what frequent words and stop words tell among the best hits. How frequent a stop word is, is estimated from
        these, since its list is too long to count."""
        policy, formula, chosen = self.policy, BM25(), set(found.chosen)
        late = {
            t.text: (i, t.weight * inverse_frequency(found.documents, found.holding[t.text]))
            for i, t in enumerate(question.content)
            if i not in chosen and t.text in found.holding
        }
        share = policy.stop_words_of_talk if question.talk else policy.stop_words
        stops = question.stops if share > 0 else ()
        best = best_of(found.scores, policy.weighed)
        if not best or not (late or stops):
            return
        held = unit.text.occurrences(scope, Kind.MESSAGE, [*late, *stops], best)
        often = Counter(o.term for o in held)
        average = sum(o.length for o in held) / max(1, len(held))
        for seq, term, count, length in held:
            if term in late:
                place, told = late[term]
                found.matched[seq] |= 1 << place
            else:
                told = share * inverse_frequency(len(best), often[term])
            norm = formula.k1 * (1 - formula.b + formula.b * length / average)
            found.scores[seq] += told * count * (formula.k1 + 1) / (count + norm)

    def _bridge(
        self, unit: Unit, scope: Scope, question: Question, found: Found
    ) -> tuple[dict[int, float], tuple[str, ...]]:
        """Scores by the rare words of short statements among the best hits, and those words.

        "My cousin is a dentist" answers one half of "what is the dentist's phone number", and names the other: cousin.
        """
        policy, asked = self.policy, {t.text for t in question.content}
        first = best_of(found.scores, policy.bridge_turns)
        first = [seq for seq in first if 2 * found.scores[seq] >= found.scores[first[0]]]
        if policy.bridge <= 0 or not first:
            return {}, ()
        pivots: dict[str, float] = {}
        lending = set[int]()
        for message in unit.messages.get(scope, first):
            if _letters(message.text) <= policy.bridge_letters:
                lending.add(message.seq)
                for term in self.indexing.segmenter.query_terms(message.text):
                    if not term.stop and term.text not in asked:
                        pivots[term.text] = max(pivots.get(term.text, 0.0), term.weight)
        if not pivots:
            return {}, ()
        _, held = unit.text.frequencies(scope, Kind.MESSAGE, list(pivots))
        most = policy.bridge_share * found.documents + FEW
        rare = {
            t: weight * inverse_frequency(found.documents, held[t])
            for t, weight in pivots.items()
            if 2 <= held.get(t, 0) <= most
        }
        words = tuple(sorted(rare, key=lambda t: (-rare[t], t))[: policy.bridge_words])
        terms = [(word, policy.bridge_person if word in self.people else policy.bridge) for word in words]
        hits = unit.text.search(scope, Kind.MESSAGE, terms, policy.hits)
        # A turn that lends a word gains no more by a person's than by another: it would stand before what it leads to.
        own = policy.bridge / max((weight for _, weight in terms), default=1.0)
        return {h.seq: h.score * (own if h.seq in lending else 1.0) for h in hits}, words

    def _with_then(self, unit: Unit, scope: Scope, question: Question, found: Found) -> Found:
        """Beside what words found: what was said in a talk then, by whom the question names, if anybody."""
        then = self._then(unit, scope, question)
        places = {p.seq: p for p in unit.messages.places(scope, then.keys() - found.places.keys())} | dict(found.places)
        voices = defaultdict[str, set[str]](set)
        for seq in then:
            voices[places[seq].session].add(places[seq].voice)
        named = {**found.named, **self._named([places[seq] for seq in then], question)}
        said = [places[seq] for seq in then if len(voices[places[seq].session]) > 1]
        kept = {p.seq: then[p.seq] for p in said if not named or p.voice in named}
        return replace(found, then=kept, places=places, named=named)

    def _then(self, unit: Unit, scope: Scope, question: Question) -> dict[int, float]:
        """The turns of a short time that the question names."""
        policy, found = self.policy, dict[int, float]()
        for start, end in question.times if policy.said_then > 0 and question.asks else ():
            if end - start <= policy.then_at_most:
                said = unit.messages.window(scope, since=start, until=end, limit=policy.then_turns)
                found |= dict.fromkeys((m.seq for m in said), 1.0)
        return found

    def _named(self, places: Collection[Place], question: Question) -> dict[str, str]:
        """The voices that the question names, with what it calls them."""
        return named_in(
            {p.voice for p in places}, question.folded, question.untimed, self.indexing.segmenter, self.names
        )


def _together(found: Found) -> dict[int, float]:
    """Scores by the words of a question, and by those of a turn that answers one half of it."""
    turns = found.scores.keys() | found.bridged.keys()
    return {seq: found.scores.get(seq, 0.0) + found.bridged.get(seq, 0.0) for seq in turns}


def _letters(text: str) -> int:
    return len(text) if text.isascii() else sum(2 if char > "\u2e80" else 1 for char in text)


class _Coverage:
    """How much of a question turns cover. Many turns hold the same words, so it is worked out once for each set."""

    def __init__(self, question: Question, information: Sequence[float], matched: Mapping[int, int]) -> None:
        self.matched = matched
        self._known = {bits: question.coverage(bits, information) for bits in {0, *matched.values()}}
        self.best = max(self._known.values())

    def of(self, seq: int | None) -> float:
        return self._known[self.matched.get(seq, 0) if seq is not None else 0]


def _match(
    message: Message,
    parts: Parts,
    top: float,
    covered: _Coverage,
    question: Question,
    over: tuple[str, ...],
    folded: str,
) -> Match:
    # What the turn beside holds of the question is half held here: a question and its answer are read together.
    coverage = max(covered.of(message.seq), 0.5 * covered.of(parts.beside))
    # The order is that of the fusion alone; how good the answer is at all, is what its best turn covers.
    relevance = (parts.total / top if top > 0 else 0.0) * (0.5 + 0.5 * covered.best)
    words = question.matched_words(covered.matched.get(message.seq, 0))
    return Match(message, relevance, coverage, words, None, 0.0, parts, over, False, None, folded)
