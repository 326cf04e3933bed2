"""From a path to bytes: a plain file, an export folder or its zip."""

from __future__ import annotations

import io
import lzma
import re
import stat
import struct
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from jiyi.errors import UnreadableFile

# ChatGPT writes one file, or numbered ones when the archive is large.
_CONVERSATIONS = re.compile(r"conversations(?:[-_ ]?\d+)?\.json", re.IGNORECASE)

_ZIP_STARTS = (b"PK\x03\x04", b"PK\x05\x06")
_ENCRYPTED = 0x1

# What the zip readers of the standard library raise on damaged archives.
_DAMAGED = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error,
    EOFError, OSError, RuntimeError, NotImplementedError, ValueError, OverflowError,
)  # fmt: skip


def read_parts(path: Path, limit: int) -> list[tuple[Path, bytes]]:
    """The files to parse, each with the path that errors name; more than one only for a split export.

    Args:
        limit: bytes of all of them together, unpacked.

    Raises:
        UnreadableFile: not there, not readable, not a file, too large, or an archive without conversations.
    """
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            found = sorted(p for p in path.iterdir() if _CONVERSATIONS.fullmatch(p.name) and p.is_file())
            if not found:
                raise UnreadableFile(path, "is a folder without conversations.json: name the file to import")
            return _plain(found, limit)
        if not stat.S_ISREG(mode):
            raise UnreadableFile(path, "is neither a file nor a folder")
        ((_, data),) = _plain([path], limit)
    except OSError as error:
        raise UnreadableFile(path, f"cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        if isinstance(error, UnreadableFile):
            raise
        raise UnreadableFile(repr(str(path)), "is no path of a file") from None
    return _unzipped(path, data, limit) if data.startswith(_ZIP_STARTS) else [(path, data)]


def _plain(paths: list[Path], limit: int) -> list[tuple[Path, bytes]]:
    parts: list[tuple[Path, bytes]] = []
    left = limit
    for path in paths:
        with path.open("rb") as file:
            data = file.read(left + 1)
        left = _spent(path, left, len(data), limit)
        parts.append((path, data))
    return parts


def _unzipped(path: Path, data: bytes, limit: int) -> list[tuple[Path, bytes]]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [m for m in archive.infolist() if _CONVERSATIONS.fullmatch(PurePosixPath(m.filename).name)]
            members.sort(key=lambda m: m.filename)
            if not members:
                raise UnreadableFile(path, "the archive holds no conversations.json")
            if any(m.flag_bits & _ENCRYPTED for m in members):
                raise UnreadableFile(path, "the archive is encrypted: unpack it and import the folder")
            parts: list[tuple[Path, bytes]] = []
            left = limit
            for member in members:
                with archive.open(member) as file:
                    # What the directory says about sizes may be a lie, so count what comes out.
                    content = file.read(left + 1)
                left = _spent(path, left, len(content), limit)
                parts.append((Path(f"{path}/{member.filename}"), content))
    except UnreadableFile:
        raise
    except _DAMAGED as error:
        raise UnreadableFile(path, f"the archive is damaged ({error}): download it again") from None
    return parts


def _spent(path: Path, left: int, size: int, limit: int) -> int:
    if size > left:
        raise UnreadableFile(path, f"holds more than {limit / 1024 / 1024:g} MB of text, the limit: split it first")
    return left - size
