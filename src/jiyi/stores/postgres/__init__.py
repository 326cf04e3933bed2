"""PostgreSQL as a store, by way of the extra `postgres`."""

from jiyi.errors import MissingExtra

try:
    import psycopg as psycopg
except ImportError as error:
    raise MissingExtra("psycopg, which PostgreSQL is reached with,", "postgres") from error
