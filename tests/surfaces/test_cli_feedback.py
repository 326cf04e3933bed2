"""`jiyi feedback` (SPEC R8)."""

from __future__ import annotations

import pytest

from tests.surfaces.cli import Cli


@pytest.mark.parametrize(
    ("text", "asked"), [("我对花生过敏。", "可能有误"), ("I am allergic to peanuts.", "may be wrong")]
)
def test_feedback_is_noted_asked_about_and_undone(jiyi: Cli, text: str, asked: str) -> None:
    before = jiyi.json("remember", text, "--importance", "4")["memories"][0]
    said = jiyi.json("feedback", before["id"], "wrong")
    assert said["memories"][0]["importance"] == 3
    assert asked in jiyi("questions").stdout
    assert "feedback" in jiyi("ledger").stdout
    jiyi("undo", said["plan"])
    assert asked not in jiyi("questions").stdout
    assert "noted that it was helpful" in jiyi("feedback", before["id"], "helpful").stdout
    assert "nothing had to change" in jiyi("feedback", before["id"], "helpful").stdout


def test_what_cannot_be_said_is_told(jiyi: Cli) -> None:
    jiyi("remember", "我对花生过敏。")
    assert "helpful" in jiyi("feedback", "m1", "great", code=2).stderr
    assert "m7" in jiyi("feedback", "m7", "wrong", code=3).stderr
