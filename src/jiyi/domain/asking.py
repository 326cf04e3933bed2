"""What a language model is asked, what it answers, and what that costs (SPEC C7, U8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Question:
    """What a language model is asked: JSON of a schema.

    Args:
        instructions: the system prompt. text: what it is about.
        schema: a JSON schema that the answer is to fit, called `name`.
        max_tokens: of the answer.
        before: an answer that would not do, and what was wrong with it.
    """

    instructions: str
    text: str
    schema: Mapping[str, Any]
    name: str
    max_tokens: int
    before: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a language model said. `whole`: it was not cut off. `way`: how JSON was asked for, of `WAYS`.

    `seconds` is how long it took, retries included; token counts are the provider's, or estimated where it gives none.
    """

    text: str
    tokens_in: int
    tokens_out: int
    seconds: float
    whole: bool = True
    way: str = "text"


WAYS = ("schema", "tool", "json", "text")
"""The ladder of structured output, best first: JSON schema, tool call, JSON object, plain text (SPEC U8)."""


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call of a language model, as it is kept: no word of what was asked or said. `cost` is in the user's currency."""

    at: datetime
    job: int
    kind: str
    model: str
    tokens_in: int
    tokens_out: int
    cost: float
    seconds: float
    outcome: str


@dataclass(frozen=True, slots=True)
class Spent:
    """What calls came to. `failed` of them gave no answer."""

    calls: int = 0
    failed: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    seconds: float = 0.0

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out


OK = "ok"
"""The outcome of a call that was answered."""
