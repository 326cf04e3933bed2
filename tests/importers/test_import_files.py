"""Encodings, broken files, limits, and telling formats apart."""

import json
import os
from datetime import datetime
from pathlib import Path

import pytest

from jiyi.errors import InputError, UnreadableFile
from jiyi.importers.formats import FORMATS
from jiyi.importers.parsed import Limits

ASSUMED = datetime.fromisoformat("2026-03-01T09:00:00+08:00")
LINE = '{"role":"user","content":"我搬到杭州了, to the west lake"}'


def test_byte_order_mark_line_ends_and_blank_lines_change_nothing(saved, read):
    plain = read(saved("a.jsonl", f"{LINE}\n{LINE}\n"), assume_time=ASSUMED)
    windows = read(saved("a.jsonl", b"\xef\xbb\xbf" + f"\r\n{LINE}\r\n\r\n  \r\n{LINE}".encode()), assume_time=ASSUMED)
    assert windows == plain
    assert len(plain.conversations[0].messages) == 2


def test_other_line_separators_are_text(saved, read):
    text = "first\u2028second\x85third"
    parsed = read(saved("a.jsonl", f'{{"role":"user","content":"{text}"}}\n'), assume_time=ASSUMED)
    assert parsed.conversations[0].messages[0].text == text


@pytest.mark.parametrize(
    ("data", "reason", "line"),
    [
        (f"{LINE}\n{LINE}\n".encode("gb18030"), r"not UTF-8.*may be GB18030", 1),
        (f"{LINE}\n".encode() + b"\xff\xfa\n", r"not UTF-8 \(byte 0xff\): save it as UTF-8", 2),
        (LINE.encode("utf-16"), "the file is UTF-16, expected UTF-8", 1),
        (LINE.encode("utf-32"), "the file is UTF-32, expected UTF-8", 1),
        (b"", "the file is empty", None),
        (b"\xef\xbb\xbf \n", "the file is empty", None),
    ],
)
def test_encodings(saved, read, data, reason, line):
    with pytest.raises(UnreadableFile, match=reason) as caught:
        read(saved("a.jsonl", data), assume_time=ASSUMED)
    assert caught.value.line == line
    assert "Nothing was imported" in str(caught.value)


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a"])
@pytest.mark.parametrize(
    "bad", ['{"role":"user",', "hello", '{"role":"user","content":"x"} {}', '{"a":"\t"}', "[1" + "0" * 5000 + "]"]
)
def test_broken_json_at_line_three(saved, read, name, bad):
    with pytest.raises(UnreadableFile, match=r"JSON|too many digits") as caught:
        read(saved(name, f"{LINE}\n{LINE}\n{bad}\n{LINE}\n"), assume_time=ASSUMED)
    assert caught.value.line == 3


def test_broken_json_inside_a_document(saved, read):
    with pytest.raises(UnreadableFile, match="not valid JSON: Expecting") as caught:
        read(saved("a.json", '[\n{"sample_id": "x",\n"conversation": oops}]'))
    assert caught.value.line == 3


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[" * 100_000 + "]" * 100_000])
def test_deep_nesting_is_refused(saved, read, text):
    for name in ("a.json", "a.jsonl"):
        with pytest.raises(UnreadableFile, match="nested too deeply"):
            read(saved(name, text))


def test_a_key_given_twice_loses_nothing_in_silence(saved, read):
    day = '"2024-01-01": [{"query": "a", "response": "b"}]'
    with pytest.raises(UnreadableFile, match="'2024-01-01' is given twice"):
        read(saved("m.json", f'{{"Ivy": {{"history": {{{day}, {day}}}}}}}'))


@pytest.mark.parametrize(
    ("name", "content", "place"),
    [
        ("a.jsonl", [{"role": "user", "content": "短"}, {"role": "user", "content": "长" * 11}], "line 2: content"),
        ("m.json", {"Ivy": {"history": {"2024-01-01": [{"query": "长" * 11, "response": "b"}]}}}, r"\[0\]\.query"),
        ("c.json", [{"id": "c", "create_time": 1767229200, "current_node": "a", "mapping": {"a": {"message": {
            "author": {"role": "user"}, "content": {"content_type": "text", "parts": ["长" * 11]}}}}}], r"a\.message"),
        ("l.json", {"sample_id": "c", "conversation": {
            "speaker_a": "A", "speaker_b": "B", "session_1_date_time": "1:00 pm on 1 May, 2023",
            "session_1": [{"speaker": "A", "dia_id": "D1:1", "text": "short", "blip_caption": "x"}]}}, r"session_1\[0\]"),
    ],
)  # fmt: skip
def test_long_text_is_refused_where_it_stands(saved, read, name, content, place):
    path = saved(name, content)
    with pytest.raises(UnreadableFile, match=rf"{place}.*characters, the limit is 10"):
        read(path, assume_time=ASSUMED, limits=Limits(text=10))
    assert read(path, assume_time=ASSUMED).conversations


def test_the_default_limit_of_text_is_100_000_characters(saved, read):
    assert read(saved("a.jsonl", [{"role": "user", "content": "长" * 100_000}]), assume_time=ASSUMED).conversations
    with pytest.raises(UnreadableFile, match="100,001 characters, the limit is 100,000"):
        read(saved("a.jsonl", [{"role": "user", "content": "长" * 100_001}]), assume_time=ASSUMED)


@pytest.mark.parametrize(
    "content", [[], {}, "text", 7, None, {"conversations": [{"from": "human", "value": "hi"}]}, [[]], {"a": {"b": 1}}]
)
def test_unknown_formats_are_refused_with_the_known_ones(saved, read, content):

    with pytest.raises(UnreadableFile, match="expected chatgpt, locomo, memorybank, openai"):
        read(saved("a.json", json.dumps(content)))


def test_a_format_can_be_named(saved, read):
    day = {"2023-05-01": [{"query": "I bake bread.", "response": "Nice."}]}
    path = saved("a.json", {"Ivy": {"history": None}, "Leo": {"history": day}})
    assert read(path, format="memorybank").skipped == {"person without history": 1}
    for other in set(FORMATS) - {"memorybank"}:
        with pytest.raises(UnreadableFile):
            read(path, format=other)
    with pytest.raises(InputError, match="unknown format 'csv': expected chatgpt"):
        read(path, format="csv")


def test_paths_that_are_no_file(saved, read, tmp_path):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for path, reason in (
        (tmp_path / "gone.json", "No such file"),
        (tmp_path / "folder", "folder without conversations.json"),
        (tmp_path / "pipe", "neither a file nor a folder"),
        (saved("file", "x") / "inside", "Not a directory"),
        (Path("a\0b"), "no path of a file"),
        (tmp_path / ("x" * 300), "cannot be read"),
    ):
        with pytest.raises(UnreadableFile, match=reason):
            read(path)
