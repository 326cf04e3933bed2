"""What the service is measured beside: the same door with nothing behind it, and A2's recipe as a service of its own.

    python -m benchmarks.service_peers bare PORT_FILE STORE
    python -m benchmarks.service_peers a2 PORT_FILE STORE

`bare` is jiyi's own application, over a filled store, with two routes more: `/v1/fixed` takes what `/v1/recall` takes, knows who
calls, and gives the same answer to everybody; `/v1/insert` takes what `/v1/messages` takes and makes its text durable with one bare
INSERT into a file of its own, in a thread, as a plain route would.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from benchmarks.recipes import A2, LIKE_OURS
from jiyi.assembly import load_settings, open_memory
from jiyi.memory_layer import MemoryLayer
from jiyi.surfaces import shapes
from jiyi.surfaces.http import bodies
from jiyi.surfaces.http.app import create_app
from jiyi.surfaces.http.calls import Reading, Writing
from jiyi.surfaces.http.processes import multiply
from jiyi.surfaces.http.server import address_of, listening, run

FIXED_ITEMS = 8


def bare(memory: MemoryLayer, path: Path, process: int) -> FastAPI:
    """Its own two routes know nothing of the memory; the door is the same."""
    app = create_app(memory, process=process)
    me = memory.scope("somebody")
    for number in range(FIXED_ITEMS):
        me.remember(f"Number {number} of the things that somebody keeps in mind, as long as they usually are")
    answer = me.recall("things in mind", limit=FIXED_ITEMS)
    rows = sqlite3.connect(path.with_suffix(f".bare-{process}.db"), check_same_thread=False)
    for pragma in LIKE_OURS:
        rows.execute(f"PRAGMA {pragma}").fetchall()
    rows.execute(
        "CREATE TABLE IF NOT EXISTS turn (id INTEGER PRIMARY KEY, user TEXT, session TEXT, body TEXT, at TEXT)"
    )
    held = threading.Lock()

    async def fixed(body: bodies.Recall, call: Reading) -> shapes.Recollection:
        return shapes.Recollection.of(answer, call.zone)

    async def insert(body: bodies.Observe, call: Writing) -> dict[str, int]:
        text = json.dumps([turn.model_dump(mode="json") for turn in body.messages], ensure_ascii=False)

        def work() -> int:
            with held, rows:
                rows.execute("INSERT INTO turn (user, session, body) VALUES (?, ?, ?)", (call.scope.user, "s", text))
            return 1

        return {"new": await call.write(work)}

    app.add_api_route("/v1/fixed", fixed, methods=["POST"])
    app.add_api_route("/v1/insert", insert, methods=["POST"])
    return app


def a2(path: Path) -> FastAPI:
    """The recipe as the article serves it: any caller names the user. A connection for each thread that works."""
    app, local = FastAPI(), threading.local()

    def recipe() -> A2:
        if not hasattr(local, "recipe"):
            local.recipe = A2(path)
        held: A2 = local.recipe
        return held

    @app.get("/memory/search")
    def search(user_id: str, q: str, top_k: int = 5) -> dict[str, Any]:
        found = recipe()
        return {"memories": found.search(user_id, found.question(q))[:top_k]}

    return app


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["bare", "a2"])
    parser.add_argument("port_file", type=Path)
    parser.add_argument("store", type=Path)
    chosen = parser.parse_args(arguments)
    settings = load_settings(worker=False)
    with listening(settings.identity, "127.0.0.1", 0) as sockets:
        chosen.port_file.write_text(address_of("127.0.0.1", sockets), "ascii")
        sibling = multiply(settings.service.processes)
        if chosen.what == "a2":
            run(a2(chosen.store), sockets, settings.service, sibling)
            return
        with open_memory(settings=load_settings(str(chosen.store))) as memory:
            run(bare(memory, chosen.store, sibling.number), sockets, settings.service, sibling)


if __name__ == "__main__":
    main()
