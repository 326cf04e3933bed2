"""The names that a call of mem0 carries: in its filters, its path, and the ids of memories."""

from __future__ import annotations

import ast
import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from typing import Any

from fastapi import Request

from jiyi.domain.scope import Scope
from jiyi.errors import InputError

ANY = "*"
"""In a filter: whatever it is, if it is there at all."""
MAX_FILTERS = 10_000
"""Characters of filters in a query."""


def id_of(scope: Scope, memory: str) -> str:
    """How a memory is called here: `m42.bWluZw`. A client of mem0 names a memory and nobody with it, and a service asks for
    many users under one key, so that the id says of whom it is: as a name like any other, which must be the token's."""
    return f"{memory}.{base64.urlsafe_b64encode(scope.user.encode()).decode().rstrip('=')}"


def memory_in(given: str) -> str:
    """The memory that an id names: `m42`, which is an id too, of whoever calls. One that cannot be read names none."""
    name, dot, _ = given.partition(".")
    return given if dot and user_in(given) is None else name


def user_in(given: str) -> str | None:
    """The user that an id names, if it names one."""
    _, _, coded = given.partition(".")
    try:
        return base64.b64decode(coded + "=" * (-len(coded) % 4), altchars=b"-_", validate=True).decode() or None
    except (binascii.Error, ValueError):
        return None  # then there is no such memory


def users_named(request: Request, body: Mapping[str, Any]) -> Iterator[str]:
    """Every user that a call names in a way of mem0's own."""
    yield from _in_filters(body.get("filters"))
    for text in request.query_params.getlist("filters"):
        yield from _in_filters(read_filters(text))
    path = request.path_params
    if path.get("kind") == "user":
        yield str(path.get("name"))
    given = [path.get("memory"), path.get("event"), body.get("memory_id")]
    many = body.get("memories")
    given += [item.get("memory_id") for item in many if isinstance(item, Mapping)] if isinstance(many, list) else []
    yield from (user for user in (user_in(g) for g in given if isinstance(g, str)) if user is not None)


def _in_filters(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _in_filters(item)
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _texts(item) if name == "user_id" else _in_filters(item)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str) and value != ANY:
        yield value
    for item in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from _texts(item)


def read_filters(text: str | None) -> dict[str, Any]:
    """Filters in a query: JSON, or a mapping as Python prints one, which is what `MemoryClient.delete_all` sends.

    Raises:
        InputError: neither. To take no filter for no filter would delete everything.
    """
    if text is None:
        return {}
    for read in (json.loads, ast.literal_eval):
        try:
            # Through JSON, so that what only Python has, such as a tuple, is looked at like a list.
            found = json.loads(json.dumps(read(text))) if len(text) <= MAX_FILTERS else None
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
        if isinstance(found, dict):
            return found
    raise InputError("filters cannot be read: send a JSON object; nothing was done")
