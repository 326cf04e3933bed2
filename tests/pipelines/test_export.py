"""A scope out into one file and back exactly as it was, on every store (SPEC F7)."""

from __future__ import annotations

import hashlib
import json
import stat
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jiyi.assembly import assemble, open_memory
from jiyi.domain.memory import IncomingMessage, Memory
from jiyi.domain.plans import replay
from jiyi.errors import InputError, PlanRefused, TooLarge, UnreadableFile
from jiyi.memory_layer import MemoryLayer
from jiyi.pipelines.archive import MANIFEST, PARTS, read_archive
from jiyi.scoped_memory import ScopedMemory
from jiyi.settings import Limits, Settings
from jiyi.stores.reference import open_reference
from jiyi.testing.contract_base import ME, added, plan
from jiyi.testing.strategies import heats, incoming_messages, memories
from tests.conftest import Clock

LIMIT = Settings().limits.archive_bytes


def parts(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in PARTS}


def manifest(path: Path) -> dict[str, Any]:
    with zipfile.ZipFile(path) as file:
        return json.loads(file.read(MANIFEST))  # type: ignore[no-any-return]


def lived(layer: MemoryLayer, clock: Clock) -> ScopedMemory:
    """A memory that has seen everything: changes, corrections, an undo, tombstones, gaps in its numbers."""
    me = layer.scope("ming")
    says = [
        ("s1", "我们的数据库用的是 Oracle。"), ("s1", "我喜欢绿茶。我的职业是会计。"), ("s2", "数据库从 Oracle 迁到 TiDB 了。"),
        ("s2", "My dog is called Biscuit."), ("s3", "I live in Leeds."), ("s3", "我对花生过敏"), ("s3", "I moved to York."),
    ]  # fmt: skip
    for session, text in says:
        clock.advance(days=1)
        me.observe(
            [
                {"role": "user", "text": text, "name": "李明", "app": "微信"},
                {"role": "assistant", "text": "好的 / OK\n👍", "at": clock.now.isoformat()},
            ],
            session=session,
        )
        layer.work()
    me.remember("以后都用英文回答我", category="rule", importance=5)
    me.correct(me.remember("预算是80万").memories[0].id, "预算是90万")
    me.undo(me.remember("The staging server is heron").plan_id or "")
    me.forget(memory=next(m.id for m in me.memories() if "绿茶" in m.text))
    me.forget(memory=me.remember("门禁密码写在白板上").memories[0].id)
    me.recall("数据库")
    me.recall("York")
    layer.work()
    return me


def questions(me: ScopedMemory, then: object) -> list[object]:
    """Everything that can be asked."""
    asked: list[object] = [
        me.memories(status=None), me.ledger(), me.profile(), me.sessions(), me.history(limit=500).messages,
        me.memories(status=None, known_at=then), me.lag(),  # type: ignore[arg-type]
    ]  # fmt: skip
    for query in ("数据库", "where do I live", "职业", "Biscuit", "绿茶", "密码", "staging"):
        asked += [me.recall(query, limit=50), me.recall(query, limit=50, kinds={"message"}), me.context(query).text]
    return asked


def test_export_import_export_gives_the_same_bytes(layer: MemoryLayer, clock: Clock, tmp_path: Path) -> None:
    early = clock.now
    me = lived(layer, clock)
    summary = me.export(tmp_path / "one.zip")
    assert (summary.messages, summary.plans, summary.unfinished) == (14, len(me.ledger()), 0)
    clock.advance(hours=1)  # before the night, in which upkeep would look at the one and not yet at the other

    again = layer.scope("ming", tenant="elsewhere")
    assert again.import_(tmp_path / "one.zip") == summary
    assert [c for c in layer.check() if not c.ok] == []
    again.export(tmp_path / "two.zip")
    assert parts(tmp_path / "two.zip") == parts(tmp_path / "one.zip")
    first, second = manifest(tmp_path / "one.zip"), manifest(tmp_path / "two.zip")
    assert first.pop("exported_at") != second.pop("exported_at")
    assert first == second
    assert questions(again, early) == questions(me, early)


