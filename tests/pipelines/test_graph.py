"""Memories as a graph, through the façade, in Chinese and English, on every store (SPEC G1–G3)."""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import timedelta
from itertools import chain
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from jiyi.assembly import open_memory
from jiyi.domain.entities import EntityType, Reason
from jiyi.domain.graph import Link
from jiyi.domain.memory import Language
from jiyi.domain.scope import Scope
from jiyi.errors import InputError, MemoryPaused, NotFound, SettingsError
from jiyi.graph_files import shipped_rules
from jiyi.memory_layer import MemoryLayer
from jiyi.pipelines.graph.exploring import Explorer
from jiyi.pipelines.graph.export import as_graphml, as_json, as_mermaid
from jiyi.pipelines.graph.questions import Entity, Walk, neighbours
from jiyi.ports import Check, GraphReader
from jiyi.scoped_memory import ScopedMemory
from tests.conftest import Clock


def say(layer: MemoryLayer, clock: Clock, *texts: str, user: str = "ming") -> ScopedMemory:
    me = layer.scope(user)
    for text in texts:
        clock.advance(minutes=1)
        me.observe([{"role": "user", "text": text}], session="s1")
    layer.work()
    return me


def names_of(entity: Entity) -> dict[str, Reason]:
    return {a.name: a.reason for a in entity.aliases}


CONTRACT = {
    "zh": ("我们的云平台是AWS。", "我们下周三要和华为云签合同，金额80万，包含存储租赁。"),
    "en": ("Our cloud platform is AWS.", "We signed a contract with Huawei Cloud."),
}


@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_used_cloud_and_a_contract_with_another_hint_at_a_migration(
    layer: MemoryLayer, clock: Clock, language: str
) -> None:
    me = say(layer, clock, *CONTRACT[language])
    [insight] = [i for i in me.derived(language=language) if i.tie.rule == "contract-moves-the-cloud"]
    used, signed = (
        next(m.id for m in me.memories() if m.triple and m.triple.relation == name)
        for name in ("USES_CLOUD", "SIGN_CONTRACT_WITH")
    )
    assert set(insight.tie.premises) == {used, signed}
    assert "AWS" in insight.why
    assert insight.tie.text == (
        "贵司可能要从AWS迁走" if language == "zh" else "User's company may be migrating away from AWS"
    )
    assert insight.tie.confidence <= 0.7
    assert insight.tie.memory == ""
    near = me.neighbours("亚马逊云", relations=["MAY_BE_MIGRATING_FROM"], language=language)
    assert [n.entity for n in near] == ["贵司" if language == "zh" else "User's company"]
    # It stands on what it rests on, and falls with it; and comes back with it.
    clock.advance(minutes=1)
    plan = me.correct(
        used, "我们的云平台是腾讯云" if language == "zh" else "Our cloud platform is Tencent Cloud"
    ).plan_id
    assert not [i for i in me.derived() if i.tie.object == "AWS"]
    assert plan is not None
    me.undo(plan)
    assert [i.tie.object for i in me.derived() if i.tie.rule == "contract-moves-the-cloud"] == ["AWS"]
    assert me.memories(status=None) == me.memories(status=None)  # nothing derived is ever a memory
    assert all("MAY_BE" not in (m.key or "") for m in me.memories(status=None))


@pytest.mark.parametrize(
    ("texts", "question", "yes", "no"),
    [
        (("竞品是阿里云。", "我们和阿里云签了合同。"), "阿里云既是竞品，又在签约：合作是什么性质？“", "是", "不是"),
        (("Our competitor is Aliyun.", "We signed a contract with Alibaba Cloud."), "is a competitor and a contract partner at once", "yes", "no"),
    ],
)  # fmt: skip
def test_a_rival_under_contract_is_asked_about_once(
    layer: MemoryLayer, clock: Clock, texts: tuple[str, ...], question: str, yes: str, no: str
) -> None:
    me = say(layer, clock, texts[0])
    assert me.questions() == []
    say(layer, clock, texts[1])
    [asked] = me.questions()
    assert question in asked.text
    assert asked.text.count("。“") + asked.text.count("?.") == 0
    clock.advance(minutes=1)
    plan = me.answer(asked.id, yes).plan_id
    assert me.questions() == []
    assert plan is not None
    me.undo(plan)
    assert [q.id for q in me.questions()] == [asked.id]
    clock.advance(minutes=1)
    me.answer(asked.id, no)
    assert me.questions() == []
    assert asked.options[0].id not in {m.id for m in me.memories()}


