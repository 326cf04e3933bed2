import json
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from jiyi.domain.memory import Role
from jiyi.errors import InputError, InstantWithoutZone, UnreadableFile

ASSUMED = datetime.fromisoformat("2026-03-01T09:00:00+08:00")

CHAT_ZH = {
    "messages": [
        {"role": "developer", "content": "你是仓库助手"},
        {"role": "user", "content": "我们用的数据库是 MySQL"},
        {"role": "assistant", "content": "好的，记下了"},
    ]
}
CHAT_EN = {
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Where does it ship from?"}, {"type": "image_url"}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "function": {"name": "find_depot", "arguments": '{"city":"Leeds"}'}}],
        },
        {"role": "tool", "name": "find_depot", "content": "Depot 7"},
        {"role": "assistant", "content": [{"type": "text", "text": "From depot 7."}, {"type": "text", "text": "Ok?"}]},
    ]
}


def test_conversation_per_line(saved, read):
    parsed = read(saved("a.jsonl", [CHAT_ZH, CHAT_EN]), assume_time=ASSUMED)

    zh, en = parsed.conversations
    assert parsed.format == "openai"
    assert zh.user is None
    assert [(m.role, m.text) for m in zh.messages] == [
        (Role.SYSTEM, "你是仓库助手"),
        (Role.USER, "我们用的数据库是 MySQL"),
        (Role.ASSISTANT, "好的，记下了"),
    ]
    assert [m.at - ASSUMED for m in zh.messages] == [timedelta(seconds=i) for i in range(3)]
    assert zh.messages[0].at.utcoffset() == timedelta(hours=8)
    assert [(m.role, m.text, m.name) for m in en.messages] == [
        (Role.USER, "Where does it ship from?", None),
        (Role.TOOL, 'find_depot({"city":"Leeds"})', "find_depot"),
        (Role.TOOL, "Depot 7", "find_depot"),
        (Role.ASSISTANT, "From depot 7.\nOk?", None),
    ]
    assert parsed.skipped == {"part without text: image_url": 1}


def test_message_per_line_is_one_session_of_the_file(saved, read):
    lines = [{"role": "user", "content": "我叫林舟"}, {"role": "assistant", "content": "你好，林舟"}]
    parsed = read(saved("聊天.jsonl", lines), assume_time=ASSUMED)

    (conversation,) = parsed.conversations
    assert conversation.session.startswith("聊天-")
    assert [m.text for m in conversation.messages] == ["我叫林舟", "你好，林舟"]
    assert {m.session for m in conversation.messages} == {conversation.session}


def test_messages_name_their_session_and_only_picks_one(saved, read):
    lines = [
        {"role": "user", "content": "first", "session": "mon"},
        {"role": "user", "content": "other", "session": 2},
        {"role": "assistant", "content": "second", "session": "mon"},
    ]
    path = saved("a.jsonl", lines)

    assert [(c.session, len(c.messages)) for c in read(path, assume_time=ASSUMED).conversations] == [
        ("mon", 2),
        ("2", 1),
    ]
    (monday,) = read(path, assume_time=ASSUMED, only="mon").conversations
    assert [m.text for m in monday.messages] == ["first", "second"]
    with pytest.raises(InputError, match="'tue': it holds mon, 2"):
        read(path, assume_time=ASSUMED, only="tue")


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("created_at", "2026-03-01T10:00:00Z", "2026-03-01T10:00:00+00:00"),
        ("timestamp", 1772330400, "2026-03-01T10:00:00+08:00"),
        ("timestamp", 1772330400500, "2026-03-01T10:00:00.500000+08:00"),
        ("timestamp", "1772330400", "2026-03-01T10:00:00+08:00"),
        ("at", "2026-03-01 10:00", "2026-03-01T10:00:00+08:00"),
        ("at", "20260301", "2026-03-01T00:00:00+08:00"),
    ],
)
def test_own_times_need_no_assumption(saved, read, field, value, expected):
    parsed = read(saved("a.jsonl", [{"role": "user", "content": "hi", field: value}]))
    assert parsed.conversations[0].messages[0].at.isoformat() == expected


def test_missing_times_follow_their_neighbour(saved, read):
    def said(text, **time):
        return {"role": "user", "content": text, **time}

    conversation = {
        "messages": [said("a"), said("b", at="2026-03-01T10:00:00Z"), said("c"), said("d", at="2026-03-01T11:00:00Z")]
    }
    at = [m.at for m in read(saved("a.jsonl", [conversation])).conversations[0].messages]

    assert at == sorted(at)
    assert at[1] - at[0] == at[2] - at[1] == timedelta(microseconds=1)


def test_time_of_the_conversation_is_used(saved, read):
    parsed = read(saved("a.jsonl", [{**CHAT_ZH, "created_at": "2026-02-02T08:00:00+08:00"}]), assume_time=ASSUMED)
    at = [m.at.isoformat() for m in parsed.conversations[0].messages]
    assert at == [f"2026-02-02T08:00:0{i}+08:00" for i in range(3)]


def test_seconds_are_counted_over_a_change_of_the_clocks(saved, read):
    berlin = ZoneInfo("Europe/Berlin")  # an hour is told twice on this day
    before = datetime(2026, 10, 25, 2, 59, 59, tzinfo=berlin)
    at = [m.at for m in read(saved("a.jsonl", [CHAT_ZH]), assume_time=before).conversations[0].messages]
    assert [i.timestamp() - before.timestamp() for i in at] == [0, 1, 2]


def test_without_any_time_the_error_says_what_to_pass(saved, read):
    with pytest.raises(InputError, match=r"line 2.*--assume-time") as caught:
        read(saved("a.jsonl", "\n" + '{"role":"user","content":"hi"}'))
    assert not isinstance(caught.value, UnreadableFile)


