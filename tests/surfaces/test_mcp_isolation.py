"""No tool reaches another user's memory: every tool of the table, with every way to name somebody else (SPEC S1, S4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from jiyi.surfaces.mcp.desk import TENANTS, USERS
from jiyi.surfaces.mcp.server import PROFILE_URI
from jiyi.surfaces.mcp.tools import TOOLS, ToolSpec
from tests.conftest import Clock
from tests.surfaces.mcp_client import Mcp, open_mcp, shown

OTHERS = (("hong", "default"), ("ming", "acme"))
"""Another user, and another tenant's user of the same name."""
SECRET = "zanzibar"
each_tool = pytest.mark.parametrize("spec", TOOLS, ids=lambda spec: spec.name)


@pytest.fixture(scope="module")
def mcp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mcp]:
    """ming, who knows next to nothing; the others know the secret, under numbers that ming does not have."""
    with open_mcp(tmp_path_factory.mktemp("isolation"), Clock()) as opened:
        for user, tenant in OTHERS:
            other = opened.of(user, tenant)
            texts = ("我们的数据库是 MySQL。", f"My password hint is {SECRET}.", f"I like {SECRET} tea.")
            other.ok("memory_add", messages=[{"role": "user", "text": text} for text in texts], session=SECRET)
            other.ok("memory_add", text=f"{SECRET} is my dog")
            opened.layer.scope(user, tenant=tenant).end(SECRET)
        yield opened


def state(mcp: Mcp) -> Any:
    """Everything of everybody, but for how often it was read."""
    mcp.layer.work()
    found = [(s, mcp.layer.scope(s.user, tenant=s.tenant)) for s in sorted(mcp.layer.scopes())]
    return {s: (m.history(limit=99).messages, m.memories(status=None), m.ledger(), m.summaries()) for s, m in found}


def others(mcp: Mcp) -> Any:
    return {scope: known for scope, known in state(mcp).items() if (scope.user, scope.tenant) in OTHERS}


@each_tool
def test_a_forged_user_is_denied_and_nothing_written(mcp: Mcp, spec: ToolSpec) -> None:
    before = state(mcp)
    for what, names in (("user", USERS), ("tenant", TENANTS)):
        for claim, forged in (
            *((name, "hong" if what == "user" else "acme") for name in names),
            *((names[0], odd) for odd in ("Ming", "ming ", "", ["ming"], {"$ne": ""}, 0, True)),
        ):
            told = mcp.refused(spec.name, {**spec.example, claim: forged})
            assert told.startswith(f"NotAllowed: this call names a {what} that it may not act for. Leave out"), claim
    assert state(mcp) == before
    assert [t for s in OTHERS for t in mcp.layer.scope(s[0], tenant=s[1]).traces()] == []


@each_tool
def test_no_other_name_gets_through(mcp: Mcp, spec: ToolSpec) -> None:
    before = state(mcp)
    for name in ("userid", "scope", "as_user", "agent_id", "Authorization", "__class__", "self", "desk"):
        assert f"unknown argument '{name}'" in mcp.refused(spec.name, {**spec.example, name: "hong"})
    assert state(mcp) == before
    # The caller's own name is no forgery, and null is no name.
    told = shown(mcp.call(spec.name, {**spec.example, "user_id": "ming", "tenant": "default", "user": None}))
    assert "NotAllowed" not in told
    assert "unknown argument" not in told


@each_tool
def test_what_others_know_is_not_told(mcp: Mcp, spec: ToolSpec) -> None:
    before = others(mcp)
    asked: list[dict[str, Any]] = [dict(spec.example)]
    for argument in spec.example.keys() - {"limit", "category", "kinds"}:
        asked += [{**spec.example, argument: value} for value in (SECRET, "m2", "h1", "s1", "q1")]
    if spec.name == "memory_history":
        asked += [{"session": SECRET}, {"around": "h2"}, {"query": SECRET}]
    if spec.name == "memory_forget":
        asked += [{"session": SECRET}, {"memory": "m2"}, {"everything": True}]
    for arguments in asked:
        told = shown(mcp.call(spec.name, arguments))
        # What the caller said themselves may come back; what only the others said may not.
        assert not [word for word in ("tea", "dog", "password", "MySQL。") if word in told]
    assert others(mcp) == before


IDS = {"memory_update": ("memory", {"text": "好"}), "memory_forget": ("memory", {}), "fetch": ("id", {}),
       "memory_answer": ("question", {"text": "yes"})}  # fmt: skip


@pytest.mark.parametrize("tool", IDS)
def test_absent_and_foreign_get_the_same_words(mcp: Mcp, tool: str) -> None:
    argument, more = IDS[tool]
    mcp = mcp.of("nobody")
    for prefix in "mhsq":
        # 3 is a number of others, 98 nobody's.
        theirs, nobodys = (mcp.call(tool, {argument: f"{prefix}{n}", **more}) for n in (3, 98))
        assert theirs.is_error
        assert nobodys.is_error
        assert shown(theirs).replace(f"{prefix}3", "ID") == shown(nobodys).replace(f"{prefix}98", "ID")


def test_a_confirmation_of_another_is_refused(mcp: Mcp) -> None:
    token = mcp.of("hong").ok("memory_forget", topic="MySQL")["confirm"]
    mcp.refused("memory_forget", topic="MySQL", confirm=token)
    assert len(mcp.of("hong").ok("memory_history")["items"]) == 3


def test_resources_are_of_the_caller(mcp: Mcp) -> None:
    [profile] = mcp.of("nobody").talk(lambda client: client.read_resource(PROFILE_URI)).contents
    assert SECRET not in str(profile)
    [theirs] = mcp.of("hong").talk(lambda client: client.read_resource(PROFILE_URI)).contents
    assert SECRET in str(theirs)
