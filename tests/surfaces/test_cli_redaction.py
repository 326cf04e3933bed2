"""Secrets on the command line: `observe`, `import`, `remember`, `backup`, `restore`, `rotate-key`, `doctor` (SPEC C11)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from random import Random
from typing import Any

from tests.surfaces.cli import Cli, lines
from tests.text import redaction_samples as samples

NUMBER, SECRET = samples.mobile(Random(41)), samples.password(Random(42))
TALK = lines(
    {"role": "user", "content": f"我的手机是{NUMBER}，我住在苏州。", "at": "2026-03-02T09:00:00+08:00"},
    {"role": "assistant", "content": f"好的，{NUMBER}", "at": "2026-03-02T09:00:05+08:00"},
    {"role": "user", "content": f"DB_PASSWORD={SECRET}", "at": "2026-03-02T09:01:00+08:00"},
)


def assert_clean(folder: Path, *apart: str) -> None:
    for file in folder.rglob("*"):
        if file.is_file() and file.name not in apart:
            content = file.read_bytes()
            assert NUMBER.encode() not in content, file
            assert SECRET.encode() not in content, file


def check(document: dict[str, Any], name: str) -> dict[str, Any]:
    return next(c for c in document["checks"] if c["name"] == name)


def test_what_comes_in_over_the_command_line_is_redacted(jiyi: Cli) -> None:
    message = json.dumps({"role": "user", "text": f"call me on {NUMBER}", "id": "a", "at": "2026-03-02T09:00:00+08:00"})
    assert jiyi.json("observe", stdin=message)["new"] == 1
    assert jiyi.json("observe", stdin=message)["new"] == 0
    assert NUMBER not in jiyi("remember", f"门卫的电话是{NUMBER}").stdout
    told = jiyi("history").stdout
    assert "[mobile " in told
    assert NUMBER not in told
    assert_clean(jiyi.home)


def test_an_import_is_redacted_and_the_same_file_brings_nothing_twice(jiyi: Cli) -> None:
    (jiyi.home / "talk.jsonl").write_text(TALK, "utf-8")
    file = str(jiyi.home / "talk.jsonl")
    assert jiyi.json("import", file)["new"] == 3
    assert jiyi.json("import", file)["new"] == 0
    assert jiyi.json("rotate-key") == {"key": "k2"}
    assert jiyi.json("import", file)["new"] == 0
    assert any("苏州" in m["text"] for m in jiyi.json("memories")["memories"])
    assert_clean(jiyi.home, "talk.jsonl")
    # A digest of a raw text is not stored as it is: it could be tried against every number.
    [session] = {s["session"] for s in jiyi.json("sessions")["sessions"]}
    assert "~" not in session
    assert len(jiyi.json("history", "--session", session)["messages"]) == 3


def test_backup_and_restore_take_the_key_along(jiyi: Cli) -> None:
    jiyi("remember", f"门卫的电话是{NUMBER}")
    backup = jiyi.home / "copies" / "copy.db"
    assert f"there is no folder {backup.parent}" in jiyi("backup", str(backup), code=1).stderr
    assert not backup.parent.exists()
    backup.parent.mkdir()
    jiyi("backup", str(backup))
    key = Path(f"{backup}.key").read_bytes()
    assert key == Path(f"{jiyi.database}.key").read_bytes()
    jiyi("rotate-key")
    jiyi("restore", str(backup), "--replace")
    assert Path(f"{jiyi.database}.key").read_bytes() == key
    assert jiyi.json("doctor")["ok"] is True
    assert_clean(jiyi.home)


def test_doctor_looks_at_the_key(jiyi: Cli) -> None:
    jiyi("remember", f"门卫的电话是{NUMBER}")
    key = Path(f"{jiyi.database}.key")
    assert check(jiyi.json("doctor"), "redaction key")["detail"] == f"k1 in {key}"
    if os.name == "posix":
        key.chmod(0o644)
        assert "chmod 600" in check(jiyi.json("doctor", code=1), "redaction key")["fix"]
        jiyi("doctor", "--fix")
        assert key.stat().st_mode & 0o777 == 0o600
    key.unlink()
    sick = check(jiyi.json("doctor", code=1), "redaction key")
    assert "k1 is not in" in sick["detail"]
    assert "backup" in sick["fix"]
    assert "accepted that k1" in jiyi("doctor", "--fix").stdout
    assert check(jiyi.json("doctor"), "redaction key")["detail"] == f"k2 in {key}"
    key.write_text("nonsense")
    assert "no key file" in jiyi("doctor", code=1).stdout


def test_the_policy_is_a_setting(jiyi: Cli) -> None:
    kept = jiyi("remember", f"门卫的电话是{NUMBER}", JIYI_REDACTION__MOBILE="keep").stdout
    assert NUMBER in kept
    assert "keep-own" in jiyi("remember", "x", code=1, JIYI_REDACTION__MOBILE="hide").stderr
    assert "unknown setting" in jiyi("remember", "x", code=1, JIYI_REDACTION__PETS="keep").stderr
