"""What `graphs.Graph` promises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.domain.entities import Name
from jiyi.domain.graph import Edge, Link
from jiyi.domain.memory import Source
from jiyi.domain.scope import Scope
from jiyi.errors import InputError, StoreError
from jiyi.ports import Store, Unit
from jiyi.testing.contract_base import ME, NOW, OTHERS, Contract, fresh_scope, shared_store

AT = NOW.astimezone(UTC)


def name(text: str, node: str = "") -> Name:
    return Name(text, text.casefold(), text.casefold(), node or text)


def edge(memory: int, subject: str, relation: str, thing: str, **more: object) -> Edge:
    fields = {"literal": False, "source": Source.DECLARED, "start": 0.95, "affirmed_at": AT, "valid_from": AT}
    return Edge(memory, subject, relation, thing, **(fields | more))  # type: ignore[arg-type]


ACME, BELL, BELL_INC = name("Acme"), name("Bell"), name("Bell Inc", "Bell")
OURS = [
    edge(1, "Acme", "KNOWS", "Bell"),
    edge(2, "Acme", "KNOWS", "Bell Inc", valid_to=AT + timedelta(days=9), mentions=3),
    edge(3, "Bell Inc", "SELLS", "铜线", literal=True, source=Source.INFERRED, start=0.7),
]


def keep(store: Store, edges: Sequence[Edge] = OURS, scope: Scope = ME) -> None:
    """Store edges; Bell Inc is Bell."""
    ends = sorted({end for e in edges for end in (e.subject, e.object)})

    def work(unit: Unit) -> None:
        unit.graph.place(scope, [BELL, *(BELL_INC if n == "Bell Inc" else name(n) for n in ends if n != "Bell")])
        unit.graph.put(scope, edges)

    store.write(work)


def links(store: Store, node: str, *relations: str, scope: Scope = ME, limit: int = 99) -> list[Link]:
    with store.read() as unit:
        found = unit.graph.links(scope, node, relations, limit)
        # Several at once are answered as each alone.
        together = unit.graph.links_of(scope, [node, "Acme", "nobody"], relations, limit)
        assert together[node] == found
        assert together["nobody"] == []
        return found


class GraphContract(Contract):
    def test_nothing_is_there_at_first(self, store: Store) -> None:
        with store.read() as unit:
            assert unit.graph.links(ME, "Acme") == []
            assert unit.graph.listing(ME) == []
            assert (
                unit.graph.named(ME, ["Acme"])
                == unit.graph.alike(ME, ["acme"])
                == unit.graph.names_of(ME, ["Acme"])
                == []
            )
            assert unit.graph.told_of(ME, ["Acme"], ["KNOWS"]) == unit.graph.of_memories(ME, [1]) == []
            assert unit.graph.count(ME) == (0, 0)
        assert store.write(lambda unit: unit.graph.clear(ME)) == 0
        assert store.write(lambda unit: unit.graph.remove(ME, [1])) == []

    def test_edges_are_found_from_both_ends_by_all_names(self, store: Store, reopen: Callable[[], Store]) -> None:
        keep(store)
        found = [Link(OURS[1], "Acme", "Bell"), Link(OURS[0], "Acme", "Bell"), Link(OURS[2], "Bell", "铜线")]
        for here in (store, reopen()):
            assert links(here, "Bell") == found
            assert links(here, "Acme") == found[:2]
            assert links(here, "铜线") == found[2:]
            assert links(here, "Bell Inc") == []  # not a node by itself

    def test_only_some_relations_or_the_first_so_many(self, store: Store) -> None:
        keep(store)
        assert [k.edge.memory for k in links(store, "Bell", "SELLS")] == [3]
        assert [k.edge.memory for k in links(store, "Bell", "KNOWS", "SELLS")] == [2, 1, 3]
        assert links(store, "Bell", "LIKES") == []
        assert [k.edge.memory for k in links(store, "Acme", limit=1)] == [2]
        assert links(store, "Acme", limit=0) == []

    def test_one_with_more_edges_than_are_read_hides_nothing_of_those_asked_with_it(self, store: Store) -> None:
        """The first of it by relation, then the latest; of the others all."""
        rim = [f"rim {n}" for n in range(9)]
        store.write(lambda unit: unit.graph.place(ME, [name("hub"), *map(name, rim)]))
        spokes = [edge(n, "hub", "KNOWS" if n % 2 else "SELLS", rim[n % 9]) for n in range(1, 28)]
        around = [edge(30 + n, rim[n], "KNOWS", rim[n + 1]) for n in range(8)]
        store.write(lambda unit: unit.graph.put(ME, [*spokes, *around]))
        with store.read() as unit:
            for limit in (4, 5, 20):
                found = unit.graph.links_of(ME, [*rim, "hub"], (), limit)
                assert found == {node: unit.graph.links(ME, node, (), limit) for node in [*rim, "hub"]}
                assert [k.edge.memory for k in found["hub"]][:5] == [27, 25, 23, 21, 19][:limit]
                assert len(found["hub"]) == limit
            assert sum(map(len, found.values())) == 20 + 27 + 2 * 8

    def test_a_way_back_to_itself_comes_once(self, store: Store) -> None:
        keep(store, [edge(1, "Bell", "KNOWS", "Bell Inc"), edge(2, "Bell", "KNOWS", "Bell")])
        assert [k.edge.memory for k in links(store, "Bell")] == [2, 1]

    def test_names_are_found_by_writing_base_and_node(self, store: Store) -> None:
        keep(store)
        with store.read() as unit:
            assert unit.graph.named(ME, ["Bell Inc", "Acme", "Other"]) == [ACME, BELL_INC]
            assert unit.graph.alike(ME, ["bell", "acme"]) == [ACME, BELL]
            assert unit.graph.names_of(ME, ["Bell", "铜线"]) == [BELL, BELL_INC, name("铜线")]
            assert unit.graph.names_of(ME, ["Bell Inc"]) == []
            assert unit.graph.count(ME) == (4, 3)

    def test_placing_again_moves_the_edges_of_a_name(self, store: Store) -> None:
        keep(store)
        store.write(lambda unit: unit.graph.place(ME, [replace(BELL_INC, node="Bell Inc", base="bell inc")]))
        assert [k.edge.memory for k in links(store, "Bell")] == [1]
        assert [k.edge.memory for k in links(store, "Bell Inc")] == [2, 3]
        with store.read() as unit:
            assert [n.name for n in unit.graph.alike(ME, ["bell inc"])] == ["Bell Inc"]

    def test_an_edge_takes_the_place_of_its_memorys(self, store: Store) -> None:
        keep(store)
        again = replace(OURS[0], relation="SELLS", object="铜线", start=0.5)
        store.write(lambda unit: unit.graph.put(ME, [again]))
        with store.read() as unit:
            assert unit.graph.of_memories(ME, [1, 7, 3]) == [again, OURS[2]]
            assert unit.graph.count(ME) == (4, 3)
        assert [k.edge.memory for k in links(store, "铜线")] == [3, 1]

    def test_an_end_must_be_placed(self, store: Store) -> None:
        keep(store)
        for change in (
            lambda unit: unit.graph.put(ME, [edge(8, "Acme", "KNOWS", "Bell"), edge(9, "Acme", "KNOWS", "Nobody")]),
            lambda unit: unit.graph.place(ME, [name("Carol", "Nobody")]),
        ):
            with pytest.raises(InputError, match="Nobody"):
                store.write(change)
        with store.read() as unit:
            assert unit.graph.count(ME) == (4, 3)

    def test_edges_of_names_as_they_are_written(self, store: Store) -> None:
        keep(store)
        with store.read() as unit:
            assert unit.graph.told_of(ME, ["Bell Inc"], ["KNOWS", "SELLS"]) == OURS[1:]
            assert unit.graph.told_of(ME, ["Bell Inc", "Acme"], ["KNOWS"]) == OURS[:2]
            assert unit.graph.told_of(ME, ["Bell"], ["SELLS"]) == []
            assert unit.graph.told_of(ME, ["Bell"], []) == unit.graph.told_of(ME, [], ["KNOWS"]) == []

    def test_what_is_removed_takes_unused_names_along(self, store: Store) -> None:
        keep(store)
        assert store.write(lambda unit: unit.graph.remove(ME, [3, 2, 3, 77])) == OURS[1:]
        with store.read() as unit:
            assert [n.name for n in unit.graph.named(ME, ["Acme", "Bell", "Bell Inc", "铜线"])] == ["Acme", "Bell"]
            assert unit.graph.count(ME) == (2, 1)
        assert store.write(lambda unit: unit.graph.remove(ME, [1])) == OURS[:1]
        with store.read() as unit:
            assert unit.graph.count(ME) == (0, 0)

    def test_others_are_placed_anew_where_the_name_for_all_went(self, store: Store) -> None:
        keep(store)

        def work(unit: Unit) -> None:
            unit.graph.remove(ME, [1])
            [left] = unit.graph.named(ME, ["Bell Inc"])
            unit.graph.place(ME, [replace(left, node="Bell Inc")])

        store.write(work)
        assert [k.edge.memory for k in links(store, "Bell Inc")] == [2, 3]
        assert links(store, "Bell") == []

    def test_the_listing_goes_on_from_a_memory(self, store: Store) -> None:
        keep(store)
        with store.read() as unit:
            assert [k.edge.memory for k in unit.graph.listing(ME)] == [1, 2, 3]
            assert unit.graph.listing(ME, after=1, limit=1) == [Link(OURS[1], "Acme", "Bell")]
            assert [k.edge.memory for k in unit.graph.listing(ME, ["SELLS", "KNOWS"], after=1)] == [2, 3]
            assert [k.edge.memory for k in unit.graph.listing(ME, ["SELLS"])] == [3]
            assert unit.graph.listing(ME, after=3) == unit.graph.listing(ME, limit=0) == []

    def test_clearing_drops_all(self, store: Store) -> None:
        keep(store)
        assert store.write(lambda unit: unit.graph.clear(ME)) == 3
        with store.read() as unit:
            assert unit.graph.count(ME) == (0, 0)
        keep(store)
        assert len(links(store, "Bell")) == 3

    @given(st.data())
    @shared_store
    def test_any_edges_come_back_from_both_ends(self, store: Store, data: st.DataObject) -> None:
        scope = fresh_scope()
        ends = st.sampled_from(["a", "Bell", "Bell Inc", "丁", "e e", "'"])
        some = data.draw(
            st.lists(st.tuples(ends, st.sampled_from(["KNOWS", "SELLS"]), ends, st.booleans()), max_size=12)
        )
        edges = [edge(n, s, r, o, literal=literal) for n, (s, r, o, literal) in enumerate(some, 1)]
        keep(store, edges, scope)
        stand_for = {"Bell Inc": "Bell"}
        for node in ("a", "Bell", "丁", "e e", "'"):
            ours = [
                Link(e, stand_for.get(e.subject, e.subject), stand_for.get(e.object, e.object))
                for e in sorted(edges, key=lambda e: (e.relation, -e.memory))
            ]
            assert links(store, node, scope=scope) == [k for k in ours if node in (k.start, k.end)]

    @pytest.mark.parametrize("other", OTHERS, ids=str)
    def test_scopes_stay_apart(self, store: Store, other: Scope) -> None:
        keep(store)
        keep(store, [edge(1, "Bell", "SELLS", "Acme")], scope=other)
        assert [k.edge.relation for k in links(store, "Acme", scope=other)] == ["SELLS"]
        store.write(lambda unit: unit.graph.place(other, [name("Bell", "Acme")]))
        store.write(lambda unit: unit.graph.remove(other, [1, 2]))
        store.write(lambda unit: unit.graph.clear(other))
        assert len(links(store, "Bell")) == 3

    def test_a_reading_unit_changes_nothing(self, store: Store) -> None:
        keep(store)
        with store.read() as unit:
            for change in (
                lambda: unit.graph.place(ME, [ACME]),
                lambda: unit.graph.put(ME, OURS),
                lambda: unit.graph.remove(ME, [1]),
                lambda: unit.graph.clear(ME),
            ):
                with pytest.raises(StoreError, match="for reading"):
                    change()
