import copy
import json
import zipfile
from datetime import timedelta
from pathlib import Path

import pytest

from jiyi.domain.memory import Role
from jiyi.errors import InputError, UnreadableFile
from jiyi.importers.parsed import Limits

START = 1767229200.25  # 2026-01-01T09:00:00.25+08:00


def node(parent, role=None, text="", *, at=None, kind="text", hidden=False, parts=None, **more):
    if role is None:
        return {"parent": parent, "children": [], "message": None}
    message = {
        "author": {"role": role, "name": more.pop("name", None)},
        "create_time": at,
        "content": {"content_type": kind, "parts": [text] if parts is None else parts},
        "metadata": {"is_visually_hidden_from_conversation": True} if hidden else {},
        "recipient": "all",
        **more,
    }
    return {"parent": parent, "children": [], "message": message}


def conversation(mapping, current, **more):
    return {
        "conversation_id": "c-1",
        "title": "库存",
        "create_time": START,
        "mapping": mapping,
        "current_node": current,
        **more,
    }


BRANCHED = conversation(
    {
        "root": node(None),
        "sys": node("root", "system", "", hidden=True),
        "q-old": node("sys", "user", "用 MySQL 还是 Redis？", at=START + 1),
        "a-old": node("q-old", "assistant", "MySQL", at=START + 2),
        "q-new": node("sys", "user", "库存超卖怎么解决？", at=START + 60),
        "a-lost": node("q-new", "assistant", "no idea", at=START + 61),
        "think": node("q-new", "assistant", kind="thoughts", at=START + 62),
        "a-new": node("think", "assistant", "用 Redis 锁，or a queue", at=START + 63),
    },
    "a-new",
)


def test_follows_the_branch_that_was_last_seen(saved, read):
    parsed = read(saved("conversations.json", [BRANCHED]))

    (got,) = parsed.conversations
    assert (parsed.format, got.user, got.session) == ("chatgpt", None, "chatgpt/c-1")
    assert [(m.id, m.role, m.text) for m in got.messages] == [
        ("chatgpt:c-1:q-new", Role.USER, "库存超卖怎么解决？"),
        ("chatgpt:c-1:a-new", Role.ASSISTANT, "用 Redis 锁，or a queue"),
    ]
    assert got.messages[0].at.isoformat() == "2026-01-01T09:01:00.250000+08:00"
    assert parsed.skipped == {"hidden or system node": 1, "in another branch": 3, "not text: thoughts": 1}


def test_without_current_node_the_last_leaf_counts(saved, read):
    parsed = read(saved("conversations.json", [{**BRANCHED, "current_node": None}]))
    assert [m.text for m in parsed.conversations[0].messages] == ["库存超卖怎么解决？", "用 Redis 锁，or a queue"]


def test_hidden_nodes_tools_and_parts_without_text(saved, read):
    mapping = {
        "a": node(None, "user", "secret instructions", at=START, hidden=True),
        "b": node("a", "user", at=START + 1, kind="multimodal_text",
                  parts=[{"content_type": "image_asset_pointer"}, "这是什么花？",
                         {"content_type": "audio_transcription", "text": "说给我听"}]),
        "c": node("b", "assistant", "search(花)", at=START + 2, recipient="browser"),
        "d": node("c", "tool", "a page about roses", at=START + 3, name="browser"),
        "e": node("d", "tool", kind="execution_output", at=START + 4),
        "f": node("e", "assistant", "", at=START + 5),
        "g": node("f", "assistant", "玫瑰", at=START + 6),
    }  # fmt: skip
    parsed = read(saved("conversations.json", [conversation(mapping, "g")]))

    assert [(m.role, m.text, m.name) for m in parsed.conversations[0].messages] == [
        (Role.USER, "这是什么花？\n说给我听", None),
        (Role.TOOL, "a page about roses", "browser"),
        (Role.ASSISTANT, "玫瑰", None),
    ]
    assert parsed.skipped == {
        "empty text": 1,
        "hidden or system node": 1,
        "message to a tool": 1,
        "not text: execution_output": 1,
        "part without text": 1,
    }


