"""Numbered plain SQL files, applied once each and never edited after release (SPEC O4).

`NNNN_name.sql` goes forward, `NNNN_name.down.sql` beside it goes back. 0001–0099 belong to the core. This
module reads and judges them; applying is each database's own.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

from jiyi.errors import MigrationError

_NAME = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the schema. `down` is None where there is no way back."""

    number: int
    name: str
    up: str
    down: str | None

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.up.encode()).hexdigest()

    def __str__(self) -> str:
        return f"{self.number:04d}_{self.name}"


@dataclass(frozen=True, slots=True)
class Applied:
    """What a database says it has had."""

    number: int
    name: str
    sha256: str


def shipped_migrations(dialect: str) -> tuple[Migration, ...]:
    """Those that come with this version of jiyi, for `sqlite` or another dialect."""
    return load_migrations(files("jiyi.stores") / "sql" / dialect)


def load_migrations(folder: Traversable) -> tuple[Migration, ...]:
    """The migrations in a folder, by number.

    Raises:
        MigrationError: two files have one number, or a way back leads from nowhere.
    """
    texts = {f.name: f.read_text(encoding="utf-8").replace("\r\n", "\n") for f in folder.iterdir() if _is_sql(f)}
    downs = {name: text for name, text in texts.items() if name.endswith(".down.sql")}
    migrations: dict[int, Migration] = {}
    for name in sorted(texts.keys() - downs.keys()):
        match = _NAME.fullmatch(name)
        if match is None:
            raise MigrationError(f"{name} is not called like 0001_name.sql: rename it")
        migration = Migration(int(match[1]), match[2], texts[name], downs.pop(f"{name[:-4]}.down.sql", None))
        if migration.number in migrations:
            raise MigrationError(
                f"{migrations[migration.number]} and {migration} have one number: renumber the later one"
            )
        migrations[migration.number] = migration
    if downs:
        raise MigrationError(f"{', '.join(sorted(downs))}: there is no migration of that name to go back from")
    return tuple(migrations[number] for number in sorted(migrations))


def _is_sql(file: Traversable) -> bool:
    return file.is_file() and file.name.endswith(".sql")


def check_applied(known: Sequence[Migration], applied: Sequence[Applied]) -> None:
    """Make sure that a database was built by migrations that we know, as we know them.

    Raises:
        MigrationError: a newer jiyi has been here, or a migration was edited after it was applied.
    """
    by_number: Mapping[int, Migration] = {migration.number: migration for migration in known}
    for past in applied:
        migration = by_number.get(past.number)
        if migration is None:
            raise MigrationError(
                f"this database has had migration {past.number:04d}_{past.name}, which this jiyi does not know: "
                "update jiyi, or restore the backup that was made before the migration"
            )
        if migration.sha256 != past.sha256:
            raise MigrationError(
                f"migration {migration} is not the one that this database was built with: it was edited after release. "
                "Install the released jiyi again"
            )


def pending(known: Sequence[Migration], applied: Sequence[Applied]) -> tuple[Migration, ...]:
    """What is still to be done, in order. Raises as `check_applied`."""
    check_applied(known, applied)
    done = {past.number for past in applied}
    return tuple(migration for migration in known if migration.number not in done)


def way_back(known: Sequence[Migration], applied: Sequence[Applied], to: int) -> tuple[Migration, ...]:
    """What has to be undone to come down to number `to`, the latest first.

    Raises:
        MigrationError: one of them has no way back, or as `check_applied`.
    """
    check_applied(known, applied)
    done = {past.number for past in applied}
    steps = tuple(m for m in reversed(known) if m.number in done and m.number > to)
    for migration in steps:
        if migration.down is None:
            raise MigrationError(f"there is no way back from {migration}: restore a backup made before it")
    return steps