def test_a_question_can_be_skipped_for_good(layer: MemoryLayer, clock: Clock) -> None:
    me = say(layer, clock, "我对花生过敏。", "我喜欢吃花生。")
    [asked] = me.questions()
    assert asked.topic == "rule"
    me.answer(asked.id, "跳过")
    assert me.questions() == []


@pytest.mark.parametrize(
    ("texts", "name"),
    [
        (("竞品是阿里云。", "Our competitor is Aliyun.", "王芳在阿里云工作。"), "Alibaba Cloud"),
        (("王芳在云帆科技工作。", "云帆科技有限公司的预算是50万。"), "云帆科技"),
        (("Anna works at Acme Inc.", "Acme's budget is 50k."), "ACME"),
    ],
)
def test_what_is_known_of_one_name_is_known_of_all(
    layer: MemoryLayer, clock: Clock, texts: tuple[str, ...], name: str
) -> None:
    me = say(layer, clock, *texts)
    assert len(me.neighbours(name)) >= 2
    for alias in me.entity(name).aliases:
        assert me.neighbours(alias.name).items == me.neighbours(name).items


def test_the_user_merges_and_splits_and_takes_it_back(layer: MemoryLayer, clock: Clock) -> None:
    me = say(layer, clock, "竞品是云帆科技。", "王芳在星图工作。")
    before = me.entities()
    assert me.merge_entities("云帆科技", "星图", dry_run=True).plan_id is None
    assert me.entities() == before
    clock.advance(minutes=1)
    merged = me.merge_entities("云帆科技", "星图")
    assert [m.text for m in merged.memories] == ["云帆科技就是星图"]
    assert names_of(me.entity("云帆科技")) == {"星图": Reason.SAID, "云帆科技": Reason.SAID}
    assert {n.entity for n in me.neighbours("云帆科技")} == {"贵司", "王芳"}
    assert [i.tie.rule for i in me.derived()] == ["works-for-the-rival"]
    clock.advance(minutes=1)
    split = me.split_entities("星图", "云帆科技")
    assert me.entities() == before
    assert me.derived().items == ()
    assert split.plan_id is not None
    me.undo(split.plan_id)
    assert len(me.entity("星图").aliases) == 2
    clock.advance(minutes=1)
    me.split_entities("云帆科技", "星图")
    clock.advance(minutes=1)
    me.merge_entities("星图", "云帆科技")
    assert len(me.entity("星图").aliases) == 2
    assert [e.plan.verb for e in me.ledger()][-3:] == ["undo", "split", "unite"]
    assert me.questions() == []


@pytest.mark.parametrize("name", ["User's wife", "用户的妻子", "my wife", "我老婆"])
def test_a_relative_is_found_by_what_an_answer_calls_them(layer: MemoryLayer, clock: Clock, name: str) -> None:
    me = say(layer, clock, "My wife works at Globex.", "我老婆叫柳青青。")
    assert {near.entity for near in me.neighbours(name)} == {"Globex", "柳青青"}
    assert me.entity(name).type is EntityType.PERSON
    assert {row.bound["?x"] for row in me.match([(name, "WORKS_AT", "?x")])} == {"Globex"}


def test_every_entity_is_found_by_its_name(layer: MemoryLayer, clock: Clock) -> None:
    me = say(layer, clock, "My wife works at Globex.", "我女儿喜欢画画。", "竞品是云帆科技。", "My name is Torben.")
    for language in ("zh", "en"):
        for entity in me.entities(language=language):
            assert me.entity(entity.name, language=language).name == entity.name


@pytest.mark.parametrize("own", ["用户", "user", "User's company", "贵司", "User's wife", "用户的妻子"])
def test_the_own_side_is_merged_with_nothing(layer: MemoryLayer, clock: Clock, own: str) -> None:
    me = say(layer, clock, "竞品是云帆科技。", "My wife is Solveig.")
    for names in ((own, "云帆科技"), ("Solveig", own)):
        with pytest.raises(InputError, match="own side"):
            me.merge_entities(*names)


