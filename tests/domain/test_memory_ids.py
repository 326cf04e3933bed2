import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.domain.memory import memory_id, message_handle, parse_id, plan_id
from jiyi.errors import NotFound


@given(st.integers(1, 2**53))
def test_an_id_reads_back_as_its_number(seq: int) -> None:
    assert parse_id(memory_id(seq), "m") == seq
    assert parse_id(message_handle(seq), "h") == seq
    assert parse_id(plan_id(seq), "p") == seq


@pytest.mark.parametrize(
    "text",
    [
        "",
        "m",
        "42",
        "h42",
        "M42",
        "m-1",
        "m+1",
        "m 1",
        " m1",
        "m1 ",
        "m1.0",
        "m１",
        "m一",
        "m²",
        "mm1",
        None,
        42,
        "m" + "9" * 30,
    ],
)
def test_what_is_no_memory_id_names_nothing(text: object) -> None:
    with pytest.raises(NotFound, match="memory ids look like m42"):
        parse_id(text, "m")


@pytest.mark.parametrize(("prefix", "kind"), [("m", "memory"), ("h", "history message"), ("p", "plan"), ("x", "item")])
def test_the_error_names_the_kind(prefix: str, kind: str) -> None:
    with pytest.raises(NotFound, match=f"no {kind} 'nothing' here: {kind} ids look like {prefix}42"):
        parse_id("nothing", prefix)


@given(st.text())
def test_any_text_is_an_id_or_not_found(text: str) -> None:
    try:
        seq = parse_id(text, "m")
    except NotFound:
        return
    assert seq >= 0
    assert text == f"m{text[1:]}"
    assert int(text[1:]) == seq
