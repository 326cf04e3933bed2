"""jiyi as a scheme: everything is observed and distilled, `context` is what is handed over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from jiyi.domain.memory import IncomingMessage
from jiyi.evaluation.contenders import Jiyi
from jiyi.evaluation.schemes.scheme import Handed

_SESSION = "asking"


class JiyiContext:
    name = "jiyi"

    def __init__(self, folder: Path, settings: Mapping[str, Any]) -> None:
        self._jiyi = Jiyi(folder, distil=True, settings=settings)
        self._user = "me"

    def hear(self, messages: Sequence[IncomingMessage]) -> None:
        self._jiyi.learn(self._user, messages)

    def hand(self, question: str, now: datetime) -> Handed:
        text, ids = self._jiyi.hand(self._user, question, now, _SESSION)
        return Handed(text, frozenset(ids))

    def close(self) -> None:
        self._jiyi.close()