def test_life_goes_on_where_it_stopped(layer: MemoryLayer, clock: Clock, tmp_path: Path) -> None:
    """Numbers are not used twice, undo still undoes, and what was forgotten is not learnt again."""
    me = lived(layer, clock)
    before = me.history(limit=500).messages
    me.export(tmp_path / "one.zip")
    again = layer.scope("nora")
    again.import_(tmp_path / "one.zip")
    for memory in (me, again):
        receipt = memory.remember("我的猫叫年糕")
        assert memory.undo(receipt.plan_id or "").plan_id == f"p{len(memory.ledger())}"
        # The same source once more, now that a span of it is blotted out.
        old = next(m for m in before if "▇" in m.text)
        stored = memory.observe(
            [{"role": "user", "text": "我喜欢绿茶。我的职业是会计。", "id": old.id, "at": old.at}], session="s1"
        )
        assert (stored.new, stored.messages) == (0, (old,))
        layer.work()
    assert again.memories(status=None) == me.memories(status=None)
    assert again.ledger() == me.ledger()
    assert replay(again.ledger()) == {m.seq: m for m in again.memories(status=None)}


@pytest.mark.parametrize(
    ("source", "target"), [("reference", "native"), ("postings", "reference"), ("native", "postings")]
)
def test_from_one_store_into_another(source: str, target: str, tmp_path: Path) -> None:
    clock = Clock()

    def opened(kind: str) -> MemoryLayer:
        if kind == "reference":
            return open_memory("reference", clock=clock, worker=False)
        return open_memory(
            tmp_path / f"{kind}.db", clock=clock, worker=False, memory_index=kind, message_index=kind
        )  # fmt: skip

    with opened(source) as here, opened(target) as there:
        me = lived(here, clock)
        me.export(tmp_path / "one.zip")
        you = there.scope("nora")
        you.import_(tmp_path / "one.zip")
        you.export(tmp_path / "two.zip")
        assert parts(tmp_path / "two.zip") == parts(tmp_path / "one.zip")
        assert you.memories(status=None) == me.memories(status=None)
        assert you.ledger() == me.ledger()
        assert you.history(limit=500).messages == me.history(limit=500).messages
        assert [c for c in there.check() if not c.ok] == []


def test_nothing_of_what_was_forgotten_is_in_the_file(layer: MemoryLayer, clock: Clock, tmp_path: Path) -> None:
    lived(layer, clock).export(tmp_path / "one.zip")
    everything = b"".join(parts(tmp_path / "one.zip").values()).decode()
    assert "绿茶" not in everything
    assert "密码" not in everything
    # Neither whose memory it is.
    assert "ming" not in everything + json.dumps(manifest(tmp_path / "one.zip"))


def test_what_people_read_of_it(layer: MemoryLayer, clock: Clock, tmp_path: Path) -> None:
    lived(layer, clock).export(tmp_path / "one.zip")
    shown = parts(tmp_path / "one.zip")["profile.md"].decode()
    assert "## 长期要求 · Standing rules\n\n- 以后都用英文回答我 (" in shown
    assert "TiDB" in shown
    assert "Oracle" not in shown
    assert "York" in shown


def test_an_empty_scope_too(layer: MemoryLayer, tmp_path: Path) -> None:
    summary = layer.scope("ming").export(tmp_path / "one.zip")
    assert (summary.messages, summary.memories, summary.plans) == (0, 0, 0)
    nora = layer.scope("nora")
    nora.import_(tmp_path / "one.zip")
    assert nora.memories(status=None) == nora.ledger() == []


def test_what_was_just_said_is_distilled_first(layer: MemoryLayer, tmp_path: Path) -> None:
    me = layer.scope("ming")
    me.observe([{"role": "user", "text": "我住在无锡。"}], session="s1")
    summary = me.export(tmp_path / "one.zip")
    assert (summary.memories, summary.unfinished) == (1, 0)


