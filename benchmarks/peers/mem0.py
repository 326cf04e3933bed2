"""mem0 with `infer=False`: no language model, its local Qdrant, and the vectors of an embedder that needs no download.

It adds a few turns a second, so run it on one conversation: `--limit 1`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from jiyi.domain.memory import IncomingMessage
from jiyi.domain.tokens import estimate_tokens
from jiyi.embedders import open_local
from jiyi.evaluation.contenders import Found
from jiyi.evaluation.embedders import embedded
from jiyi.ports import Embedder

# It asks for a key where it will never call anybody.
_NO_KEY = {"api_key": "none"}


class _Embedding:
    """What mem0 wants of an embedding model."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return [float(x) for x in embedded(self._embedder, [text])[0]]

    def embed_batch(self, texts: Sequence[str], memory_action: str | None = None) -> list[list[float]]:
        return [[float(x) for x in row] for row in embedded(self._embedder, texts)]


class Mem0Peer:
    def __init__(self, folder: Path, embedder: Embedder) -> None:
        self.name = f"mem0, {embedder.name}"
        os.environ["MEM0_TELEMETRY"] = "False"
        os.environ["MEM0_DIR"] = str(folder / "home")
        from mem0 import Memory

        self._memory: Any = Memory.from_config(
            {
                "vector_store": {
                    "provider": "qdrant",
                    "config": {
                        "path": str(folder / "qdrant"),
                        "collection_name": "turns",
                        "embedding_model_dims": embedder.dimension,
                        "on_disk": True,
                    },
                },
                "llm": {"provider": "openai", "config": _NO_KEY},
                "embedder": {"provider": "openai", "config": {**_NO_KEY, "embedding_dims": embedder.dimension}},
                "history_db_path": str(folder / "history.db"),
            }
        )
        self._memory.embedding_model = _Embedding(embedder)

    def learn(self, user: str, messages: Sequence[IncomingMessage]) -> None:
        for message in messages:
            self._memory.add(
                [{"role": "user", "content": message.text}],
                user_id=user, metadata={"turn": message.id}, infer=False,
            )  # fmt: skip

    def settle(self) -> None:
        """What was added is found."""

    def find(self, user: str, question: str, limit: int, now: datetime) -> Found:
        rows = self._memory.search(question, filters={"user_id": user}, top_k=limit, threshold=0.0)["results"]
        return Found(
            tuple(row["metadata"]["turn"] for row in rows), sum(estimate_tokens(r["memory"]) for r in rows[:10])
        )

    def close(self) -> None:
        self._memory.vector_store.client.close()


def open_peer(folder: Path, option: str) -> Mem0Peer:
    return Mem0Peer(folder, open_local(option or "use"))
