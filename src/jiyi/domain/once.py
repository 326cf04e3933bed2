"""A change that was asked for under a key, so that asking again changes nothing (SPEC S5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class OncePolicy:
    """How long it is known that a request was carried out."""

    # Of one user: the latest so many, and none older than so many days.
    keep: int = 1000
    days: int = 7


@dataclass(frozen=True, slots=True)
class DoneOnce:
    """A request that was carried out. Nothing of what it said is kept.

    `key` is a hash of the caller's key, `request` of what was asked: empty where any request fits the key, as it is for all
    of a scope that has forgotten something since, and where both are hashed together in the outcome. `outcome` says what came of it in numbers: plain JSON, without a word of a
    memory.
    """

    key: bytes
    request: bytes
    outcome: Mapping[str, Any]
    at: datetime
