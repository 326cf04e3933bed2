"""On public benchmark files, where they are at hand: all of it is read, dated as the file says, the same twice."""

import json
from collections import Counter

import pytest


@pytest.mark.parametrize("name", ["memory_bank_cn.json", "memory_bank_en.json"])
def test_memorybank(evaldata, read, name):
    path = evaldata / "memorybank_zh" / name
    people = json.loads(path.read_text(encoding="utf-8"))
    parsed = read(path)

    expected = {
        (person, date): sum(bool(text.strip()) for record in talk for text in (record["query"], record["response"]))
        for person, data in people.items()
        for date, talk in data["history"].items()
    }
    got = {(c.user, c.session): len(c.messages) for c in parsed.conversations}
    assert got == {day: count for day, count in expected.items() if count}
    assert all(m.at.date().isoformat() == c.session for c in parsed.conversations for m in c.messages)
    assert read(path) == parsed


def test_locomo(evaldata, read):
    path = evaldata / "locomo" / "locomo10_dev.json"
    samples = json.loads(path.read_text(encoding="utf-8"))
    parsed = read(path)

    expected = Counter(
        s["sample_id"]
        for s in samples
        for turns in s["conversation"].values()
        if isinstance(turns, list)
        for _ in turns
    )
    assert Counter(m.id.partition(":")[0] for c in parsed.conversations for m in c.messages) == expected
    texts = {m.id: m for c in parsed.conversations for m in c.messages}
    for s in samples:
        for key, turns in s["conversation"].items():
            if isinstance(turns, list):
                date = s["conversation"][f"{key}_date_time"]
                for turn in turns:
                    message = texts[f"{s['sample_id']}:{turn['dia_id']}"]
                    assert turn["text"] in message.text
                    assert str(message.at.year) in date
                    assert f" {message.at.day} {message.at:%B}," in date
    assert read(path, only=samples[-1]["sample_id"]).conversations == tuple(
        c for c in parsed.conversations if c.session.startswith(f"{samples[-1]['sample_id']}/")
    )
