"""Vectors in the reference store: every one is looked at."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from jiyi.domain.scope import Scope
from jiyi.domain.vectors import Neighbour, Vector, VectorSet, chunk_of, plain_scan
from jiyi.errors import InputError
from jiyi.ports import Kind
from jiyi.stores.reference_state import Access, ReferenceVectorSet


class ReferenceVectors:
    def __init__(self, access: Access) -> None:
        self._access = access

    def begin(self, scope: Scope, model: str, dimension: int) -> None:
        sets = self._access.change(scope).vector_sets
        if sets.setdefault(model, ReferenceVectorSet(dimension)).dimension != dimension:
            raise InputError(f"the vectors of {model} have {sets[model].dimension} numbers, not {dimension}")

    def sets(self, scope: Scope) -> list[VectorSet]:
        return [VectorSet(model, held.dimension) for model, held in self._access[scope].vector_sets.items()]

    def add(self, scope: Scope, kind: Kind, model: str, vectors: Mapping[int, Vector]) -> None:
        found = self._begun(scope, model)
        if wrong := {v.dimension for v in vectors.values()} - {found.dimension}:
            raise InputError(f"the vectors of {model} have {found.dimension} numbers, not {wrong.pop()}")
        self._put(scope, model, {**found.vectors, **{(kind, seq): v for seq, v in vectors.items()}})

    def remove(self, scope: Scope, kind: Kind, seqs: Collection[int]) -> int:
        gone, count = {(kind, seq) for seq in seqs}, 0
        for model, held in list(self._access.change(scope).vector_sets.items()):
            left = {at: v for at, v in held.vectors.items() if at not in gone}
            count += len(held.vectors) - len(left)
            self._put(scope, model, left)
        return count

    def search(self, scope: Scope, kind: Kind, model: str, query: Vector, limit: int) -> list[Neighbour]:
        held = self._access[scope].vector_sets.get(model)
        if held is None:
            return []
        if query.dimension != held.dimension:
            raise InputError(f"the vectors of {model} have {held.dimension} numbers, not {query.dimension}")
        found = {seq: v for (k, seq), v in held.vectors.items() if k is kind}
        return plain_scan([chunk_of(found)], query, limit)

    def held(self, scope: Scope, kind: Kind, model: str) -> set[int]:
        held = self._access[scope].vector_sets.get(model)
        return set() if held is None else {seq for k, seq in held.vectors if k is kind}

    def count(self, scope: Scope, kind: Kind, model: str) -> int:
        return len(self.held(scope, kind, model))

    def embedded_up_to(self, scope: Scope, model: str) -> int:
        held = self._access[scope].vector_sets.get(model)
        return 0 if held is None else held.upto

    def mark_embedded_up_to(self, scope: Scope, model: str, seq: int) -> None:
        held = self._begun(scope, model)
        self._access.change(scope).vector_sets[model] = replace(held, upto=seq)

    def drop(self, scope: Scope, model: str) -> int:
        held = self._access.change(scope).vector_sets.pop(model, None)
        return 0 if held is None else len(held.vectors)

    def _begun(self, scope: Scope, model: str) -> ReferenceVectorSet:
        held = self._access.change(scope).vector_sets.get(model)
        if held is None:
            raise InputError(f"no vectors of {model} were begun here")
        return held

    def _put(self, scope: Scope, model: str, vectors: Mapping[tuple[Kind, int], Vector]) -> None:
        sets = self._access.change(scope).vector_sets
        sets[model] = replace(sets[model], vectors=vectors)
