"""Reaching a PostgreSQL server the way jiyi uses it: what a URL means, a pool, and how each transaction begins."""

from __future__ import annotations

import random
import re
import threading
import time
from dataclasses import dataclass
from urllib.parse import quote

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from jiyi.errors import SettingsError, StoreAway, StoreBusy, StoreClosed, StoreError
from jiyi.settings import PostgresPolicy
from jiyi.stores.numbering import Row
from jiyi.stores.postgres.access import is_lost, store_error

OLDEST_SERVER = 150_000
IDLE_SECONDS = 300.0
"""A connection that nobody needed for so long is closed."""
LEAVING_SECONDS = 1.0
"""How long a server may take to see that a connection was closed."""
NAME_CHARS = 63
"""The server cuts longer names."""
ROLE = "jiyi_app"
"""The role that every unit of work runs as: it owns nothing, so that row-level security holds for it."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a database is. `url` may hold a password; `shown` never does."""

    url: str
    policy: PostgresPolicy

    @property
    def shown(self) -> str:
        given = conninfo_to_dict(self.url)
        hosts = str(given.get("host") or given.get("hostaddr") or "localhost").split(",")
        ports = str(given.get("port") or "5432").split(",")
        ports = ports * len(hosts) if len(ports) == 1 else ports
        user = f"{given['user']}@" if given.get("user") else ""
        where = ",".join(f"{host}:{port or 5432}" for host, port in zip(hosts, ports, strict=False))
        return f"postgresql://{user}{where}/{quote(str(given.get('dbname') or ''))}"

    def __repr__(self) -> str:
        return f"Place({self.shown!r})"


def place_of(url: str, policy: PostgresPolicy) -> Place:
    """Where a database is.

    Raises:
        StoreError: it is no address of a PostgreSQL; what it says is not repeated, a password may be in it.
        SettingsError: the schema has no plain name.
    """
    if not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", policy.schema):
        raise SettingsError(f"postgres.schema = {policy.schema!r}: use small letters, digits and underscores")
    try:
        conninfo_to_dict(url)
    except psycopg.Error:
        raise StoreError(
            "the address of the database cannot be read: write postgresql://USER@HOST:PORT/DATABASE, with special "
            "characters of the password as %XX, or the password in PGPASSWORD or ~/.pgpass"
        ) from None
    return Place(url, policy)


