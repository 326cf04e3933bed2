"""`jiyi import`, `reindex`, `backup`, `restore`, `doctor`, `work`, `config`, `eval` (SPEC U4, U6, O1, O4, O5)."""

from __future__ import annotations

import json
import os
import sqlite3
from datetime import UTC, datetime
from typing import Any

import pytest

from jiyi.assembly import open_memory
from tests.surfaces.cli import Cli, lines

TALK = lines(
    {"role": "user", "content": "我对花生过敏。", "at": "2026-03-02T09:00:00+08:00"},
    {"role": "assistant", "content": "记住了。", "at": "2026-03-02T09:00:05+08:00"},
    {"role": "user", "content": "I live in Leeds.", "at": "2026-03-03T09:00:00+08:00"},
)


def people(*names: str) -> str:
    """A MemoryBank file of invented people."""
    day = [{"query": "我住在杭州。", "response": "好的。"}]
    return json.dumps({name: {"history": {"2026-03-02": day}} for name in names}, ensure_ascii=False)


def write(jiyi: Cli, name: str, text: str) -> str:
    path = jiyi.home / name
    path.write_text(text, "utf-8")
    return str(path)


# ------------------------------------------------------------------ import


def test_import_learns_and_the_same_again_brings_nothing_new(jiyi: Cli) -> None:
    file = write(jiyi, "talk.jsonl", TALK)
    first = jiyi.json("import", file)
    assert (first["messages"], first["new"], first["memories_added"]) == (3, 3, 2)
    (source,) = first["files"]
    assert (source["format"], source["first_at"], source["conversations"]) == ("openai", "2026-03-02T09:00:00+08:00", 1)
    assert {i["text"] for i in jiyi.json("recall", "花生")["items"]} == {"用户对花生过敏"}
    again = jiyi.json("import", file)
    assert (again["messages"], again["new"], again["memories_added"]) == (3, 0, 0)
    assert "3 messages, 0 new" in jiyi("import", file).stdout


def test_dry_run_says_what_a_file_holds_and_stores_nothing(jiyi: Cli) -> None:
    planned = jiyi.json("import", write(jiyi, "talk.jsonl", TALK), "--dry-run")
    assert (planned["dry_run"], planned["messages"], planned["new"]) == (True, 3, None)
    assert not jiyi.database.exists()


def test_a_broken_file_stops_the_import_before_anything_is_stored(jiyi: Cli) -> None:
    good, bad = write(jiyi, "good.jsonl", TALK), write(jiyi, "bad.jsonl", TALK + "{oops\n")
    failed = jiyi("import", good, bad, code=1)
    assert "bad.jsonl, line 4" in failed.stderr
    assert not jiyi.database.exists()
    assert "cannot be read" in jiyi("import", str(jiyi.home / "none.json"), code=1).stderr


def test_a_file_without_times_wants_one(jiyi: Cli) -> None:
    file = write(jiyi, "talk.jsonl", lines({"role": "user", "content": "我住在杭州。"}))
    assert "--assume-time" in jiyi("import", file, code=1).stderr
    jiyi("import", file, "--assume-time", "2026-03-01")
    assert jiyi.json("history")["messages"][0]["at"] == "2026-03-01T00:00:00+08:00"


def test_each_person_of_a_file_gets_a_memory_of_their_own(jiyi: Cli) -> None:
    file = write(jiyi, "people.json", people("Ada", "小北"))
    told = jiyi("import", file)
    assert "2 people, each with a memory of their own: Ada, 小北" in told.stderr
    for user in ("Ada", "小北"):
        assert [m["text"] for m in jiyi.json("memories", "--user", user)["memories"]] == ["用户住在杭州"]
    assert jiyi.json("memories")["memories"] == []


def test_a_user_given_outright_never_mixes_people(jiyi: Cli) -> None:
    file = write(jiyi, "people.json", people("Ada", "小北"))
    refused = jiyi("import", file, "--user", "me", code=1)
    assert "--only" in refused.stderr
    assert not jiyi.database.exists()
    jiyi("import", file, "--user", "me", "--only", "小北")
    assert len(jiyi.json("memories")["memories"]) == 1


def test_a_large_import_goes_in_batches(jiyi: Cli) -> None:
    said = (
        {"role": "user", "content": f"第{n}句闲话。", "at": f"2026-03-02T{n // 3600:02}:{n // 60 % 60:02}:{n % 60:02}Z"}
        for n in range(2_100)
    )
    done = jiyi.json("import", write(jiyi, "long.jsonl", lines(*said)))
    assert (done["messages"], done["new"]) == (2_100, 2_100)
    assert len(jiyi.json("history", "--limit", "3000")["messages"]) == 2_100


