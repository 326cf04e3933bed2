import pytest

from jiyi.domain.memory import Role
from jiyi.errors import InputError, UnreadableFile

BANK = {
    "顾小满": {
        "name": "顾小满",
        "summary": {"2024-02-03": {"content": "a model wrote this"}},
        "history": {
            "2024-02-03": [
                {"query": "我开始学陶艺了", "response": "真好，第一次做什么？"},
                {"query": "  ", "response": "还在吗？"},
            ],
            "2024-02-02": [],
            "2024-02-01": [{"query": "你好", "response": "你好，小满"}],
        },
    },
    "Ivy": {"history": {"2024-02-03": [{"query": "I sold my car", "response": "Noted."}]}},
    "新来的": {"name": "新来的"},
}


def test_days_are_sessions_with_their_dates(saved, read):
    parsed = read(saved("m.json", BANK))

    first, second, ivy = parsed.conversations
    assert parsed.format == "memorybank"
    assert [(c.user, c.session) for c in parsed.conversations] == [
        ("顾小满", "2024-02-01"), ("顾小满", "2024-02-03"), ("Ivy", "2024-02-03"),
    ]  # fmt: skip
    assert [(m.role, m.name, m.text, m.at.isoformat()) for m in second.messages] == [
        (Role.USER, "顾小满", "我开始学陶艺了", "2024-02-03T09:00:00+08:00"),
        (Role.ASSISTANT, None, "真好，第一次做什么？", "2024-02-03T09:01:00+08:00"),
        (Role.ASSISTANT, None, "还在吗？", "2024-02-03T09:03:00+08:00"),
    ]
    assert [m.text for m in first.messages] == ["你好", "你好，小满"]
    assert ivy.messages[0].name == "Ivy"
    assert parsed.skipped == {"empty text": 1, "person without history": 1, "session without talk": 1}


def test_a_long_day_stays_inside_its_date(saved, read):
    talk = [{"query": f"问 {i}", "response": f"答 {i}"} for i in range(800)]
    (day,) = read(saved("m.json", {"Ivy": {"history": {"2024-02-03": talk}}})).conversations
    at = [m.at for m in day.messages]
    assert at == sorted(set(at))
    assert {i.date().isoformat() for i in at} == {"2024-02-03"}


def test_only_picks_one_person(saved, read):
    path = saved("m.json", BANK)
    parsed = read(path, only="Ivy")
    assert [c.user for c in parsed.conversations] == ["Ivy"]
    assert parsed.skipped == {}
    with pytest.raises(InputError, match="'Bob': it holds 顾小满, Ivy, 新来的"):
        read(path, only="Bob")


def test_ids_are_stable_and_the_order_does_not_matter(saved, read):
    one = read(saved("a.json", BANK))
    other = read(saved("b.json", dict(reversed(BANK.items()))))

    def by_person(parsed):
        return sorted(parsed.conversations, key=lambda c: (c.user, c.session))

    assert one == read(saved("a.json", BANK))
    assert by_person(one) == by_person(other)
    ids = [(c.user, m.id) for c in one.conversations for m in c.messages]
    assert len(set(ids)) == len(ids) == 7


@pytest.mark.parametrize(
    ("history", "reason"),
    [
        ({"yesterday": []}, r"history\.yesterday: the key is no date"),
        ({"1066-10-14": [{"query": "a", "response": "b"}]}, "the year 1066"),
        ({"2024-02-03": {}}, r"history\.2024-02-03: expected a list"),
        ({"2024-02-03": [{"query": "a"}]}, r"history\.2024-02-03\[0\]: 'response' is missing"),
        ({"2024-02-03": [{"query": None, "response": "b"}]}, r"\[0\]\.query: expected text, found null"),
        ([], "history: expected an object"),
    ],
)
def test_wrong_shapes_are_refused(saved, read, history, reason):
    with pytest.raises(UnreadableFile, match=reason) as caught:
        read(saved("m.json", {**BANK, "Eve": {"history": history}}, indent=2))
    assert caught.value.line is not None
    assert caught.value.line > 25


def test_a_name_that_cannot_be_a_user_is_refused(saved, read):
    with pytest.raises(UnreadableFile, match="person has 201 characters"):
        read(saved("m.json", {"x" * 201: {"history": {}}}))