def instants(parsed):
    return [m.at for m in parsed.conversations[0].messages]


def test_null_times_take_their_neighbours(saved, read):
    mapping = {
        "a": node(None, "user", "one", at=None),
        "b": node("a", "assistant", "two", at=START + 10),
        "c": node("b", "user", "three", at=0),
        "d": node("c", "assistant", "four", at=None),
        "e": node("d", "user", "five", at=START + 20),
    }
    at = instants(read(saved("conversations.json", [conversation(mapping, "e")])))

    assert at[0].timestamp() == START
    assert at[1].timestamp() == START + 10
    assert [at[2] - at[1], at[3] - at[2]] == [timedelta(microseconds=1)] * 2
    assert at[4].timestamp() == START + 20


def test_without_message_times_the_conversation_counts(saved, read):
    mapping = {"a": node(None, "user", "one"), "b": node("a", "assistant", "two")}
    timed = read(saved("a.json", [conversation(mapping, "b")]))
    assert [at.timestamp() for at in instants(timed)] == [START, START + 1]

    untimed = saved("b.json", [conversation(mapping, "b", create_time=None)])
    with pytest.raises(InputError, match="--assume-time"):
        read(untimed)
    assert instants(read(untimed, assume_time=instants(timed)[0])) == instants(timed)


def second(**more):
    return conversation({"x": node(None, "user", "I moved to Leeds", at=START)}, "x", **{"conversation_id": "c-2", "title": "Move", **more})  # fmt: skip


def test_order_of_conversations_does_not_matter(saved, read):
    one = read(saved("a.json", [BRANCHED, second()]))
    other = read(saved("b.json", [second(), BRANCHED]))

    assert read(saved("a.json", [BRANCHED, second()])) == one
    assert sorted(one.conversations, key=lambda c: c.session) == sorted(other.conversations, key=lambda c: c.session)


@pytest.mark.parametrize("only", ["c-2", "Move"])
def test_only_picks_by_id_or_title(saved, read, only):
    parsed = read(saved("a.json", [BRANCHED, second()]), only=only)
    assert [c.session for c in parsed.conversations] == ["chatgpt/c-2"]
    assert parsed.skipped == {}


def test_ids_that_cannot_be_stored_are_hashed(saved, read):
    long = {"n" * 300: node(None, "user", "hello", at=START), "x\n": node("n" * 300, "assistant", "hi", at=START + 1)}
    (got,) = read(saved("a.json", [conversation(long, "x\n")])).conversations
    assert all(len(m.id) <= 200 and m.id.isprintable() for m in got.messages)
    assert got.messages[0].id != got.messages[1].id


def zipped(path: Path, members: dict) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content if isinstance(content, str | bytes) else json.dumps(content))
    return path


def test_file_folder_and_zip_are_the_same(saved, read, tmp_path):
    single = read(saved("conversations.json", [BRANCHED, second()]))
    folder = tmp_path / "export"
    folder.mkdir()
    (folder / "conversations-000.json").write_text(json.dumps([BRANCHED]))
    (folder / "conversations-001.json").write_text(json.dumps([second()]))
    (folder / "user.json").write_text("{broken")
    whole = zipped(
        tmp_path / "whole.zip", {"x/conversations.json": [BRANCHED, second()], "__MACOSX/x/._conversations.json": b"\0"}
    )

    assert read(folder) == single
    assert read(whole) == single


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"chat.html": "<html>"}, "holds no conversations.json"),
        ({"conversations.json": "[{"}, "conversations.json, line 1: not valid JSON"),
        ({"conversations.json": ""}, "empty"),
    ],
)
def test_zips_without_conversations_are_refused(read, tmp_path, members, reason):
    with pytest.raises(UnreadableFile, match=reason):
        read(zipped(tmp_path / "a.zip", members))


