"""What a service answers about what repeats (SPEC G5)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import tzinfo
from typing import Self

from jiyi.domain.memory import message_handle
from jiyi.pipelines.graph.patterns import Noticed
from jiyi.surfaces.shapes import Moment, Shape, moment


class Case(Shape):
    """One session in which both held, and the turns that show it."""

    session: str
    at: Moment
    messages: list[str]


class Pattern(Shape):
    """Whenever `condition` comes up, the user wants `consequence`: in `sessions` of the `of` in which it does, and in `elsewhere` of
    the `of_others` in which it does not. `because`: why it is no pattern; null where it is one. `memory`: the one that tells it."""

    text: str
    condition: str
    consequence: str
    sessions: int
    of: int
    elsewhere: int
    of_others: int
    because: str | None
    memory: str | None
    cases: list[Case]

    @classmethod
    def of_noticed(cls, noticed: Noticed, zone: tzinfo) -> Self:
        pattern = noticed.pattern
        return cls(
            text=noticed.text, condition=pattern.pair.condition, consequence=pattern.pair.consequence,
            sessions=pattern.support, of=pattern.held, elsewhere=pattern.elsewhere, of_others=pattern.others,
            because=noticed.because or None, memory=None if noticed.memory is None else noticed.memory.id,
            cases=[
                Case(session=c.session, at=moment(c.at, zone), messages=[message_handle(m) for m in sorted(c.messages)])
                for c in pattern.cases
            ],
        )  # fmt: skip


class Patterns(Shape):
    patterns: list[Pattern]

    @classmethod
    def of(cls, found: Iterable[Noticed], zone: tzinfo) -> Self:
        return cls(patterns=[Pattern.of_noticed(noticed, zone) for noticed in found])