def test_an_export_is_never_mixed_into_a_memory(layer: MemoryLayer, clock: Clock, tmp_path: Path) -> None:
    me = lived(layer, clock)
    me.export(tmp_path / "one.zip")
    nora, kim = layer.scope("nora"), layer.scope("kim")
    nora.remember("I live in Bath")
    kim.remember("I live in Hull")
    kim.forget(memory="m1")  # nothing is left of it, but it once was there
    for taken in (me, nora, kim):
        before = (taken.memories(status=None), taken.ledger(), taken.history().messages)
        with pytest.raises(PlanRefused, match="import it as a new user"):
            taken.import_(tmp_path / "one.zip")
        assert (taken.memories(status=None), taken.ledger(), taken.history().messages) == before


def test_a_file_is_written_whole_for_its_owner_or_not_at_all(layer: MemoryLayer, clock: Clock, tmp_path: Path) -> None:
    me = lived(layer, clock)
    target = tmp_path / "one.zip"
    me.export(target)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    held = target.read_bytes()
    with pytest.raises(InputError, match="exists already"):
        me.export(target)
    with pytest.raises(InputError, match="cannot be written"):
        me.export(tmp_path / "no such folder" / "one.zip")
    assert target.read_bytes() == held
    assert [p.name for p in tmp_path.iterdir() if "zip" in p.name] == ["one.zip"]


def small(tmp_path: Path, limit: int) -> MemoryLayer:
    return open_memory(
        settings=Settings(path="reference", worker=False, limits=Limits(archive_bytes=limit)), clock=Clock()
    )


def test_sizes_have_a_limit_both_ways(tmp_path: Path) -> None:
    with small(tmp_path, 10_000) as layer:
        me = layer.scope("ming")
        me.observe([{"role": "user", "text": "长" * 4_000}], session="s1")
        with pytest.raises(TooLarge, match="archive_bytes"):
            me.export(tmp_path / "one.zip")
        assert list(tmp_path.glob("*.zip*")) == []
    with small(tmp_path, LIMIT) as layer:
        me = layer.scope("ming")
        me.observe([{"role": "user", "text": "0" * 90_000}], session="s1")
        me.export(tmp_path / "one.zip")
    assert (tmp_path / "one.zip").stat().st_size < 10_000  # so small packed
    with small(tmp_path, 10_000) as layer, pytest.raises(TooLarge, match="archive_bytes"):
        layer.scope("ming").import_(tmp_path / "one.zip")


# ------------------------------------------------------------------ files that are not as they were written


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    clock = Clock()
    with open_memory("reference", clock=clock, worker=False) as layer:
        lived(layer, clock).export(tmp_path / "one.zip")
    return tmp_path / "one.zip"


