"""Dates as people and models write them, read in the user's own zone."""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo

from jiyi.errors import InputError


def read_instant(text: str, what: str, zone: tzinfo, *, end: bool = False) -> datetime:
    """A date or date-time as typed; without a zone it is meant in `zone`.

    Args:
        what: the option or argument it was given to, for the error.
        end: a bare date stands for the end of that day instead of its beginning.

    Raises:
        InputError: it is neither.
    """
    try:
        at = datetime.fromisoformat(text)
        if at.tzinfo is None:
            at = at.replace(tzinfo=zone)
        return at + timedelta(days=1) if end and len(text) <= len("2026-03-01") else at
    except (ValueError, OverflowError):
        raise InputError(f"{what} {text!r}: write a date such as 2026-03-01 or 2026-03-01T09:00") from None
