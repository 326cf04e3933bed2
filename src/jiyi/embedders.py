"""The part of assembly that knows concrete embedding models, and which of them a database has had (SPEC R11)."""

from __future__ import annotations

import json
import logging
from dataclasses import replace

from jiyi.domain.vectors import Scan, plain_scan
from jiyi.embedding import Embedder
from jiyi.engine import Parts
from jiyi.errors import MissingExtra, SettingsError
from jiyi.pipelines.vectors import Embedding
from jiyi.ports import Store
from jiyi.settings import EmbedderName, Settings

log = logging.getLogger("jiyi.embedders")

EMBEDDER, EMBEDDERS = "embedder", "embedders"
"""Names of what a database stores of its embedders: who embedded last, and how each is opened again."""


def open_embedding(settings: Settings, store: Store, own: Embedder | None = None) -> Embedding | None:
    """The embedder that the settings name, or one of the caller's own, with those that made what is there; None without.

    Raises:
        SettingsError: the settings do not fit together, or the key's variable is not set. MissingExtra: no such package.
    """
    embedder = own or _embedder(settings)
    if embedder is None:
        return None
    former = [_former(spec) for name, spec in _past_embedders(store).items() if name != embedder.name]
    return Embedding(embedder, settings.embedding, [e for e in former if e is not None])


def _embedder(settings: Settings) -> Embedder | None:
    if settings.embedder == "none":
        return None
    from jiyi.models.local import local_embedder

    return local_embedder(settings.embedder)


def _past_embedders(store: Store) -> dict[str, EmbedderName]:
    """By name: how the embedders that this database has had are opened again, the latest last."""
    past: dict[str, EmbedderName] = json.loads(store.meta(EMBEDDERS) or "{}")
    return past


def _former(spec: EmbedderName) -> Embedder | None:
    """An embedder of before, so that its vectors answer until the new ones are whole. Where it cannot be had, words do."""
    try:
        return _embedder(replace(Settings(), embedder=spec))
    except (SettingsError, MissingExtra) as error:
        log.warning("what another embedder made cannot be asked any more: %s", error)
        return None


def follow_embedder(store: Store, parts: Parts) -> None:
    """When there is another embedder than at the last opening, all that has no vector of it is asked for."""
    name = "" if parts.embedding is None else parts.embedding.current.name
    if (store.meta(EMBEDDER) or "") == name:
        return
    if parts.embedding is not None:
        past = {n: spec for n, spec in _past_embedders(store).items() if n != name}
        store.set_meta(EMBEDDERS, json.dumps({**past, name: parts.settings.embedder}))
        with store.read() as unit:
            scopes = list(unit.scopes())
        for scope in scopes:
            store.write(lambda unit, s=scope: parts.gateway.vectors.request(unit, s))  # type: ignore[misc]
    store.set_meta(EMBEDDER, name)  # last: whoever is killed before does it again


def choose_scan(settings: Settings, own: Embedder | None) -> Scan:
    """How the store compares vectors."""
    if own is None and settings.embedder == "none":
        return plain_scan  # Who has no vectors need not load numpy.
    from jiyi.stores.scanning import numpy_scan

    return numpy_scan