def rewritten(path: Path, change: Callable[[dict[str, bytes]], object], *, sealed: bool = True) -> Path:
    """The same export with its parts changed; sealed, its manifest vouches for the change."""
    with zipfile.ZipFile(path) as file:
        held = {name: file.read(name) for name in file.namelist()}
    change(held)
    if sealed and MANIFEST in held:
        head = json.loads(held[MANIFEST])
        head["sha256"] = {name: hashlib.sha256(held[name]).hexdigest() for name in PARTS if name in held}
        held[MANIFEST] = json.dumps(head).encode()
    other = path.with_name("edited.zip")
    with zipfile.ZipFile(other, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in held.items():
            file.writestr(name, data)
    return other


def on_line(part: str, number: int, old: str, new: str) -> Callable[[dict[str, bytes]], None]:
    def change(held: dict[str, bytes]) -> None:
        lines = held[part].decode().splitlines(keepends=True)
        assert old in lines[number], lines[number]
        lines[number] = lines[number].replace(old, new, 1)
        held[part] = "".join(lines).encode()

    return change


def in_manifest(**fields: object) -> Callable[[dict[str, bytes]], None]:
    def change(held: dict[str, bytes]) -> None:
        held[MANIFEST] = json.dumps(json.loads(held[MANIFEST]) | fields).encode()

    return change


def refused(path: Path, says: str) -> None:
    with open_memory("reference", clock=Clock(), worker=False) as layer:
        me = layer.scope("nora")
        with pytest.raises(UnreadableFile, match=says):
            me.import_(path)
        with pytest.raises(UnreadableFile, match=says):
            me.import_(path, dry_run=True)
        assert layer.scopes() == []


@pytest.mark.parametrize("part", PARTS)
def test_an_edited_part_is_seen(exported: Path, part: str) -> None:
    def change(held: dict[str, bytes]) -> None:
        held[part] += b"\n"

    refused(rewritten(exported, change, sealed=False), f"{part}.*SHA-256")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (in_manifest(version=2), "version 2.*update jiyi"),
        (in_manifest(format="other"), "no export of jiyi but of 'other'"),
        (in_manifest(counts={"messages": 1, "memories": 1, "plans": 1}), "numbers are not those"),
        (in_manifest(numbers={"message": 14, "memory": 3, "plan": 4, "summary": 1}), "numbers are not those"),
        (in_manifest(numbers={"message": "14", "memory": 99, "plan": 99, "summary": 9}), "no manifest"),
        (in_manifest(exported_at="today"), "no manifest"),
        (lambda held: held.update({MANIFEST: b"[]"}), "no manifest"),
        (lambda held: held.update({MANIFEST: b"{" * 9000}), "no manifest"),
        (lambda held: held.pop("heat.jsonl"), "has the parts"),
        (lambda held: held.update({"more.txt": b""}), "has the parts"),
        (lambda held: held.pop(MANIFEST), "no manifest.json"),
    ],
)
def test_a_manifest_that_is_none(exported: Path, change: Callable[[dict[str, bytes]], None], says: str) -> None:
    refused(rewritten(exported, change, sealed=False), says)


@pytest.mark.parametrize(
    ("part", "number", "old", "new"),
    [
        ("messages.jsonl", 0, '{"seq":1', '{"seq":1x'),
        ("messages.jsonl", 1, '"seq":2', '"seq":1'),
        ("messages.jsonl", 1, '"seq":2', '"seq":true'),
        ("messages.jsonl", 1, '"seq":2', '"seq":"2"'),
        ("messages.jsonl", 0, '"role":"user"', '"role":"king"'),
        ("messages.jsonl", 0, '"session":"s1"', '"session":"\\u0007"'),
        ("messages.jsonl", 0, '"session":"s1"', '"session":7'),
        ("messages.jsonl", 0, "Oracle", "\\ud800"),
        ("messages.jsonl", 0, '"at":[', '"at":[9999999999999999999,'),
        ("messages.jsonl", 0, '"labels":{"app":"微信"}', '"labels":{"app":["微信"]}'),
        ("messages.jsonl", 0, '"forgotten":false', '"forgotten":0'),
        ("messages.jsonl", 0, '"altered":false', '"changed":false'),
        ("memories.jsonl", 0, '"importance":4', '"importance":6'),
        ("memories.jsonl", 0, '"start":', '"start":NaN,"s":'),
        ("memories.jsonl", 0, '"start":', '"start":1.5,"s":'),
        ("memories.jsonl", 0, '"category":"', '"category":"x'),
        ("memories.jsonl", 0, '"triple":["', '"triple":[9,"'),
        ("memories.jsonl", 0, '"text":"', '"text":7,"key":"'),
        ("memories.jsonl", 0, '"evidence":[[1', '"evidence":[["1"'),
        ("ledger.jsonl", 0, '"seq":1', '"seq":2'),
        ("ledger.jsonl", 0, '"verb":"', '"verb":"x'),
        ("ledger.jsonl", 0, "[[null,{", "[[{"),
        ("ledger.jsonl", 0, "[[null,{", "[[null,null],[null,{"),
        ("ledger.jsonl", 0, '"importance":4', '"importance":0'),
        ("heat.jsonl", 0, '"visits":1.0', '"visits":-1.0'),
        ("heat.jsonl", 0, '"visits":1.0', '"visits":1e999'),
        ("heat.jsonl", 0, '"memory":', '"memory":"x","m":'),
    ],
)
def test_a_line_that_cannot_be(exported: Path, part: str, number: int, old: str, new: str) -> None:
    refused(rewritten(exported, on_line(part, number, old, new)), part)


