"""Chroma alone: a collection for each user on disk, cosine, the vectors of an embedder that needs no download.

Its own embedder fetches its model from the network, so ours are handed in: `chroma` (USE) or `chroma:e5`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import chromadb
from chromadb.config import Settings

from jiyi.domain.memory import IncomingMessage
from jiyi.domain.tokens import estimate_tokens
from jiyi.embedders import open_local
from jiyi.evaluation.contenders import Found
from jiyi.evaluation.embedders import embedded
from jiyi.ports import Embedder

_BATCH = 1000


class ChromaPeer:
    def __init__(self, folder: Path, embedder: Embedder) -> None:
        self.name = f"Chroma, {embedder.name}"
        self._embedder = embedder
        self._client = chromadb.PersistentClient(str(folder / "chroma"), Settings(anonymized_telemetry=False))
        self._collections: dict[str, Any] = {}

    def _collection(self, user: str) -> Any:
        if user not in self._collections:
            name = "u" + hashlib.sha1(user.encode()).hexdigest()[:20]
            self._collections[user] = self._client.get_or_create_collection(
                name, metadata={"hnsw:space": "cosine"}, embedding_function=None
            )
        return self._collections[user]

    def learn(self, user: str, messages: Sequence[IncomingMessage]) -> None:
        for start in range(0, len(messages), _BATCH):
            batch = messages[start : start + _BATCH]
            texts = [m.text for m in batch]
            self._collection(user).add(
                ids=[m.id for m in batch], documents=texts, embeddings=embedded(self._embedder, texts)
            )

    def settle(self) -> None:
        """What was added is found."""

    def find(self, user: str, question: str, limit: int, now: datetime) -> Found:
        collection = self._collection(user)
        wanted = min(limit, collection.count())
        if not wanted:
            return Found(())
        found = collection.query(
            query_embeddings=embedded(self._embedder, [question]), n_results=wanted, include=["documents"]
        )
        return Found(tuple(found["ids"][0]), sum(map(estimate_tokens, found["documents"][0][:10])))

    def close(self) -> None:
        self._client.close()


def open_peer(folder: Path, option: str) -> ChromaPeer:
    return ChromaPeer(folder, open_local(option or "use"))
