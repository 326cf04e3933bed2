"""No statement of the hot path reads beyond one owner: each prunes to one partition and goes through an index that begins
with the owner, as a distributed PostgreSQL needs (SPEC O6). The server itself writes down the plan of what it runs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jiyi.domain.vectors import quantise
from jiyi.ports import Kind, Unit
from jiyi.settings import TextIndexName
from jiyi.stores.postgres.store import open_postgres
from tests.conftest import Clock
from tests.postgres.server import Server
from tests.postgres.stores import one_server, open_on
from tests.stores.facts import ME

PARTITION = re.compile(r"(\w+)_p(\d+)")
# What an operator asks of all scopes, and what belongs to none: small tables, or read by an index of its own.
SHARED = {
    "owner",
    "meta",
    "store_setting",
    "migration",
    "job",
    "schedule",
    "standing",
    "forgetting",
    "tombstone",
    "copy",
    "model_call",
}
SAYINGS = (
    "我们的数据库用的是 MySQL。", "数据库换成 PostgreSQL 了。", "我住在杭州。", "I live in Leeds.", "I moved to York.",
    "我喜欢绿茶。", "请记住：周五之前把报表发给财务。",
)  # fmt: skip


def plans(log: str) -> Iterator[Mapping[str, Any]]:
    """What auto_explain wrote: a document of JSON after each `plan:`, its lines set in by a tab."""
    for piece in re.findall(r"plan:\n((?:\t.*\n)+)", log):
        yield json.loads(piece)


def nodes(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield plan
    for part in plan.get("Plans", ()):
        yield from nodes(part)


def wrong_reads(plan: Mapping[str, Any]) -> Iterator[str]:
    """Tables that a plan reads otherwise than through an index by the owner, or in more than one partition."""
    partitions: dict[str, set[str]] = {}
    found = list(nodes(plan["Plan"]))
    # A bitmap's condition stands at its index, below the scan of the table.
    bitmaps = {n["Index Name"]: n for n in found if n["Node Type"] == "Bitmap Index Scan"}
    for node in found:
        table = node.get("Relation Name")
        if table is None or "Scan" not in node["Node Type"]:
            continue
        if match := PARTITION.fullmatch(table):
            table = match[1]
            partitions.setdefault(table, set()).add(match[2])
        if table in SHARED or table.startswith("pg_"):
            continue
        conditions = [str(node.get("Index Cond", ""))]
        conditions += [str(n.get("Index Cond", "")) for n in bitmaps.values() if node["Node Type"].startswith("Bitmap")]
        # A lexeme of the text index native begins with the owner.
        if not any("owner = " in c or (table == "native_text" and "terms @@" in c) for c in conditions):
            yield f"{table}: {node['Node Type']} {node.get('Index Cond', node.get('Filter', ''))}"
    yield from (f"{table}: {len(parts)} partitions" for table, parts in partitions.items() if len(parts) > 1)


def test_every_statement_of_the_hot_path_stays_with_one_owner(
    postgres: Server, postgres_url: str, tmp_path: Path, clock: Clock
) -> None:
    read, run = walked(postgres, postgres_url, tmp_path, clock, "postings")
    assert read >= {"message", "memory", "evidence", "heat", "posting", "ledger", "ledger_change", "trace", "vector"}
    assert run > 300


@one_server
def test_so_does_every_statement_of_the_native_index(
    postgres: Server, postgres_url: str, tmp_path: Path, clock: Clock
) -> None:
    read, _ = walked(postgres, postgres_url, tmp_path, clock, "native")
    assert "native_text" in read


@one_server
def test_so_does_every_statement_by_pgvector(postgres: Server, pgvector_url: str, tmp_path: Path, clock: Clock) -> None:
    read, _ = walked(postgres, pgvector_url, tmp_path, clock, "postings")
    assert "vector_near" in read


def walked(
    postgres: Server, postgres_url: str, tmp_path: Path, clock: Clock, index: TextIndexName
) -> tuple[set[str], int]:
    """The tables that were read, and how many statements were run; none of them wrongly."""
    open_postgres(postgres_url, text_index=index).close()
    database = postgres_url.rpartition("/")[2]
    # Tables this small would be read whole: without that way it shows whether there is an index.
    settings = {"session_preload_libraries": "auto_explain", "enable_seqscan": "off", "auto_explain.log_min_duration": "0",
                "auto_explain.log_format": "json", "auto_explain.log_nested_statements": "on"}  # fmt: skip
    postgres.run(*(f"ALTER DATABASE {database} SET {name} TO '{value}'" for name, value in settings.items()))
    log = postgres.folder / "server.log"
    start = log.stat().st_size
    try:
        walk(postgres_url, tmp_path, clock)
    finally:
        postgres.run(*(f"ALTER DATABASE {database} RESET {name}" for name in settings))
    with log.open("rb") as written:
        written.seek(start)
        run = list(plans(written.read().decode("utf-8", "replace")))
    wrong = {plan["Query Text"]: reads for plan in run if (reads := list(wrong_reads(plan)))}
    read = {
        match[1]
        for plan in run
        for n in nodes(plan["Plan"])
        if (match := PARTITION.fullmatch(n.get("Relation Name", "")))
    }
    assert wrong == {}
    return read, len(run)


def walk(url: str, folder: Path, clock: Clock) -> None:
    """What users do all day."""
    with open_on(url, folder, clock) as layer:
        for user in ("u001", "u002"):
            me = layer.scope(user)
            me.observe([{"role": "user", "text": text, "id": f"t{i}"} for i, text in enumerate(SAYINGS)], session="s1")
            me.end(session="s1")
            layer.work()
            for query in ("数据库", "where do I live", "绿茶 报表"):
                me.recall(query)
                me.recall(query, kinds={"message"})
                me.context(query, session="s1")
            me.remember("预算是80万")
            me.history(session="s1", limit=5)
            live = me.memories(status="live")
            me.correct(f"m{live[0].seq}", "Oracle")
            me.profile()
            me.neighbours("杭州", hops=2)
            me.paths("杭州", "绿茶")
            me.merge_entities("杭州", "Hangzhou")
            me.explain(me.recall("数据库").trace_id)
            me.forget(memory=f"m{live[-1].seq}")
    store = open_postgres(url)
    vectors = {i: quantise([1.0, float(i)]) for i in range(1, 9)}

    def embed(unit: Unit) -> None:
        unit.vectors.begin(ME, "model", 2)
        unit.vectors.add(ME, Kind.MESSAGE, "model", vectors)
        unit.vectors.remove(ME, Kind.MESSAGE, [2])

    store.write(embed)
    with store.read() as unit:
        assert len(unit.vectors.search(ME, Kind.MESSAGE, "model", vectors[1], 3)) == 3
    store.close()
