"""Every error jiyi raises on purpose, in one tree. The message says what to do next.

    JiyiError
    ├── InputError (also ValueError)   the caller's data is not acceptable; nothing was stored
    │   ├── InstantWithoutZone         a date-time without a time zone
    │   ├── TooLarge                   text, batch or query above a documented limit
    │   ├── InstructsAgent             a text to be remembered tries to instruct the agent
    │   ├── ConflictingMessage         a known message id came back with another text
    │   ├── ConflictingRequest         a key that stands for one request came back with another
    │   ├── UnreadableFile             an import file is broken; names file, line and reason
    │   └── UnreadableLines            lines of an edited profile cannot be taken over; names each with its reason
    ├── NotFound (also LookupError)    an id that this scope does not hold
    ├── PlanRefused                    the gateway will not apply this plan as it stands
    │   ├── VersionMismatch            the memory was changed since the version that the caller knows
    │   └── MemoryPaused               the user paused this memory: nothing is written until it is resumed
    ├── StoreError                     the database cannot serve the call
    │   ├── StoreClosed                used after close()
    │   ├── StoreBusy                  another process held the write lock for too long
    │   ├── StoreAway                  the server of the database cannot be reached
    │   │   └── StoreLost              it was lost on the way; nothing was kept
    │   ├── WriteUncertain             it was lost while it ended a write: whether that was kept is not known
    │   ├── StoreCorrupt               a check failed; names the repair
    │   ├── EngineUnavailable          an engine beside the database does not answer; the database does
    │   │   └── EngineBusy             another process is telling it what changed
    │   ├── SegmenterMismatch          the index was built with another segmenter; names `jiyi reindex`
    │   └── MigrationError             an unknown, edited or failing migration
    ├── ModelError                     the language model gave no answer that can be used; the messages are safe
    │   ├── ModelUnavailable           no answer in time, or a fault on its side: later there may be one
    │   ├── ModelRefused               it will refuse again: the key, the name or the request is wrong
    │   ├── UnusableAnswer             not the JSON that was asked for, also when asked again
    │   └── SpendingLimitReached       the day's limit of tokens or money
    ├── NotIdentified                  a service was called without a token, or with one that proves nothing
    ├── NotAllowed                     whoever calls is known, and may not do this
    │   └── NobodyNamed                a service calls, and does not say for which user
    ├── TooManyRequests                more calls in a minute than the settings allow; says how long to wait
    ├── IssuerUnreachable              the keys of the issuer of a token cannot be had now
    ├── SettingsError (also ValueError)    a setting that cannot be used
    └── MissingExtra (also ImportError)    an optional dependency is not installed; names the extra

Errors know nothing of HTTP or of exit codes: each surface holds its own table.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta


class JiyiError(Exception):
    """Base of every error raised on purpose."""

    passing = True
    """Whether the same call may succeed later with nothing done about it; a job that fails otherwise is not tried again."""


class InputError(JiyiError, ValueError):
    """The caller's data is not acceptable; nothing was stored."""


class InstantWithoutZone(InputError):
    """A date-time came without a time zone, so the moment it names is unknown."""

    def __init__(self, value: object) -> None:
        super().__init__(f"{value!r} has no time zone: write it as 2026-03-01T09:00:00+08:00")


class TooLarge(InputError):
    """Something is above a documented limit."""

    def __init__(self, what: str, size: int, limit: int) -> None:
        super().__init__(
            f"{what} is {size:,} long, the limit is {limit:,}: split it, or raise the limit in the settings"
        )
        self.size = size
        self.limit = limit


class InstructsAgent(InputError):
    """A text that was to be remembered tries to instruct the agent (SPEC C12)."""

    def __init__(self, words: str, kind: str) -> None:
        super().__init__(
            f"{words!r} reads as an attempt to instruct the agent ({kind}): it can be kept as a quotation, so leave the "
            "category out or use general; or say what you want without these words"
        )
        self.kind = kind


class ConflictingMessage(InputError):
    """A message id that is already known came back with another text (SPEC C1)."""

    def __init__(self, message_id: str) -> None:
        super().__init__(
            f"message {message_id!r} is already stored with another text: messages never change, use a new id"
        )
        self.message_id = message_id


class ConflictingRequest(InputError):
    """A key that stands for one request came back with another request (SPEC S5)."""

    def __init__(self, key: str) -> None:
        super().__init__(
            f"{key!r} already stands for another request: use a new key for each, and the same to retry one"
        )


