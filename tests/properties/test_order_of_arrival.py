"""What is believed does not depend on the order in which dated messages arrive (SPEC B3, DESIGN §3)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from jiyi.assembly import open_memory
from tests.conftest import Clock

TOPICS = (
    (
        "我们的数据库用的是 MySQL。", "数据库从 MySQL 换成 PostgreSQL 了。", "我们的数据库用的是 Oracle。", "数据库换成 SQLite 了。",
        "数据库从 Oracle 换成 MySQL 了。", "记错了，数据库是 MongoDB。",
    ),
    ("我喜欢绿茶。", "我现在不喜欢绿茶了。", "我讨厌绿茶。", "I love tea.", "I no longer like tea.", "I hate tea."),
    ("我住在杭州。", "我搬到苏州了。", "I live in Leeds.", "I moved to York.", "I moved from Leeds to Bath.", "张三说我住在北京。"),
    (
        "We use AWS.", "We use AWS.", "We switched from AWS to Azure.", "We no longer use AWS.",
        "We switched from Azure to AWS.", "We switched from Linode to Azure.",
    ),
    (
        "我们的数据库是 MySQL。", "我们的数据库是 MySQL 8。", "我们的数据库是 MySQL 5.7。", "数据库换成 MySQL 了。",
        "数据库从 MySQL 换成 DuckDB 了。", "记错了，数据库是 MySQL 8。",
    ),
    (
        "I live in Leeds.", "I live in central Leeds.", "I moved to Leeds.", "I moved from Leeds to York.",
        "Our browser is Firefox.", "Our browser is Firefox 140.", "We no longer use Firefox.",
    ),
    (
        "Rosa supervises Emil.", "Emil now reports to Ines.", "Emil's line manager is Rosa.", "Emil no longer reports to Rosa.",
        "Ines supervises Emil.", "Rosa no longer supervises Emil.", "I was wrong, Emil's line manager is Ines.",
    ),
    (
        "I work at Larkspur Labs.", "I quit my job.", "I work at Siemens now.", "我被裁了。", "I'm no longer at Siemens.",
        "I quit my job in 2019.",
    ),
    ("李芳带着王强。", "王强现在向赵敏汇报。", "王强向李芳汇报。", "李芳不再带着王强了。", "赵敏带着王强。"),
)  # fmt: skip

Said = tuple[str, int]
"""A sentence and the day on which it was said. Two may be of one instant."""
talks = st.sampled_from(TOPICS).flatmap(
    lambda topic: st.lists(st.tuples(st.sampled_from(topic), st.integers(0, 3)), min_size=2, max_size=5)
)
arrivals = talks.flatmap(lambda talk: st.tuples(st.just(talk), st.permutations(range(len(talk)))))


def believed(messages: Sequence[dict[str, Any]], together: bool) -> set[tuple[str, str, bool]]:
    with open_memory("reference", worker=False, clock=Clock()) as layer:
        me = layer.scope("ming")
        for batch in [messages] if together else [[message] for message in messages]:
            me.observe(batch)
            layer.work()
        return {(m.key, m.value, bool(m.triple and m.triple.negated)) for m in me.memories()}


@given(arrival=arrivals, together=st.booleans())
@example(
    arrival=([("We use AWS.", 0), ("We switched from AWS to Azure.", 1), ("We use AWS.", 2),
              ("We switched from AWS to Azure.", 3)], [0, 1, 3, 2]),
    together=False,
)  # fmt: skip
@example(
    arrival=([("We switched from AWS to Azure.", 1), ("We use AWS.", 1), ("We no longer use AWS.", 0)], [2, 0, 1]),
    together=False,
)
def test_any_order_of_arrival_ends_in_the_same_beliefs(arrival: tuple[list[Said], list[int]], together: bool) -> None:
    talk, order = arrival
    start = datetime(2026, 1, 5, tzinfo=UTC)
    messages = [
        {"role": "user", "id": f"t{i}", "session": f"s{i % 2}", "text": text, "at": start + timedelta(days=day)}
        for i, (text, day) in enumerate(talk)
    ]
    assert believed([messages[i] for i in order], together) == believed(messages, False)
