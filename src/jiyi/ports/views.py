"""What forgetting asks of everything outside the truth: of views made from it, and of what lies beside the database.

A protocol of its own file, since a view is not part of a store: it may need a segmenter or a model to be made again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from jiyi.domain.forgetting import Copy, Erased, Remains
from jiyi.domain.scope import Scope
from jiyi.ports.store import Check, Unit


class View(Protocol):
    """Something made from messages and memories that forgetting must reach: text index, summaries, vectors, graph, caches.

    Views are listed by the gateway (`Gateway.views`). Whoever adds one adds it there; a test walks all of them.
    """

    @property
    def name(self) -> str: ...

    def erase(self, unit: Unit, scope: Scope, erased: Erased) -> int:
        """Let go of what was made from these, and make again what is still left of a blotted message.

        Called inside the transaction of the forgetting, with messages and memories already changed. Gives the number of
        entries that went. No byte of them may stay after a checkpoint.
        """

    def rebuild(self, unit: Unit, scope: Scope) -> int:
        """Drop the scope's part of the view and make it again from messages and memories; gives the entries made.

        A view that is made by a job queues the job instead.
        """


class Carried(Protocol):
    """What was forgotten, kept apart from the database, so that an old backup in its place forgets again (SPEC F6)."""

    def size(self) -> tuple[int, int]:
        """Receipts and tombstones that are kept here; cheap."""

    def load(self) -> Mapping[Scope, Remains]: ...

    def save(self, remains: Mapping[Scope, Remains]) -> None:
        """Keep this, in the place of what was kept."""

    def copy_to(self, target: str) -> None:
        """*Operator.* Put a copy beside a backup of the database."""

    def siblings(self) -> list[Copy]:
        """The copies that lie beside the database because a migration or a restore made them."""

    def still_there(self, copies: Sequence[Copy]) -> tuple[Copy, ...]:
        """Those copies that still exist."""

    def check(self) -> Iterator[Check]:
        """*Operator.* Whether what is kept here is private."""