class UnreadableFile(InputError):
    """A file is broken or of another shape. Nothing came of it: `outcome` says what did not."""

    def __init__(
        self, path: object, reason: str, line: int | None = None, outcome: str = "Nothing was imported"
    ) -> None:
        where = f"{path}, line {line}" if line is not None else f"{path}"
        super().__init__(f"{where}: {reason}. {outcome}")
        self.path = str(path)
        self.line = line
        self.reason = reason


class UnreadableLines(InputError):
    """Lines of an edited profile cannot be taken over. Nothing of the file was (SPEC B7)."""

    def __init__(self, path: object, problems: Sequence[tuple[int, str]]) -> None:
        told = "; ".join(f"line {line}: {reason}" for line, reason in problems)
        super().__init__(f"{path}, {told}. Nothing was changed")
        self.path = str(path)
        self.problems = tuple(problems)


class NotFound(JiyiError, LookupError):
    """An id that this scope does not hold.

    `what` was looked for: "memory", "message", "plan", …; a surface knows where such are listed. Empty where the message says
    what to do.
    """

    def __init__(self, message: str, what: str = "") -> None:
        super().__init__(message)
        self.what = what


class PlanRefused(JiyiError):
    """The gateway will not apply this plan as it stands (SPEC W1, W2)."""

    passing = False


class VersionMismatch(PlanRefused):
    """The memory was changed since the version that the caller knows; nothing was done."""

    def __init__(self, memory: str) -> None:
        super().__init__(f"{memory} was changed meanwhile: read it again, and correct it if it is still wrong")


class MemoryPaused(PlanRefused):
    """The user paused this memory: nothing is written until it is resumed (SPEC C5)."""

    def __init__(self, what: str) -> None:
        super().__init__(f"this memory is paused, so {what} must wait until it is resumed")


class StoreError(JiyiError):
    """The database cannot serve the call."""


class StoreClosed(StoreError):
    """The store was used after close()."""

    def __init__(self) -> None:
        super().__init__("this memory is closed: open it again with open_memory(...)")


class StoreBusy(StoreError):
    """Another process held the write lock for longer than we wait."""


class StoreAway(StoreError):
    """The server of the database cannot be reached."""


class StoreLost(StoreAway):
    """The server was lost on the way. Of what was under way nothing was kept, so that it can be done again."""


class WriteUncertain(StoreError):
    """The server was lost while it ended a write, so that whether it was kept is not known."""

    def __init__(self, said: str) -> None:
        super().__init__(
            f"the database server was lost while it ended a write ({said}), which may have been kept: look whether it was, or "
            "ask for such things under the key of a request, which can be sent again"
        )


class StoreCorrupt(StoreError):
    """A check of the database failed."""


class EngineUnavailable(StoreError):
    """A vector or graph engine beside the database does not answer. Nothing is lost: the database holds everything."""


class EngineBusy(EngineUnavailable):
    """Another process began to tell a graph engine what changed, and will end it."""


class SegmenterMismatch(StoreError):
    """The text index was built with another segmenter or dictionary (SPEC O1)."""


class MigrationError(StoreError):
    """The schema is unknown, was edited after release, or could not be brought up to date."""


class ModelError(JiyiError):
    """The language model gave no answer that can be used. Nothing is lost: the messages are stored."""


class ModelUnavailable(ModelError):
    """No answer in time, or a fault on the model's side: later there may be one.

    `retry_after` is how long its server asked to be left alone, if it did.
    """

    def __init__(self, reason: str, retry_after: timedelta | None = None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


class ModelRefused(ModelError):
    """The model will refuse this again: the key, the name or the request is wrong."""

    passing = False


class UnusableAnswer(ModelError):
    """The model's answer is not the JSON that was asked for, also when asked again."""

    passing = False


class SpendingLimitReached(ModelError):
    """The day's limit of tokens or money is reached: no call is made before the next day (SPEC U8)."""

    passing = False


class NotIdentified(JiyiError):
    """A service was called without a token, or with one that proves nothing (SPEC S1)."""


class NotAllowed(JiyiError):
    """Whoever calls is known, and may not do this (SPEC S2)."""


class NobodyNamed(NotAllowed):
    """A service calls, and does not say for which user of its tenant (SPEC S2)."""


class TooManyRequests(JiyiError):
    """More calls in a minute than the settings allow (SPEC S5). `seconds` is how long to wait."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"too many requests: wait {seconds:.1f} seconds, or let the operator raise the limit")
        self.seconds = seconds


class IssuerUnreachable(JiyiError):
    """The keys of the issuer of a token cannot be had now, so nobody can be told apart; later it may work."""


class SettingsError(JiyiError, ValueError):
    """A setting that cannot be used."""


class MissingExtra(JiyiError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} is missing: pip install 'jiyi[{extra}]', or in a clone '.[{extra}]'")
