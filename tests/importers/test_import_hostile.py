"""Whatever a file holds, it is read or refused; what is read can be stored."""

import json
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from jiyi.domain.scope import check_name
from jiyi.errors import InputError
from jiyi.importers.formats import FORMATS, read_file

ZONE = ZoneInfo("Asia/Shanghai")
ASSUMED = datetime.fromisoformat("2026-03-01T09:00:00+08:00")

_WORDS = (
    "role", "content", "messages", "parts", "text", "type", "mapping", "message", "author", "parent", "current_node",
    "create_time", "content_type", "conversation", "conversations", "sample_id", "speaker_a", "speaker_b", "session_1",
    "session_1_date_time", "speaker", "dia_id", "blip_caption", "history", "2024-01-01", "query", "response", "name",
    "at", "tool_calls", "function", "arguments", "metadata", "id", "session", "user", "assistant", "system",
    "1:56 pm on 8 May, 2023", "2024-01-01T00:00:00Z", "a", "你好", "\ud800", "\x00", "",
)  # fmt: skip

_leaves = st.one_of(
    st.sampled_from(_WORDS), st.text(max_size=6), st.none(), st.booleans(), st.integers(), st.floats(),
    st.integers(min_value=0, max_value=2**45),
)  # fmt: skip
_values = st.recursive(
    _leaves,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(_WORDS) | st.text(max_size=3), inner, max_size=6)
    ),
    max_leaves=25,
)


def mostly(good: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Right nineteen times in twenty: shapes that are nearly right reach further than arbitrary ones."""
    return st.sampled_from([True] * 19 + [False]).flatmap(lambda right: good if right else _values)


def record(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return mostly(st.fixed_dictionaries(fields))


_text = mostly(st.sampled_from(["我搬家了", "I moved", "[picture]", "", " "]))
_date = st.sampled_from(["2024-01-01", "20240101", "2024-02-29"])
_openai_message = record(role=mostly(st.sampled_from(["user", "assistant", "tool"])), content=_text)
_chatgpt_node = record(
    parent=st.just(None),
    message=record(
        author=record(role=mostly(st.sampled_from(["user", "assistant", "tool"]))),
        create_time=mostly(st.none() | st.floats(1e9, 2e9)),
        content=record(content_type=st.just("text"), parts=st.lists(_text, max_size=2)),
    ),
)
_near = st.one_of(
    record(messages=st.lists(_openai_message, max_size=3)),
    record(role=st.just("user"), content=_text, at=mostly(st.floats(1e9, 2e9))),
    st.lists(
        record(
            mapping=st.dictionaries(st.sampled_from("abc"), _chatgpt_node, min_size=1),
            current_node=st.sampled_from(["a", "b", None]),
            id=_text,
        ),
        max_size=2,
    ),
    record(
        sample_id=_text,
        conversation=record(
            speaker_a=st.just("A"),
            speaker_b=st.just("B"),
            session_1_date_time=mostly(st.just("1:56 pm on 8 May, 2023")),
            session_1=st.lists(
                record(speaker=st.sampled_from("AB"), dia_id=st.sampled_from(["D1", "D2", "D3"]), text=_text),
                max_size=3,
            ),
        ),
    ),
    st.dictionaries(
        st.sampled_from(["小满", "Ivy", ""]),
        record(history=st.dictionaries(_date, st.lists(record(query=_text, response=_text), max_size=2), max_size=3)),
        max_size=2,
    ),
)


def read_or_refuse(data: bytes, name: str, form: str | None) -> int:
    """How many messages were read; anything but a refusal on purpose escapes."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        try:
            parsed = read_file(path, format=form, zone=ZONE, assume_time=ASSUMED)
        except InputError:
            return 0
        assert parsed == read_file(path, format=form, zone=ZONE, assume_time=ASSUMED)
    seen = set()
    for conversation in parsed.conversations:
        assert conversation.messages
        check_name("session", conversation.session)
        if conversation.user is not None:
            check_name("user", conversation.user)
        for message in conversation.messages:
            check_name("id", message.id)
            assert (conversation.user, message.id) not in seen
            seen.add((conversation.user, message.id))
            assert message.session == conversation.session
            assert message.text.strip()
            message.text.encode()
            assert message.at.utcoffset() is not None
    return len(seen)


_names = st.sampled_from(["a.json", "a.jsonl", "conversations.json"])
_formats = st.sampled_from([None, *FORMATS])


@settings(max_examples=300, deadline=None)
@given(_values | _near, _names, _formats, st.sampled_from([None, 1]))
def test_any_json_is_read_or_refused(value, name, form, indent):
    read_or_refuse(json.dumps(value, indent=indent).encode(), name, form)


@settings(max_examples=150, deadline=None)
@given(st.lists(_near, min_size=1, max_size=3), st.integers(0, 400), st.binary(max_size=4), _names)
def test_damaged_files_are_read_or_refused(values, place, noise, name):
    data = "\n".join(json.dumps(v, ensure_ascii=True) for v in values).encode()
    at = place % len(data)
    read_or_refuse(data[:at] + noise + data[at + len(noise) // 2 :], name, None)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([b"", b"PK\x03\x04", b"\xef\xbb\xbf", b"\xff\xfe", b"[", b'{"role":"']),
    st.binary(max_size=200),
    _names,
)
def test_any_bytes_are_read_or_refused(start, data, name):
    read_or_refuse(start + data, name, None)