def test_the_line_is_named(exported: Path) -> None:
    with pytest.raises(UnreadableFile) as raised:
        read_archive(rewritten(exported, on_line("messages.jsonl", 2, '"role":"user"', '"role":"king"')), LIMIT)
    assert raised.value.line == 3
    assert "Nothing was imported" in str(raised.value)


@pytest.mark.parametrize("data", [b"", b"hello", b"PK\x03\x04" + b"\x00" * 99, b"PK\x05\x06" + b"\x00" * 18])
def test_what_is_no_export_at_all(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.zip").write_bytes(data)
    refused(tmp_path / "x.zip", "damaged|no export")
    refused(tmp_path / "nowhere.zip", "no such file")
    refused(tmp_path, "damaged")


def test_every_cut_and_every_flipped_byte_is_seen_or_does_no_harm(exported: Path) -> None:
    whole, other = exported.read_bytes(), exported.with_name("broken.zip")
    held = parts(exported)
    for at in range(0, len(whole), max(1, len(whole) // 150)):
        for broken in (whole[:at], whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :]):
            other.write_bytes(broken)
            with suppress(UnreadableFile):
                assert dict(read_archive(other, LIMIT).parts) == held


def test_a_bomb_is_not_unpacked(exported: Path) -> None:
    def change(held: dict[str, bytes]) -> None:
        held["messages.jsonl"] = b" " * 30_000_000

    bomb = rewritten(exported, change)
    assert bomb.stat().st_size < 100_000
    with pytest.raises(TooLarge, match=r"messages\.jsonl"):
        read_archive(bomb, 1_000_000)


def test_what_the_store_refuses_leaves_nothing_behind(layer: MemoryLayer, exported: Path) -> None:
    """Two messages of one id: every line is right, the whole is not."""
    first = json.loads(parts(exported)["messages.jsonl"].splitlines()[0])["id"]
    second = json.loads(parts(exported)["messages.jsonl"].splitlines()[1])["id"]
    twice = rewritten(exported, on_line("messages.jsonl", 1, second, first))
    me = layer.scope("nora")
    with pytest.raises(InputError, match="id is taken"):
        me.import_(twice)
    assert me.memories(status=None) == me.ledger() == []
    me.import_(exported)  # nothing stands in its way
    assert len(me.memories(status=None)) > 0


# ------------------------------------------------------------------ anything at all


@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    st.lists(incoming_messages(), max_size=4, unique_by=lambda m: m.id),
    st.lists(memories(st.integers(1, 60)), max_size=4, unique_by=lambda m: m.seq),
    heats(),
)
def test_any_scope_comes_back(said: list[IncomingMessage], believed: list[Memory], heat: object) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = open_reference()

        def work(unit: Any) -> None:
            unit.messages.add(ME, said)
            unit.memories.write(ME, added(*believed))
            unit.memories.set_heat(ME, {m.seq: heat for m in believed[:1]})
            unit.ledger.append(ME, plan(*added(*believed)))

        store.write(work)
        with MemoryLayer(store, assemble(Settings(worker=False)), Clock()) as layer:
            layer.scope(ME.user).export(Path(folder) / "one.zip")
        with open_memory(Path(folder) / "m.db", clock=Clock(), worker=False) as layer:
            me = layer.scope("nora")
            me.import_(Path(folder) / "one.zip")
            me.export(Path(folder) / "two.zip")
            assert me.memories(status=None) == sorted(believed, key=lambda m: m.seq)
        assert parts(Path(folder) / "two.zip") == parts(Path(folder) / "one.zip")
