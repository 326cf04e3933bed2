"""No file of a memory holds a raw secret: database, log, jobs, backups (SPEC C11)."""

from __future__ import annotations

import json
import re
import stat
import zipfile
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest

from jiyi.assembly import open_memory
from jiyi.backends import REFERENCE, restore_database
from jiyi.errors import ConflictingMessage, InputError, StoreError
from jiyi.memory_layer import MemoryLayer
from jiyi.scoped_memory import ScopedMemory
from jiyi.settings import Settings
from jiyi.stores.keys import KNOWN, key_file, read_keys
from jiyi.text.redaction import RedactionPolicy
from tests.conftest import Clock
from tests.text import redaction_samples as samples

NUMBER, OTHER, SECRET = samples.mobile(Random(1)), samples.mobile(Random(2)), samples.password(Random(3))
SAID = f"我的手机是{NUMBER}，数据库密码是{SECRET}，我住在苏州。"


def layer_at(path: Path | str, clock: Clock, **settings: object) -> MemoryLayer:
    return open_memory(settings=Settings(path=str(path), worker=False, synchronous="NORMAL", **settings), clock=clock)  # type: ignore[arg-type]


def turn(text: str, **more: str) -> dict[str, str]:
    return {"role": "user", "text": text, "at": "2026-03-02T09:00:00+08:00", **more}


def held(folder: Path, raw: str) -> list[str]:
    """Files that hold a raw value, as bytes of any of the codes that SQLite knows."""
    needles = [raw.encode(code) for code in ("utf-8", "utf-16-le", "utf-16-be")]
    return [f.name for f in folder.rglob("*") if f.is_file() and any(n in f.read_bytes() for n in needles)]


def failing(layer: MemoryLayer) -> list[str]:
    return [f"{c.name}: {c.detail}" for c in layer.check() if not c.ok]


# ---------------------------------------------------------------------------------- bytes


def test_after_a_full_run_no_file_holds_a_raw_value(tmp_path: Path, clock: Clock) -> None:
    told = [s for s in samples.positives(seed=31, rounds=2) if len(s.secret) >= 7 and "\n" not in s.secret]
    path = tmp_path / "memory.db"
    with layer_at(path, clock) as layer:
        me = layer.scope(user="u")
        me.observe(
            [
                turn(s.text, at=f"2026-03-02T{i // 60 % 24:02d}:{i % 60:02d}:{i // 1440:02d}+08:00")
                for i, s in enumerate(told)
            ]
        )
        me.observe(
            [turn("见面吧", name=f"李明{NUMBER}", id=f"wx-{NUMBER}-1", session=f"chat-{NUMBER}", app=f"a@{NUMBER}.cn")]
        )
        me.observe(
            [
                {
                    "role": "tool",
                    "content": [{"type": "tool_result", "output": f"password={SECRET}"}],
                    "at": datetime(2026, 3, 1, tzinfo=UTC),
                }
            ]
        )
        layer.work()
        receipt = me.remember(f"王总的手机是{NUMBER}")
        kept = me.remember(f"门禁密码是{SECRET}").memories[0]
        me.correct(kept.id, f"门禁密码是{SECRET}99")
        layer.backup(str(tmp_path / "early.db"))
        me.forget(memory=receipt.memories[0].id)
        layer.backup(str(tmp_path / "late.db"))
        assert layer.lag().dead == 0
        # The files of a database in use, its log among them.
        names = {f.name for f in tmp_path.iterdir()}
        assert {"memory.db", "memory.db-wal", "early.db", "late.db"} <= names
        for raw in [NUMBER, SECRET, *(s.secret for s in told)]:
            assert held(tmp_path, raw) == [], raw
    assert len(told) >= 150


@pytest.mark.parametrize("detail", ["minimal", "balanced", "everything"])
def test_no_verb_lets_a_raw_value_in(tmp_path: Path, clock: Clock, detail: str) -> None:
    said: dict[str, str] = {}

    def number(at: str) -> str:
        said[at] = samples.mobile(Random(500 + len(said)))
        return said[at]

    def asked_and_answered(me: ScopedMemory) -> int:
        questions = me.questions()
        for question in questions:
            me.answer(question.id, f"都不是，我住在苏州，手机{number('answer')}")
        return len(questions)

    with layer_at(tmp_path / "memory.db", clock) as layer:
        me = layer.scope(user="u")
        me.retention(detail)
        me.consent(given=True, notice=f"同意，电话{number('notice')}")
        kept = me.remember(f"请记住王总的手机是{number('remember')}").memories[0]
        me.remember("我住在杭州")
        me.observe([turn(f"我住在上海，手机{number('observe')}", session="s")])
        layer.work()
        me.end("s")
        layer.work()
        if detail == "balanced":
            assert asked_and_answered(me) == 1
        profile = tmp_path / "USER.md"
        me.write_profile(profile)
        profile.write_text(f"{profile.read_text('utf-8')}\n- 我的电话是{number('USER.md')}\n", "utf-8")
        me.read_profile(profile)
        # The file is the user's own; it holds what the user typed.
        profile.unlink()
        me.recall(f"谁的电话是{number('recall')}")
        me.context(f"电话{number('context')}是谁的", session="s")
        me.correct(kept.id, f"王总的手机是{number('correct')}")
        with suppress(InputError):
            me.forget(topic=number("topic"))
        me.export(tmp_path / "export.zip")
        clock.now += timedelta(days=400)
        me.upkeep()
        me.redistil()
        layer.work()
        layer.backup(str(tmp_path / "backup.db"))
        with zipfile.ZipFile(tmp_path / "export.zip") as archive:
            archive.extractall(tmp_path / "unpacked")
        assert [at for at, raw in said.items() if held(tmp_path, raw)] == []