# ------------------------------------------------------------------ indexes


def test_a_dictionary_belongs_to_its_database(jiyi: Cli) -> None:
    jiyi("remember", "我在用清风词法做分词")
    words, others = write(jiyi, "words.txt", "清风词法\n"), write(jiyi, "others.txt", "别的词\n")
    assert "jiyi reindex --dictionary" in jiyi("recall", "清风词法", code=1, JIYI_DICTIONARY=words).stderr
    sick = json.loads(jiyi("doctor", "--json", code=1, JIYI_DICTIONARY=words).stdout)
    assert [c["name"] for c in sick["checks"] if not c["ok"]] == ["text index"]
    assert jiyi.json("reindex", "--dictionary", words) == {"entries": 1, "scopes": 1}
    # From now on the database brings its words itself.
    assert jiyi.json("recall", "清风词法")["terms"][0] == "清风词法"
    assert len(jiyi.json("recall", "清风词法", JIYI_DICTIONARY=words)["items"]) == 1
    assert "another dictionary" in jiyi("recall", "清风词法", code=1, JIYI_DICTIONARY=others).stderr
    assert jiyi.json("reindex") == {"entries": 1, "scopes": 1}
    assert jiyi.json("recall", "清风词法")["terms"][0] == "清风词法"


def test_a_reindex_changes_the_kind_of_index_for_good(jiyi: Cli) -> None:
    jiyi("import", write(jiyi, "talk.jsonl", TALK))
    jiyi("reindex", "--text-index", "native")
    assert len(jiyi.json("recall", "花生")["items"]) == 1
    assert jiyi.json("doctor")["ok"] is True
    assert "--text-index postings" in jiyi("recall", "花生", code=1, JIYI_MEMORY_INDEX="postings").stderr
    jiyi("reindex", "--text-index", "postings")
    assert len(jiyi.json("recall", "花生")["items"]) == 1


def test_an_unfinished_reindex_is_noticed(jiyi: Cli) -> None:
    jiyi("remember", "我对花生过敏")
    # What a crash right after the opening leaves: the index emptied, nothing built.
    open_memory(jiyi.database, worker=False, reindexing=True).close()
    assert "jiyi reindex" in jiyi("recall", "花生", code=1).stderr
    jiyi("reindex")
    assert len(jiyi.json("recall", "花生")["items"]) == 1


# ------------------------------------------------------------------ backup and restore


def test_backup_and_restore(jiyi: Cli) -> None:
    backup, other = str(jiyi.home / "backup.db"), str(jiyi.home / "other.db")
    jiyi("remember", "我住在杭州")
    jiyi("backup", backup)
    assert "exists already" in jiyi("backup", backup, code=1).stderr
    jiyi("remember", "我对花生过敏")
    assert "--replace" in jiyi("restore", backup, code=1).stderr
    assert len(jiyi.json("memories")["memories"]) == 2
    restored = jiyi.json("restore", backup, "--replace")
    assert [m["text"] for m in jiyi.json("memories")["memories"]] == ["我住在杭州"]
    # What was there is kept aside, whole.
    assert len(jiyi.json("memories", "--db", restored["kept"])["memories"]) == 2
    jiyi("restore", backup, "--db", other)
    assert jiyi.json("doctor", "--db", other)["ok"] is True


def test_restore_refuses_what_is_no_backup(jiyi: Cli) -> None:
    jiyi("remember", "我住在杭州")
    jiyi("restore", str(jiyi.home / "none.db"), "--replace", code=3)
    jiyi("restore", write(jiyi, "text.db", "not a database, " * 100), "--replace", code=1)
    assert len(jiyi.json("memories")["memories"]) == 1


def test_backup_of_nothing_makes_nothing(jiyi: Cli) -> None:
    assert "no database" in jiyi("backup", str(jiyi.home / "b.db"), code=1).stderr
    assert list(jiyi.home.glob("*.db")) == []


# ------------------------------------------------------------------ doctor


def test_doctor_of_a_healthy_database(jiyi: Cli) -> None:
    jiyi("remember", "我住在杭州")
    told = jiyi("doctor").stdout
    for name in (
        "Python",
        "SQLite",
        "FTS5",
        "ln()",
        "segmenter",
        "time zone",
        "database",
        "file mode",
        "disk space",
        "schema",
        "jobs",
    ):
        assert f"ok {name} " in told
    assert "Asia/Shanghai" in told
    assert "0600" in told
    assert told.endswith("all is well\n")


