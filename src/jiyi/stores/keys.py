"""The keys of redacted values: a file of their own beside the database, which only its owner may read (SPEC C11).

A line is a key: `k1 <64 hexadecimal digits>`; the highest is current, older ones stay for comparing. The database keeps
the fingerprints of its keys, so that a lost or foreign key file is noticed; it never keeps a key.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from jiyi.errors import StoreError
from jiyi.ports import Check, Keys, Store
from jiyi.text.redaction import Key

KNOWN = "redaction_keys"
"""What the database stores of its keys: `k1:fingerprint k2:fingerprint`."""
PRIVATE = 0o600

_LINE = re.compile(r"(k\d{1,4}) ([0-9a-f]{64})")
_HEAD = "# Keys of the redacted values in the database beside this file. Keep it private, and with its backups.\n"


def key_file(database: Path) -> Path:
    """`memory.db` → `memory.db.key`."""
    return database.with_name(f"{database.name}.key")


class MemoryKeys(Keys):
    """Keys that are gone with the process: for the in-memory store."""

    def __init__(self) -> None:
        self._keys: tuple[Key, ...] = (_new_key(1),)

    def all(self) -> Sequence[Key]:
        return self._keys

    def rotate(self) -> Key:
        self._keys += (_new_key(_number(self._keys[-1]) + 1),)
        return self._keys[-1]

    def copy_to(self, target: str) -> None:
        """There is nothing to copy: a backup of an in-memory store lives in the same process."""

    def check(self) -> Iterator[Check]:
        yield Check("redaction key", True, "in memory, gone when closed")

    def accept_loss(self) -> list[str]:
        return []


class FileKeys(Keys):
    """The keys of one database file. Made when there are none; make it with `open_keys`."""

    def __init__(self, file: Path, store: Store) -> None:
        self._file, self._store = file, store
        self._lock = threading.Lock()
        known = _known(store)
        keys = read_keys(file) if file.exists() else ()
        if any(known.get(key.id, key.fingerprint) != key.fingerprint for key in keys):
            # It belongs to another database. Nothing of it is lost, and nothing here is hashed with it.
            file.replace(_free_name(file.with_name(f"{file.name}.other")))
            keys = ()
        if not keys:
            keys = self._make(_new_key(1 + max(map(_number_of, known), default=0)))
        self._keys = keys
        self._note(keys)

    def all(self) -> Sequence[Key]:
        return self._keys

    def rotate(self) -> Key:
        with self._lock:
            # Read again: another process may have rotated meanwhile.
            keys = read_keys(self._file) if self._file.exists() else self._keys
            numbers = [_number(key) for key in keys] + [_number_of(name) for name in _known(self._store)]
            keys = (*keys, _new_key(max(numbers) + 1))
            _write(self._file, keys)
            self._keys = keys
            self._note(keys)
        return keys[-1]

    def copy_to(self, target: str) -> None:
        _write(key_file(Path(target).expanduser().absolute()), self._keys)

    def check(self) -> Iterator[Check]:
        yield from check_keys(self._file, _known(self._store))

    def accept_loss(self) -> list[str]:
        """*Operator.* Stop asking for keys that are gone for good; says which."""
        lost = sorted(_known(self._store).keys() - {key.id for key in self._keys})
        if lost:
            self._store.set_meta(KNOWN, _noted(self._keys))
        return lost

    def _make(self, key: Key) -> tuple[Key, ...]:
        """Of two processes that make the file at once, both use the one that came first."""
        part = _part_of(self._file, (key,))
        try:
            os.link(part, self._file)
        except FileExistsError:
            return read_keys(self._file)
        except OSError:
            part.replace(self._file)  # a file system without hard links
        finally:
            part.unlink(missing_ok=True)
        return (key,)

    def _note(self, keys: Sequence[Key]) -> None:
        known = _known(self._store)
        if {key.id for key in keys} - known.keys():
            noted = known | {key.id: key.fingerprint for key in keys}
            self._store.set_meta(KNOWN, " ".join(f"{name}:{print_}" for name, print_ in noted.items()))


def open_keys(store: Store, database: Path | None) -> Keys:
    """The keys of a database; a new one where there are none, so that nothing is stored unredacted.

    Raises:
        StoreError: the key file cannot be read, or cannot be made.
    """
    return MemoryKeys() if database is None else FileKeys(key_file(database), store)


def read_keys(file: Path) -> tuple[Key, ...]:
    """The keys of a file, the oldest first.

    Raises:
        StoreError: it cannot be read, or holds something else.
    """
    try:
        lines = file.read_text("ascii").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(
            f"the key file {file} cannot be read ({error}): make it readable for you, or bring it back from a backup"
        ) from error
    found = [_LINE.fullmatch(line) for line in lines if line.strip() and not line.startswith("#")]
    keys = tuple(sorted((Key(m[1], bytes.fromhex(m[2])) for m in found if m is not None), key=_number))
    if len(keys) != len(found) or not keys or len({k.id for k in keys}) != len(keys):
        raise StoreError(
            f"{file} is no key file of jiyi: bring it back from a backup, or move it away to begin with a new key"
        )
    return keys


def check_keys(file: Path, known: Mapping[str, str]) -> Iterator[Check]:
    """*Operator.* Whether the key file is there, private, readable, and holds the keys that the database has used."""
    name, here = "redaction key", f"put its line back into {file} from the key file of a backup"
    try:
        keys = read_keys(file)
    except StoreError as error:
        yield Check(name, False, str(error), f"bring {file} back from a backup")
        return
    if os.name == "posix" and (mode := stat.S_IMODE(file.stat().st_mode)) & 0o077:
        yield Check(
            name, False, f"{file} is open to other users ({mode:04o})", f"`chmod 600 {file}`, or `jiyi doctor --fix`"
        )
        return
    lost = [n for n in known if n not in {k.id for k in keys if known.get(k.id) in (None, k.fingerprint)}]
    if lost:
        detail = f"{', '.join(lost)} is not in {file}: values redacted with it can no longer be compared with new ones"
        yield Check(name, False, detail, f"{here}, or accept the loss with `jiyi doctor --fix`")
        return
    older = f", {len(keys) - 1} older for comparing" if len(keys) > 1 else ""
    yield Check(name, True, f"{keys[-1].id} in {file}{older}")


def copy_keys(source: Path, target: Path) -> None:
    """Copy the keys of one database file to another's place; a key file that is there already is overwritten.

    Where the source has none, the target keeps what it has.
    """
    if key_file(source).exists():
        _write(key_file(target), read_keys(key_file(source)))


def _known(store: Store) -> dict[str, str]:
    return dict(entry.split(":", 1) for entry in (store.meta(KNOWN) or "").split())


def _noted(keys: Sequence[Key]) -> str:
    return " ".join(f"{key.id}:{key.fingerprint}" for key in keys)


def _new_key(number: int) -> Key:
    return Key(f"k{number}", secrets.token_bytes(32))


def _number(key: Key) -> int:
    return _number_of(key.id)


def _number_of(name: str) -> int:
    return int(name[1:])


def _write(file: Path, keys: Sequence[Key]) -> None:
    _part_of(file, keys).replace(file)


def _part_of(file: Path, keys: Sequence[Key]) -> Path:
    """The keys in a private file beside `file`, safe on disk: no reader ever sees half a key file."""
    part = file.with_name(f"{file.name}.{secrets.token_hex(4)}.part")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE)
        with os.fdopen(handle, "w", encoding="ascii") as out:
            out.write(_HEAD + "".join(f"{key.id} {key.secret.hex()}\n" for key in keys))
            out.flush()
            os.fsync(handle)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise StoreError(
            f"the key file {file} cannot be written ({error.strerror}): choose a place you may write to"
        ) from error
    return part


def _free_name(path: Path) -> Path:
    number, free = 1, path
    while free.exists():
        number += 1
        free = path.with_name(f"{path.name}.{number}")
    return free
