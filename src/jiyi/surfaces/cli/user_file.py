"""`jiyi profile --write USER.md` and `--read USER.md`: the profile as a file to edit (SPEC B7)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from jiyi.domain.memory import Language
from jiyi.domain.read_back import Edit, Said
from jiyi.pipelines.user_file import ReadProfile
from jiyi.surfaces.cli.calls import Call
from jiyi.surfaces.cli.output import Line, counted
from jiyi.surfaces.cli.wording import Document, receipt_document, receipt_lines

TOLD = {
    Said.CORRECTED: "corrected",
    Said.ADDED: "new",
    Said.REJECTED: "deleted, so it is rejected",
    Said.DISPUTED: "changed here and in memory: both are kept, `jiyi questions` asks which holds",
    Said.DOUBTED: "deleted here and changed in memory: it is kept, `jiyi questions` asks about it",
}


def write_file(call: Call, path: Path, language: Language | None, *, force: bool) -> None:
    with call.layer() as layer:
        call.work(layer)
        written = call.of(layer).write_profile(path, language=language, overwrite=force)
    count = len(written.profile.lines)
    call.out.show(
        {"file": str(path), "lines": count},
        [f"wrote {counted(count, 'line')} to {path}: edit it, then `jiyi profile --read {path}`"],
    )


def read_file(call: Call, path: Path, *, dry_run: bool) -> None:
    with call.layer() as layer:
        call.work(layer)
        me = call.of(layer)
        found = me.read_profile(path, dry_run=dry_run)
        call.work(layer)
        document = {
            **receipt_document(found.receipt, me, call.zone, dry_run=dry_run),
            "file": str(path),
            "edits": [_document(edit) for edit in found.edits],
            "ignored_lines": list(found.ignored),
        }
    if found.ignored:
        numbers = ", ".join(map(str, found.ignored))
        call.out.note(f"left alone, since only lists (“- …”) are read: line {numbers}")
    if found.receipt.plan_id:
        call.out.note(f"`jiyi profile --write {path}` brings the file up to date")
    call.out.show(document, _lines(found, dry_run=dry_run))


def _document(edit: Edit) -> Document:
    line = edit.line
    return {
        "said": edit.said.value,
        "line": None if line is None else line.number,
        "text": None if line is None else line.text,
        "memory": None if edit.memory is None else edit.memory.id,
    }


def _lines(found: ReadProfile, *, dry_run: bool) -> Iterator[Line]:
    for edit in found.edits:
        where = f"line {edit.line.number}" if edit.line is not None else "gone"
        what = [edit.memory.id] if edit.memory is not None else []
        words = edit.line.text if edit.line is not None else edit.memory.text if edit.memory is not None else ""
        yield f"{'  '.join([where, *what])}  {words}  ({TOLD[edit.said]})"
    yield from receipt_lines(found.receipt, "this would change" if dry_run else "read back")
