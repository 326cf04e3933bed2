"""Open questions of one scope, and what an answer changes (SPEC B9)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, tzinfo

from jiyi.domain.belief import Observation, rival_keys
from jiyi.domain.confidence import ConfidencePolicy
from jiyi.domain.memory import Evidence, Language, Memory, Mode, Source, parse_id
from jiyi.domain.plans import Plan
from jiyi.domain.questions import ANSWERED, Answer, AnswerWords, Kind, Question, asked_by_rule, questions, read_answer
from jiyi.domain.relations import render, subject_name
from jiyi.domain.scope import Scope
from jiyi.errors import InputError, NotFound
from jiyi.pipelines.correcting import read_correction
from jiyi.pipelines.distil import Distiller
from jiyi.pipelines.graph.exploring import Explorer, Graphing
from jiyi.pipelines.judging import Judging, Occasion
from jiyi.ports import Unit

MAX_VALUE = 60
"""A longer answer that is no statement about the matter is talk, not a value."""


@dataclass(frozen=True, slots=True)
class Answering:
    """What reading and carrying out answers needs."""

    judging: Judging
    distiller: Distiller
    words: AnswerWords
    confidence: ConfidencePolicy
    graphing: Graphing

    def questions(self, unit: Unit, scope: Scope, now: datetime, zone: tzinfo) -> list[Question]:
        """What the user may be asked, the oldest first."""
        vocabulary = self.judging.vocabulary
        unsettled = unit.memories.unsettled(scope)
        keys = {key for m in unsettled for key in rival_keys(m, vocabulary)}
        live = unit.memories.of_keys(scope, keys, limit=4 * len(keys) + 64) if keys else []
        asked = questions(unsettled, live, vocabulary, now, zone, self.confidence)
        return asked + self._by_rules(unit, scope, {q.number for q in asked}, now, zone)

    def _by_rules(self, unit: Unit, scope: Scope, asked: set[int], now: datetime, zone: tzinfo) -> list[Question]:
        """What the fusion rules find at odds (SPEC G2), and the user has not been asked about since it is."""
        explorer = Explorer(unit, scope, self.graphing, now)
        found: dict[int, Question] = {}
        for one in explorer.asked():
            memories = unit.memories.get(scope, one.premises)
            memory = next(m for m in memories if m.seq == one.edge.memory)
            since = max(link.edge.valid_from for link in one.match.links)
            settled = any(e.session == ANSWERED and e.at >= since for m in memories for e in m.evidence)
            if settled or memory.unasked or memory.seq in asked:
                continue
            why = {
                language: one.rule.told(language, {v: subject_name(n, language) for v, n in one.match.bound.items()})
                for language in Language
            }
            found.setdefault(memory.seq, asked_by_rule(memory, why, zone))
        return [question for _, question in sorted(found.items())]

    def plan(self, unit: Unit, scope: Scope, question: str, text: str, occasion: Occasion, zone: tzinfo) -> Plan:
        """What an answer changes.

        Raises:
            NotFound: no open question of that id. InputError: the answer cannot be read.
        """
        number = parse_id(question, "q")
        asked = next((q for q in self.questions(unit, scope, occasion.now, zone) if q.number == number), None)
        if asked is None:
            raise NotFound(
                f"no open question {question} here: it may be answered already. Look at what is asked now", "question"
            )
        answer = read_answer(asked, text, self.words)
        if answer.kind is Kind.STATEMENT:
            return self._stated(unit, scope, asked, text, occasion, zone)
        return self._decided(unit, scope, asked, answer, occasion)

    def _decided(self, unit: Unit, scope: Scope, asked: Question, answer: Answer, occasion: Occasion) -> Plan:
        if answer.kind is Kind.SKIP:
            return self.judging.unasked(unit, scope, asked.options, occasion)
        chosen = answer.chosen
        # What once stood is over when another holds now; what only waited was never so.
        wrong = [m for m in asked.options if chosen is None or (m != chosen and m.never_stood)]
        said = () if chosen is None else (_confirmed(chosen, asked, occasion.now, self.confidence),)
        return self.judging.decision(unit, scope, wrong, said, occasion)

    def _stated(self, unit: Unit, scope: Scope, asked: Question, text: str, occasion: Occasion, zone: tzinfo) -> Plan:
        at = occasion.now.astimezone(zone)
        about = asked.options[-1]
        said = read_correction(text, about, at, self.distiller, self.judging.vocabulary)
        literal = said.triple is not None and said.triple.object == text
        if said.key != about.key or (literal and (len(text) > MAX_VALUE or self.words.speaks(text))):
            choices = ", ".join(m.id for m in asked.options)
            raise InputError(
                f"this does not answer {asked.id}: say {choices}, the right value alone, “neither”, or “skip”"
            )
        relation = self.judging.vocabulary.get(said.triple.relation) if said.triple else None
        if relation is not None and said.triple is not None:
            # As it is told of the user, not as they said it.
            told = render(relation, said.triple.subject, said.triple.object, said.language, negated=said.triple.negated)
            said = replace(said, text=told)
        # What once stood is over, as where one of several was chosen; what only waited was never so.
        wrong = [m for m in asked.options if m.never_stood or len(asked.options) == 1]
        if len(wrong) < len(asked.options):
            said = replace(said, mode=Mode.CHANGE, at=max(at, *(m.affirmed_at for m in asked.options)))
        return self.judging.decision(unit, scope, wrong, (said,), occasion)


def _confirmed(memory: Memory, asked: Question, now: datetime, policy: ConfidencePolicy) -> Observation:
    """The user's word that a memory holds. Between several it says that things are so now, whatever was said before."""
    at = max(now, *(m.affirmed_at for m in asked.options))
    return Observation(
        text=memory.text,
        category=memory.category,
        importance=memory.importance,
        source=Source.DECLARED,
        start=policy.start(Source.DECLARED),
        at=at,
        value=memory.value,
        triple=memory.triple,
        mode=Mode.CHANGE if len(asked.options) > 1 else Mode.STATEMENT,
        evidence=(Evidence(0, 0, 0, at, ANSWERED),),
        kept=memory.kept,
        language=memory.language,
    )
