"""What only reads is asked again where the server of the database was lost under it (SPEC O2)."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from jiyi.errors import StoreLost

P = ParamSpec("P")
T = TypeVar("T")


TRIES = 3
"""A server that goes down takes the connections one after the other: the next one may be lost as well."""


def asked_again(verb: Callable[P, T]) -> Callable[P, T]:
    """The verb, which reads and changes nothing: again, on another connection and snapshot, where its own was lost."""

    @wraps(verb)
    def asked(*arguments: P.args, **named: P.kwargs) -> T:
        for left in reversed(range(TRIES)):
            try:
                return verb(*arguments, **named)
            except StoreLost:
                if not left:
                    raise
        raise AssertionError("the last try returns or raises")

    return asked
