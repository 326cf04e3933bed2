"""`jiyi profile --write` and `--read` (SPEC B7)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.surfaces.cli import Cli

BOTH = pytest.mark.parametrize(
    ("told", "old", "new", "added"),
    [
        (("我住在绍兴。", "喜欢乌龙茶"), "绍兴", "嘉兴", "对花生过敏"),
        (("I live in Bath.", "I like oolong tea"), "Bath", "Leeds", "Allergic to peanuts"),
    ],
    ids=["zh", "en"],
)


def written(jiyi: Cli, told: tuple[str, ...]) -> Path:
    for text in told:
        jiyi("remember", text)
    path = jiyi.home / "USER.md"
    assert "wrote 2 lines" in jiyi("profile", "--write", str(path)).stdout
    return path


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


@BOTH
def test_write_edit_preview_read_undo(jiyi: Cli, told: tuple[str, ...], old: str, new: str, added: str) -> None:
    path = written(jiyi, told)
    edit(path, old, new)
    edit(path, "\n<!-- jiyi", f"\n- {added}\n\n<!-- jiyi")
    preview = jiyi("profile", "--read", str(path), "--dry-run")
    assert "this would change" in preview.stdout
    assert new not in jiyi("memories").stdout
    done = jiyi.json("profile", "--read", str(path))
    assert [(e["said"], e["memory"]) for e in done["edits"]] == [("corrected", "m1"), ("added", None)]
    assert (done["plan"], done["dry_run"], done["verb"]) == ("p3", False, "profile")
    listed = jiyi("memories").stdout
    assert new in listed
    assert added in listed
    assert "nothing had to change" in jiyi("profile", "--read", str(path)).stdout
    jiyi("undo", "p3")
    assert new not in jiyi("memories").stdout


def test_a_conflict_is_told_and_asked(jiyi: Cli) -> None:
    path = written(jiyi, ("我住在绍兴。", "喜欢乌龙茶"))
    jiyi("correct", "m1", "我住在湖州。")
    edit(path, "绍兴", "嘉兴")
    assert "`jiyi questions` asks which holds" in jiyi("profile", "--read", str(path)).stdout
    asked = jiyi("questions").stdout
    assert "湖州" in asked
    assert "嘉兴" in asked


def test_what_is_wrong_is_told_with_its_line(jiyi: Cli) -> None:
    path = written(jiyi, ("我住在绍兴。", "喜欢乌龙茶"))
    edit(path, "喜欢乌龙茶 [m2]", "喜欢乌龙茶 [m7]")
    line = next(n for n, text in enumerate(path.read_text("utf-8").split("\n"), 1) if "[m7]" in text)
    failed = jiyi("profile", "--read", str(path), code=1)
    assert f"line {line}: m7 never was a memory here" in failed.stderr
    assert "Nothing was changed" in failed.stderr


def test_what_was_typed_is_not_written_over(jiyi: Cli) -> None:
    path = written(jiyi, ("我住在绍兴。", "喜欢乌龙茶"))
    edit(path, "# 我的记忆", "# 我的记忆\n\n我自己写的一段。")
    read = jiyi("profile", "--read", str(path))
    assert "left alone" in read.stderr
    assert "line 3" in read.stderr
    assert "read it back first" in jiyi("profile", "--write", str(path), code=1).stderr
    jiyi("profile", "--write", str(path), "--force", "--language", "en")
    assert "## Profile" in path.read_text("utf-8")


def test_options_that_do_not_go_together(jiyi: Cli) -> None:
    for more in (["--read", "USER.md"], ["--known-at", "2026-03-01"], ["--diff", "2026-03-01", "2026-03-02"]):
        assert "go alone" in jiyi("profile", "--write", "USER.md", *more, code=1).stderr
