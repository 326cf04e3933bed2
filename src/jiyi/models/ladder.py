"""Asking for JSON by the best way that an endpoint takes: JSON schema, tool call, JSON object, plain text (SPEC U8)."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from jiyi.domain.asking import WAYS, Answer, Question
from jiyi.domain.tokens import estimate_tokens
from jiyi.models.http import Line, Reply, WayRefused
from jiyi.models.presets import Endpoint
from jiyi.ports import ChatModel
from jiyi.settings import ModelPolicy

PLAIN = "plain"
"""A step below the ways: the request without the fields that some endpoints refuse."""


class Ladder(ChatModel, ABC):
    """A model that is asked by the way that worked last. A way that is refused is not tried again.

    A wire says how a question is written and how an answer is read.
    """

    def __init__(self, endpoint: Endpoint, policy: ModelPolicy) -> None:
        self._endpoint, self._policy = endpoint, policy
        self._line = Line(policy, self._headers(), f"model {endpoint.name}")
        self._lock = threading.Lock()
        self._steps = [*self._ways(), PLAIN]

    @property
    def name(self) -> str:
        return self._endpoint.name

    def ask(self, question: Question) -> Answer:
        begun = time.monotonic()
        while True:
            step = self._steps[0]
            way = "text" if step == PLAIN else step
            try:
                reply = self._line.post(self._url(), self._body(question, way, bare=step == PLAIN))
            except WayRefused:
                if not self._step_down(step):
                    raise
                continue
            text, tokens_in, tokens_out, whole = self._read(reply)
            return Answer(
                text=text,
                tokens_in=tokens_in or estimate_tokens(question.instructions + question.text),
                tokens_out=tokens_out or estimate_tokens(text),
                seconds=time.monotonic() - begun,
                whole=whole,
                way=way,
            )

    def close(self) -> None:
        self._line.close()

    def _step_down(self, step: str) -> bool:
        """Leave a step that was refused; false when there is none below."""
        with self._lock:
            if len(self._steps) > 1 and self._steps[0] == step:
                self._steps = self._steps[1:]
                return True
            return self._steps[0] != step

    def _ways(self) -> list[str]:
        return list(WAYS[WAYS.index(self._endpoint.structured) :])

    @abstractmethod
    def _headers(self) -> Mapping[str, str]: ...

    @abstractmethod
    def _url(self) -> str: ...

    @abstractmethod
    def _body(self, question: Question, way: str, *, bare: bool) -> Mapping[str, Any]:
        """The request. With `bare` nothing but what every endpoint knows."""

    @abstractmethod
    def _read(self, reply: Reply) -> tuple[str, int, int, bool]:
        """The text, tokens in and out (0 where not told), and whether it is whole."""


def count(usage: Any, name: str) -> int:
    """A count of a provider's usage; 0 when it is missing or none."""
    value = usage.get(name) if isinstance(usage, Mapping) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 40 else 0


def text_of(value: Any) -> str:
    """The words of a content that is text, or a list of parts."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(p["text"] for p in value if isinstance(p, Mapping) and isinstance(p.get("text"), str))
    return ""
