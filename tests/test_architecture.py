"""Promises about the source itself that import-linter cannot see."""

from __future__ import annotations

import ast
from pathlib import Path

import jiyi

SOURCE = Path(jiyi.__file__).parent
DOOR = {
    "memories.write", "ledger.append", "ledger.erase", "messages.restore", "memories.skip_to", "ledger.restore",
    "ledger.rewrite", "forgotten.add", "forgotten.write", "forgotten.note_copy",
    "standings.set",
}  # fmt: skip


def calls(path: Path) -> set[str]:
    """`a.b(...)` calls of a file, as "a.b"."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = node.func.value
            name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
            found.add(f"{name}.{node.func.attr}")
    return found


def modules(*folders: str) -> list[Path]:
    return [p for folder in folders for p in sorted((SOURCE / folder).rglob("*.py"))]


def test_only_the_gateway_writes_memories() -> None:
    # SPEC W1: one write path. Contract suites and stores hold the methods themselves.
    others = [p for p in SOURCE.rglob("*.py") if not {"stores", "testing"} & set(p.relative_to(SOURCE).parts)]
    writers = {p.relative_to(SOURCE).as_posix() for p in others if calls(p) & DOOR}
    assert writers == {"pipelines/gateway.py"}
    # Forgetting changes messages, and observing leaves out what was forgotten before it acknowledges.
    rewriters = {p.relative_to(SOURCE).as_posix() for p in others if "messages.rewrite" in calls(p)}
    assert rewriters == {"pipelines/gateway.py", "pipelines/observe.py"}


def test_modules_and_functions_stay_readable() -> None:
    long_modules, long_functions = [], []
    for path in SOURCE.rglob("*.py"):
        text = path.read_text("utf-8")
        if text.count("\n") > 600:
            long_modules.append(path.name)
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > 80:
                    long_functions.append(f"{path.name}:{node.name} {lines}")
    assert (long_modules, long_functions) == ([], [])


def test_no_late_imports_of_our_own_modules_but_in_assembly() -> None:
    late = []
    for path in SOURCE.rglob("*.py"):
        for function in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            for node in ast.walk(function):
                if (
                    isinstance(node, ast.ImportFrom)
                    and (node.module or "").startswith("jiyi")
                    and path.name not in ("assembly.py", "backends.py", "embedders.py")
                ):
                    late.append(f"{path.relative_to(SOURCE)}:{node.lineno}")
    assert late == []


def test_public_names_are_complete_and_sorted() -> None:
    assert list(jiyi.__all__) == sorted(jiyi.__all__)
    assert all(hasattr(jiyi, name) for name in jiyi.__all__)
