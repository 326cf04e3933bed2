"""What only reads is asked again where the server of the database was lost under it (SPEC O2)."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from jiyi.errors import StoreLost

P = ParamSpec("P")
T = TypeVar("T")


def asked_again(verb: Callable[P, T]) -> Callable[P, T]:
    """The verb, which reads and changes nothing: once more, on another connection and snapshot, where its own was lost."""

    @wraps(verb)
    def asked(*arguments: P.args, **named: P.kwargs) -> T:
        try:
            return verb(*arguments, **named)
        except StoreLost:
            return verb(*arguments, **named)

    return asked
