"""All that a user ever told, where that is a handful: there is nothing to choose from then (SPEC R4).

    live memories, and the turns that plainly state something ─▶ as tokens within the handful? ─▶ all of it, or nothing

A question may share no word with what answers it (where do I fly to, which town do we mean). Choosing from a handful can only
lose, so whoever asks about their own is shown all of it; what anybody might ask stays unanswered as before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from jiyi.domain.memory import Category, Memory, Message, Role, Source, Status
from jiyi.domain.scope import Scope
from jiyi.domain.tokens import estimate_tokens
from jiyi.pipelines.recall import Recall
from jiyi.pipelines.recalling.items import Item, message_item
from jiyi.ports import Unit
from jiyi.settings import ContextPolicy

WHY = "all that was told so far is a handful, so it is shown whole"


@dataclass(frozen=True, slots=True)
class Handful:
    """Gives everything that stands of a user, as far as it is a handful. `states` tells whether the user plainly states something
    in a turn."""

    recall: Recall
    states: Callable[[Message], bool]
    policy: ContextPolicy

    def __call__(self, unit: Unit, scope: Scope, session: str | None, now: datetime) -> list[Item]:
        """Every live memory but standing rules, which are shown anyway, and every turn of earlier sessions in which the user plainly
        states something; nothing where that is more than a handful."""
        policy = self.policy
        if policy.handful <= 0 or unit.messages.last_seq(scope) > policy.handful_turns:
            return []
        found: list[Item] = []
        left = policy.handful
        for item in self._everything(unit, scope, session, now):
            left -= estimate_tokens(item.text)
            if left < 0:
                return []
            found.append(item)
        return found

    def _everything(self, unit: Unit, scope: Scope, session: str | None, now: datetime) -> Iterable[Item]:
        for memory in unit.memories.listing(scope, limit=self.policy.handful_turns):
            if memory.source is Source.DECLARED and memory.category is not Category.RULE and not memory.over(now):
                yield self.recall.memory_item(memory, "memory", (), WHY, now)
        turns = unit.messages.window(scope, latest=True, limit=self.policy.handful_turns)
        turns = [m for m in turns if m.role is Role.USER and m.session != session]
        doubted = self._doubted(unit, scope, turns, now)
        for turn in turns:
            if turn.seq not in doubted and self.states(turn):
                yield message_item(turn, (), WHY)

    def _doubted(self, unit: Unit, scope: Scope, turns: Sequence[Message], now: datetime) -> set[int]:
        """Turns of which something that they said is not believed any more, or is over (SPEC B6, C8)."""
        resting = unit.memories.resting_on(scope, [m.seq for m in turns])
        memories = {m.seq: m for m in unit.memories.get(scope, {s for seqs in resting.values() for s in seqs})}

        def stands(memory: Memory) -> bool:
            return memory.status is Status.LIVE and not memory.over(now)

        return {turn for turn, seqs in resting.items() if not all(stands(memories[s]) for s in seqs if s in memories)}