def test_assumed_time_needs_a_zone(saved, read):
    with pytest.raises(InstantWithoutZone):
        read(saved("a.jsonl", [CHAT_ZH]), assume_time=ASSUMED.replace(tzinfo=None))


def ids(parsed):
    return {c.session: [m.id for m in c.messages] for c in parsed.conversations}


def test_ids_depend_on_nothing_but_the_content(saved, read):
    first = read(saved("a.jsonl", [CHAT_ZH, CHAT_EN]), assume_time=ASSUMED)

    assert read(saved("a.jsonl", [CHAT_ZH, CHAT_EN]), assume_time=ASSUMED) == first
    assert ids(read(saved("b.jsonl", [CHAT_EN, CHAT_ZH]), assume_time=ASSUMED + timedelta(days=9))) == ids(first)
    assert len({i for messages in ids(first).values() for i in messages}) == 7


def test_a_longer_or_renamed_file_keeps_the_ids_it_had(saved, read):
    lines = [
        {"role": "user", "content": "你好"},
        {"role": "assistant", "content": "你好！"},
        {"role": "user", "content": "你好"},
    ]
    (old,) = ids(read(saved("log.jsonl", lines), assume_time=ASSUMED)).values()
    (renamed,) = ids(read(saved("log (1).jsonl", lines), assume_time=ASSUMED)).values()
    (grown,) = ids(read(saved("log.jsonl", [*lines, lines[1]]), assume_time=ASSUMED)).values()

    assert len(set(old)) == 3  # the same words said twice are two messages
    assert renamed == old
    assert grown[:3] == old
    assert grown[3] not in old


def test_the_same_line_twice_is_one_conversation(saved, read):
    parsed = read(saved("a.jsonl", [CHAT_ZH, CHAT_ZH]), assume_time=ASSUMED)
    assert len(parsed.conversations) == 1
    assert parsed.skipped == {"given twice": 3}


def test_empty_text_is_skipped_and_counted(saved, read):
    lines = [
        {"role": "user", "content": " \n"},
        {"role": "assistant", "content": None},
        {"role": "assistant", "content": "", "function_call": {"name": "noop", "arguments": ""}},
        {"messages": []},
    ]
    parsed = read(saved("a.jsonl", lines), assume_time=ASSUMED)
    assert [(m.role, m.text) for m in parsed.conversations[0].messages] == [(Role.TOOL, "noop()")]
    assert parsed.skipped == {"empty conversation": 1, "empty text": 2}


@pytest.mark.parametrize("content", [CHAT_ZH, [CHAT_ZH], CHAT_ZH["messages"]])
def test_one_json_document_works_too(saved, read, content):
    parsed = read(saved("a.json", content, indent=2), assume_time=ASSUMED)
    assert parsed.format == "openai"
    assert [m.text for m in parsed.conversations[0].messages][1] == "我们用的数据库是 MySQL"


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ({"role": "boss", "content": "hi"}, "role: unknown role 'boss'"),
        ({"role": 7, "content": "hi"}, "role: expected text, found a number"),
        ({"role": "user", "content": 7}, "content: expected a list"),
        ({"role": "user", "content": [{"type": "text"}]}, r"content\[0\]: 'text' is missing"),
        ({"role": "user", "content": "hi", "at": "yesterday"}, "at: .*yesterday"),
        ({"role": "user", "content": "hi", "at": True}, "at: expected an ISO date-time"),
        ({"role": "user", "content": "hi", "at": 1e300}, "at: expected seconds"),
        ({"role": "user", "content": "hi", "at": "9999-12-31T23:59:59"}, "at: the year 9999"),
        ({"role": "user", "content": "\ud800"}, "content: .*surrogate"),
        ({"role": "user", "name": "a\nb", "content": "hi"}, "control characters"),
        ({"messages": [{"content": "hi"}]}, r"messages\[0\]: 'role' is missing"),
        ({"messages": "hi"}, "messages: expected a list"),
        ({"text": "hi"}, "expected 'messages' or 'role'"),
        ("hi", "expected an object"),
    ],
)
def test_wrong_shapes_are_refused_with_their_line(saved, read, bad, reason):
    good = json.dumps({"role": "user", "content": "好"})
    with pytest.raises(UnreadableFile, match=reason) as caught:
        read(saved("a.jsonl", f"{good}\n\n{json.dumps(bad)}\n{good}\n"), assume_time=ASSUMED)
    assert caught.value.line == 3


def test_the_words_may_stand_in_text(saved, read):
    """The shape that `observe` takes and the README shows."""
    lines = [
        {"role": "user", "text": "I moved to Porto.", "at": "2026-03-02T09:00:00+00:00", "session": "s1"},
        {"role": "assistant", "text": "Noted.", "at": "2026-03-02T09:00:05+00:00", "session": "s1"},
    ]
    parsed = read(saved("a.jsonl", lines))
    assert [(m.role, m.text) for m in parsed.conversations[0].messages] == [
        (Role.USER, "I moved to Porto."),
        (Role.ASSISTANT, "Noted."),
    ]


@pytest.mark.parametrize(
    "lines",
    [
        [{"role": "user", "body": "I moved to Porto.", "at": "2026-03-02T09:00:00+00:00"}],
        [{"messages": []}],
        [{"role": "user", "content": "  "}],
    ],
)
def test_a_file_without_any_message_is_an_error_that_shows_the_shape(saved, read, lines):
    with pytest.raises(UnreadableFile, match="no message was found") as caught:
        read(saved("a.jsonl", lines), assume_time=ASSUMED)
    assert all(shown in str(caught.value) for shown in ('"role"', '"content"', '"text"', '"messages"'))
