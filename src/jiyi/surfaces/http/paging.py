"""Pages: what comes after what, in a cursor that a caller hands back as it is."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

from fastapi import Query

from jiyi.errors import InputError

T = TypeVar("T")

PageLimit = Annotated[int, Query(ge=1, le=200, description="How many at the most.")]
Cursor = Annotated[
    str | None, Query(max_length=2000, description="The `cursor` of the page before; none for the first page.")
]


def cursor_of(listing: str, place: str) -> str:
    return base64.urlsafe_b64encode(f"{listing}\0{place}".encode()).decode().rstrip("=")


def place_in(listing: str, cursor: str | None) -> str | None:
    """Raises: InputError: not a cursor of this listing."""
    if cursor is None:
        return None
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        name, _, place = base64.b64decode(padded, altchars=b"-_", validate=True).decode().partition("\0")
    except (binascii.Error, ValueError):
        name, place = "", ""
    if name != listing or not place:
        raise InputError("no cursor of this listing: send the one that the page before gave")
    return place


def number_in(listing: str, cursor: str | None) -> int:
    """The number after which the page begins; 0 for the first."""
    place = place_in(listing, cursor)
    if place is None:
        return 0
    if not place.isascii() or not place.isdigit() or len(place) > 17:
        raise InputError("no cursor of this listing: send the one that the page before gave")
    return int(place)


def page(
    listing: str, found: Sequence[T], number: Callable[[T], int], cursor: str | None, limit: int
) -> tuple[list[T], str | None]:
    """A page of what is sorted by number, and the cursor of the next."""
    after = number_in(listing, cursor)
    rest = [item for item in found if number(item) > after]
    shown = rest[:limit]
    return shown, cursor_of(listing, str(number(shown[-1]))) if len(rest) > limit else None
