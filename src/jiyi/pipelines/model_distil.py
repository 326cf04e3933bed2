"""Distilling with a language model, beside the rules: ask, check, merge, judge (SPEC C7).

The model is asked outside every transaction. What comes of its answer is judged and applied inside one, if the messages are
still what they were when it was asked.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from jiyi.domain.belief import Verdict
from jiyi.domain.memory import Message, message_handle
from jiyi.domain.plans import Actor, Verb
from jiyi.domain.scope import Scope
from jiyi.errors import ModelUnavailable, UnusableAnswer
from jiyi.pipelines.gateway import Gateway
from jiyi.pipelines.guarding import Guard, turns_before
from jiyi.pipelines.judging import Judging, Occasion
from jiyi.pipelines.modelling.answers import Candidate, read_answer
from jiyi.pipelines.modelling.candidates import Candidates
from jiyi.pipelines.modelling.prompting import Prompting
from jiyi.pipelines.modelling.spending import Spending
from jiyi.pipelines.redacting import Redaction
from jiyi.pipelines.segments import messages_of
from jiyi.ports import Job, Store, Unit
from jiyi.settings import ModelPolicy

log = logging.getLogger("jiyi.model")

ASKINGS = 2
"""An answer that cannot be used is asked for once more (SPEC C7)."""


@dataclass(frozen=True, slots=True)
class ModelDistiller:
    """Reads segments with a language model. Built once."""

    spending: Spending
    prompting: Prompting
    candidates: Candidates
    judging: Judging
    gateway: Gateway
    redaction: Redaction
    guard: Guard
    policy: ModelPolicy
    memory_chars: int

    @property
    def lease(self) -> timedelta:
        """As long as reading one segment can take at the most."""
        seconds = ASKINGS * (self.policy.deadline_seconds + 2 * self.policy.timeout_seconds) + 60
        return timedelta(seconds=seconds)

    def think(self, store: Store, job: Job, now: datetime) -> Callable[[Unit, Job, datetime], None]:
        """Have the model read a segment; gives what is to be done with its answer, inside a transaction.

        Raises:
            ModelError: there is no answer, or none that can be used. The job is tried again or given up with the reason.
        """
        first, last = int(job.payload["first"]), int(job.payload["last"])
        messages = store.view(lambda unit: self._messages(unit, job.scope, first, last))
        if not messages:
            return lambda unit, job, now: None
        candidates = self._read(store, job, messages, now)

        def write(unit: Unit, job: Job, now: datetime) -> None:
            if self._messages(unit, job.scope, first, last) != messages:
                raise ModelUnavailable("the messages changed while the model read them: they are read again")
            self._believe(unit, job, candidates, messages, now)

        return write

    def _messages(self, unit: Unit, scope: Scope, first: int, last: int) -> list[Message]:
        return [self.redaction.legible(m) for m in messages_of(unit, scope, first, last)]

    def _read(self, store: Store, job: Job, messages: Sequence[Message], now: datetime) -> Sequence[Candidate]:
        """Ask once, and once more when the answer will not do."""
        question = self.prompting.question(messages, self.policy.segment_chars, self.policy.output_tokens)
        language = self.prompting.language(messages)
        fault = ""
        for _ in range(ASKINGS):
            answer = self.spending.ask(store, job.scope, job.id, job.kind, question, now)
            reading = read_answer(answer.text, whole=answer.whole, lines=len(messages), max_chars=self.memory_chars)
            if not reading.fault:
                _log_dropped(job, reading.dropped)
                return reading.candidates
            fault = reading.fault
            log.info("job %s: an answer of %s cannot be used: %s", job.id, self.spending.model.name, fault)
            before = self.prompting.again(answer.text[: self.policy.segment_chars], fault, language)
            question = replace(question, before=before)
        raise UnusableAnswer(f"{self.spending.model.name} was asked twice and its answer cannot be used: {fault}")

    def _believe(
        self, unit: Unit, job: Job, candidates: Sequence[Candidate], messages: Sequence[Message], now: datetime
    ) -> None:
        """What is supported and new is judged and applied, as what the rules find is."""
        scope = job.scope
        resting = unit.memories.resting_on(scope, [m.seq for m in messages])
        believed = unit.memories.get(scope, {seq for seqs in resting.values() for seq in seqs})
        observations, dropped = self.candidates.observe(candidates, messages, believed)
        _log_dropped(job, dropped)
        observations = self.gateway.admit(unit, scope, observations)
        turns = turns_before(unit, scope, messages[0], self.guard.policy.turns)
        admitted = self.guard.admit(observations, messages, turns)
        gone = len(observations) - len(admitted.observations)
        _log_dropped(job, +Counter({"an echo, somebody else's words, or orders": gone}))
        if not admitted.observations and not admitted.refusals:
            return
        span = f"{message_handle(messages[0].seq)} to {message_handle(messages[-1].seq)}"
        prompt = self.prompting.label(self.prompting.language(messages))
        reason = f"read in {span}, session {messages[-1].session}, with {prompt}"
        occasion = Occasion(Verb.DISTIL, Actor(self.spending.model.name, "job"), now, reason)
        plan = self.judging.all(unit, scope, admitted.observations, occasion)
        plan = replace(plan, judgements=(*plan.judgements, *admitted.refusals))
        if plan.changes or any(j.verdict is Verdict.REFUSE for j in plan.judgements):
            self.gateway.apply(unit, scope, plan)


def _log_dropped(job: Job, dropped: Mapping[str, int]) -> None:
    """Why items of an answer were dropped. Their words are nobody's business but the user's."""
    for reason, count in sorted(dropped.items()):
        log.info("job %s: %s dropped: %s", job.id, count, reason)
