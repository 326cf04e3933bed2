"""What a command line that was typed wrong is answered with (SPEC U4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import typer

from jiyi.domain.memory import Language
from jiyi.shipped import load_vocabulary
from jiyi.surfaces.cli.app import app
from jiyi.surfaces.cli.mistakes import MEANT, likely, usage
from tests.surfaces.cli import Cli

COMMANDS: Any = typer.main.get_command(app)
TOP = list(COMMANDS.commands)
BAD = "☃"


# ------------------------------------------------------------------ names of commands


@pytest.mark.parametrize(
    ("typed", "command"),
    [
        ("search", "recall"), ("add", "remember"), ("delete", "forget"), ("list", "memories"),
        ("记住", "remember"), ("回忆", "recall"), ("忘记", "forget"),
        ("recal", "recall"), ("memory", "memories"), ("mem", "memories"), ("exprot", "export"), ("Recall", "recall"),
    ],
)  # fmt: skip
def test_the_command_that_was_meant_is_named(jiyi: Cli, typed: str, command: str) -> None:
    assert likely(typed, TOP) == [command]
    assert f"No such command {typed!r}: did you mean `jiyi {command}`?" in jiyi(typed, "x", code=2).stderr


def test_what_is_like_nothing_is_guessed_at_by_nobody(jiyi: Cli) -> None:
    assert jiyi("zzzz", code=2).stderr.startswith("Error: No such command 'zzzz' (")
    assert "`jiyi graph entities`" in jiyi("graph", "entity", code=2).stderr
    assert "did you mean" not in jiyi("graph", "search", code=2).stderr


def test_other_words_for_commands_lead_to_commands_and_are_none() -> None:
    words = [word for some in MEANT.values() for word in some]
    assert set(MEANT) <= set(TOP)
    assert not set(words) & set(TOP)
    assert len(set(words)) == len(words)


# ------------------------------------------------------------------ values


def parameters(group: Any = COMMANDS) -> Iterator[tuple[Any, Any]]:
    for command in group.commands.values():
        if hasattr(command, "commands"):
            yield from parameters(command)
        else:
            yield from ((command, parameter) for parameter in command.params)


def refused(command: Any, parameter: Any) -> str | None:
    """How a value that fits no number and no choice is refused; None where it is taken. Nothing is run."""
    line = [BAD] * 9
    if parameter.param_type_name == "option":
        if parameter.is_flag:
            return None
        line = [parameter.opts[0], *line]
    try:
        command.make_context("it", line, resilient_parsing=False)
    except typer.TyperException as error:
        return usage(error)
    return None


def test_no_value_is_refused_in_the_words_of_a_library() -> None:
    told = [said for command, parameter in parameters() if (said := refused(command, parameter))]
    assert any("is not one of" in said for said in told)
    assert any("is not a whole number" in said for said in told)
    assert any("is not a number" in said for said in told)
    leaked = ("Value error", "Input should", "Assertion failed", "does not fit", "unable to parse", "pydantic")
    assert [said for said in told if any(words in said for words in leaked)] == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (("feedback", "m1", "good"), "'VERDICT': 'good' is not one of 'helpful', 'wrong', 'irrelevant'"),
        (("memories", "--status", "x"), "'--status': 'x' is not one of 'live'"),
        (("recall", "x", "--limit", "few"), "'--limit': 'few' is not a whole number"),
        (("recall", "x", "--limit", "1.5"), "'--limit': '1.5' is not a whole number"),
        (("recall", "x", "--limit", "0"), "'--limit': it must be at least 1, and 0 is not"),
        (("serve", "--port", "99999"), "'--port': it must be at most 65535, and 99999 is not"),
        (("graph", "paths", "a", "b", "--min-confidence", "much"), "'--min-confidence': 'much' is not a number"),
        (("graph", "paths", "a", "b", "--min-confidence", "nan"), "nan is not"),
        (("recall", "x", "--limit", "9" * 5000), "is too large a number"),
    ],
)
def test_values_that_do_not_fit(jiyi: Cli, line: tuple[str, ...], said: str) -> None:
    stderr = jiyi(*line, code=2).stderr
    assert said in stderr
    assert len(stderr) < 400


# ------------------------------------------------------------------ ids and names where others are wanted


@pytest.mark.parametrize(("id", "kind"), [("m5", "memory"), ("h17", "message"), ("s3", "summary")])
def test_an_id_where_a_trace_is_wanted(jiyi: Cli, id: str, kind: str) -> None:  # noqa: A002 - as it is called
    said = jiyi("explain", id, code=3).stderr
    assert f"{id} is a {kind}" in said
    assert "t1a2b3c4d" in said
    assert f"`jiyi explain TRACE --why {id}`" in said


def test_no_trace_is_named(jiyi: Cli) -> None:
    assert "`jiyi explain` lists them" in jiyi("explain", "--why", "m7", code=2).stderr
    assert "no trace is named" in jiyi("explain", "", code=3).stderr
    assert "`jiyi explain` shows them" in jiyi("explain", "tdeadbeef", code=3).stderr


@pytest.mark.parametrize("asked", ["工作", "work"])
def test_a_fact_that_is_not_there_names_those_that_are(jiyi: Cli, asked: str) -> None:
    assert "a memory such as m3" in jiyi("versions", asked, code=3).stderr
    jiyi("remember", "我们的数据库是 MySQL")
    jiyi("remember", "I live in Leeds")
    said = jiyi("versions", asked, code=3).stderr
    assert "数据库/database" in said
    names = said.strip().rpartition(" or one of ")[2].replace("/", ", ").split(", ")
    assert len(names) == 4
    for name in names:
        assert jiyi.json("versions", name)["memories"], name


def test_every_relation_has_a_name_to_ask_by() -> None:
    for relation in load_vocabulary():
        assert any(relation.names.of(language) for language in Language), relation.name
