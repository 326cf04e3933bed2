"""What a model is told when a call fails: what is wrong, and what to do next."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence

from mcp_types import CallToolResult, TextContent
from pydantic import ValidationError

from jiyi.errors import (
    InputError,
    InstructsAgent,
    JiyiError,
    MemoryPaused,
    NobodyNamed,
    NotAllowed,
    NotFound,
    PlanRefused,
    StoreAway,
    StoreBusy,
    StoreError,
    TooLarge,
    TooManyRequests,
    WriteUncertain,
)
from jiyi.pipelines.context import fence

log = logging.getLogger("jiyi.mcp")

NEXT: Sequence[tuple[type[JiyiError], str]] = (
    (
        NobodyNamed,
        "Do not call again: this connection is a service's. Tell the user that it must be set up with their own token.",
    ),
    (NotAllowed, "Leave out who it is for: the connection decides that."),
    (TooManyRequests, "Wait, and call less often."),
    (NotFound, "Ids come from memory_search, memory_context, memory_get_profile and memory_history: look there."),
    (InstructsAgent, "Do not try to store it in another way."),
    (TooLarge, "Shorten it or split it, and call again."),
    (InputError, "Change the arguments as it says, and call again."),
    (MemoryPaused, "Tell the user that their memory is paused: only they resume it."),
    (PlanRefused, "Nothing was changed. Look at what is there now, and decide anew."),
    (StoreBusy, "Try again in a moment."),
    (StoreAway, "Try again in a moment."),
    (WriteUncertain, "Look whether it was kept, and call again if it was not."),
    (StoreError, "Tell the user that their memory cannot be reached; trying again will not help."),
    (JiyiError, "Tell the user."),
)
"""What to do next; the first that fits counts."""


def refusal(error: JiyiError) -> CallToolResult:
    """The answer to a call that failed for a reason that jiyi knows."""
    return told(refusal_text(error))


def refusal_text(error: JiyiError) -> str:
    step = next(said for kind, said in NEXT if isinstance(error, kind))
    return f"{type(error).__name__}: {fence(str(error))}. {step}"


def misfit(error: ValidationError) -> CallToolResult:
    """The answer to arguments of the wrong type; what was given is not repeated."""
    places = (f"{'.'.join(map(str, e['loc'])) or 'arguments'}: {fence(e['msg'])}" for e in error.errors())
    return refusal(InputError("; ".join(dict.fromkeys(places))))


def breakdown(what: str, error: Exception) -> str:
    """What is said of a fault of ours. Its message may hold memory text, so that only its kind is told and logged."""
    log.error("%s failed: %s", what, type(error).__name__, exc_info=bool(os.environ.get("JIYI_DEBUG")))
    return f"{what} failed by a fault in jiyi ({type(error).__name__}): tell the user, it may work later."


def told(text: str) -> CallToolResult:
    """A failed call, in one line."""
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)
