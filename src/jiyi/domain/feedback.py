"""What the user says of a memory that was recalled: it helped, it is wrong, it was beside the point (SPEC R8)."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum

from jiyi.domain.memory import Memory

LOWEST, HIGHEST = 1, 5
"""The bounds of importance."""
REACH = 1
"""So far feedback moves importance in all, however often it is given."""


class Feedback(StrEnum):
    HELPFUL = "helpful"
    WRONG = "wrong"
    IRRELEVANT = "irrelevant"


def heeded(memory: Memory, feedback: Feedback) -> Memory:
    """The memory once feedback is heeded: importance one up or down, within its bounds and `REACH`.

    What is said to be wrong stands until the user has been asked, since this says only that, not what is right.
    """
    step = 1 if feedback is Feedback.HELPFUL else -1
    nudge = max(-REACH, min(REACH, memory.nudge + step))
    importance = max(LOWEST, min(HIGHEST, memory.importance + nudge - memory.nudge))
    moved = replace(memory, importance=importance, nudge=memory.nudge + importance - memory.importance)
    return replace(moved, doubted=True, unasked=False) if feedback is Feedback.WRONG else moved
