"""The command line on a PostgreSQL database."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.postgres.server import Server
from tests.postgres.stores import one_server
from tests.surfaces.cli import Cli

PASSWORD = "pass" + "wort-77"

pytestmark = one_server


@pytest.fixture
def on(postgres_url: str, tmp_path: Path) -> tuple[Cli, dict[str, str]]:
    """The command line, and the variables that name the database: with a password, which this server does not ask for."""
    url = postgres_url.replace("postgres@", f"postgres:{PASSWORD}@")
    return Cli(tmp_path), {"JIYI_PATH": url, "JIYI_POSTGRES__FOLDER": str(tmp_path / "beside")}


def test_commands_work_as_on_a_file(on: tuple[Cli, dict[str, str]]) -> None:
    jiyi, place = on
    jiyi("remember", "我住在杭州", **place)
    jiyi("remember", "I like quiet places", **place)
    found = jiyi("recall", "杭州", **place)
    assert "我住在杭州" in found.stdout
    assert PASSWORD not in found.stdout + found.stderr
    assert "quiet" in jiyi("context", "what kind of places?", **place).stdout
    assert "杭州" in jiyi("memories", **place).stdout
    assert jiyi.json("reindex", **place) == {"entries": 4, "scopes": 1}  # two texts, two edges
    report = jiyi.json("doctor", "--fix", **place)
    assert [c for c in report["checks"] if not c["ok"]] == []
    assert {"row-level security", "application role", "partitions", "schema", "memory text index"} <= {
        c["name"] for c in report["checks"]
    }


def test_a_password_is_not_printed(on: tuple[Cli, dict[str, str]]) -> None:
    jiyi, place = on
    jiyi("remember", "我住在杭州", **place)
    for command in (("config",), ("config", "--json"), ("doctor",), ("recall", "杭州")):
        done = jiyi(*command, **place)
        assert PASSWORD not in done.stdout + done.stderr
    done = jiyi("recall", "杭州", "--db", place["JIYI_PATH"])
    assert PASSWORD not in done.stdout + done.stderr
    assert "--db postgresql://postgres:***@" in done.stderr.replace("'", "")
    wrong = {**place, "JIYI_PATH": f"postgresql://me:{PASSWORD}@127.0.0.1:1/x"}
    failed = jiyi("recall", "杭州", code=1, **wrong)
    assert PASSWORD not in failed.stdout + failed.stderr
    assert "start the server" in failed.stderr


def test_a_backup_comes_back_in_another_database(on: tuple[Cli, dict[str, str]], postgres: Server) -> None:
    jiyi, place = on
    jiyi("remember", "我住在杭州", **place)
    jiyi("backup", str(jiyi.home / "copy.zip"), **place)
    assert "exists already" in jiyi("backup", str(jiyi.home / "copy.zip"), code=1, **place).stderr
    elsewhere = {**place, "JIYI_PATH": postgres.new_database()}
    jiyi("restore", str(jiyi.home / "copy.zip"), **elsewhere)
    assert "杭州" in jiyi("memories", **elsewhere).stdout
    for options in ((), ("--replace",)):
        again = jiyi("restore", str(jiyi.home / "copy.zip"), *options, code=1, **elsewhere).stderr
        assert "holds a memory already" in again
        assert "DROP SCHEMA jiyi CASCADE" in again
    (jiyi.home / "broken.zip").write_bytes(b"no backup")
    empty = {**place, "JIYI_PATH": postgres.new_database()}
    assert "restore another backup" in jiyi("restore", str(jiyi.home / "broken.zip"), code=1, **empty).stderr
    assert jiyi.json("doctor", **elsewhere)["ok"]
