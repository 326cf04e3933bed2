"""What a store keeps for services: what was done once (SPEC S5), and the keys of services (SPEC S2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from jiyi.domain.access import Access, Grant, Role, ServiceKey
from jiyi.domain.once import DoneOnce
from jiyi.domain.scope import Scope
from jiyi.errors import InputError, StoreError
from jiyi.ports import Store
from jiyi.testing.contract_base import ME, OTHERS, Contract, later


def done(number: int, minutes: float = 0) -> DoneOnce:
    return DoneOnce(bytes([number]) * 32, b"asked" * 2, {"plan": number, "paused": False}, later(minutes))


def service_key(number: int, minutes: float = 0) -> ServiceKey:
    roles = frozenset({Role.AGENT, Role.AUDITOR})
    shared = (Grant("团队", Access.WRITE), Grant("home"))[:number]
    return ServiceKey(f"k{number}", "客服 desk", "acme", roles, bytes([number]) * 32, later(minutes), shared=shared)


def keep(store: Store, *some: DoneOnce, scope: Scope = ME) -> None:
    for one in some:
        store.write(lambda unit, one=one: unit.once.add(scope, one))  # type: ignore[misc]


def kept(store: Store, *some: DoneOnce, scope: Scope = ME) -> list[int]:
    """The numbers of those that are kept."""
    with store.read() as unit:
        found = [unit.once.get(scope, one.key) for one in some]
    return [int(one.outcome["plan"]) for one in found if one is not None]


class OnceContract(Contract):
    def test_what_was_done_is_known_on_every_handle(self, store: Store, reopen: Callable[[], Store]) -> None:
        with store.read() as unit:
            assert unit.once.get(ME, done(1).key) is None
        keep(store, done(1), done(2))
        keep(store, replace(done(2), outcome={"plan": 7}))
        for handle in (store, reopen()):
            with handle.read() as unit:
                assert unit.once.get(ME, done(1).key) == done(1)
                assert unit.once.get(ME, done(2).key) == replace(done(2), outcome={"plan": 7})
                assert unit.once.get(ME, b"") is None

    def test_what_is_many_or_old_goes(self, store: Store) -> None:
        some = [done(n, n) for n in range(1, 7)]
        keep(store, *some)
        store.write(lambda unit: unit.once.trim(ME, 4, later(0)))
        assert kept(store, *some) == [3, 4, 5, 6]
        store.write(lambda unit: unit.once.trim(ME, 4, later(5)))
        assert kept(store, *some) == [5, 6]
        store.write(lambda unit: unit.once.trim(ME, 0, later(0)))
        assert kept(store, *some) == []

    def test_blanking_keeps_the_keys(self, store: Store) -> None:
        keep(store, done(1), replace(done(2), request=b""))
        assert store.write(lambda unit: unit.once.blank(ME)) == 1
        assert store.write(lambda unit: unit.once.blank(ME)) == 0
        with store.read() as unit:
            assert unit.once.get(ME, done(1).key) == replace(done(1), request=b"")

    @pytest.mark.parametrize("other", OTHERS, ids=str)
    def test_scopes_stay_apart(self, store: Store, other: Scope) -> None:
        keep(store, done(1))
        assert kept(store, done(1), scope=other) == []
        keep(store, done(1, 7), scope=other)
        store.write(lambda unit: unit.once.trim(other, 0, later(0)))
        store.write(lambda unit: unit.once.blank(other))
        with store.read() as unit:
            assert unit.once.get(ME, done(1).key) == done(1)

    def test_a_reading_unit_changes_nothing(self, store: Store) -> None:
        with store.read() as unit:
            for change in (
                lambda: unit.once.add(ME, done(1)),
                lambda: unit.once.trim(ME, 0, later(0)),
                lambda: unit.once.blank(ME),
                lambda: unit.service_keys.add(service_key(1)),
                lambda: unit.service_keys.revoke("k1", later(0)),
            ):
                with pytest.raises(StoreError, match="for reading"):
                    change()


class ServiceKeysContract(Contract):
    def test_keys_come_back_on_every_handle(self, store: Store, reopen: Callable[[], Store]) -> None:
        with store.read() as unit:
            assert (unit.service_keys.all(), unit.service_keys.get("k1")) == ([], None)
        for one in (service_key(2, 5), service_key(1, 9), service_key(3, 1)):
            store.write(lambda unit, one=one: unit.service_keys.add(one))  # type: ignore[misc]
        for handle in (store, reopen()):
            with handle.read() as unit:
                assert [k.id for k in unit.service_keys.all()] == ["k3", "k2", "k1"]
                assert unit.service_keys.get("k2") == service_key(2, 5)

    def test_an_id_is_given_once(self, store: Store) -> None:
        store.write(lambda unit: unit.service_keys.add(service_key(1)))
        with pytest.raises(InputError, match="k1"):
            store.write(lambda unit: unit.service_keys.add(replace(service_key(1), tenant="other")))
        with store.read() as unit:
            assert unit.service_keys.all() == [service_key(1)]

    def test_a_key_is_revoked_once(self, store: Store) -> None:
        store.write(lambda unit: unit.service_keys.add(service_key(1)))
        assert store.write(lambda unit: unit.service_keys.revoke("k1", later(5)))
        assert not store.write(lambda unit: unit.service_keys.revoke("k1", later(6)))
        assert not store.write(lambda unit: unit.service_keys.revoke("k2", later(6)))
        with store.read() as unit:
            assert unit.service_keys.get("k1") == replace(service_key(1), revoked_at=later(5))
