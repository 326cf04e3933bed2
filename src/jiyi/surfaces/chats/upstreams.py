"""Which model stands behind a chat: from the settings and the command line, never from who chats (SPEC U2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jiyi.errors import SettingsError
from jiyi.models.presets import Endpoint, endpoint, presets
from jiyi.settings import ModelPolicy, ProxyPolicy, UpstreamPolicy
from jiyi.surfaces.chats.wires import ANTHROPIC, OPENAI, WIRES, Wire

ECHO = "echo"
ECHO_URL = "http://echo.invalid/v1"
"""No address: nothing is sent anywhere."""
VERSION = "2023-06-01"


def read_upstreams(given: Sequence[str]) -> dict[str, Any]:
    """What `--upstream` says, as a part of the settings under `proxy`.

    Args:
        given: `echo`, a provider of models/presets.toml, an address (`https://host/v1`, spoken to as OpenAI is), or
            `anthropic=https://host/v1`.

    Raises:
        SettingsError: none of these.
    """
    found: dict[str, Any] = {}
    for text in given:
        wire, _, address = text.partition("=")
        if text == ECHO:
            found |= {name: {"preset": ECHO} for name in WIRES}
        elif wire in WIRES and address:
            found[wire] = {"base_url": address}
        elif text.startswith(("http://", "https://")):
            found[OPENAI.name] = {"base_url": text}
        elif text in presets():
            found[presets()[text].get("wire", OPENAI.name)] = {"preset": text}
        else:
            known = ", ".join((ECHO, *presets()))
            raise SettingsError(f"upstream {text!r}: give one of {known}, or an address such as https://host/v1")
    return found


def find_upstreams(proxy: ProxyPolicy, environment: Mapping[str, str]) -> dict[str, Endpoint]:
    """The models behind the proxies, by wire; keys come from the environment.

    Raises:
        SettingsError: an address that is none, a provider of the other wire, or a key that is missing.
    """
    found = {}
    for wire, policy in ((OPENAI, proxy.openai), (ANTHROPIC, proxy.anthropic)):
        if policy.configured:
            found[wire.name] = _endpoint(wire, policy, environment, needs_key=not proxy.forward_key)
    return found


def _endpoint(wire: Wire, policy: UpstreamPolicy, environment: Mapping[str, str], *, needs_key: bool) -> Endpoint:
    section = f"proxy.{wire.name}"
    if policy.preset == ECHO:
        return Endpoint(ECHO, ECHO, ECHO_URL, wire.name)
    preset = presets().get(policy.preset or "", {})
    if preset and preset.get("wire", OPENAI.name) != wire.name and policy.base_url is None:
        raise SettingsError(
            f"{section}.preset = {policy.preset!r}: that provider is spoken to in another way, see models/presets.toml"
        )
    key_env = policy.key_env or preset.get("key_env", "")
    if not needs_key and not environment.get(key_env, "").strip():
        policy = UpstreamPolicy(base_url=policy.base_url or preset.get("base_url"))
    wanted = ModelPolicy(policy.preset, base_url=policy.base_url, wire=wire.name, key_env=policy.key_env)  # type: ignore[arg-type]
    return endpoint(wanted, environment, section)


def headers_of(upstream: Endpoint) -> dict[str, str]:
    """What a request to a model carries besides its body."""
    if upstream.wire == ANTHROPIC.name:
        return {"anthropic-version": VERSION} | ({"x-api-key": upstream.key} if upstream.key else {})
    return {"Authorization": f"Bearer {upstream.key}"} if upstream.key else {}