def connect(place: Place) -> psycopg.Connection[Row]:
    """One connection as the URL's own role, for migrations and care.

    Raises:
        StoreError: the server is away or too old, the password is wrong, there is no such database; says what to do.
    """
    try:
        connection = psycopg.connect(place.url, **_options(place))  # type: ignore[arg-type]
    except psycopg.Error as error:
        raise _unreachable(place, error) from None
    try:
        _check_server(place, connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _options(place: Place) -> dict[str, object]:
    given = conninfo_to_dict(place.url)
    return {name: value for name, value in _keeping_alive(place.policy).items() if name not in given} | {
        "autocommit": True,
        "prepare_threshold": None,  # A pooler between us and the server may hand each transaction to another backend.
        "connect_timeout": max(1, round(place.policy.connect_seconds)),
        "client_encoding": "utf8",
        "application_name": _application(place),
    }


def _application(place: Place) -> str:
    """What our connections are called on the server: by it others find out who has a memory open."""
    schema = place.policy.schema
    return "jiyi" if schema == PostgresPolicy().schema else f"jiyi {schema}"[:NAME_CHARS]


def check_unused(connection: psycopg.Connection[Row], place: Place) -> None:
    """Make sure that nobody has the memory open, before it becomes another: who has would go on with the secret of the old one.

    Raises:
        StoreBusy: somebody has, also after a moment.
    """
    others = """
        SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = %s AND pid <> pg_backend_pid()
    """
    give_up = time.monotonic() + LEAVING_SECONDS
    while True:
        [(count,)] = connection.execute(others, (_application(place),)).fetchall()
        if not count:
            return
        if time.monotonic() > give_up:
            raise StoreBusy(
                f"{place.shown} is open in another program ({count} connections of jiyi): stop services and workers that use "
                "it, and close what a pooler keeps, then do this again"
            )
        time.sleep(0.05)


def _keeping_alive(policy: PostgresPolicy) -> dict[str, int]:
    """So that a machine that is gone without a word is noticed: by itself TCP asks after two hours."""
    seconds = max(3, round(policy.silent_seconds))
    return {
        "keepalives_idle": seconds - 2 * (seconds // 3),
        "keepalives_interval": seconds // 3,
        "keepalives_count": 2,
        "tcp_user_timeout": 1000 * seconds,
    }


def _unreachable(place: Place, error: psycopg.Error) -> StoreError:
    kind: type[StoreError] = StoreError
    said = " ".join(str(error).split())
    if "authentication" in said or "password" in said:
        advice = "check the user, and the password in the address, in PGPASSWORD or in ~/.pgpass"
    elif re.search(r"\brole .* does not exist", said):
        advice = "name a user of the server in the address, or make this one: CREATE ROLE … LOGIN"
    elif "does not exist" in said:
        advice = "make the database first: CREATE DATABASE …"
    else:
        kind, advice = StoreAway, "start the server, or correct the address"
    return kind(f"{place.shown} cannot be reached ({said}): {advice}")


def _check_server(place: Place, connection: psycopg.Connection[Row]) -> None:
    version = connection.info.server_version
    if version < OLDEST_SERVER:
        raise StoreError(
            f"{place.shown} is PostgreSQL {version // 10_000}, jiyi needs {OLDEST_SERVER // 10_000} or newer: upgrade the server"
        )
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise StoreError(
            f"{place.shown} stores text as {encoding}: make a database with ENCODING 'UTF8', which holds every language"
        )


def begin_statement(place: Place, *, writable: bool, durable: bool) -> str:
    """How a unit of work begins, in one round trip. All of it ends with the transaction, so a pooler may stand between, and
    a scope that was entered, or forged, before is left."""
    kind = "ISOLATION LEVEL READ COMMITTED" if writable else "ISOLATION LEVEL REPEATABLE READ READ ONLY"
    milliseconds = round(place.policy.statement_seconds * 1000)
    statements = [
        f"BEGIN {kind}",
        f"SET LOCAL ROLE {ROLE}",
        f"SET LOCAL search_path TO {sql.Identifier(place.policy.schema).as_string()}, pg_temp",
        "SET LOCAL jiyi.owner TO ''",
        "SET LOCAL jiyi.operator TO ''",
        f"SET LOCAL statement_timeout TO {milliseconds}",
    ]
    if writable and not durable:
        statements.append("SET LOCAL synchronous_commit TO off")
    elif writable:
        # The server may not wait by default; where it waits for standbys too, that stays.
        statements.append(
            "SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'"
        )
    return "; ".join(statements)


class Pool:
    """Connections that are used in turn, for all threads of a process. The thread that needs one makes it, so that what is wrong
    is told to whoever asked."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._free: list[tuple[psycopg.Connection[Row], float]] = []
        """The one that was used last comes last, with when that was."""
        self._room = threading.BoundedSemaphore(place.policy.pool_size)
        self._lock = threading.Lock()
        self._closed = False

    def begin(self, statement: str) -> psycopg.Connection[Row]:
        """A connection on which a unit of work has begun. One that was lost is made anew; while the server is away, for
        `away_seconds`, until it or another of the address takes one.

        Raises:
            StoreClosed. StoreBusy: all are in use for `wait_seconds`. StoreAway: no server. StoreError: it refuses us.
        """
        policy = self._place.policy
        if not self._room.acquire(timeout=policy.wait_seconds):
            raise StoreBusy(
                f"all {policy.pool_size} connections to {self._place.shown} were in use for {policy.wait_seconds:.0f} "
                "seconds: raise postgres.pool_size"
            )
        try:
            return self._begun(statement)
        except BaseException:
            self._room.release()
            raise

    def _begun(self, statement: str) -> psycopg.Connection[Row]:
        give_up, pause = time.monotonic() + self._place.policy.away_seconds, 0.02
        while True:
            kept = self._kept()
            connection = kept
            try:
                connection = connection or psycopg.connect(self._place.url, **_options(self._place))  # type: ignore[arg-type]
                connection.execute(statement)
            except psycopg.Error as error:
                if connection is not None:
                    connection.close()
                if connection is not None and not is_lost(error):
                    raise store_error(error) from error
                failed = _unreachable(self._place, error)
                if not isinstance(failed, StoreAway) or (kept is None and time.monotonic() > give_up):
                    raise failed from None
            else:
                return connection
            if kept is None:
                time.sleep(random.uniform(pause / 2, pause))
                pause = min(2 * pause, 1.0)

    def _kept(self) -> psycopg.Connection[Row] | None:
        with self._lock:
            if self._closed:
                raise StoreClosed
            return self._free.pop()[0] if self._free else None

    def give_back(self, connection: psycopg.Connection[Row]) -> None:
        now, idle = time.monotonic(), list[psycopg.Connection[Row]]()
        with self._lock:
            if not self._closed and not connection.closed:
                self._free.append((connection, now))
            else:
                idle.append(connection)
            if self._free and self._free[0][1] < now - IDLE_SECONDS:
                idle.append(self._free.pop(0)[0])
        self._room.release()
        for one in idle:
            one.close()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            free, self._free = self._free, []
        for connection, _ in free:
            connection.close()
