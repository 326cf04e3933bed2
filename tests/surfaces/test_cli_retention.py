"""The dial, pause, resume and consent through `jiyi` (SPEC C5, U4)."""

from __future__ import annotations

import pytest

from tests.surfaces.cli import Cli, lines


def test_the_dial_is_shown_and_set(jiyi: Cli) -> None:
    shown = jiyi("retention").stdout
    assert "balanced  (by default)" in shown
    assert "none recorded" in shown
    done = jiyi.json("retention", "minimal")
    assert (done["verb"], done["plan"], done["retention"]["detail"]) == ("retention", "p1", "minimal")
    assert done["standing"]["before"]["detail"] is None
    assert jiyi.json("retention")["detail"] == "minimal"
    assert "nothing had to change" in jiyi("retention", "minimal").stdout
    assert "this would happen: detail set to everything" in jiyi("retention", "everything", "--dry-run").stdout
    assert jiyi.json("retention")["detail"] == "minimal"
    jiyi("undo", "p1")
    assert jiyi.json("retention")["chosen_at"] is None
    assert "'some' is not one of" in jiyi("retention", "some", code=2).stderr
    assert jiyi.json("retention", JIYI_RETENTION__DETAIL="everything")["detail"] == "everything"


@pytest.mark.parametrize("said", ["我住在杭州。", "I live in Leeds."])
def test_while_paused_every_command_says_that_nothing_is_stored(jiyi: Cli, said: str) -> None:
    turn = lines({"role": "user", "text": said, "id": "a", "at": "2026-03-02T09:00:00+08:00"})
    file = jiyi.home / "talk.jsonl"
    file.write_text(lines({"messages": [{"role": "user", "content": said}]}), "utf-8")
    read = ("import", str(file), "--assume-time", "2026-03-02T09:00")
    jiyi("pause")
    assert "since" in jiyi("retention").stdout
    for command in (
        lambda *more: jiyi("observe", *more, stdin=turn), lambda *more: jiyi("remember", said, *more, code=1),
        lambda *more: jiyi(*read, *more),
    ):  # fmt: skip
        assert "this memory is paused: nothing was stored. `jiyi resume`" in command().stdout
    assert jiyi.json("observe", stdin=turn)["paused"] is True
    assert jiyi.json("remember", said, code=1)["paused"] is True
    assert jiyi.json(*read)["files"][0]["users"][0]["paused"] is True
    assert "run `jiyi resume`" in jiyi("undo", "p1", code=1).stderr
    assert jiyi.json("memories")["memories"] == []
    jiyi("resume")
    assert jiyi.json(*read)["new"] == 1
    assert len(jiyi.json("memories")["memories"]) == 1


def test_consent_is_recorded_with_its_time(jiyi: Cli) -> None:
    done = jiyi.json("consent", "--given", "--notice", "2026-03 版")
    assert done["retention"]["consent"]["notice"] == "2026-03 版"
    assert "given to 2026-03 版" in jiyi("retention").stdout
    assert "`jiyi pause` stops the writing" in jiyi("consent", "--refused").stdout
    assert jiyi.json("retention")["consent"]["given"] is False
    assert "Name the data-use notice" in jiyi("consent", "--given", code=1).stderr
    assert [e["verb"] for e in jiyi.json("ledger")["entries"]] == ["consent", "consent"]
    assert jiyi.json("ledger")["entries"][1]["standing"]["after"]["consent"]["given"] is False


def test_doctor_says_how_much_is_kept(jiyi: Cli) -> None:
    jiyi("retention", "minimal")
    jiyi("pause", "--user", "nora")
    checks = {c["name"]: c for c in jiyi.json("doctor")["checks"]}
    assert checks["retention"]["ok"]
    assert checks["retention"]["detail"] == "balanced by default; 1 minimal, 1 no choice; 1 paused"
    assert "retention balanced" in checks["store"]["detail"]


def test_the_past_is_trimmed_after_a_look(jiyi: Cli) -> None:
    jiyi("observe", stdin=lines({"role": "user", "text": "我喜欢绿茶。请记住：我对芒果过敏。", "id": "a"}))
    shown = jiyi("retention", "minimal", "--past", "--dry-run").stdout
    assert "1 memory and the words of 1 message go for good" in shown
    assert "绿茶" in shown
    assert "say --yes" in jiyi("retention", "minimal", "--past", code=1).stderr
    assert jiyi.json("retention")["detail"] == "balanced"
    done = jiyi.json("retention", "minimal", "--past", "--yes")
    assert (done["verb"], done["impact"]["removed"], done["retention"]["detail"]) == ("trim", 1, "minimal")
    assert [m["text"] for m in jiyi.json("memories")["memories"]] == ["用户对芒果过敏"]
    assert "--past" in jiyi("retention", "--help").stdout
    assert "goes with" in jiyi("retention", "--past", code=1).stderr


@pytest.mark.parametrize("said", ["我周末常去西湖边骑车。", "I often ride my bike along the canal."])
def test_a_digest_is_shown_as_what_it_is(jiyi: Cli, said: str) -> None:
    jiyi("observe", stdin=lines({"role": "user", "text": said, "id": "a"}), JIYI_RETENTION__DETAIL="minimal")
    shown = jiyi("history").stdout
    assert "digest: " in shown
    assert said not in shown
    [message] = jiyi.json("history")["messages"]
    assert message["digest"]
    assert all(check["ok"] for check in jiyi.json("doctor")["checks"])
