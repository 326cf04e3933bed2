"""Presets, keys, the ladder, and what doctor and usage tell (SPEC U8)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jiyi.assembly import open_memory
from jiyi.errors import SettingsError
from jiyi.models.presets import endpoint, presets
from jiyi.settings import ModelPolicy, Settings
from tests.models.server import Manner, Provider, items
from tests.surfaces.cli import Cli

KEY = "-".join(["sk", "0f1e2d" * 5])


@pytest.mark.parametrize("name", presets())
def test_every_preset_makes_an_endpoint(name: str) -> None:
    preset = presets()[name]
    environment = {preset["key_env"]: KEY} if "key_env" in preset else {}
    found = endpoint(ModelPolicy(preset=name, name="m1"), environment)
    assert (found.base_url, found.key) == (preset["base_url"], environment.get(found.key_env, ""))
    assert found.name == f"{name}/m1"
    assert KEY not in repr(found)
    if environment:
        with pytest.raises(SettingsError, match=f"set {preset['key_env']}"):
            endpoint(ModelPolicy(preset=name, name="m1"), {})


def test_the_providers_of_the_specification_are_there() -> None:
    wanted = "openai anthropic deepseek qwen kimi glm siliconflow openrouter ollama vllm lmstudio"
    assert set(wanted.split()) <= set(presets())


def test_a_key_is_not_sent_to_another_address_than_its_own() -> None:
    moved = ModelPolicy(preset="openai", name="m1", base_url="http://10.0.0.5/v1")
    assert endpoint(moved, {"OPENAI_API_KEY": KEY}).key == ""
    named = ModelPolicy(preset="openai", name="m1", base_url="http://10.0.0.5/v1", key_env="OPENAI_API_KEY")
    assert endpoint(named, {"OPENAI_API_KEY": KEY}).key == KEY
    abroad = ModelPolicy(preset="kimi", name="m1", base_url=presets()["kimi"]["international"])
    assert endpoint(abroad, {"MOONSHOT_API_KEY": KEY}).key == KEY


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (ModelPolicy(preset="acme", name="m1"), "choose one of"),
        (ModelPolicy(base_url="host/v1", name="m1"), "https://host/v1"),
    ],
)
def test_what_cannot_be_an_endpoint_says_so(policy: ModelPolicy, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        endpoint(policy, {})


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (ModelPolicy(preset="ollama"), "model.name"),
        (ModelPolicy(money_per_day=1.0), "price_in"),
        (ModelPolicy(segment_messages=0), "segment_messages"),
    ],
)
def test_settings_that_do_not_fit_together_are_refused(model: ModelPolicy, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        Settings(model=model)


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_doctor_says_what_the_endpoint_can_do(server: Provider, jiyi: Cli, wire: str) -> None:
    server.refused_ways = {"schema"}
    server.then(Manner(items({"content": "用户对芒果过敏"}, {"content": "用户对花生过敏"}), tool=True))
    env = {"JIYI_MODEL__BASE_URL": server.url, "JIYI_MODEL__NAME": "m1", "JIYI_MODEL__WIRE": wire}
    env |= {"JIYI_MODEL__STRUCTURED": "schema", "JIYI_MODEL__KEY_ENV": "MY_KEY", "MY_KEY": KEY}
    jiyi("remember", "我住在宁波", **env)
    told = jiyi("doctor", "--json", **env)
    [check] = [c for c in json.loads(told.stdout)["checks"] if c["name"] == "model"]
    assert check["ok"] is True
    assert "custom/m1 answers in" in check["detail"]
    assert "by a tool call, 1,000 tokens in and 100 out; 1 of 2 statements hold" in check["detail"]
    assert KEY not in told.stdout + told.stderr
    used = jiyi.json("usage", **env)
    assert (used["model"], used["today"]["calls"], used["calls"][0]["kind"]) == ("custom/m1", 1, "doctor")
    assert "1 call, 1,000 + 100 tokens" in jiyi("usage", **env).stdout
    assert KEY not in jiyi("config", **env).stdout


@pytest.mark.parametrize(
    ("manner", "said"),
    [
        (Manner("对不起，我不能。"), "cannot be used: it holds no JSON"),
        (Manner(status=401), "HTTP 401"),
        (Manner(items({"content": "用户对花生过敏"})), "0 of 1 statements hold"),
    ],
)
def test_doctor_says_what_is_wrong_with_the_endpoint(server: Provider, jiyi: Cli, manner: Manner, said: str) -> None:
    server.then(manner)
    env = {"JIYI_MODEL__BASE_URL": server.url, "JIYI_MODEL__NAME": "m1"}
    [check] = [c for c in jiyi.json("doctor", code=1, **env)["checks"] if c["name"] == "model"]  # without a database
    assert check["ok"] is False
    assert said in check["detail"]
    assert check["fix"]


def test_doctor_says_which_key_is_missing(jiyi: Cli) -> None:
    env = {"JIYI_MODEL__PRESET": "deepseek", "JIYI_MODEL__NAME": "m1", "DEEPSEEK_API_KEY": ""}
    [check] = [c for c in jiyi.json("doctor", code=1, **env)["checks"] if c["name"] == "model"]
    assert "set DEEPSEEK_API_KEY" in check["detail"]


def test_without_a_model_its_jobs_wait(server: Provider, tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    model = {"base_url": server.url, "name": "m1", "quiet_seconds": 0.0}
    with open_memory(path, worker=False, model=model) as layer:
        layer.scope("u1").observe(
            [{"role": "user", "text": "昨天把旧车卖掉了", "at": "2026-03-01T09:00:00+08:00"}], session="s1"
        )
    with open_memory(path, worker=False) as layer:
        layer.work()
        assert layer.dead_jobs() == []
    server.then(Manner(items({"content": "用户昨天把旧车卖掉了"})))
    with open_memory(path, worker=False, model=model) as layer:
        layer.work()
        assert layer.lag().waiting == 0
        assert len(layer.scope("u1").memories()) == 1
    assert len(server.requests) == 1


def test_the_worker_reads_by_itself_and_closing_waits_for_no_model(server: Provider, tmp_path: Path) -> None:
    server.then(Manner(wait=60))
    model = {"base_url": server.url, "name": "m1", "quiet_seconds": 0.0}
    with open_memory(tmp_path / "memory.db", model=model) as layer:
        me = layer.scope("u1")
        me.observe([{"role": "user", "text": "昨天把旧车卖掉了", "at": "2026-03-01T09:00:00+08:00"}], session="s1")
        while not server.requests:
            layer.lag()
        me.observe([{"role": "user", "text": "我住在宁波"}], session="s1")
        while not me.memories():
            layer.lag()
    with open_memory(tmp_path / "memory.db", worker=False) as layer, layer._store.read() as unit:
        assert unit.jobs.counts(None, layer._clock()).dead == 0
