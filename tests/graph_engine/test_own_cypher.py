"""People run Cypher of their own over the graph, and get what jiyi answers (SPEC G4, article A4 §2)."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from neo4j import GraphDatabase

from jiyi.assembly import open_memory
from tests.conftest import Clock

PAGE = Path(__file__).parents[2] / "docs" / "neo4j.md"


def shown_statement() -> str:
    return PAGE.read_text("utf-8").split("```cypher\n")[1].split("```")[0]


def test_what_was_asked_about_by_confidence_and_time_in_one_statement(neo4j: str, clock: Clock, tmp_path: Path) -> None:
    with open_memory(tmp_path / "memory.db", clock=clock, worker=False, graph_engine=neo4j) as layer:
        me, other = layer.scope("cypher-ming", tenant="acme"), layer.scope("cypher-li", tenant="acme")
        for text in ("我咨询了 Redis", "I asked about Kafka.", "我咨询过 PolarDB", "I asked about the Nimbus X2."):
            me.observe([{"role": "user", "text": text}], session="s1")
            other.observe([{"role": "user", "text": "我咨询了 MongoDB"}], session="s1")
            layer.work()
            clock.advance(days=20)
        layer.work()
        given = {"tenant": "acme", "user": "cypher-ming"}
        for days in (0, 14, 28, 42):
            now = clock.now.astimezone(UTC)
            answer = me.match([("用户", "ASKED_ABOUT", "?product")], min_confidence=0.8)
            assert answer.note == ""
            expected = sorted(((r.ties[0].since, r.bound["?product"], r.confidence) for r in answer), reverse=True)
            with GraphDatabase.driver(neo4j) as driver:
                rows = driver.execute_query(shown_statement(), {**given, "now": now}).records
            found = [(r["since"].to_native(), r["product"], round(r["confidence"], 6)) for r in rows]
            assert found == expected
            assert len(found) == {0: 4, 14: 3, 28: 3, 42: 2}[days], (days, found)
            clock.advance(days=14)
        assert all(isinstance(since, datetime) for since, _, _ in found)
