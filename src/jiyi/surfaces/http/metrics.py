"""What Prometheus reads at `/metrics` (SPEC O5, O6). No label names a user or holds text."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from jiyi.errors import StoreError
from jiyi.jobs import Clock
from jiyi.memory_layer import MemoryLayer

log = logging.getLogger("jiyi.http")

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """The numbers of one process; those of the queue are of all."""

    def __init__(self, memory: MemoryLayer, clock: Clock, process: int = 1) -> None:
        self._process = str(process)
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "jiyi_http_requests_total", "Requests, by operation and status.", ["operation", "status", "process"],
            registry=self._registry,
        )  # fmt: skip
        self._seconds = Histogram(
            "jiyi_http_request_seconds",
            "How long requests took.",
            ["operation", "process"],
            buckets=SECONDS,
            registry=self._registry,
        )
        self._channels = Histogram(
            "jiyi_recall_channel_seconds", "How long each channel of a recall took.", ["channel", "process"], buckets=SECONDS,
            registry=self._registry,
        )  # fmt: skip
        self._refused = Counter(
            "jiyi_plans_refused_total",
            "Changes that the gateway refused, by reason.",
            ["reason", "process"],
            registry=self._registry,
        )
        self._registry.register(_Queue(memory, clock))

    def request(self, operation: str, status: int, seconds: float) -> None:
        self._requests.labels(operation, str(status), self._process).inc()
        self._seconds.labels(operation, self._process).observe(seconds)

    def recalled(self, took: Mapping[str, float]) -> None:
        for channel, seconds in took.items():
            self._channels.labels(channel, self._process).observe(seconds)

    def refused(self, reason: str) -> None:
        self._refused.labels(reason, self._process).inc()

    def text(self) -> bytes:
        return generate_latest(self._registry)


class _Queue(Collector):
    """Read when it is asked for: jobs of other processes count too."""

    def __init__(self, memory: MemoryLayer, clock: Clock) -> None:
        self._memory, self._clock = memory, clock

    def describe(self) -> Iterator[GaugeMetricFamily]:
        yield from self._families({"waiting": 0, "running": 0, "dead": 0}, 0.0)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        try:
            counts = self._memory.lag()
        except StoreError as error:
            log.warning("the queue cannot be counted: %s", type(error).__name__)
            return
        behind = 0.0 if counts.oldest_at is None else (self._clock() - counts.oldest_at).total_seconds()
        states = {"waiting": counts.waiting, "running": counts.running, "dead": counts.dead}
        yield from self._families(states, max(behind, 0.0))

    @staticmethod
    def _families(states: Mapping[str, int], behind: float) -> Iterator[GaugeMetricFamily]:
        jobs = GaugeMetricFamily("jiyi_jobs", "Background jobs.", labels=["state"])
        for state, number in states.items():
            jobs.add_metric([state], number)
        yield jobs
        yield GaugeMetricFamily(
            "jiyi_write_to_readable_lag_seconds", "How long the oldest job has waited to make a write readable.", behind
        )
