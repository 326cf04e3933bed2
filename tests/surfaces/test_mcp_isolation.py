"""No tool reaches another user's memory: every tool of the table, with every way to name somebody else (SPEC S1, S4)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jiyi.surfaces.mcp.desk import CLAIMS
from jiyi.surfaces.mcp.server import PROFILE_URI
from jiyi.surfaces.mcp.tools import TOOLS, ToolSpec
from tests.conftest import Clock
from tests.surfaces.mcp_client import Mcp, open_mcp, shown

OTHERS = (("hong", "default"), ("ming", "acme"))
"""Another user, and another tenant's user of the same name."""
SECRET = "zanzibar"
each_tool = pytest.mark.parametrize("spec", TOOLS, ids=lambda spec: spec.name)


@pytest.fixture
def mcp(tmp_path: Path, clock: Clock) -> Iterator[Mcp]:
    """ming, who knows little; the others know the secret, under ids that ming does not have."""
    with open_mcp(tmp_path, clock) as opened:
        for user, tenant in OTHERS:
            other = opened.of(user, tenant)
            for text in ("我们的数据库是 MySQL。", f"My password hint is {SECRET}.", f"I like {SECRET} tea."):
                other.ok("memory_add", messages=[{"role": "user", "text": text}], session=SECRET)
            other.ok("memory_add", text=f"{SECRET} is my dog")
            opened.layer.scope(user, tenant=tenant).end(SECRET)
        yield opened


def state(mcp: Mcp) -> Any:
    """Everything of everybody, but for how often it was read."""
    scopes = sorted(mcp.layer.scopes())
    found = [(s, mcp.layer.scope(s.user, tenant=s.tenant)) for s in scopes]
    return [
        (s, m.history(limit=99).messages, m.memories(status=None), m.ledger(), m.summaries(), m.sessions())
        for s, m in found
    ]


@each_tool
@pytest.mark.parametrize("claim", CLAIMS)
def test_a_forged_user_is_denied_and_nothing_written(mcp: Mcp, spec: ToolSpec, claim: str) -> None:
    mcp.layer.work()
    before = state(mcp)
    for forged in ("hong", "acme", "Ming", "ming ", "", ["ming"], {"$ne": ""}, 0, True):
        told = mcp.refused(spec.name, {**spec.example, claim: forged})
        assert (
            told
            == f"NotYours: {claim} is not yours to choose: the connection decides whose memory this is. Leave it out."
        )
    assert state(mcp) == before
    assert [t for s in OTHERS for t in mcp.layer.scope(s[0], tenant=s[1]).traces()] == []


@each_tool
def test_the_callers_own_name_is_no_forgery(mcp: Mcp, spec: ToolSpec) -> None:
    with_name = mcp.call(spec.name, {**spec.example, "user_id": "ming", "tenant": "default", "user": None})
    assert "NotYours" not in shown(with_name)
    assert "unknown argument" not in shown(with_name)


@each_tool
@pytest.mark.parametrize(
    "name", ["userid", "scope", "as_user", "agent_id", "Authorization", "__class__", "self", "desk"]
)
def test_no_other_name_gets_through(mcp: Mcp, spec: ToolSpec, name: str) -> None:
    before = state(mcp)
    assert f"unknown argument '{name}'" in mcp.refused(spec.name, {**spec.example, name: "hong"})
    assert state(mcp) == before


@each_tool
def test_what_others_know_is_not_told(mcp: Mcp, spec: ToolSpec) -> None:
    before = state(mcp)
    asked: list[dict[str, Any]] = [dict(spec.example)]
    for argument in spec.example.keys() - {"limit", "category", "kinds"}:
        asked += [{**spec.example, argument: value} for value in (SECRET, "m1", "m3", "h1", "s1", "q1")]
    if spec.name == "memory_history":
        asked += [{"session": SECRET}, {"around": "h2"}, {"query": SECRET}]
    if spec.name == "memory_forget":
        asked += [{"session": SECRET}, {"memory": "m2"}, {"everything": True}]
    for arguments in asked:
        told = shown(mcp.call(spec.name, arguments))
        # What the caller said themselves may come back; what only the others said may not.
        assert "tea" not in told
        assert "dog" not in told
        assert "password" not in told
        assert "MySQL。" not in told
    assert [s for s in state(mcp) if s[0].user != "ming" or s[0].tenant != "default"] == before


IDS = {"memory_update": ("memory", {"text": "好"}), "memory_forget": ("memory", {}), "fetch": ("id", {}),
       "memory_answer": ("question", {"text": "yes"})}  # fmt: skip


@pytest.mark.parametrize("tool", IDS)
def test_absent_and_foreign_get_the_same_words(mcp: Mcp, tool: str) -> None:
    argument, more = IDS[tool]
    for prefix in "mhsq":
        # 1 and 2 are others' numbers, 98 and 99 nobody's.
        told = [mcp.call(tool, {argument: f"{prefix}{n}", **more}) for n in (1, 2, 98, 99)]
        assert {shown(t).replace(f"{prefix}{n}", "ID") for t, n in zip(told, (1, 2, 98, 99), strict=True)} == {
            shown(told[0]).replace(f"{prefix}1", "ID")
        }
        assert all(t.is_error for t in told)


def test_a_confirmation_of_another_is_refused(mcp: Mcp) -> None:
    token = mcp.of("hong").ok("memory_forget", topic="MySQL")["confirm"]
    mcp.ok("memory_add", messages=[{"role": "user", "text": "我们的数据库是 MySQL。"}])
    mcp.refused("memory_forget", topic="MySQL", confirm=token)
    assert len(mcp.of("hong").ok("memory_history")["items"]) == 3


def test_resources_are_of_the_caller(mcp: Mcp) -> None:
    [profile] = mcp.talk(lambda client: client.read_resource(PROFILE_URI)).contents
    assert SECRET not in str(profile)
    [theirs] = mcp.of("hong").talk(lambda client: client.read_resource(PROFILE_URI)).contents
    assert SECRET in str(theirs)
