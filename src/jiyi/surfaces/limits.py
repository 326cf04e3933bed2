"""How often somebody may call (SPEC S5). Kept in this process: several processes allow so often each."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from jiyi.domain.scope import Scope
from jiyi.errors import TooManyRequests
from jiyi.settings import ServicePolicy

KNOWN = 50_000
"""Users and tenants that are kept in mind; who was not heard of the longest is dropped, and by then has its full measure."""


@dataclass(slots=True)
class _Bucket:
    left: float
    at: float


class Limits:
    """A bucket of requests for each user and each tenant, which fills again evenly over a minute."""

    def __init__(self, policy: ServicePolicy, seconds: Callable[[], float]) -> None:
        self._policy, self._seconds = policy, seconds
        self._buckets: OrderedDict[Scope | str, _Bucket] = OrderedDict()

    def take(self, scope: Scope) -> None:
        """Count one request. Raises: TooManyRequests: says after how many seconds the next may come."""
        now = self._seconds()
        self._take(scope, self._policy.requests_a_minute, now)
        self._take(scope.tenant, self._policy.tenant_requests_a_minute, now)

    def _take(self, whose: Scope | str, a_minute: int, now: float) -> None:
        if not a_minute:
            return
        bucket = self._buckets.setdefault(whose, _Bucket(float(a_minute), now))
        self._buckets.move_to_end(whose)
        if len(self._buckets) > KNOWN:
            self._buckets.popitem(last=False)
        rate = a_minute / 60
        bucket.left = min(float(a_minute), bucket.left + (now - bucket.at) * rate)
        bucket.at = now
        if bucket.left < 1:
            raise TooManyRequests((1 - bucket.left) / rate)
        bucket.left -= 1