def test_what_is_acknowledged_is_what_is_stored(tmp_path: Path, clock: Clock) -> None:
    with layer_at(tmp_path / "m.db", clock) as layer:
        me = layer.scope(user="u")
        observed = me.observe([turn(SAID, id="a")])
        assert observed.messages[0].text == me.history().messages[0].text
        assert NUMBER not in observed.messages[0].text
        assert "〔手机 " in observed.messages[0].text
        layer.work()
        # Evidence refers to the redacted text, and a number alone is no memory.
        [memory] = me.memories()
        span, said = memory.evidence[0], me.evidence(memory.id)[0].text
        assert "苏州" in memory.text
        assert "苏州" in said[span.start : span.end]


@pytest.mark.parametrize("digest", ["b2ac74cc", "cc37e1d8", "5bcc2add", "deadbeef", "1face0ff"])
@pytest.mark.parametrize(
    ("said", "learnt"), [(SAID, "用户住在苏州"), (f"The password is {SECRET}. I live in Leeds.", "User lives in Leeds")]
)
def test_what_a_digest_spells_is_no_word(tmp_path: Path, clock: Clock, digest: str, said: str, learnt: str) -> None:
    """A password beside a "cc" is no order to send it."""
    with layer_at(tmp_path / "m.db", clock) as layer:
        [stored] = layer.scope(user="u").observe([turn(said)]).messages
        me = layer.scope(user="v")
        me.observe([turn(re.sub(r"(?<=·k1:)[0-9a-f]{8}", digest, stored.text))])
        layer.work()
        assert [memory.text for memory in me.memories()] == [learnt]


def test_the_same_number_is_still_the_same(tmp_path: Path, clock: Clock) -> None:
    with layer_at(tmp_path / "m.db", clock) as layer:
        me = layer.scope(user="u")
        me.observe(
            [
                turn(f"小王的电话{NUMBER}", id="a"),
                turn(f"call {samples.grouped(NUMBER, 3, 4)} please", id="b"),
                turn(f"小李的电话{OTHER}", id="c"),
            ]
        )
        tags = [m.text.partition("·k1:")[2][:8] for m in me.history().messages]
        assert tags[0] == tags[1] != tags[2]


def test_ids_cannot_be_tried_against_numbers(tmp_path: Path, clock: Clock) -> None:
    """The id of a message without one depends on the key, not only on what is in the database."""
    ids = []
    for name in ("one.db", "two.db"):
        path = tmp_path / name
        with layer_at(path, clock) as layer:
            layer.scope(user="u").observe([turn("hello")])
        if name == "one.db":
            (tmp_path / "two.db").write_bytes(path.read_bytes())  # the same secret, without the key file
    for name in ("one.db", "two.db"):
        with layer_at(tmp_path / name, clock) as layer:
            me = layer.scope(user="u")
            assert me.observe([turn("hello")]).new == 0
            ids.append(me.observe([turn(SAID)]).messages[0].id)
    assert ids[0] != ids[1]


# ---------------------------------------------------------------------------------- the same message again


