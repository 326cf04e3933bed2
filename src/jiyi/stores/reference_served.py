"""The reference store's part for services: what was done once, and the keys of services."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from jiyi.domain.access import ServiceKey
from jiyi.domain.once import DoneOnce
from jiyi.domain.scope import Scope
from jiyi.errors import InputError
from jiyi.ports import Once, ServiceKeys
from jiyi.stores.reference_state import Access


class ReferenceOnce(Once):
    def __init__(self, access: Access) -> None:
        self._access = access

    def get(self, scope: Scope, key: bytes) -> DoneOnce | None:
        return self._access[scope].once.get(key)

    def add(self, scope: Scope, done: DoneOnce) -> None:
        self._access.change(scope).once[done.key] = done

    def trim(self, scope: Scope, keep: int, since: datetime) -> None:
        once = self._access.change(scope).once
        latest = sorted(once.values(), key=lambda d: (d.at, d.key), reverse=True)[: max(keep, 0)]
        for gone in once.keys() - {d.key for d in latest if d.at >= since}:
            del once[gone]

    def blank(self, scope: Scope) -> int:
        once = self._access.change(scope).once
        told = [d for d in once.values() if d.request]
        once.update((d.key, replace(d, request=b"")) for d in told)
        return len(told)


class ReferenceServiceKeys(ServiceKeys):
    def __init__(self, access: Access) -> None:
        self._access = access

    def add(self, key: ServiceKey) -> None:
        keys = self._access.change_all().service_keys
        if key.id in keys:
            raise InputError(f"there is a service key {key.id} already")
        keys[key.id] = key

    def get(self, key_id: str) -> ServiceKey | None:
        return self._access.all().service_keys.get(key_id)

    def all(self) -> list[ServiceKey]:
        return sorted(self._access.all().service_keys.values(), key=lambda k: (k.made_at, k.id))

    def revoke(self, key_id: str, at: datetime) -> bool:
        keys = self._access.change_all().service_keys
        found = keys.get(key_id)
        if found is None or found.revoked_at is not None:
            return False
        keys[key_id] = replace(found, revoked_at=at)
        return True
