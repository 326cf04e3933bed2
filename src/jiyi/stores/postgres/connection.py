"""Reaching a PostgreSQL server the way jiyi uses it: what a URL means, a pool, and how each transaction begins."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote

from jiyi.errors import MissingExtra, SettingsError, StoreBusy, StoreClosed, StoreError
from jiyi.settings import PostgresPolicy

try:
    import psycopg
    from psycopg import sql
    from psycopg.conninfo import conninfo_to_dict
    from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout
except ImportError as error:
    raise MissingExtra("psycopg, which PostgreSQL is reached with,", "postgres") from error

from jiyi.stores.numbering import Row
from jiyi.stores.postgres.access import store_error

OLDEST_SERVER = 150_000
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
    return {
        "autocommit": True,
        "prepare_threshold": None,  # A pooler between us and the server may hand each transaction to another backend.
        "connect_timeout": max(1, round(place.policy.connect_seconds)),
        "client_encoding": "utf8",
        "application_name": "jiyi",
    }


def _unreachable(place: Place, error: psycopg.Error) -> StoreError:
    said = " ".join(str(error).split())
    if "authentication" in said or "password" in said:
        advice = "check the user, and the password in the address, in PGPASSWORD or in ~/.pgpass"
    elif re.search(r"\brole .* does not exist", said):
        advice = "name a user of the server in the address, or make this one: CREATE ROLE … LOGIN"
    elif "does not exist" in said:
        advice = "make the database first: CREATE DATABASE …"
    else:
        advice = "start the server, or correct the address"
    return StoreError(f"{place.shown} cannot be reached ({said}): {advice}")


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
    """Connections that are used in turn, for all threads of a process."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._pool = ConnectionPool(
            place.url,
            kwargs=_options(place),
            min_size=0,
            max_size=place.policy.pool_size,
            timeout=place.policy.wait_seconds,
            check=ConnectionPool.check_connection,
            name="jiyi",
            open=True,
        )

    def take(self) -> psycopg.Connection[Row]:
        """Raises: StoreClosed. StoreBusy: all are in use, or the server is away, for `wait_seconds`."""
        try:
            return self._pool.getconn()
        except PoolClosed:
            raise StoreClosed from None
        except PoolTimeout:
            raise StoreBusy(
                f"no connection to {self._place.shown} within {self._place.policy.wait_seconds:.0f} seconds: is the server "
                f"up? If it is, all {self._place.policy.pool_size} are in use: raise postgres.pool_size"
            ) from None
        except psycopg.Error as error:
            raise store_error(error) from error

    def give_back(self, connection: psycopg.Connection[Row]) -> None:
        self._pool.putconn(connection)

    def close(self) -> None:
        self._pool.close()
