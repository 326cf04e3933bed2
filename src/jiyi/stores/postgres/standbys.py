"""Reading from standbys (SPEC O2): a snapshot of theirs will do where it holds the version of the scope that it has to.

What this process wrote has to be there. What others wrote has to be there as it was `staleness_seconds` ago: so long an answer of
the primary, which version that is, is good for.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from jiyi.domain.scope import Scope
from jiyi.errors import SettingsError, StoreError
from jiyi.ports import Check
from jiyi.stores.numbering import Row
from jiyi.stores.postgres.connection import Place, Pool, connect

PAUSE = 2.0
"""Seconds without asking standbys of which none answered, or which gave a snapshot up."""
MAX_SCOPES = 100_000
ROOM_SECONDS = 0.05
"""Rather than wait longer for a connection to a standby, the primary is asked."""

SERVER = re.compile(r"(?P<host>\[[^\]]+\]|[^:\s]+)(?::(?P<port>\d+))?")

log = logging.getLogger("jiyi.postgres")


def standbys_of(place: Place) -> Place | None:
    """Where the standbys of a database are, if there are any to read from.

    Raises:
        SettingsError: they cannot be read.
    """
    servers = [SERVER.fullmatch(one.strip()) for one in place.policy.standbys.split(",") if one.strip()]
    if not servers:
        return None
    if any(server is None for server in servers):
        raise SettingsError(
            f"postgres.standbys = {place.policy.standbys!r}: write HOST or HOST:PORT, several with commas between"
        )
    hosts, ports = zip(
        *((server["host"].strip("[]"), server["port"] or "5432") for server in servers if server), strict=True
    )
    url = make_conninfo(
        place.url, host=",".join(hosts), port=",".join(ports), target_session_attrs="any", load_balance_hosts="random"
    )
    return Place(url, replace(place.policy, away_seconds=0.0, wait_seconds=ROOM_SECONDS))


def check_standbys(place: Place) -> Iterator[Check]:
    """*Operator.* Whether each standby answers, and how much of the log it has still to take over."""
    given = conninfo_to_dict(place.url)
    for host, port in zip(str(given["host"]).split(","), str(given["port"]).split(","), strict=True):
        name = f"standby {host}:{port}"
        try:
            with closing(connect(replace(place, url=make_conninfo(place.url, host=host, port=port)))) as connection:
                row = connection.execute(_BEHIND).fetchone()
        except StoreError as error:
            yield Check(name, ok=False, detail=str(error), fix="start it, or take it out of postgres.standbys")
            continue
        follows, behind = row or (False, 0)
        yield Check(
            name,
            ok=True,
            detail=f"{behind:,} bytes behind what it received" if follows else "is no standby, and read all the same",
        )


_BEHIND = """
    SELECT pg_is_in_recovery(),
           coalesce(pg_wal_lsn_diff(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()), 0)::bigint
"""


class Standbys:
    """The standbys of one database, and which version of which scope a snapshot of theirs must have."""

    def __init__(self, place: Place) -> None:
        self.pool = Pool(place)
        self._seconds = place.policy.staleness_seconds
        self._lock = threading.Lock()
        self._needed: OrderedDict[Scope, tuple[int, float]] = OrderedDict()
        self._rests_until = 0.0

    def begin(self, statement: str) -> psycopg.Connection[Row] | None:
        """A connection on which a reading unit has begun; none where no standby answers, or all are busy."""
        if time.monotonic() < self._rests_until:
            return None
        try:
            return self.pool.begin(statement)
        except StoreError as error:
            log.warning("no standby answers, the primary is read (%s)", type(error).__name__)
            self.rest()
            return None

    def rest(self) -> None:
        """Leave them alone for a while."""
        self._rests_until = time.monotonic() + PAUSE

    def needed(self, scope: Scope) -> int | None:
        """The version that a snapshot must have; None where the primary must be asked."""
        with self._lock:
            version, at = self._needed.get(scope, (0, float("-inf")))
        return version if time.monotonic() - at <= self._seconds else None

    def asked(self, scope: Scope, version: int, at: float) -> None:
        """The primary had this version at that moment."""
        with self._lock:
            before, _ = self._needed.pop(scope, (0, at))
            self._needed[scope] = (max(before, version), at)
            while len(self._needed) > MAX_SCOPES:
                self._needed.popitem(last=False)

    def written(self, scope: Scope, version: int | None) -> None:
        """This process has just written this version; or something perhaps, so that the primary must be asked."""
        if version is not None:
            self.asked(scope, version, time.monotonic())
        else:
            with self._lock:
                self._needed.pop(scope, None)
