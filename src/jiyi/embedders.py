"""The part of assembly that knows concrete embedding models, and which of them a database has had (SPEC R11)."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from jiyi.engine import Parts
from jiyi.errors import MissingExtra, SettingsError
from jiyi.jobs import Clock
from jiyi.pipelines.modelling.spending import EmbeddingMeter
from jiyi.pipelines.vectors import Embedding
from jiyi.ports import Embedder, Store, VectorEngine
from jiyi.settings import ModelPolicy, Settings, zone
from jiyi.stores.sqlite.vectors import VectorRules
from jiyi.text.voice import Voice

log = logging.getLogger("jiyi.embedders")

ALL = "all"
LOCAL = ("use", "e5", "both", ALL)
EMBEDDER, EMBEDDERS = "embedder", "embedders"
"""Names of what a database stores of its embedders: who embedded last, and how each is opened again."""
REMEMBERED = ("preset", "name", "base_url", "key_env", "dimension")


def open_embedding(
    settings: Settings,
    store: Store,
    clock: Clock,
    environment: Mapping[str, str],
    voice: Voice,
    own: Embedder | None = None,
) -> Embedding | None:
    """The embedder that the settings name, or one of the caller's own, with those that made what is there; None without.

    Raises:
        SettingsError: the settings do not fit together, or the key's variable is not set. MissingExtra: no such package.
    """
    embedder = own or _embedder(settings, store, clock, environment)
    if embedder is None:
        return None
    former = []
    for name, spec in _past_embedders(store).items():
        if name == embedder.name:
            continue
        try:
            former.append(_embedder(_settings_of(settings, spec), store, clock, environment))
        except (SettingsError, MissingExtra) as error:
            # Words answer until the new vectors are whole.
            log.warning("what %s has embedded cannot be asked any more: %s", name, error)
    return Embedding(embedder, settings.embedding, voice, [e for e in former if e is not None])


def _embedder(settings: Settings, store: Store, clock: Clock, environment: Mapping[str, str]) -> Embedder | None:
    if settings.embedder == "none":
        return None
    if settings.embedder != "endpoint":
        return open_local(settings.embedder)
    from jiyi.models.embeddings_wire import EndpointEmbedder
    from jiyi.models.presets import endpoint

    policy = settings.embedding
    asked = ModelPolicy(preset=policy.preset, name=policy.name, base_url=policy.base_url, key_env=policy.key_env)
    where = endpoint(asked, environment, "embedding")
    size = f"@{policy.dimension}" if policy.dimension else ""
    meter = EmbeddingMeter(store, f"{where.name}{size}", policy, zone(settings.timezone), clock)
    return EndpointEmbedder(where, policy, meter)


def open_local(name: str) -> Embedder:
    """An embedding model that runs in this process, one of `LOCAL`.

    Raises:
        SettingsError: there is no such model. MissingExtra: its packages are not installed; names the extra that brings them.
    """
    if name == ALL:
        from jiyi.models.english import all_embedder

        return all_embedder()
    from jiyi.models.local import local_embedder

    return local_embedder(name)


def _past_embedders(store: Store) -> dict[str, dict[str, Any]]:
    """By name: the settings of the embedders that this database has had, the latest last."""
    past: dict[str, dict[str, Any]] = json.loads(store.meta(EMBEDDERS) or "{}")
    return past


def _spec(settings: Settings) -> dict[str, Any]:
    """What is remembered of an embedder; of its key only which variable holds it."""
    return {"embedder": settings.embedder, **{name: getattr(settings.embedding, name) for name in REMEMBERED}}


def _settings_of(settings: Settings, spec: Mapping[str, Any]) -> Settings:
    embedding = replace(settings.embedding, **{name: spec[name] for name in REMEMBERED})
    return replace(settings, embedder=spec["embedder"], embedding=embedding)


def follow_embedder(store: Store, parts: Parts) -> None:
    """When there is another embedder than at the last opening, all that has no vector of it is asked for."""
    name = "" if parts.embedding is None else parts.embedding.current.name
    if (store.meta(EMBEDDER) or "") == name:
        return
    if parts.embedding is not None:
        past = {n: spec for n, spec in _past_embedders(store).items() if n != name}
        store.set_meta(EMBEDDERS, json.dumps({**past, name: _spec(parts.settings)}))
        for scope in store.view(lambda unit: list(unit.scopes())):
            store.write(lambda unit, s=scope: parts.gateway.vectors.request(unit, s))  # type: ignore[misc]
    store.set_meta(EMBEDDER, name)  # last: whoever is killed before does it again


def vector_rules(settings: Settings, own: Embedder | None) -> VectorRules:
    """How the store compares vectors, and which engine follows it.

    Raises:
        SettingsError: no such engine. MissingExtra: its package is not installed.
    """
    if own is None and settings.embedder == "none" and settings.vector_engine is None:
        return VectorRules()  # Who has no vectors need not load numpy.
    if own is None and settings.embedder in LOCAL:
        import jiyi.models.local  # noqa: F401 - first, so that a missing package is called by the extra that brings it all
    from jiyi.stores.scanning import numpy_scan

    return VectorRules(numpy_scan, _engine(settings.vector_engine))


def _engine(place: str | None) -> VectorEngine | None:
    if place is None:
        return None
    kind, _, where = place.partition(":")
    if kind != "chroma" or not where:
        raise SettingsError(f"vector_engine = {place!r}: write it as chroma:FOLDER or chroma:http://HOST:PORT")
    from jiyi.stores.chroma import open_chroma

    return open_chroma(where)
