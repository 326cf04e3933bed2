"""What a graph engine has still to hear of, in the reference store."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping
from dataclasses import replace

from jiyi.domain.graph import Followed
from jiyi.domain.scope import Scope
from jiyi.ports import GraphFeed
from jiyi.stores.reference_state import Access


class ReferenceGraphFeed(GraphFeed):
    def __init__(self, access: Access) -> None:
        self._access = access

    def begin(self, scope: Scope) -> None:
        state = self._access.change(scope)
        state.followed = state.followed or Followed(secrets.token_hex(8), "")

    def restart(self, scope: Scope) -> None:
        state = self._access.change(scope)
        if state.followed is not None:
            state.followed = Followed(secrets.token_hex(8), "")
            state.outbox.clear()

    def note(self, scope: Scope, memories: Collection[int]) -> None:
        state = self._access.change(scope)
        if state.followed is None or not memories:
            return
        state.followed = replace(state.followed, version=secrets.token_hex(8))
        if state.followed.told:
            state.outbox.update(dict.fromkeys(memories, state.followed.version))

    def state(self, scope: Scope) -> Followed | None:
        return self._access[scope].followed

    def waiting(self, scope: Scope, limit: int) -> dict[int, str]:
        return dict(sorted(self._access[scope].outbox.items())[: max(limit, 0)])

    def told(self, scope: Scope, version: str, heard: Mapping[int, str]) -> None:
        state = self._access.change(scope)
        if state.followed is not None:
            state.followed = replace(state.followed, told=version)
            for memory in [m for m, last in heard.items() if state.outbox.get(m) == last]:
                del state.outbox[memory]

    def count(self) -> int:
        return sum(len(state.outbox) for state in self._access.all().scopes.values())

    def lagging(self) -> list[Scope]:
        return [scope for scope, followed in self.following().items() if not followed.level]

    def following(self) -> dict[Scope, Followed]:
        found = {scope: state.followed for scope, state in self._access.all().scopes.items()}
        return {scope: followed for scope, followed in found.items() if followed is not None}