def test_doctor_before_there_is_a_database_makes_none(jiyi: Cli) -> None:
    assert jiyi.json("doctor")["ok"] is True
    assert not jiyi.database.exists()


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_doctor_closes_an_open_file(jiyi: Cli) -> None:
    jiyi("remember", "我住在杭州")
    jiyi.database.chmod(0o644)
    assert "→ `chmod 600" in jiyi("doctor", code=1).stdout
    jiyi("doctor", "--fix")
    assert jiyi.database.stat().st_mode & 0o777 == 0o600


def test_doctor_repairs_a_wrong_counter(jiyi: Cli) -> None:
    jiyi("import", write(jiyi, "talk.jsonl", TALK))
    with sqlite3.connect(jiyi.database) as connection:
        connection.execute("UPDATE counter SET value = value + 5 WHERE name = 'memory.documents'")
    connection.close()
    assert json.loads(jiyi("doctor", "--json", code=1).stdout)["ok"] is False
    fixed = jiyi.json("doctor", "--fix")
    assert fixed["ok"] is True
    assert fixed["repaired"]


def test_doctor_of_a_file_that_is_none_of_ours(jiyi: Cli) -> None:
    content = b"not a database, " * 300
    jiyi.database.write_bytes(content)
    jiyi.database.chmod(0o600)
    sick = json.loads(jiyi("doctor", "--json", code=1).stdout)
    (failed,) = [c for c in sick["checks"] if not c["ok"]]
    assert "not a SQLite database" in failed["detail"]
    told = jiyi("doctor", "--fix", code=1).stdout
    assert "could not repair" in told
    assert jiyi.database.read_bytes() == content


def test_doctor_names_a_setting_that_cannot_be_used(jiyi: Cli) -> None:
    sick = json.loads(jiyi("doctor", "--json", code=1, JIYI_LIMITS__TEXT_CHARS="many").stdout)
    assert "text_chars" in next(c for c in sick["checks"] if not c["ok"])["detail"]


# ------------------------------------------------------------------ jobs, settings, cases


def dead_job(jiyi: Cli) -> int:
    """Queue a job that nothing can handle, as a newer jiyi might have, and let it run out of attempts."""
    with open_memory(jiyi.database, worker=False, clock=lambda: datetime(2026, 3, 2, tzinfo=UTC)) as layer:
        store, scope = layer._store, layer.scope("me").user
        now = datetime(2026, 3, 1, tzinfo=UTC)
        job = store.write(lambda unit: unit.jobs.put(scope, "dream", {}, now))

        def kill(unit: Any) -> None:
            claimed = unit.jobs.claim(now, now)
            unit.jobs.fail(claimed, "no handler for 'dream'", now, None)

        store.write(kill)
    return int(job)


def test_work_lists_dead_jobs_and_tries_them_again(jiyi: Cli) -> None:
    job = dead_job(jiyi)
    (dead,) = jiyi.json("work")["dead"]
    assert (dead["id"], dead["kind"], dead["user"], dead["error"]) == (job, "dream", "me", "no handler for 'dream'")
    assert f"--retry-dead {job}" in jiyi("work").stdout
    assert "dead letters" in jiyi("doctor", code=1).stdout
    tried = jiyi.json("work", "--retry-dead", str(job))
    assert (tried["dead"], tried["waiting"]) == ([], 1)
    assert "no dead job" in jiyi("work", "--retry-dead", "777", code=3).stderr


def test_config_shows_every_value_and_where_it_comes_from(jiyi: Cli) -> None:
    shown = jiyi.json("config", "--tz", "Europe/London", JIYI_CONTEXT__BUDGET="500")["settings"]
    assert shown["timezone"] == {"value": "Europe/London", "origin": "--tz"}
    assert shown["context.budget"] == {"value": 500, "origin": "JIYI_CONTEXT__BUDGET"}
    assert shown["context.passages"] == {"value": 8, "origin": "default"}
    assert shown["path"] == {"value": str(jiyi.database), "origin": "JIYI_PATH"}


def test_config_reads_the_file_of_the_working_directory(jiyi: Cli) -> None:
    (jiyi.home / "jiyi.toml").write_text("[context]\nbudget = 300\n", "utf-8")
    shown = json.loads(jiyi.process("config", "--json").stdout)["settings"]
    assert shown["context.budget"] == {"value": 300, "origin": "jiyi.toml"}


def test_eval_runs_the_cases_of_a_folder(jiyi: Cli) -> None:
    case = """
[[case]]
id = "lives-in"
rows = ["B3"]
[[case.steps]]
say = "我住在杭州。"
[[case.steps]]
expect_fact = {}
"""
    (jiyi.home / "broken.toml").write_text(case, "utf-8")
    assert "broken.toml" in jiyi("eval", "cases", str(jiyi.home), code=1).stderr
