"""What language models may cost, and what they did: every call is counted before the next one is made (SPEC U8)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import TypeAlias

from jiyi.domain.asking import OK, Answer, ModelCall, Question, Spent
from jiyi.domain.scope import Scope
from jiyi.domain.tokens import estimate_tokens
from jiyi.errors import ModelError, SpendingLimitReached
from jiyi.ports import ChatModel, Meter, Store
from jiyi.settings import EmbeddingPolicy, ModelPolicy, Settings, zone

MILLION = 1_000_000
EMBED = "embed"
"""The kind of call that embedding is kept as."""
Clock: TypeAlias = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class Spending:
    """Asks a model within the day's limits, and keeps what it came to. A day is one of `zone`."""

    model: ChatModel
    policy: ModelPolicy
    zone: tzinfo

    def ask(self, store: Store, scope: Scope | None, job: int, kind: str, question: Question, now: datetime) -> Answer:
        """Ask, unless this question could take the day above a limit.

        Raises:
            SpendingLimitReached: and nothing was asked. ModelUnavailable, ModelRefused: as the model does.
        """
        self._check(store, question, now)
        try:
            answer = self.model.ask(question)
        except ModelError as error:
            self._keep(store, scope, ModelCall(now, job, kind, self.model.name, 0, 0, 0.0, 0.0, type(error).__name__))
            raise
        cost = self.cost(answer.tokens_in, answer.tokens_out)
        call = ModelCall(now, job, kind, self.model.name, answer.tokens_in, answer.tokens_out, cost, answer.seconds, OK)
        self._keep(store, scope, call)
        return answer

    def cost(self, tokens_in: int, tokens_out: int) -> float:
        """By the prices of the settings, in their currency."""
        return (tokens_in * self.policy.price_in + tokens_out * self.policy.price_out) / MILLION

    def today(self, store: Store, now: datetime) -> Spent:
        return store.view(lambda unit: unit.model_calls.spent(day_of(now, self.zone), self.model.name))

    def _check(self, store: Store, question: Question, now: datetime) -> None:
        spent = self.today(store, now)
        tokens_in = estimate_tokens(question.instructions + question.text + "".join(question.before or ()))
        policy, day = self.policy, day_of(now, self.zone).date()
        if policy.tokens_per_day and spent.tokens + tokens_in + question.max_tokens > policy.tokens_per_day:
            raise SpendingLimitReached(
                f"{spent.tokens:,} of {policy.tokens_per_day:,} tokens of {day} are spent and this call could need "
                f"{tokens_in + question.max_tokens:,}: raise model.tokens_per_day, or run the job again tomorrow"
            )
        cost = self.cost(tokens_in, question.max_tokens)
        if policy.money_per_day and spent.cost + cost > policy.money_per_day:
            raise SpendingLimitReached(
                f"{spent.cost:.4f} of {policy.money_per_day:g} of {day} is spent and this call could cost {cost:.4f}: "
                "raise model.money_per_day, or run the job again tomorrow"
            )

    def _keep(self, store: Store, scope: Scope | None, call: ModelCall) -> None:
        # At once and by itself: it is spent, whatever becomes of the job.
        store.write(lambda unit: unit.model_calls.add(scope, call))


QUERIES_AT_ONCE = 100


class EmbeddingMeter(Meter):
    """What an embedder behind an endpoint may cost, and what it did. Batches are kept at once; questions, which cost
    almost nothing, together, so that recall writes nothing (SPEC F5)."""

    def __init__(self, store: Store, model: str, policy: EmbeddingPolicy, zone: tzinfo, clock: Clock) -> None:
        self._store, self._model, self._policy, self._zone, self._clock = store, model, policy, zone, clock
        self._lock = threading.Lock()
        self._queries: list[tuple[int, float]] = []

    def check(self, tokens: int) -> None:
        now, policy = self._clock(), self._policy
        spent = self._store.view(lambda unit: unit.model_calls.spent(day_of(now, self._zone), self._model))
        if policy.tokens_per_day and spent.tokens + tokens > policy.tokens_per_day:
            raise SpendingLimitReached(
                f"{spent.tokens:,} of {policy.tokens_per_day:,} tokens of {day_of(now, self._zone).date()} are spent on embedding: "
                "raise embedding.tokens_per_day, or run the job again tomorrow"
            )
        if policy.money_per_day and spent.cost + tokens * policy.price_in / MILLION > policy.money_per_day:
            raise SpendingLimitReached(
                f"{spent.cost:.4f} of {policy.money_per_day:g} of {day_of(now, self._zone).date()} is spent on embedding: "
                "raise embedding.money_per_day, or run the job again tomorrow"
            )

    def documents(self, tokens: int, seconds: float, outcome: str = OK) -> None:
        self._keep(tokens, seconds, outcome)

    def query(self, tokens: int, seconds: float) -> None:
        with self._lock:
            self._queries.append((tokens, seconds))
            full = len(self._queries) >= QUERIES_AT_ONCE
        if full:
            self.flush()

    def flush(self) -> None:
        with self._lock:
            queries, self._queries = self._queries, []
        if queries:
            self._keep(sum(tokens for tokens, _ in queries), sum(seconds for _, seconds in queries), OK)

    def _keep(self, tokens: int, seconds: float, outcome: str) -> None:
        cost = tokens * self._policy.price_in / MILLION
        call = ModelCall(self._clock(), 0, EMBED, self._model, tokens, 0, cost, seconds, outcome)
        self._store.write(lambda unit: unit.model_calls.add(None, call))


def day_of(now: datetime, zone: tzinfo) -> datetime:
    """The midnight with which the day of an instant begins."""
    return now.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)


@dataclass(frozen=True, slots=True)
class Usage:
    """What was asked of language models: today, in the last 30 days, and call by call, newest first. No memory text.

    `model` is None when none is configured. Costs are in the currency of the prices in the settings; limits of 0 are none.
    """

    model: str | None
    today: Spent
    month: Spent
    tokens_per_day: int
    money_per_day: float
    calls: tuple[ModelCall, ...]


def read_usage(store: Store, settings: Settings, model: str | None, now: datetime, limit: int) -> Usage:
    today = day_of(now, zone(settings.timezone))
    return store.view(
        lambda unit: Usage(
            model=model,
            today=unit.model_calls.spent(today),
            month=unit.model_calls.spent(today - timedelta(days=29)),
            tokens_per_day=settings.model.tokens_per_day,
            money_per_day=settings.model.money_per_day,
            calls=tuple(unit.model_calls.latest(limit)),
        )
    )