def test_what_everybody_knows_can_be_split(layer: MemoryLayer, clock: Clock) -> None:
    me = say(layer, clock, "竞品是阿里云。", "Our competitor is Aliyun.")
    assert names_of(me.entity("aliyun")) == {"阿里云": Reason.KNOWN, "Aliyun": Reason.KNOWN}
    me.split_entities("Aliyun", "阿里云")
    assert names_of(me.entity("Aliyun")) == {"Aliyun": Reason.ALONE}
    say(layer, clock, "王芳在Aliyun工作。", "我们和阿里云签了合同。")
    assert {n.entity for n in me.neighbours("Aliyun", language="zh")} == {"贵司", "王芳"}
    assert layer.scope("nora").entities() == []


@pytest.mark.parametrize(
    ("said", "names"),
    [
        ("云帆科技简称云帆。", ("云帆", "云帆科技")),
        ("LeanIX is the same as Lean Systems.", ("LeanIX", "Lean Systems")),
    ],
)
def test_talk_tells_of_names_too(layer: MemoryLayer, clock: Clock, said: str, names: tuple[str, str]) -> None:
    me = say(layer, clock, said)
    assert set(names_of(me.entity(names[0]))) == set(names)


def test_the_user_and_the_company_are_known_by_name(layer: MemoryLayer, clock: Clock) -> None:
    me = say(layer, clock, "我叫李明。", "我住在葫芦岛。")
    assert me.entity("李明").name == "用户（李明）"
    assert me.entity("User", language="en").name == "User (李明)"
    assert [n.entity for n in me.neighbours("葫芦岛")] == ["用户（李明）"]


def test_names_are_refused_where_they_say_nothing(layer: MemoryLayer, clock: Clock) -> None:
    me = say(layer, clock, "竞品是阿里云。")
    with pytest.raises(NotFound, match="no memory speaks"):
        me.neighbours("Acme")
    with pytest.raises(NotFound, match="no memory speaks"):
        me.merge_entities("Acme", "Bell")
    with pytest.raises(InputError, match="two names"):
        me.merge_entities("阿里云", "阿里云")
    with pytest.raises(InputError, match="80 letters"):
        me.merge_entities("阿里云", "云" * 81)
    with pytest.raises(InputError, match="two writings"):
        me.split_entities("阿里云", "阿里雲")
    with pytest.raises(InputError, match="hops"):
        me.neighbours("阿里云", hops=7)
    with pytest.raises(InputError, match="limit"):
        me.neighbours("阿里云", limit=0)
    with pytest.raises(InputError, match="no relation"):
        me.neighbours("阿里云", relations=["EATS_UP"])
    with pytest.raises(InputError, match="one thing"):
        me.paths("阿里云", "Aliyun")
    with pytest.raises(InputError, match="share a variable"):
        me.match([("?a", "竞品", "?b"), ("?c", "竞品", "?d")])
    me.pause()
    with pytest.raises(MemoryPaused):
        me.merge_entities("阿里云", "Acme")


def test_a_second_mention_weighs_more_and_time_takes_it_away(layer: MemoryLayer, clock: Clock) -> None:
    me = say(layer, clock, "竞品是云帆科技。")
    once = me.entity("云帆科技").weight
    say(layer, clock, "我们的竞品是云帆科技。")
    twice = me.entity("云帆科技")
    assert twice.weight > once
    assert twice.because is not None
    assert "said-again" in twice.because
    say(layer, clock, "云帆科技的报价是30万。", "王芳在云帆科技工作。")
    thrice = me.entity("云帆科技").weight
    assert thrice > twice.weight
    clock.advance(days=30)
    assert me.entity("云帆科技").weight == pytest.approx(thrice / 2, rel=1e-3)


