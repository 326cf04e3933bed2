"""What each user decided about their memory as a whole, in SQLite: one row a user who decided something."""

from __future__ import annotations

from jiyi.domain.encoding import instant, micros, optional_instant, optional_micros
from jiyi.domain.scope import Scope
from jiyi.domain.standing import UNDECIDED, Consent, Detail, Standing
from jiyi.ports import Standings
from jiyi.stores.encoding import damage
from jiyi.stores.sqlite.access import Access, Row


class SqliteStandings(Standings):
    def __init__(self, access: Access) -> None:
        self._access = access

    def get(self, scope: Scope) -> Standing:
        owner = self._access.owner(scope)
        sql = "SELECT detail, detail_at, paused_at, consent, notice, consent_at FROM standing WHERE owner = ?"
        found = self._access.rows(sql, (owner,))
        return _standing(found[0]) if found else UNDECIDED

    def set(self, scope: Scope, standing: Standing) -> None:
        owner, consent = self._access.make_owner(scope), standing.consent
        self._access.change("DELETE FROM standing WHERE owner = ?", (owner,))
        if standing == UNDECIDED:
            return
        said = (None, None, None) if consent is None else (consent.given, consent.notice, micros(consent.at))
        self._access.change(
            "INSERT INTO standing (owner, detail, detail_at, paused_at, consent, notice, consent_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (owner, standing.detail, optional_micros(standing.detail_at), optional_micros(standing.paused_at), *said),
        )


@damage
def _standing(row: Row) -> Standing:
    detail, detail_at, paused_at, given, notice, consent_at = row
    consent = None if given is None else Consent(bool(given), notice, instant(consent_at))
    return Standing(
        None if detail is None else Detail(detail), optional_instant(detail_at), optional_instant(paused_at), consent
    )
