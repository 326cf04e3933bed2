"""Other graphs in the same run: networkx, an embedded Cypher engine, and Neo4j through Bolt. What is not installed says so.

Each holds the same edges of all owners and answers what is within so many steps of a thing, either way, as a set of names. None of them
keeps confidence, time or aliases here, so their edges carry less than ours.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

Edges = Mapping[str, Sequence[tuple[str, str]]]
"""For each owner the pairs of names that an edge joins."""
CHUNK = 10_000


class Peer(Protocol):
    name: str

    def near(self, owner: str, start: str, hops: int) -> set[str]: ...

    def close(self) -> None: ...


class Networkx:
    """One graph an owner, in memory."""

    def __init__(self, edges: Edges, folder: Path) -> None:
        import networkx

        self.name = f"networkx {networkx.__version__}, in memory"
        self._module = networkx
        self._graphs = {owner: networkx.MultiGraph(pairs) for owner, pairs in edges.items()}

    def near(self, owner: str, start: str, hops: int) -> set[str]:
        found = self._module.single_source_shortest_path_length(self._graphs[owner], start, cutoff=hops)
        return set(found) - {start}

    def close(self) -> None: ...


CYPHER = "MATCH (a:Thing {{key: $key}})-[:TIE*1..{hops}]-(b:Thing) WHERE b.key <> $key RETURN DISTINCT b.name"


class Ladybug:
    """Kuzu's successor: embedded, a file, its own Cypher."""

    def __init__(self, edges: Edges, folder: Path) -> None:
        import ladybug

        self.name = f"ladybug {ladybug.__version__}, embedded Cypher"
        self._base = ladybug.Database(str(folder / "ladybug"))
        self._connection = ladybug.Connection(self._base)
        self._connection.execute("CREATE NODE TABLE Thing(key STRING, name STRING, PRIMARY KEY (key))")
        self._connection.execute("CREATE REL TABLE TIE(FROM Thing TO Thing)")
        things, ties = folder / "things.csv", folder / "ties.csv"
        _write(things, (row for owner, pairs in edges.items() for row in _things(owner, pairs)))
        _write(ties, ((f"{o}/{a}", f"{o}/{b}") for o, pairs in edges.items() for a, b in pairs))
        for table, file in (("Thing", things), ("TIE", ties)):
            self._connection.execute(f"COPY {table} FROM '{file}'")

    def near(self, owner: str, start: str, hops: int) -> set[str]:
        rows = self._connection.execute(CYPHER.format(hops=hops), {"key": f"{owner}/{start}"})
        return {row[0] for row in rows.get_all()}

    def close(self) -> None:
        self._connection.close()
        self._base.close()


class Neo4j:
    """A server of its own, over Bolt; its CPU time is not ours, so only the clock tells."""

    def __init__(self, edges: Edges, folder: Path) -> None:
        import neo4j

        from tests.graph_engine import server

        if reason := server.missing():
            raise ImportError(reason)
        self.name = f"Neo4j 5.26 by Bolt, driver {neo4j.__version__}"
        self._server = server.shared_server(folder)
        self._driver = neo4j.GraphDatabase.driver(self._server.__enter__())
        self._write("CREATE CONSTRAINT thing IF NOT EXISTS FOR (t:Thing) REQUIRE t.key IS UNIQUE")
        for owner, pairs in edges.items():
            for rows in _chunks([{"k": key, "n": name} for key, name in _things(owner, pairs)]):
                self._write("UNWIND $rows AS r CREATE (:Thing {key: r.k, name: r.n})", rows=rows)
            for rows in _chunks([{"a": f"{owner}/{a}", "b": f"{owner}/{b}"} for a, b in pairs]):
                self._write(
                    "UNWIND $rows AS r MATCH (a:Thing {key: r.a}), (b:Thing {key: r.b}) CREATE (a)-[:TIE]->(b)",
                    rows=rows,
                )
        self._session = self._driver.session()

    def _write(self, statement: str, **parameters: Any) -> None:
        with self._driver.session() as session:
            session.run(statement, **parameters).consume()

    def near(self, owner: str, start: str, hops: int) -> set[str]:
        return set(self._session.run(CYPHER.format(hops=hops), key=f"{owner}/{start}").value())

    def close(self) -> None:
        self._session.close()
        self._driver.close()
        self._server.__exit__(None, None, None)


PEERS = {"networkx": Networkx, "ladybug": Ladybug, "neo4j": Neo4j}


@contextmanager
def opened(name: str, edges: Edges) -> Iterator[Peer | str]:
    """A peer that holds the edges, or why there is none."""
    with tempfile.TemporaryDirectory(prefix="jiyi-bench-") as folder:
        try:
            peer: Peer = PEERS[name](edges, Path(folder))
        except ImportError as error:
            yield f"{name}: not installed ({error}); pip install --group bench"
            return
        try:
            yield peer
        finally:
            peer.close()


def _things(owner: str, pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(f"{owner}/{name}", name) for name in dict.fromkeys(end for pair in pairs for end in pair)]


def _write(path: Path, rows: Iterator[Sequence[str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)


def _chunks(rows: list[Any]) -> Iterator[list[Any]]:
    return (rows[start : start + CHUNK] for start in range(0, len(rows), CHUNK))
