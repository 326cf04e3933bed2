"""The same fact from both sides: who reports to Anna is supervised by Anna (SPEC W2).

Each side is a memory of its own, with evidence of its own. Where one side is over, or was wrong, by an outright word, the
other is too, as far as it was not said since and stands on no better word. Where both were said and cannot hold together,
and no outright word tells which, they are reported, and the user is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from jiyi.domain.memory import Evidence, Memory, Mode, Status
from jiyi.domain.relations import Relation
from jiyi.domain.settling import ENDING, OUTRIGHT, RANK

FROM_THE_OTHER_SIDE = "other-side"
"""The rule, and the session of the word that one side is over because the other is."""
SIDES_DISAGREE = "sides-disagree"


@dataclass(frozen=True, slots=True)
class Opposed:
    """What stands against a memory on the other side: the memory there, and the outright word, if one settles it."""

    by: Memory
    word: Evidence | None


def opposed(memory: Memory, inverse: Relation, there: Sequence[Memory], fold: Callable[[str], str]) -> Opposed | None:
    """What of the other side stands against a live memory, the latest outright word first.

    Only what was said counts, not what became of it since, so that the order of arrival does not matter (decision 0004).

    Args:
        inverse: the relation of the other side.
        there: all memories of the memory's object and that relation, of any status.
    """
    assert memory.triple is not None
    mine = fold(memory.triple.subject)
    settling, standing = [], []
    for other in there:
        if other.triple is None or other.seq == memory.seq:
            continue
        same, denied = other.value == mine, other.triple.negated
        against = denied if same else inverse.single and not denied
        settling += [
            Opposed(other, e)
            for e in other.evidence
            if e.mode in (OUTRIGHT if against else ENDING if same else ())
            and e.session != FROM_THE_OTHER_SIDE
            and e.at >= memory.affirmed_at
            and RANK[e.source] >= RANK[memory.source]
        ]
        if against and other.status is Status.LIVE:
            standing.append(Opposed(other, None))
    settled = max(settling, key=lambda o: (o.word.at if o.word else memory.affirmed_at, o.by.value), default=None)
    return settled or max(standing, key=lambda o: (o.by.affirmed_at, o.by.value), default=None)


def ended_from_the_other_side(memory: Memory, word: Evidence) -> Memory:
    """The memory with the word that it is over, or was the mistake that the other side was."""
    mode = Mode.WRONG if word.mode in (Mode.CORRECTION, Mode.WRONG) else Mode.OVER
    told = Evidence(0, 0, 0, word.at, FROM_THE_OTHER_SIDE, mode, word.source, word.trust)
    return replace(memory, evidence=tuple(sorted({*memory.evidence, told}, key=lambda e: e.place)))