def test_ways_times_and_patterns(layer: MemoryLayer, clock: Clock) -> None:
    me = say(
        layer,
        clock,
        "竞品是云帆科技。",
        "王芳在云帆科技工作。",
        "云帆科技的报价是30万。",
        "我们的数据库是MySQL。",
    )
    clock.advance(days=10)
    say(layer, clock, "数据库从MySQL换成PostgreSQL了。")
    [way] = me.paths("王芳", "贵司", relations=["竞品", "WORKS_AT"])
    assert way.entities == ("王芳", "云帆科技", "贵司")
    # Who works for a competitor, and what that asks, in one question.
    [row] = me.match([("?us", "竞品", "?x"), ("?who", "WORKS_AT", "?x"), ("?x", "报价", "?price")])
    assert row.bound == {"?us": "贵司", "?x": "云帆科技", "?who": "王芳", "?price": "300000"}
    assert row.days == (0.0, 0.0)
    assert 0 < row.confidence < 1
    # What was, and how long it took.
    assert [n.entity for n in me.neighbours("贵司", relations=["USES_DATABASE"])] == ["PostgreSQL"]
    then = clock.now - timedelta(days=5)
    assert [n.entity for n in me.neighbours("贵司", relations=["数据库"], at=then)] == ["MySQL"]
    rows = me.match([("@company", "USES_DATABASE", "?old"), ("@company", "USES_DATABASE", "?new")], past=True)
    assert {(r.bound["?old"], r.bound["?new"], round(r.days[0])) for r in rows} == {
        ("MySQL", "PostgreSQL", 10), ("PostgreSQL", "MySQL", -10),
    }  # fmt: skip
    assert [i.tie.text for i in me.derived() if i.tie.rule == "database-followed-by-database"] == [
        "MySQL已被PostgreSQL取代"
    ]
    # No way leads through a value.
    say(layer, clock, "星图的报价是30万。")
    assert me.paths("云帆科技", "星图").items == ()
    assert {n.entity for n in me.neighbours("300000", relations=["HAS_PRICE"])} == {"云帆科技", "星图"}
    # How sure it must be.
    clock.advance(days=200)
    assert me.neighbours("云帆科技", min_confidence=0.8).items == ()


def test_kinds_of_things(layer: MemoryLayer, clock: Clock) -> None:
    me = say(layer, clock, "王芳在云帆科技工作。", "云帆科技的报价是30万。", "我住在葫芦岛。")
    types = {e.name: e.type for e in me.entities()}
    assert types == {
        "用户": EntityType.PERSON, "王芳": EntityType.PERSON, "云帆科技": EntityType.COMPANY, "葫芦岛": EntityType.PLACE,
    }  # fmt: skip
    assert me.neighbours("云帆科技", relations=["HAS_PRICE"]).items[0].type is EntityType.VALUE


def test_what_is_forgotten_is_in_no_answer_and_no_row(layer: MemoryLayer, clock: Clock) -> None:
    me = say(layer, clock, "竞品是云帆科技。", "王芳在云帆科技工作。", "我们的云平台是AWS。", "我们和华为云签了合同。")
    me.merge_entities("云帆科技", "星图")
    assert {i.tie.rule for i in me.derived()} >= {"works-for-the-rival", "contract-moves-the-cloud"}
    me.forget(topic="云帆科技")
    with pytest.raises(NotFound):
        me.entity("云帆科技")
    with pytest.raises(NotFound):
        me.entity("星图")
    assert {i.tie.rule for i in me.derived()} == {"contract-moves-the-cloud"}
    contract = next(m for m in me.memories() if m.triple and m.triple.relation == "SIGN_CONTRACT_WITH")
    me.forget(memory=contract.id)
    assert me.derived().items == ()
    me.forget(everything=True)
    assert me.entities() == []
    with layer._store.read() as unit:
        assert unit.graph.count(me.user) == (0, 0)


def test_a_topic_is_forgotten_under_all_its_names(layer: MemoryLayer, clock: Clock) -> None:
    me = say(layer, clock, "竞品是阿里云。", "王芳在Aliyun工作。", "Alibaba Cloud又涨价了。", "我们的数据库是MySQL。")
    assert me.forget(topic="阿里云", dry_run=True).proof.erased["memories"] == 2
    me.forget(topic="阿里云")
    assert [m.text for m in me.memories(status=None)] == ["数据库：MySQL"]
    # Only under names that the graph had for it: what is in the lists alone is nobody's.
    assert [m.text for m in me.history().messages] == ["Alibaba Cloud又涨价了。", "我们的数据库是MySQL。"]


