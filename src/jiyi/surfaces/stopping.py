"""The end of a process that stays until it is told to stop."""

from __future__ import annotations

import signal


def end_in_peace() -> None:
    """From here on the process ends by itself, whatever it is told. Python takes handlers away before it is gone: another
    Ctrl-C would then end it in the middle, with the code of the signal in place of its own."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
