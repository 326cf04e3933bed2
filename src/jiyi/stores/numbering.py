"""How rows are numbered in every SQL store, and how much may be asked for at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

SEQ_BITS = 24
MAX_SEQ = (1 << SEQ_BITS) - 1
"""Numbers of one kind that a scope can have: 16.7 million. With the owner in front they stay below 2^53, safe in JSON."""

MAX_LIMIT = 1 << 32

Row = tuple[Any, ...]
Arguments = Sequence[Any] | Mapping[str, Any]


def seq_of(key: int) -> int:
    """The number of a row within its owner, from a key that may hold the owner in front."""
    return key & MAX_SEQ


def at_most(limit: int) -> int:
    """A limit as a database takes it: a negative one would mean all rows or an error, one above 2^63 is no number to it."""
    return min(max(limit, 0), MAX_LIMIT)
