"""What every reading of one user begins with, in one statement: how the database is indexed, and the user's counters and standing."""

from __future__ import annotations

from collections.abc import Mapping

from jiyi.domain.scope import Scope
from jiyi.stores.encoding import damage
from jiyi.stores.rows import STANDING_COLUMNS
from jiyi.stores.sqlite.access import Access
from jiyi.stores.sqlite.standings import know_standing

_SETTINGS = "SELECT name, value FROM store_setting WHERE name IN ('text.memory', 'text.message')"
_OPENING = f"""
    SELECT 0, name, value, NULL, NULL, NULL, NULL FROM store_setting WHERE name IN ('text.memory', 'text.message')
    UNION ALL SELECT 1, name, value, NULL, NULL, NULL, NULL FROM counter WHERE owner = ?1
    UNION ALL SELECT 2, {STANDING_COLUMNS} FROM standing WHERE owner = ?1
"""


@damage
def opened(access: Access, scope: Scope | None) -> Mapping[str, str]:
    """The settings of the text indexes, at this moment: another process may have changed them. The first statement also fixes
    the snapshot of a reading unit; what it reads of the owner besides is kept there."""
    owner = None if scope is None or access.writable else access.owner(scope)
    if owner is None:
        return dict(access.rows(_SETTINGS))
    rows = access.rows(_OPENING, (owner,))
    access.know_counters(owner, {name: value for what, name, value, *_ in rows if what == 1})
    know_standing(access, owner, next((tuple(row) for what, *row in rows if what == 2), None))
    return {name: value for what, name, value, *_ in rows if not what}
