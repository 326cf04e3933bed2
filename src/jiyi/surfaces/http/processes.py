"""Several processes that serve one address, and the one that keeps them.

They share the sockets: whoever has time takes the next connection, and with none of them a waiting one is lost. The keeper
opens no memory and serves nothing. It starts again what was killed, and hands on what it is told.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from types import FrameType

from jiyi.errors import SettingsError
from jiyi.surfaces.stopping import end_in_peace

log = logging.getLogger("jiyi.http")

PAUSE = 1.0
"""Seconds before a process that ended is started again, so that one that cannot live does not take the machine."""
SERVES = b"1"


@dataclass(slots=True)
class Sibling:
    """One of the processes that serve; number 1 is the first."""

    number: int = 1
    _telling: int | None = None

    def serves(self) -> None:
        """Say that this one serves: the others wait for the first."""
        if self._telling is not None:
            os.write(self._telling, SERVES)
            os.close(self._telling)
            self._telling = None


def multiply(count: int) -> Sibling:
    """Go on in `count` processes. Returns in each of them; the caller itself stays as their keeper and leaves by SystemExit, with
    the exit code of the whole.

    Call it before a thread is started or a memory opened. The others start once the first serves, so that what keeps it from
    serving is said once, and the database is made or migrated by one.

    Raises:
        SettingsError: this system cannot do that.
    """
    if not hasattr(os, "fork"):
        raise SettingsError(
            "service.processes: here one process serves one address; start several on ports of their own instead"
        )
    keeper = _Keeper(count)
    if (sibling := keeper.start_first()) is not None:
        return sibling
    while not keeper.ending:
        if (sibling := keeper.start_missing()) is not None:
            return sibling
        keeper.wait()
    raise SystemExit(keeper.end())


@dataclass(slots=True)
class _Keeper:
    count: int
    ending: bool = False
    running: dict[int, int] = field(default_factory=dict)
    """The number of each process, by its id."""
    code: int = 0
    # A process sees by this pipe that its keeper is gone: only the keeper holds the writing end.
    _watched: tuple[int, int] = field(default_factory=os.pipe)

    def __post_init__(self) -> None:
        signal.signal(signal.SIGTERM, self._told)
        signal.signal(signal.SIGINT, self._told)

    def start_first(self) -> Sibling | None:
        """Start the first process and wait until it serves, or has ended. None in the keeper."""
        heard, telling = os.pipe()
        if (sibling := self._start(1, telling)) is not None:
            os.close(heard)
            return sibling
        os.close(telling)
        with os.fdopen(heard, "rb", buffering=0) as pipe:
            # Nothing is read when it ended before: it has said why, and nobody is started again.
            self.ending = pipe.read(1) != SERVES or self.ending
        return None

    def start_missing(self) -> Sibling | None:
        """Start every process that is not running. None in the keeper."""
        for number in sorted(set(range(1, self.count + 1)) - set(self.running.values())):
            if (sibling := self._start(number)) is not None:
                return sibling
        return None

    def _start(self, number: int, telling: int | None = None) -> Sibling | None:
        sys.stdout.flush()
        sys.stderr.flush()
        # A signal between the fork and the next line would miss the new process.
        signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
        child = os.fork()
        if child:
            self.running[child] = number
            signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
            return None
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
        watch, kept = self._watched
        os.close(kept)
        threading.Thread(target=_end_without_keeper, args=(watch,), daemon=True, name="jiyi-keeper").start()
        return Sibling(number, telling)

    def wait(self) -> None:
        """Until a process ends."""
        child, status = os.waitpid(-1, 0)
        number = self.running.pop(child)
        if not self.ending:
            told = {"process": number, "exit": os.waitstatus_to_exitcode(status)}
            log.error("a process that served has ended and is started again", extra={"told": told})
            time.sleep(PAUSE)

    def end(self) -> int:
        """Stop all and wait for them. The exit code: 0, or that of one that failed."""
        self._tell_all()
        while self.running:
            child, status = os.waitpid(-1, 0)
            del self.running[child]
            self.code = self.code or abs(os.waitstatus_to_exitcode(status))
        end_in_peace()
        return self.code

    def _told(self, _: int, __: FrameType | None) -> None:
        self.ending = True
        self._tell_all()

    def _tell_all(self) -> None:
        for child in list(self.running):
            with suppress(ProcessLookupError):  # a signal can come between its end and the line that notes it
                os.kill(child, signal.SIGTERM)


STOPPING = {signal.SIGTERM, signal.SIGINT}


def _end_without_keeper(watch: int) -> None:
    """Stop this process when the keeper was killed: nobody else could stop it."""
    os.read(watch, 1)
    os.kill(os.getpid(), signal.SIGTERM)