def test_the_graph_comes_back_with_an_export_and_from_a_rebuild(
    layer: MemoryLayer, clock: Clock, tmp_path: Path
) -> None:
    me = say(layer, clock, "竞品是阿里云。", "Our competitor is Aliyun.", "王芳在云帆科技工作。")
    me.split_entities("Aliyun", "阿里云")
    me.export(tmp_path / "all.zip")
    you = layer.scope("nora")
    you.import_(tmp_path / "all.zip")
    assert you.graph() == me.graph()
    before = me.graph()
    layer.reindex()
    assert me.graph() == before


def test_other_programs_can_read_it(layer: MemoryLayer, clock: Clock) -> None:
    me = say(layer, clock, *CONTRACT["zh"], '竞品是"云<帆>科技"。')
    picture = me.graph()
    root = ElementTree.fromstring(as_graphml(picture))
    space = "{http://graphml.graphdrawing.org/xmlns}"
    assert len(root.findall(f".//{space}node")) == len(picture.entities) > 3
    assert len(root.findall(f".//{space}edge")) == len(picture.ties) > 3
    document = json.loads(as_json(picture))
    assert {t["rule"] for t in document["ties"]} == {None, "contract-moves-the-cloud", "leases-from"}
    assert as_mermaid(picture).startswith("graph LR\n")
    assert as_mermaid(picture).count("-.->") + as_mermaid(picture).count(".->") == 2
    near = me.graph(around="AWS", hops=1)
    assert {e.name for e in near.entities} == {"AWS", "贵司"}
    assert me.graph(relations=["USES_CLOUD"]).ties == me.match([("@company", "USES_CLOUD", "?x")]).items[0].ties


def test_rules_of_ones_own_take_the_place_of_the_shipped_ones(tmp_path: Path, clock: Clock) -> None:
    def open_with(file: Path | None) -> MemoryLayer:
        rules = None if file is None else str(file)
        return open_memory(tmp_path / "memory.db", clock=clock, worker=False, fusion_rules=rules)

    with open_with(None) as layer:
        me = say(layer, clock, *CONTRACT["zh"])
        assert {i.tie.rule for i in me.derived()} == {"contract-moves-the-cloud", "leases-from"}
    mine = tmp_path / "rules.json"
    rule = {
        "id": "pays-for-cloud", "zh": "{us}要为{c}付钱", "en": "{us} pays for {c}",
        "when": [["?us", "USES_CLOUD", "?c"]], "then": {"derive": ["?us", "PAYS_FOR", "?c"], "sure": 0.4},
    }  # fmt: skip
    means = {"PAYS_FOR": {"zh": "{subject}为{object}付钱", "en": "{subject} pays for {object}"}}
    mine.write_text(json.dumps({"relations": means, "rules": [rule]}, ensure_ascii=False, indent=1), "utf-8")
    with open_with(mine) as layer:
        [insight] = layer.scope("ming").derived()
        assert (insight.tie.text, insight.why, round(insight.tie.confidence, 3)) == (
            "贵司为AWS付钱",
            "贵司要为AWS付钱",
            0.4,
        )
        assert [n.entity for n in layer.scope("ming").neighbours("AWS", relations=["PAYS_FOR"])] == ["贵司"]
    mine.write_text(shipped_rules().replace('"contract-moves-the-cloud"', '"moved"'), "utf-8")
    with open_with(mine) as layer:
        assert {i.tie.rule for i in layer.scope("ming").derived()} == {"moved", "leases-from"}
    mine.write_text('{"rules": []}', "utf-8")
    with open_with(mine) as layer:
        assert layer.scope("ming").derived().items == ()
    mine.write_text(json.dumps({"rules": [{**rule, "when": [["?us", "USES_CLOWD", "?c"]]}]}, indent=1), "utf-8")
    with pytest.raises(SettingsError, match=r"rules\.json, line \d+: rule pays-for-cloud: unknown relation USES_CLOWD"):
        open_with(mine)
    with pytest.raises(SettingsError, match="fusion_rules"):
        open_with(tmp_path / "none.json")


def test_a_limit_that_cuts_is_told(tmp_path: Path, clock: Clock) -> None:
    with open_memory("reference", clock=clock, worker=False, graph={"fan": 3}) as layer:
        me = say(layer, clock, *(f"竞品是{name}。" for name in ("云帆科技", "星图", "海潮", "远山", "北辰科技")))
        assert me.neighbours("贵司").cut
        assert not me.neighbours("星图").cut


