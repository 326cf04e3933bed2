"""What is known of providers, and the endpoint that the settings make of it (SPEC U8)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from jiyi.domain.asking import WAYS
from jiyi.errors import SettingsError
from jiyi.settings import ModelPolicy

OPENAI, ANTHROPIC = "openai", "anthropic"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One model behind one address. The key is never shown."""

    provider: str
    model: str
    base_url: str
    wire: str = OPENAI
    key: str = field(default="", repr=False)
    key_env: str = ""
    structured: str = "json"
    max_tokens: str = "max_tokens"
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.provider}/{self.model}"


def presets() -> Mapping[str, Mapping[str, Any]]:
    """The shipped providers, by name."""
    return tomllib.loads((resources.files("jiyi") / "models" / "presets.toml").read_text("utf-8"))


def endpoint(policy: ModelPolicy, environment: Mapping[str, str], section: str = "model") -> Endpoint:
    """The endpoint that a section of the settings names. Its key comes from the environment, and from nowhere else.

    Raises:
        SettingsError: no such preset, an address that is none, or the key's variable is not set.
    """
    known = presets()
    if policy.preset is not None and policy.preset not in known:
        raise SettingsError(
            f"{section}.preset = {policy.preset!r}: choose one of {', '.join(known)}, or give {section}.base_url"
        )
    preset = known.get(policy.preset or "", {})
    base_url = (policy.base_url or preset.get("base_url", "")).rstrip("/")
    if not base_url.startswith(("http://", "https://")):
        raise SettingsError(f"{section}.base_url = {base_url!r}: write it as https://host/v1")
    # A key belongs to the preset's own address: given another one, it is not sent there unless its variable is named.
    moved = policy.base_url is not None and base_url not in (preset.get("base_url"), preset.get("international"))
    key_env = policy.key_env or ("" if moved else preset.get("key_env", ""))
    key = environment.get(key_env, "").strip() if key_env else ""
    if key_env and not key:
        raise SettingsError(f"the key of {policy.preset or base_url} is missing: set {key_env}, or name another variable in {section}.key_env")  # fmt: skip
    if any(not " " < c < "\x7f" for c in key):
        raise SettingsError(f"the key in {key_env} holds characters that no key has: was it pasted whole?")
    structured = policy.structured or preset.get("structured", "json")
    assert structured in WAYS
    return Endpoint(
        provider=policy.preset or "custom",
        model=policy.name or "",
        base_url=base_url,
        wire=policy.wire or preset.get("wire", OPENAI),
        key=key,
        key_env=key_env,
        structured=structured,
        max_tokens=preset.get("max_tokens", "max_tokens"),
        extra=preset.get("extra", {}),
    )