def test_the_same_message_again_changes_nothing_whatever_happened_to_the_key(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "m.db"
    messages = [turn(SAID), turn(SAID, id="own"), turn("走吧", id=f"m-{NUMBER}", session=f"s-{NUMBER}", name=NUMBER)]
    with layer_at(path, clock) as layer:
        me = layer.scope(user="u")
        first = me.observe(messages)
        assert first.new == 3
        assert me.observe(messages).new == 0
        assert layer.rotate_key() == "k2"
        again = me.observe(messages)
        assert (again.new, again.messages) == (0, first.messages)
        with pytest.raises(ConflictingMessage):
            me.observe([turn(SAID.replace(NUMBER, OTHER), id="own")])
        assert "·k2:" in me.observe([turn(SAID, id="new")]).messages[0].text
        assert [m.id for m in me.history(session=f"s-{NUMBER}").messages] == [first.messages[2].id]
    with layer_at(path, clock, redaction=RedactionPolicy(mobile="keep", password="drop")) as layer:
        assert layer.scope(user="u").observe(messages[1:2]).new == 0
    key_file(path).unlink()
    with layer_at(path, clock) as layer:
        me = layer.scope(user="u")
        assert me.observe(messages[1:2]).new == 0
        assert "·k3:" in me.observe([turn(SAID, id="later")]).messages[0].text


def test_policy_applies_to_what_comes_in(clock: Clock) -> None:
    settings = RedactionPolicy(email="keep-own", mobile="drop", password="keep")
    with layer_at(REFERENCE, clock, redaction=settings) as layer:
        me = layer.scope(user="u")
        text = f"我的邮箱是me@example.com，李明的邮箱是li@example.com，手机{NUMBER}，密码是{SECRET}"
        stored = me.observe([turn(text)]).messages[0].text
    assert "me@example.com" in stored
    assert "li@" not in stored
    assert "〔手机已移除〕" in stored
    assert SECRET in stored


# ---------------------------------------------------------------------------------- the key file


def test_the_key_is_a_private_file_of_its_own(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "m.db"
    with layer_at(path, clock) as layer:
        assert failing(layer) == []
        layer.rotate_key()
        assert failing(layer) == []
    keys = read_keys(key_file(path))
    assert [k.id for k in keys] == ["k1", "k2"]
    assert keys[0].secret != keys[1].secret
    assert stat.S_IMODE(key_file(path).stat().st_mode) == 0o600
    for key in keys:
        assert key.secret not in path.read_bytes()
        assert key.secret.hex().encode() not in path.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.db", "m.db.key"]
    with layer_at(path, clock) as layer:
        layer.scope(user="u").observe([turn(SAID)])
    assert read_keys(key_file(path)) == keys


def test_a_lost_key_file_is_told_and_nothing_breaks(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "m.db"
    with layer_at(path, clock) as layer:
        layer.scope(user="u").observe([turn(SAID, id="a")])
    key_file(path).unlink()
    with layer_at(path, clock) as layer:
        assert any("k1 is not in" in line for line in failing(layer))
        assert [k.id for k in read_keys(key_file(path))] == ["k2"]
    with layer_at(path, clock) as layer:
        assert any("k1 is not in" in line for line in failing(layer))


def test_the_key_file_of_another_database_is_not_used(tmp_path: Path, clock: Clock) -> None:
    one, two = tmp_path / "one.db", tmp_path / "two.db"
    for path in (one, two):
        layer_at(path, clock).close()
    foreign = key_file(two).read_bytes()
    key_file(one).write_bytes(foreign)
    with layer_at(one, clock) as layer:
        assert "·k2:" in layer.scope(user="u").observe([turn(SAID)]).messages[0].text
    assert one.with_name("one.db.key.other").read_bytes() == foreign


@pytest.mark.parametrize("content", ["", "k1 abc\n", "k1 " + "0" * 64 + "\nk1 " + "1" * 64 + "\n", "\xff\xfe"])
def test_a_broken_key_file_is_refused_with_what_to_do(tmp_path: Path, clock: Clock, content: str) -> None:
    path = tmp_path / "m.db"
    layer_at(path, clock).close()
    key_file(path).write_bytes(content.encode("latin-1"))
    with pytest.raises(StoreError, match="from a backup"):
        layer_at(path, clock)


def test_backups_bring_their_keys_along(tmp_path: Path, clock: Clock) -> None:
    path, copy = tmp_path / "m.db", tmp_path / "backups" / "copy.db"
    with layer_at(path, clock) as layer:
        layer.scope(user="u").observe([turn(SAID, id="a")])
        layer.backup(str(copy))
        before = read_keys(key_file(path))
        layer.rotate_key()
    assert read_keys(key_file(copy)) == before
    assert stat.S_IMODE(key_file(copy).stat().st_mode) == 0o600
    elsewhere = tmp_path / "new" / "m.db"
    restore_database(copy, elsewhere)
    assert read_keys(key_file(elsewhere)) == before
    kept = restore_database(copy, path, replace=True)
    assert kept is not None
    assert len(read_keys(key_file(kept))) == 2
    for place in (elsewhere, path):
        with layer_at(place, clock) as layer:
            assert failing(layer) == []
            assert layer.scope(user="u").observe([turn(SAID, id="a")]).new == 0


def test_a_database_from_before_redaction_is_taken_over(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "m.db"
    with layer_at(path, clock, redaction=RedactionPolicy(mobile="keep", password="keep")) as layer:
        layer.scope(user="u").observe([turn(SAID, id="a")])
        layer._store.set_meta(KNOWN, "")
    key_file(path).unlink()
    with layer_at(path, clock) as layer:
        assert layer.scope(user="u").observe([turn(SAID, id="a")]).new == 0
        assert failing(layer) == []


def test_keys_in_memory_work_alike(clock: Clock) -> None:
    with layer_at(REFERENCE, clock) as layer:
        me = layer.scope(user="u")
        first = me.observe([turn(SAID, id="a")])
        layer.rotate_key()
        assert me.observe([turn(SAID, id="a")]).messages == first.messages
        assert json.dumps(first.messages[0].text)
        assert "·k1:" in first.messages[0].text