def test_beyond_a_hub_with_more_than_is_shown_nothing_is_read(tmp_path: Path, clock: Clock) -> None:
    """Of a hub the first `fan` edges, and of what is further off nothing where the nearest fill the answer."""
    with open_memory("reference", clock=clock, worker=False) as layer:
        names = [f"星图{n}" for n in range(9)]
        me = say(layer, clock, *(f"竞品是{name}。" for name in names), "王芳在星图0工作。")
        read = list[str]()

        def nearest(limit: int) -> list[str]:
            read.clear()
            with layer._store.read() as unit:
                seen = Seen(unit.graph, read)
                explorer = Explorer(unit, me.user, layer._parts.graphing, clock(), graph=seen)
                return [n.entity for n in neighbours(explorer, "贵司", Walk(), 2, limit, Language.ZH)]

        assert nearest(9) == nearest(1000)[:9]
        assert "王芳" in read
        nearest(9)
        assert "王芳" not in read


def test_what_many_things_lead_to_is_read_at_once(clock: Clock) -> None:
    """A graph engine is asked over a wire: what stands beside more things must not be more questions."""

    def asked(count: int) -> int:
        with open_memory("reference", clock=clock, worker=False) as layer:
            people = ("王芳", "李娜", "张伟", "刘洋", "陈静", "杨帆", "赵磊", "黄敏", "周涛")[:count]
            told = ((f"竞品是星图{n}。", f"{name}在星图{n}工作。") for n, name in enumerate(people))
            me = say(layer, clock, *chain.from_iterable(told))
            with layer._store.read() as unit:
                seen = Seen(unit.graph, [])
                explorer = Explorer(unit, me.user, layer._parts.graphing, clock(), graph=seen)
                near = {n.entity for n in neighbours(explorer, "贵司", Walk(), 2, 50, Language.ZH)}
                assert near > set(people)
                return seen.times

    assert asked(9) == asked(2)


class Seen:
    """A graph that notes whose edges are read, and how many times it was asked for some."""

    times = 0

    def __init__(self, graph: GraphReader, read: list[str]) -> None:
        self._graph, self._read = graph, read

    def __getattr__(self, name: str) -> Any:
        return getattr(self._graph, name)

    def links_of(self, scope: Scope, nodes: Collection[str], *more: Any) -> dict[str, list[Link]]:
        self._read += nodes
        self.times += 1
        return self._graph.links_of(scope, nodes, *more)


def test_a_database_from_before_there_was_a_graph_gets_one(tmp_path: Path, clock: Clock) -> None:
    def open_it() -> MemoryLayer:
        return open_memory(tmp_path / "memory.db", clock=clock, worker=False)

    def graph_check(layer: MemoryLayer) -> Check:
        return next(c for c in layer.check() if c.name == "graph")

    with open_it() as layer:
        before = say(layer, clock, "竞品是阿里云。", "Our competitor is Aliyun.").graph()
        assert graph_check(layer).ok
        layer._store.write(lambda unit: unit.graph.clear(layer.scope("ming").user))
        assert "jiyi reindex" in graph_check(layer).fix
        layer._store.set_meta("graph", "an older one")
    with open_it() as layer:
        assert layer.scope("ming").graph() == before
        assert graph_check(layer).ok


def test_what_is_so_both_ways_round_is_told_once(layer: MemoryLayer, clock: Clock) -> None:
    me = layer.scope("ming")
    me.remember("王芳在云帆科技工作")
    me.remember("李强在云帆科技工作")
    layer.work()
    [insight] = [i for i in me.derived() if i.tie.rule == "colleagues"]
    assert {insight.tie.subject, insight.tie.object} == {"王芳", "李强"}
    assert [t.relation for t in me.graph().ties].count("WORKS_BESIDE") == 1
    # From either side it is found all the same.
    assert [n.entity for n in me.neighbours("李强", relations=["WORKS_BESIDE"])] == ["王芳"]
    assert [n.entity for n in me.neighbours("王芳", relations=["WORKS_BESIDE"])] == ["李强"]
