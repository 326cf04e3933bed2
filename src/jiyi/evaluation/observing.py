"""Public talk through the façade: observe, let the jobs run, one scope for each talk."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

from jiyi.domain.memory import IncomingMessage
from jiyi.evaluation.harness import TIMEZONE, OpenLayer
from jiyi.scoped_memory import ScopedMemory

Observe = Callable[[str, Sequence[IncomingMessage]], ScopedMemory]
"""(user, messages) → that user's memory after all of them were distilled."""


class TalkClock:
    """Tells the time of the talk under way; the next talk may be of an earlier year."""

    def __init__(self) -> None:
        self.at = datetime(1970, 1, 2, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.at


@contextmanager
def opened(open_layer: OpenLayer) -> Iterator[Observe]:
    """A fresh memory in a folder of its own. Its clock follows the messages, which are given session by session."""
    clock = TalkClock()
    with (
        tempfile.TemporaryDirectory(prefix="jiyi-eval-") as folder,
        open_layer(Path(folder) / "memory.db", clock) as layer,
    ):

        def observe(user: str, messages: Sequence[IncomingMessage]) -> ScopedMemory:
            me = layer.scope(user, tz=TIMEZONE, surface="evaluation")
            for session, turns in groupby(messages, key=lambda m: m.session):
                batch = list(turns)
                clock.at = batch[-1].at
                me.observe(batch, session=session)
                layer.work()
            return me

        yield observe
