"""Tombstones and receipts in a file of their own beside the database, so that an old backup that is put in its place
forgets again (SPEC F6). The file holds hashes, instants and counts, no words; only its owner may read it.

    memory.db.forgotten     a comment, a line that says of which database it is and how much there is, then JSON lines
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import stat
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jiyi.domain.encoding import instant, micros, optional_instant, optional_micros, to_json
from jiyi.domain.forgetting import Copy, ForgettingReceipt, Mark, Reach, Remains, Tombstone
from jiyi.domain.scope import Scope
from jiyi.errors import StoreError
from jiyi.ports import Carried, Check

PRIVATE = 0o600
_HEAD = "# What was forgotten in the database beside this file, as keyed hashes. Keep it with the database.\n"


def forgotten_file(database: Path) -> Path:
    """`memory.db` → `memory.db.forgotten`."""
    return database.with_name(f"{database.name}.forgotten")


class NothingCarried(Carried):
    """For the in-memory store: what it forgot goes with the process."""

    def size(self) -> tuple[int, int]:
        return 0, 0

    def load(self) -> Mapping[Scope, Remains]:
        return {}

    def save(self, remains: Mapping[Scope, Remains]) -> None:
        """There is nothing to keep it in."""

    def copy_to(self, target: str) -> None:
        """There is nothing to copy."""

    def siblings(self) -> list[Copy]:
        return []

    def still_there(self, copies: Sequence[Copy]) -> tuple[Copy, ...]:
        return tuple(copies)

    def check(self) -> Iterator[Check]:
        return iter(())


class FileCarried(Carried):
    """The file of one database. A file of another database in its place is moved aside."""

    def __init__(self, database: Path, secret: bytes) -> None:
        self._database, self._file = database, forgotten_file(database)
        self._owner = fingerprint(secret)
        if self._file.exists() and _header(self._file)["database"] != self._owner:
            self._file.replace(_free_name(self._file.with_name(f"{self._file.name}.other")))

    def size(self) -> tuple[int, int]:
        if not self._file.exists():
            return 0, 0
        head = _header(self._file)
        return head["receipts"], head["tombstones"]

    def load(self) -> Mapping[Scope, Remains]:
        return read_remains(self._file) if self._file.exists() else {}

    def save(self, remains: Mapping[Scope, Remains]) -> None:
        if remains or self._file.exists():
            write_remains(self._file, self._owner, remains)

    def copy_to(self, target: str) -> None:
        if self._file.exists():
            write_remains(forgotten_file(Path(target).expanduser().absolute()), self._owner, self.load())

    def siblings(self) -> list[Copy]:
        found = sorted(self._database.parent.glob(f"{self._database.name}.before-*"))
        files = [f for f in found if f.suffix not in (".key", ".forgotten") and not f.name.endswith(("-wal", "-shm"))]
        return [Copy("backup", str(f), datetime.fromtimestamp(f.stat().st_mtime, UTC)) for f in files]

    def still_there(self, copies: Sequence[Copy]) -> tuple[Copy, ...]:
        # A database that was moved away and back may lie where a copy of it lay.
        return tuple(c for c in copies if Path(c.path).exists() and Path(c.path) != self._database)

    def check(self) -> Iterator[Check]:
        if not self._file.exists():
            return
        if os.name == "posix" and (mode := stat.S_IMODE(self._file.stat().st_mode)) & 0o077:
            fix = f"`chmod 600 {self._file}`, or `jiyi doctor --fix`"
            yield Check("tombstones", False, f"{self._file} is open to other users ({mode:04o})", fix)
            return
        receipts, tombstones = self.size()
        yield Check("tombstones", True, f"{tombstones} of {receipts} receipts in {self._file}")


def fingerprint(secret: bytes) -> str:
    """Tells databases apart by their secret, and does not tell the secret."""
    return hashlib.blake2b(b"forgotten", key=secret, digest_size=16).hexdigest()


def read_remains(file: Path) -> Mapping[Scope, Remains]:
    """What a file holds.

    Raises:
        StoreError: it cannot be read, or holds something else.
    """
    found: dict[Scope, tuple[list[ForgettingReceipt], list[Tombstone]]] = {}
    with _reading(file):
        for line in file.read_text("utf-8").splitlines()[2:]:
            fields = json.loads(line)
            receipts, stones = found.setdefault(Scope(fields["user"], fields["tenant"]), ([], []))
            if "receipt" in fields:
                receipts.append(_receipt(fields["receipt"]))
            else:
                mark, digest, at, length, receipt = fields["tombstone"]
                stones.append(Tombstone(Mark(mark), bytes.fromhex(digest), instant(at), length, receipt))
    return {scope: Remains(tuple(receipts), tuple(stones)) for scope, (receipts, stones) in found.items()}


def write_remains(file: Path, owner: str, remains: Mapping[Scope, Remains]) -> None:
    """Replace a file as a whole; no reader ever sees half of it.

    Raises:
        StoreError: it cannot be written.
    """
    receipts, stones = (sum(len(part) for part in parts) for parts in _parts(remains))
    head = to_json({"database": owner, "receipts": receipts, "tombstones": stones})
    part = file.with_name(f"{file.name}.{secrets.token_hex(4)}.part")
    try:
        handle = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE)
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(f"{_HEAD}{head}\n")
            out.writelines(f"{to_json(line)}\n" for line in _lines(remains))
            out.flush()
            os.fsync(handle)
        part.replace(file)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise StoreError(
            f"{file} cannot be written ({error.strerror}): what was forgotten is gone from the database, but an old backup "
            "would bring it back; make the folder writable and run `jiyi doctor`"
        ) from error


def carry_beside(source: Path, target: Path, kept: Path | None, secret: bytes) -> None:
    """A backup was put in the place of a database: let the file beside `target` hold what that database forgot, from both
    places. What another database forgot goes with its own file, which is now `kept`."""
    owner, found = fingerprint(secret), dict[Scope, Remains]()
    for file in (forgotten_file(source), forgotten_file(target)):
        if not file.exists() or _header(file)["database"] != owner:
            continue
        for scope, remains in read_remains(file).items():
            found[scope] = remains if scope not in found else found[scope].joined(remains)
    here = forgotten_file(target)
    if here.exists() and kept is not None:
        write_remains(forgotten_file(kept), _header(here)["database"], read_remains(here))
    if here.exists() and _header(here)["database"] != owner:
        here.unlink() if kept is not None else here.replace(_free_name(here.with_name(f"{here.name}.other")))
    if found:
        write_remains(here, owner, found)


# ---------------------------------------------------------------------------------- lines


def _parts(remains: Mapping[Scope, Remains]) -> tuple[list[Sequence[Any]], list[Sequence[Any]]]:
    return [r.receipts for r in remains.values()], [r.tombstones for r in remains.values()]


def _lines(remains: Mapping[Scope, Remains]) -> Iterator[dict[str, Any]]:
    for scope, left in remains.items():
        whose = {"tenant": scope.tenant, "user": scope.user}
        for r in left.receipts:
            yield whose | {"receipt": _receipt_fields(r)}
        for t in left.tombstones:
            yield whose | {"tombstone": [t.mark.value, t.digest.hex(), micros(t.at), t.length, t.receipt]}


def _receipt_fields(receipt: ForgettingReceipt) -> dict[str, Any]:
    return {
        "number": receipt.number,
        "plan": receipt.plan,
        "at": micros(receipt.at),
        "horizon": micros(receipt.horizon),
        "reach": receipt.reach.value,
        "erased": dict(receipt.erased),
        "copies": [[c.kind, c.path, micros(c.at)] for c in receipt.copies],
        "verified_at": optional_micros(receipt.verified_at),
        "returned": receipt.returned,
    }


def _receipt(fields: Mapping[str, Any]) -> ForgettingReceipt:
    return ForgettingReceipt(
        fields["number"],
        fields["plan"],
        instant(fields["at"]),
        instant(fields["horizon"]),
        Reach(fields["reach"]),
        fields["erased"],
        tuple(Copy(kind, path, instant(at)) for kind, path, at in fields["copies"]),
        optional_instant(fields["verified_at"]),
        fields["returned"],
    )


def _header(file: Path) -> Mapping[str, Any]:
    with _reading(file), file.open(encoding="utf-8") as lines:
        next(lines, "")
        head: Mapping[str, Any] = json.loads(next(lines, ""))
        return {"database": str(head["database"])} | {n: int(head[n]) for n in ("receipts", "tombstones")}


@contextlib.contextmanager
def _reading(file: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, LookupError, ValueError, TypeError, OverflowError) as error:
        raise StoreError(
            f"{file} cannot be read ({type(error).__name__}): bring it back from a backup, or move it away, after which "
            "an old backup would bring back what was forgotten since"
        ) from error


def _free_name(path: Path) -> Path:
    number, free = 1, path
    while free.exists():
        number += 1
        free = path.with_name(f"{path.name}.{number}")
    return free