def test_zip_bomb_and_large_file_are_refused(saved, read, tmp_path):
    bomb = zipped(tmp_path / "bomb.zip", {"conversations.json": b" " * 3_000_000})
    assert bomb.stat().st_size < 1_000_000
    with pytest.raises(UnreadableFile, match="more than 1 MB"):
        read(bomb, limits=Limits(file=1024 * 1024))
    with pytest.raises(UnreadableFile, match="more than 1 MB"):
        read(saved("conversations.json", b" " * 3_000_000), limits=Limits(file=1024 * 1024))


def test_a_zip_cut_short_is_refused(saved, read, tmp_path):
    whole = zipped(tmp_path / "a.zip", {"conversations.json": [BRANCHED]}).read_bytes()
    for end in range(4, len(whole), 37):
        with pytest.raises(UnreadableFile, match="damaged"):
            read(saved("cut.zip", whole[:end]))


def test_an_encrypted_zip_is_refused_with_what_to_do(saved, read, tmp_path):
    data = bytearray(zipped(tmp_path / "a.zip", {"conversations.json": [BRANCHED]}).read_bytes())
    data[6] |= 1  # the flag in the file's own header,
    data[data.rindex(b"PK\x01\x02") + 8] |= 1  # and in the directory
    with pytest.raises(UnreadableFile, match="encrypted: unpack it and import the folder"):
        read(saved("b.zip", bytes(data)))


@pytest.mark.parametrize("wrap", [lambda c: [c], lambda c: {"conversations": [c]}])
def test_claude_and_deepseek_are_told_apart(saved, read, wrap):
    claude = {"uuid": "u", "name": "n", "chat_messages": [{"sender": "human", "text": "hi"}]}
    deepseek = {"id": "d", "title": "t", "inserted_at": "2026-01-01", "mapping": {"root": {"message": None}}}
    for content, product in ((claude, "Claude"), (deepseek, "DeepSeek")):
        for options in ({}, {"format": "chatgpt"}):
            with pytest.raises(UnreadableFile, match=f"{product} export, a format that is not supported yet"):
                read(saved("conversations.json", wrap(content)), **options)


def broken(change):
    record = copy.deepcopy(BRANCHED)
    change(record, record["mapping"])
    return record


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (broken(lambda c, m: c.update(current_node="gone")), "node 'gone', which is not in the mapping"),
        (broken(lambda c, m: m["a-new"].update(parent="gone")), r"mapping\.a-new: names the node 'gone'"),
        (broken(lambda c, m: m["sys"].update(parent="a-new")), "round in a circle"),
        (broken(lambda c, m: m["a-new"]["message"].pop("author")), "a-new.message: 'author' is missing"),
        (broken(lambda c, m: m["a-new"]["message"].update(create_time="soon")), "create_time: .*soon"),
        (broken(lambda c, m: m["a-new"]["message"]["content"].update(parts="text")), "parts: expected a list"),
        (broken(lambda c, m: c.update(mapping=[])), "mapping: expected an object"),
        (broken(lambda c, m: c.pop("mapping")), "'mapping' is missing"),
        (None, "expected an object {…}, found null"),
    ],
)
def test_wrong_shapes_are_refused_and_nothing_is_given(saved, read, record, reason):
    path = saved("a.json", [second(), record], indent=1)
    with pytest.raises(UnreadableFile, match=reason) as caught:
        read(path)
    assert caught.value.line is not None
    assert caught.value.line > 20  # behind the good conversation


def test_an_empty_conversation_is_counted(saved, read):
    parsed = read(saved("a.json", [second(), conversation({"root": node(None)}, "root", conversation_id="c-3")]))
    assert [c.session for c in parsed.conversations] == ["chatgpt/c-2"]
    assert parsed.skipped == {"empty conversation": 1}
