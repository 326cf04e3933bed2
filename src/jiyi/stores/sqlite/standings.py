"""What each user decided about their memory as a whole, in SQLite: one row a user who decided something."""

from __future__ import annotations

from jiyi.domain.scope import Scope
from jiyi.domain.standing import UNDECIDED, Standing
from jiyi.ports import Standings
from jiyi.stores.numbering import Row
from jiyi.stores.rows import STANDING_COLUMNS, standing_of, standing_row
from jiyi.stores.sqlite.access import Access

STANDING = "standing"


def know_standing(access: Access, owner: int, row: Row | None) -> None:
    """What an owner decided, as it stands in this snapshot; None where nothing was."""
    access.kept(owner, STANDING)[owner] = UNDECIDED if row is None else standing_of(row)


class SqliteStandings(Standings):
    def __init__(self, access: Access) -> None:
        self._access = access

    def get(self, scope: Scope) -> Standing:
        owner = self._access.owner(scope)
        if owner is None:
            return UNDECIDED
        # A snapshot does not move, and a recall asks three times.
        kept = self._access.kept(owner, STANDING)
        if owner not in kept:
            found = self._access.rows(f"SELECT {STANDING_COLUMNS} FROM standing WHERE owner = ?", (owner,))
            kept[owner] = standing_of(found[0]) if found else UNDECIDED
        standing: Standing = kept[owner]
        return standing

    def set(self, scope: Scope, standing: Standing) -> None:
        owner = self._access.make_owner(scope)
        self._access.change("DELETE FROM standing WHERE owner = ?", (owner,))
        if standing == UNDECIDED:
            return
        sql = f"INSERT INTO standing (owner, {STANDING_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)"
        self._access.change(sql, (owner, *standing_row(standing)))
