"""`jiyi` as a process: streams, exit codes, locales, pipes, signals, start-up (SPEC U4)."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from jiyi.surfaces.cli.app import Edge
from tests.surfaces.cli import Cli, lines

ESCAPE = b"\x1b["
COMMANDS = (
    ("doctor",), ("remember", "我住在杭州"), ("recall", "杭州"), ("context", "我住在哪里？"), ("history",),
    ("sessions",), ("profile",), ("memories",), ("versions", "住址"), ("ledger",), ("work",), ("reindex",), ("config",),
)  # fmt: skip


def test_data_goes_to_stdout_and_chatter_to_stderr(jiyi: Cli) -> None:
    (jiyi.home / "talk.jsonl").write_text(
        lines({"role": "user", "content": "I live in Leeds.", "at": "2026-03-02T09:00:00Z"}), "utf-8"
    )
    done = jiyi.process("import", "talk.jsonl", "--json")
    assert json.loads(done.stdout)["new"] == 1
    assert done.stderr.decode().splitlines() == [
        "talk.jsonl: openai, 1 conversation, 1 message, 2026-03-02 – 2026-03-02",
        f"made a new memory in {jiyi.database}",
        "storing: 1 message …", "storing: 1 message done",
        "distilling and indexing: 2 jobs …", "distilling and indexing: 2 jobs done",
    ]  # fmt: skip
    assert jiyi.process("import", "talk.jsonl", "--quiet").stderr == b""


def test_every_command_prints_one_json_document(jiyi: Cli) -> None:
    for args in (("demo", "--db", str(jiyi.home / "demo.db")), *COMMANDS):
        assert isinstance(jiyi.json(*args), dict), args


def test_exit_codes_and_errors_without_traceback(jiyi: Cli) -> None:
    for args, code, kind in (
        (("undo", "p9"), 3, "NotFound"),
        (("remember", "x", "--importance", "9"), 2, "Usage"),
        (("recall",), 2, "Usage"),
        (("recal", "x"), 2, "Usage"),
        (("remember", "  "), 1, "InputError"),
        (("history", "--tz", "Nowhere"), 1, "SettingsError"),
    ):
        failed = jiyi.process(*args, code=code)
        assert failed.stdout == b""
        assert failed.stderr.decode().splitlines()[-1].startswith("Error: ")
        assert b"Traceback" not in failed.stderr
        failed = jiyi(*args, "--json", "-q", code=code)
        assert failed.stdout == ""
        error = json.loads(failed.stderr)["error"]
        assert (error["kind"], bool(error["message"])) == (kind, True)


def test_no_arguments_print_the_help(jiyi: Cli) -> None:
    told = jiyi.process().stdout.decode()
    assert "Usage: jiyi" in told
    assert all(f" {args[0]} " in told for args in COMMANDS)
    assert re.fullmatch(rb"jiyi \d+\.\d+\.\d+\S*\s*", jiyi.process("--version").stdout)


def test_colours_only_on_a_terminal_and_never_with_no_color(jiyi: Cli) -> None:
    jiyi("remember", "我住在杭州")
    assert ESCAPE not in jiyi.process("recall", "杭州").stdout
    # FORCE_COLOR makes rich believe in a terminal.
    assert ESCAPE in jiyi.process("recall", "杭州", FORCE_COLOR="1", TERM="xterm").stdout
    plain = jiyi.process("recall", "杭州", FORCE_COLOR="1", TERM="xterm", NO_COLOR="1").stdout
    assert not re.search(rb"\x1b\[[0-9;]*3[0-9]m", plain)


@pytest.mark.parametrize("encoding", ["ascii", "gbk"])
def test_output_survives_any_locale(jiyi: Cli, encoding: str) -> None:
    jiyi("remember", "我住在杭州 🎋")
    told = jiyi.process("recall", "杭州", PYTHONIOENCODING=encoding)
    assert told.stdout.decode(encoding).count("\n") == 3
    document = json.loads(jiyi.process("memories", "--json", PYTHONIOENCODING=encoding).stdout.decode(encoding))
    assert document["memories"][0]["text"] == "我住在杭州 🎋"
    assert jiyi.process("undo", "计划", code=3, PYTHONIOENCODING=encoding).stderr


def test_a_reader_that_leaves_early_is_no_error_message(jiyi: Cli) -> None:
    jiyi("observe", stdin=lines(*({"role": "user", "text": "长" * 2_000} for _ in range(300))))
    process = subprocess.Popen(
        [sys.executable, "-m", "jiyi", "history", "--limit", "300"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=jiyi.environment(),
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout as stdout, process.stderr as stderr:
        stdout.read(10)
        stdout.close()
        complaint = stderr.read()
    assert (process.wait(60), complaint) == (1, b"")


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_an_import_stopped_half_way_is_finished_by_running_it_again(jiyi: Cli) -> None:
    total = 6_000
    at = "2026-03-02T{:02}:{:02}:{:02}Z"
    said = (
        {"role": "user", "content": f"第{n}句话。", "at": at.format(n // 3600, n // 60 % 60, n % 60)}
        for n in range(total)
    )
    (jiyi.home / "long.jsonl").write_text(lines(*said), "utf-8")
    process = subprocess.Popen(
        [sys.executable, "-m", "jiyi", "import", "long.jsonl"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        cwd=jiyi.home, env=jiyi.environment(),
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout, process.stderr as stderr:
        while not stderr.readline().startswith(b"storing"):
            pass
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        complaint = stderr.read().decode()
    assert process.wait(60) == 130
    assert "Run the same import again" in complaint
    assert "Traceback" not in complaint
    again = json.loads(jiyi.process("import", "long.jsonl", "--json").stdout)
    assert again["messages"] == total
    assert len(jiyi.json("history", "--limit", str(2 * total))["messages"]) == total
    assert jiyi.json("work")["waiting"] == 0
    assert jiyi.json("doctor")["ok"] is True


@pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals")
@pytest.mark.parametrize(("answer", "code", "left"), [(b"n\n", 1, 1), (b"y\n", 0, 0)])
def test_forget_asks_on_a_terminal(jiyi: Cli, answer: bytes, code: int, left: int) -> None:
    jiyi("remember", "我住在杭州")
    ours, theirs = os.openpty()
    try:
        os.write(ours, answer)
        done = subprocess.run(
            [sys.executable, "-m", "jiyi", "forget", "m1"],
            stdin=theirs,
            capture_output=True,
            env=jiyi.environment(),
            timeout=60,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.returncode == code, done.stderr
    assert "Forget this for good?" in done.stderr.decode()
    assert "我住在杭州" in done.stderr.decode()
    assert len(jiyi.json("memories")["memories"]) == left


def test_a_bug_is_one_sentence_and_a_traceback_on_demand() -> None:
    app = typer.Typer(cls=Edge)

    @app.command()
    def one() -> None:
        raise RuntimeError("words of a memory")

    @app.command()
    def two() -> None: ...

    told = CliRunner().invoke(app, ["one"])
    assert (told.exit_code, told.stdout) == (1, "")
    assert (
        told.stderr
        == "Error: this is a bug in jiyi (RuntimeError): run it again with JIYI_DEBUG=1 to see where, and report that\n"
    )
    assert isinstance(CliRunner().invoke(app, ["one"], env={"JIYI_DEBUG": "1"}).exception, RuntimeError)


def test_without_the_extra_it_says_what_to_install(jiyi: Cli) -> None:
    # What Python does for a module that is not installed.
    code = "import sys; sys.modules['typer'] = None; from jiyi.surfaces.cli import main; main()"
    failed = jiyi.process(code=1, launcher=("-c", code))
    assert (
        failed.stderr.decode()
        == "Error: the command line (typer and rich) is missing: pip install 'jiyi[cli]', or in a clone '.[cli]'\n"
    )


def test_help_starts_light(jiyi: Cli) -> None:
    told = jiyi.process("--help", launcher=("-X", "importtime", "-m", "jiyi")).stderr.decode()
    loaded = set(re.findall(r"\| +(\S+)$", told, re.M))
    assert "typer" in loaded
    assert loaded.isdisjoint({"rjieba", "jieba", "jiyi.stores.sqlite.store", "jiyi.stores.reference", "pydantic"})


# ------------------------------------------------------------------ demo


def test_demo_shows_the_main_job_in_both_languages(jiyi: Cli) -> None:
    shown = json.loads(jiyi.process("demo", "--json").stdout)
    zh, en = shown["question_zh"], shown["question_en"]
    assert "以下是关于用户的记忆资料" in zh["text"]
    assert "What is remembered about the user" in en["text"]
    for told in (zh, en):
        assert "数据库：PostgreSQL" in told["text"]
        assert "MySQL" not in told["text"]
        assert "peanuts" in told["text"]
        assert all(item["why"] for item in told["items"])
        assert told["items"][0]["kind"] == "fact"
    assert [m["text"] for m in shown["changed"]] == ["数据库：MySQL", "数据库：PostgreSQL"]
    assert shown["changed"][0]["valid_to"].startswith("2026-11-02")
    assert not any("天气" in m["text"] for m in shown["kept"])
    assert "PostgreSQL" not in shown["apart"]["text"]
    assert shown["undone"]["undone"]["impact"]["removed"] == 1


def test_demo_ends_with_commands_that_work(jiyi: Cli) -> None:
    told = jiyi("demo", "--db", str(jiyi.home / "a folder" / "d.db")).stdout
    # The program is named as it can be called from here: jiyi, its path, or python -m jiyi.
    commands = [line[line.index("jiyi ") :] for line in told.splitlines() if "jiyi " in line and "--db" in line]
    assert len(commands) >= 5
    for command in commands:
        assert jiyi(*shlex.split(command)[1:]).stdout.strip(), command
    for command in commands[:3]:
        assert "PostgreSQL" in jiyi(*shlex.split(command)[1:]).stdout


def test_demo_is_the_same_each_time(jiyi: Cli) -> None:
    first = jiyi("demo", "--db", str(jiyi.home / "d.db")).stdout
    assert jiyi("demo", "--db", str(jiyi.home / "d.db")).stdout == first


def test_demo_leaves_alone_what_it_did_not_make(jiyi: Cli) -> None:
    jiyi("remember", "我住在杭州")
    before = jiyi.database.read_bytes()
    assert "was not made by `jiyi demo`" in jiyi("demo", "--db", str(jiyi.database), code=1).stderr
    assert jiyi.database.read_bytes() == before
    note = Path(jiyi.home / "note.txt")
    note.write_text("mine", "utf-8")
    jiyi("demo", "--db", str(note), code=1)
    assert note.read_text("utf-8") == "mine"


def test_a_database_without_its_driver_says_what_to_install(jiyi: Cli) -> None:
    code = "import sys; sys.modules['psycopg'] = None; from jiyi.surfaces.cli import main; main()"
    failed = jiyi.process("memories", "--db", "postgresql://me@127.0.0.1/memory", code=1, launcher=("-c", code))
    assert "psycopg" in failed.stderr.decode()
    assert "'jiyi[postgres]'" in failed.stderr.decode()
