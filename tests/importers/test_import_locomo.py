from datetime import timedelta

import pytest

from jiyi.domain.memory import Role
from jiyi.errors import InputError, UnreadableFile


def turn(speaker, dia_id, text, **more):
    return {"speaker": speaker, "dia_id": dia_id, "text": text, **more}


def sample(name="conv-a", first="Nora", second="Tom", **changes):
    return {
        "sample_id": name,
        "qa": [],
        "conversation": {
            "speaker_a": first,
            "speaker_b": second,
            "session_10_date_time": "12:05 am on 1 June, 2023",
            "session_10": [turn(first, "D10:1", "The kiln works again.")],
            "session_2_date_time": "1:56 pm on 8 May, 2023",
            "session_2": [
                turn(first, "D2:1", "I fired my first bowl yesterday."),
                turn(second, "D2:2", "Show me!"),
                turn(first, "D2:3", "Here.", blip_caption="a blue bowl on a shelf"),
                turn(second, "D2:4", ""),
                turn(first, "D2:5", " ", blip_caption="a red mug"),
            ],
            "session_11_date_time": "9:00 am on 2 June, 2023",
            **changes,
        },
    }


def test_sessions_in_order_with_dates_roles_and_pictures(saved, read):
    parsed = read(saved("l.json", [sample()]))

    may, june = parsed.conversations
    assert (parsed.format, may.user, may.session, june.session) == (
        "locomo", "Nora", "conv-a/session_2", "conv-a/session_10",
    )  # fmt: skip
    assert [(m.id, m.role, m.name, m.text) for m in may.messages] == [
        ("conv-a:D2:1", Role.USER, "Nora", "I fired my first bowl yesterday."),
        ("conv-a:D2:2", Role.OTHER, "Tom", "Show me!"),
        ("conv-a:D2:3", Role.USER, "Nora", "Here. [picture: a blue bowl on a shelf]"),
        ("conv-a:D2:5", Role.USER, "Nora", "[picture: a red mug]"),
    ]
    assert may.messages[0].at.isoformat() == "2023-05-08T13:56:00+08:00"
    assert may.messages[3].at - may.messages[0].at == timedelta(seconds=4)
    assert june.messages[0].at.isoformat() == "2023-06-01T00:05:00+08:00"
    assert parsed.skipped == {"empty text": 1}


def test_self_name_says_who_the_user_is(saved, read):
    path = saved("l.json", sample())
    usual, told = read(path), read(path, self_name="Tom")

    assert {c.user for c in told.conversations} == {"Tom"}
    assert [m.role for m in told.conversations[0].messages[:2]] == [Role.OTHER, Role.USER]
    assert [m.id for c in told.conversations for m in c.messages] == [
        m.id for c in usual.conversations for m in c.messages
    ]
    with pytest.raises(InputError, match="nobody in conv-a is called 'Ann': the speakers are Nora and Tom"):
        read(path, self_name="Ann")


def test_only_picks_one_sample(saved, read):
    path = saved("l.json", [sample(), sample("conv-b", "Li Wei", "Sam")])

    parsed = read(path, only="conv-b", self_name="Sam")
    assert {c.session.split("/")[0] for c in parsed.conversations} == {"conv-b"}
    assert len(read(path).conversations) == 4
    with pytest.raises(InputError, match="'conv-z': it holds conv-a, conv-b"):
        read(path, only="conv-z")


def test_order_of_samples_does_not_matter(saved, read):
    one = read(saved("a.json", [sample(), sample("conv-b")]))
    other = read(saved("b.json", [sample("conv-b"), sample()]))
    assert sorted(one.conversations, key=lambda c: c.session) == sorted(other.conversations, key=lambda c: c.session)
    assert one == read(saved("a.json", [sample(), sample("conv-b")]))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"session_2_date_time": "the 8th of May"}, "session_2_date_time: expected a date such as"),
        ({"session_2_date_time": "1:56 pm on 31 June, 2023"}, "session_2_date_time: expected a date such as"),
        ({"session_2_date_time": "13:56 pm on 8 May, 2023"}, "session_2_date_time: expected a date such as"),
        ({"session_7": []}, "conversation: 'session_7_date_time' is missing"),
        ({"session_2": {}}, r"session_2: expected a list"),
        ({"session_2": [turn("Nora", 5, "hi")]}, r"session_2\[0\]\.dia_id: expected text"),
        ({"session_2": [{"dia_id": "D2:1", "text": "hi"}]}, r"session_2\[0\]: 'speaker' is missing"),
        ({"session_2": [turn("Nora", "D2:1", None)]}, r"session_2\[0\]\.text: expected text, found null"),
        ({"session_2": [turn("Nora", "D10:1", "another text")]}, "'conv-a:D10:1' stands for two different texts"),
        ({"speaker_a": ""}, "speaker_a: speaker is empty"),
    ],
)
def test_wrong_shapes_are_refused(saved, read, changes, reason):
    with pytest.raises(UnreadableFile, match=reason):
        read(saved("l.json", [sample("conv-0"), sample(**changes)], indent=2))


def test_the_line_of_a_wrong_value_is_named(saved, read):
    path = saved("l.json", [sample(session_2=[turn("Nora", "D2:1", 42)])], indent=2)
    line = next(i for i, text in enumerate(path.read_text().splitlines(), 1) if '"text": 42' in text)
    with pytest.raises(UnreadableFile) as caught:
        read(path)
    assert caught.value.line == line
    assert "[0].conversation.session_2[0].text" in caught.value.reason
