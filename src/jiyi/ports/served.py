"""The ports of what a service keeps beside memory. Parts of `ports.Unit`, whose rules hold here too."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from jiyi.domain.access import ServiceKey
from jiyi.domain.once import DoneOnce
from jiyi.domain.scope import Scope


class Once(Protocol):
    """What was asked for under a key and is done (SPEC S5). A log: an export leaves it out, and it holds no words."""

    def get(self, scope: Scope, key: bytes) -> DoneOnce | None: ...

    def add(self, scope: Scope, done: DoneOnce) -> None:
        """Keep it, in the place of the one of its key."""

    def trim(self, scope: Scope, keep: int, since: datetime) -> None:
        """Drop all but the latest `keep`, by `at` and then key, and those from before `since`."""

    def blank(self, scope: Scope) -> int:
        """Drop the hashes of what was asked, since it may have named what is forgotten; gives how many there were. The keys
        stay: a request that is sent again is not carried out again. No byte of the hashes stays after a purge."""


class ServiceKeys(Protocol):
    """The keys with which services act for users of a tenant (SPEC S2). Of no scope."""

    def add(self, key: ServiceKey) -> None:
        """*Operator.* Raises: InputError: there is one of that id."""

    def get(self, key_id: str) -> ServiceKey | None:
        """*Operator.* Also one that was revoked."""

    def all(self) -> list[ServiceKey]:
        """*Operator.* By when they were made, then by id."""

    def revoke(self, key_id: str, at: datetime) -> bool:
        """*Operator.* It opens nothing from now on; false when there is none, or it was revoked before."""
