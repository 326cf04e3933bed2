"""An embedder without a model, for tests of everything around one."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from jiyi.errors import ModelError
from jiyi.ports import Embedder

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray


class ByCharacters(Embedder):
    """Texts that share characters are near. What it was asked is in `texts`; errors given to `fail` are raised in turn."""

    def __init__(self, name: str = "testing/characters", dimension: int = 64) -> None:
        self._name, self._dimension = name, dimension
        self._errors: deque[ModelError] = deque()
        self.texts: list[str] = []
        self.questions: list[str] = []
        self.closed = False

    @property
    def name(self) -> str:
        return self._name

    @property
    def dimension(self) -> int:
        return self._dimension

    def fail(self, *errors: ModelError) -> None:
        self._errors.extend(errors)

    def documents(self, texts: Sequence[str]) -> NDArray[float32]:
        if self._errors:
            raise self._errors.popleft()
        self.texts += texts
        return np.stack([self._vector(text) for text in texts])

    def query(self, text: str) -> NDArray[float32]:
        if self._errors:
            raise self._errors.popleft()
        self.questions.append(text)
        return self._vector(text)

    def close(self) -> None:
        self.closed = True

    def _vector(self, text: str) -> NDArray[float32]:
        found = np.zeros(self._dimension, np.float32)
        for character in text:
            seed = blake2b(f"{self._name} {character}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
            found += (
                np.random.default_rng(int.from_bytes(seed, "big")).standard_normal(self._dimension).astype(np.float32)
            )
        return found / np.float32(np.linalg.norm(found))
