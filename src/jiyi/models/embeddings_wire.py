"""The wire of OpenAI's embeddings, which most providers and local servers speak (SPEC R11)."""

from __future__ import annotations

import base64
import binascii
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from jiyi.domain.tokens import estimate_tokens
from jiyi.errors import MissingExtra, ModelError, ModelRefused, ModelUnavailable
from jiyi.models.http import Line, Reply, WayRefused
from jiyi.models.ladder import count
from jiyi.models.presets import Endpoint
from jiyi.ports import Embedder, Meter
from jiyi.settings import EmbeddingPolicy

try:
    import numpy as np
except ImportError as error:
    raise MissingExtra("numpy, which holds vectors,", "vectors") from error

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray


class EndpointEmbedder(Embedder):
    """A model behind an address. What it refuses as it is written is asked again in a simpler way, and in smaller batches."""

    def __init__(self, endpoint: Endpoint, policy: EmbeddingPolicy, meter: Meter) -> None:
        self._endpoint, self._policy, self._meter = endpoint, policy, meter
        headers = {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
        where = f"embedder {self.name}"
        self._line = Line(policy, headers, where, "embedding")
        # A question cannot wait as a batch can: without an answer soon, words find.
        hasty = replace(
            policy, timeout_seconds=policy.query_seconds, deadline_seconds=policy.query_seconds, retries=0
        )  # fmt: skip
        self._hasty = Line(hasty, headers, where, "embedding")
        self._bare = False
        self._most = policy.batch
        self._found_dimension = policy.dimension

    @property
    def name(self) -> str:
        size = f"@{self._policy.dimension}" if self._policy.dimension else ""
        return f"{self._endpoint.name}{size}"

    @property
    def dimension(self) -> int:
        return self._found_dimension or len(self.query("."))

    def documents(self, texts: Sequence[str]) -> NDArray[float32]:
        if not texts:
            return np.empty((0, self._found_dimension), np.float32)
        found = []
        while len(texts):
            some = texts[: self._most]
            try:
                found.append(self._batch(some))
            except WayRefused:
                if len(some) == 1:
                    self._most = self._policy.batch
                    raise
                # Some take ten texts at once, and say so in words of their own only.
                self._most = max(1, len(some) // 2)
                continue
            texts = texts[len(some) :]
        return np.concatenate(found)

    def _batch(self, texts: Sequence[str]) -> NDArray[float32]:
        self._meter.check(sum(map(estimate_tokens, texts)))
        begun = time.monotonic()
        try:
            rows, tokens = self._ask(self._line, texts)
        except WayRefused:
            raise
        except ModelError as error:
            self._meter.documents(0, time.monotonic() - begun, type(error).__name__)
            raise
        self._meter.documents(tokens, time.monotonic() - begun)
        return rows

    def query(self, text: str) -> NDArray[float32]:
        begun = time.monotonic()
        rows, tokens = self._ask(self._hasty, [text])
        self._meter.query(tokens, time.monotonic() - begun)
        found: NDArray[float32] = rows[0]
        return found

    def close(self) -> None:
        self._line.close()
        self._hasty.close()
        self._meter.flush()

    # ------------------------------------------------------------------ the wire

    def _ask(self, line: Line, texts: Sequence[str]) -> tuple[NDArray[float32], int]:
        """Vectors, and the tokens they took."""
        url = f"{self._endpoint.base_url}/embeddings"
        try:
            reply = line.post(url, self._body(texts))
        except WayRefused:
            if self._bare:
                raise
            reply = line.post(url, self._body(texts, bare=True))
            self._bare = True
        rows = self._read(reply, len(texts))
        return rows, count(reply.documents[0].get("usage"), "prompt_tokens") or sum(map(estimate_tokens, texts))

    def _body(self, texts: Sequence[str], *, bare: bool = False) -> Mapping[str, Any]:
        # Nothing sends half a character.
        whole = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        body: dict[str, Any] = {"model": self._endpoint.model, "input": whole, **self._endpoint.extra}
        if not (bare or self._bare):
            body["encoding_format"] = "float"
        if self._policy.dimension:
            body["dimensions"] = self._policy.dimension
        return body

    def _read(self, reply: Reply, expected: int) -> NDArray[float32]:
        data = reply.documents[0].get("data")
        rows: dict[int, Any] = {}
        for place, item in enumerate(data if isinstance(data, list) else []):
            if isinstance(item, Mapping):
                index = item.get("index")
                rows[index if isinstance(index, int) else place] = item.get("embedding")
        try:
            found = np.array([_numbers(rows[n]) for n in range(expected)], np.float32)
            lengths = np.linalg.norm(found, axis=1, keepdims=True)
        except (LookupError, ValueError, TypeError, OverflowError):
            raise ModelUnavailable(f"embedder {self.name}: its answer does not hold {expected} vectors") from None
        if not np.isfinite(lengths).all() or not (lengths > 0).all():
            raise ModelUnavailable(f"embedder {self.name}: its answer holds numbers that are no vector")
        self._check_dimension(found.shape[1])
        normed: NDArray[float32] = found / lengths
        return normed

    def _check_dimension(self, dimension: int) -> None:
        if self._found_dimension not in (0, dimension):
            raise ModelRefused(
                f"embedder {self.name}: vectors of {dimension} numbers came, not of {self._found_dimension}: is another model "
                "behind embedding.name now, or does it not know embedding.dimension?"
            )
        self._found_dimension = dimension


def _numbers(value: Any) -> Any:
    """A list of numbers; some endpoints send float32 in base64 whatever they are asked for."""
    if isinstance(value, str):
        try:
            return np.frombuffer(base64.b64decode(value, validate=True), "<f4")
        except binascii.Error as error:
            raise ValueError("neither numbers nor base64") from error
    if not isinstance(value, list) or not value or not all(type(v) in (int, float) for v in value):
        raise ValueError("no list of numbers")
    return value
