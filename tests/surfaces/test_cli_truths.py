"""What a command says is so, and in the words of the command line (SPEC U4, B4, F6, C5)."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from jiyi.assembly import open_memory
from jiyi.errors import InputError, StoreError
from tests.surfaces.cli import Cli, lines


def say(jiyi: Cli, text: str, session: str) -> str:
    return jiyi("observe", "--session", session, stdin=lines({"role": "user", "text": text})).stdout


@pytest.mark.parametrize(
    ("stands", "against", "asked"),
    [
        ("我们的数据库是 MySQL。", "我们的数据库是 DuckDB。", "DuckDB 用了吗"),
        ("Our database is MySQL.", "Our database is DuckDB.", "do we use DuckDB"),
    ],
)
def test_what_waits_was_not_forgotten(jiyi: Cli, stands: str, against: str, asked: str) -> None:
    say(jiyi, stands, "s1")
    say(jiyi, against, "s2")
    told = jiyi("context", asked, "--explain").stderr
    assert "m2" in told
    assert "waits: it contradicts what stands" in told
    assert "forgotten" not in told


@pytest.mark.parametrize(("said", "topic"), [("我们的数据库是 MySQL。", "象棋"), ("I live in Leeds.", "archery")])
def test_a_topic_of_which_nothing_is_there_leaves_nothing(jiyi: Cli, said: str, topic: str) -> None:
    say(jiyi, said, "s1")
    ledger = jiyi.json("ledger")
    for more in ((), ("--yes",)):
        told = jiyi("forget", "--topic", topic, *more).stdout
        assert told == f"nothing of {topic!r} is here: nothing was forgotten\n"
    assert jiyi.json("forget", "--topic", topic)["plan"] is None
    assert jiyi.json("ledger") == ledger
    assert "nothing was forgotten yet" in jiyi("forget", "--verify").stdout
    with open_memory(jiyi.database, worker=False) as layer:
        me = layer.scope("me")
        assert (me.forget(topic=topic).plan_id, me.receipts()) == (None, [])


def test_an_import_after_everything_was_forgotten_says_why_not(jiyi: Cli) -> None:
    say(jiyi, "I live in Leeds.", "s1")
    jiyi("export", str(jiyi.home / "one.zip"))
    jiyi("forget", "--everything", "--yes")
    refused = jiyi("import", str(jiyi.home / "one.zip"), code=1).stderr
    assert "what me held was forgotten" in refused
    assert "import it as a new user" in refused
    assert "already has a memory" not in refused


def test_remembering_while_paused_fails_for_a_script(jiyi: Cli) -> None:
    jiyi("pause")
    assert "`jiyi resume`" in jiyi("remember", "I live in Leeds", code=1).stdout


def test_errors_of_the_command_line_speak_of_commands(jiyi: Cli) -> None:
    say(jiyi, "I live in Leeds.", "s1")
    failed = [
        jiyi("forget", "--session", "s9", "--yes", code=3),
        jiyi("answer", "q9", "yes", code=3),
        jiyi("summaries", "--session", "s9", code=3),
        jiyi("end", "s9", code=3),
        jiyi("consent", "--given", code=1),
    ]
    for result in failed:
        assert result.stderr.strip()
        assert "()" not in result.stderr
        assert "=" not in result.stderr
    assert "`jiyi sessions` shows them" in failed[2].stderr
    assert jiyi("summaries", "--session", "s1").exit_code == 0
    assert (
        "no time zone 'Mars/X': use a name such as Asia/Shanghai" in jiyi("--tz", "Mars/X", "memories", code=1).stderr
    )


def test_how_sure_we_were_needs_an_instant_with_a_zone(tmp_path: Path) -> None:
    with open_memory("reference", worker=False) as layer:
        me = layer.scope("ming")
        me.remember("I live in Leeds")
        with pytest.raises(InputError, match="zone"):
            me.confidence(me.memories()[0], at=datetime(2026, 3, 1))  # noqa: DTZ001 — what is wrong with it


@pytest.mark.parametrize("length", [230, 232, 236, 242, 243, 250, 251, 255, 256, 300])
def test_a_name_that_no_file_can_have_is_told(tmp_path: Path, length: int) -> None:
    name = tmp_path / f"{'a' * length}"
    with open_memory(tmp_path / "memory.db", worker=False) as layer:
        me = layer.scope("ming")
        me.remember("I live in Leeds")
        for write, error in ((me.write_profile, InputError), (me.export, InputError), (layer.backup, StoreError)):
            told = ""
            try:
                write(str(name))
            except error as refused:
                told = str(refused)
            left = [p for p in tmp_path.iterdir() if len(p.name) > 100]
            # Either all of it is there, or nothing is and the way out is told.
            assert ("choose another name" in told) is (name not in left)
            assert left or told
            for part in left:
                part.unlink()
