"""Chroma as a vector engine, in this process or as a server (SPEC R11). The extra `chroma`.

It is given numbers and vectors, and nothing else: no text, no name. It asks nobody for embeddings and reports to nobody.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jiyi.domain.vectors import Vector, mark_of
from jiyi.errors import EngineUnavailable, MissingExtra, SettingsError
from jiyi.ports import VectorEngine
from jiyi.stores.scanning import quantised

try:
    import chromadb
    import httpx
    import numpy as np
    from chromadb.config import Settings as ChromaSettings
    from chromadb.errors import ChromaError, NotFoundError
except ImportError as error:
    raise MissingExtra("Chroma", "chroma") from error

AT_ONCE = 1_000
SECONDS = 10.0
"""How long an answer may take; then the database looks through the vectors itself."""
FAULTS = (ChromaError, httpx.HTTPError, sqlite3.Error, OSError, ValueError, RuntimeError)
"""What Chroma raises when it is not there or not well. A wrong address is a ValueError to it."""
HNSW = {"hnsw": {"space": "cosine", "ef_construction": 200, "ef_search": 200}}


class ChromaEngine(VectorEngine):
    """Make it with `open_chroma`. It connects at the first use: a server that is down keeps nothing from opening."""

    def __init__(self, name: str, connect: Callable[[], Any], folder: Path | None) -> None:
        self._name, self._connect, self._folder = name, connect, folder
        self._lock = threading.Lock()
        self._client: Any = None

    @property
    def name(self) -> str:
        return self._name

    def put(self, collection: str, vectors: Mapping[int, Vector]) -> None:
        seqs = list(vectors)
        if not seqs:
            return
        with self._asking() as client:
            there = client.get_or_create_collection(collection, embedding_function=None, configuration=HNSW)
            for start in range(0, len(seqs), AT_ONCE):
                some = seqs[start : start + AT_ONCE]
                there.upsert(
                    ids=[str(seq) for seq in some],
                    embeddings=[np.frombuffer(vectors[seq].numbers, np.int8).astype(np.float32) for seq in some],
                    metadatas=[{"mark": mark_of(vectors[seq])} for seq in some],
                )

    def remove(self, collection: str, seqs: Collection[int]) -> None:
        with self._asking() as client, contextlib.suppress(NotFoundError):
            there = client.get_collection(collection, embedding_function=None)
            there.delete(ids=[str(seq) for seq in seqs])

    def near(self, collection: str, query: Vector, limit: int) -> dict[int, Vector]:
        with self._asking() as client:
            try:
                there = client.get_collection(collection, embedding_function=None)
            except NotFoundError:
                return {}
            asked = np.frombuffer(query.numbers, np.int8).astype(np.float32)
            found = there.query(query_embeddings=[asked], n_results=limit, include=["embeddings"])
            # Chroma keeps directions, as we do: stretched again, the numbers are the ones that were put.
            return dict(zip(map(int, found["ids"][0]), quantised(found["embeddings"][0]), strict=True))

    def marks(self, collection: str) -> dict[int, int]:
        with self._asking() as client:
            try:
                there = client.get_collection(collection, embedding_function=None)
            except NotFoundError:
                return {}
            found = there.get(include=["metadatas"])
            return {int(name): int(data["mark"]) for name, data in zip(found["ids"], found["metadatas"], strict=True)}

    def drop(self, collection: str) -> None:
        with self._asking() as client, contextlib.suppress(NotFoundError):
            client.delete_collection(collection)

    def collections(self, prefix: str) -> list[str]:
        with self._asking() as client:
            return [c.name for c in client.list_collections() if c.name.startswith(prefix)]

    def token(self, prefix: str) -> str:
        with self._asking() as client:
            try:
                there = client.get_collection(prefix, embedding_function=None)
            except NotFoundError:
                return ""
            return str((there.metadata or {}).get("token", ""))

    def set_token(self, prefix: str, token: str) -> None:
        with self._asking() as client:
            there = client.get_or_create_collection(prefix, embedding_function=None)
            there.modify(metadata={"token": token})

    def purge(self) -> None:
        """Chroma leaves what went in its file until somebody vacuums it. A server's files are its operator's."""
        if self._folder is None:
            return
        with self._asking(), closing(sqlite3.connect(self._folder / "chroma.sqlite3", timeout=30)) as connection:
            connection.execute("VACUUM")

    def close(self) -> None:
        with self._lock:
            client, self._client = self._client, None
            if client is not None:
                sessions = _sessions(client)
                client.close()
                for session in sessions:
                    session.close()

    @contextlib.contextmanager
    def _asking(self) -> Iterator[Any]:
        """One call at a time: the client in this process is one connection."""
        with self._lock:
            try:
                if self._client is None:
                    self._client = self._connect()
                yield self._client
            except FAULTS as error:
                # What it says may quote an address with a password.
                raise EngineUnavailable(
                    f"{self._name} does not answer ({type(error).__name__}): see vector_engine in the settings"
                ) from error


def _sessions(client: Any) -> list[httpx.Client]:
    """The connections of a client of a server. Chroma leaves them open for ever, and waits for ever for an answer."""
    servers = (client._server, client._admin_client._server)
    return [s._session for s in servers if isinstance(getattr(s, "_session", None), httpx.Client)]


def _client_of(host: str, port: int, *, ssl: bool, settings: ChromaSettings) -> Any:
    client = chromadb.HttpClient(host, port, ssl=ssl, settings=settings)
    for session in _sessions(client):
        session.timeout = httpx.Timeout(SECONDS)
    return client


def open_chroma(place: str) -> ChromaEngine:
    """Chroma in a folder, or at an address such as http://127.0.0.1:8000.

    Raises:
        SettingsError: an address that is none.
    """
    quiet = ChromaSettings(anonymized_telemetry=False)
    if "://" not in place:
        folder = Path(place).expanduser()
        return ChromaEngine(f"Chroma in {folder}", lambda: chromadb.PersistentClient(str(folder), quiet), folder)
    url = urlsplit(place)
    try:
        host, port = url.hostname, url.port or (443 if url.scheme == "https" else 8000)
    except ValueError:
        host, port = None, 0
    if url.scheme not in ("http", "https") or not host:
        raise SettingsError(f"vector_engine = {place!r}: write it as chroma:FOLDER or chroma:http://HOST:PORT")
    ssl = url.scheme == "https"
    return ChromaEngine(f"Chroma at {host}:{port}", lambda: _client_of(host, port, ssl=ssl, settings=quiet), None)
