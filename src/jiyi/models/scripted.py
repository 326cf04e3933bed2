"""A language model that says what it was told to: the public test double for everything that asks one.

model = Scripted(['{"memories": []}', ModelUnavailable("busy")])
memory = open_memory("reference", model=model, worker=False)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from jiyi.domain.asking import Answer, Question
from jiyi.domain.tokens import estimate_tokens
from jiyi.errors import ModelError, ModelUnavailable
from jiyi.ports import ChatModel

Line = str | Answer | ModelError | Callable[[Question], str]


class Scripted(ChatModel):
    """Gives its lines in order: a text, a whole `Answer`, an error to raise, or a function of the question.

    What it was asked is in `questions`. When the lines are used up it is unavailable.
    """

    def __init__(self, lines: Iterable[Line] = (), name: str = "scripted/lines") -> None:
        self._lines, self._name = deque(lines), name
        self.questions: list[Question] = []
        self.closed = False

    @property
    def name(self) -> str:
        return self._name

    def say(self, *lines: Line) -> None:
        """More lines, after those that are left."""
        self._lines.extend(lines)

    def ask(self, question: Question) -> Answer:
        self.questions.append(question)
        if not self._lines:
            raise ModelUnavailable("the script has no more lines")
        line = self._lines.popleft()
        if isinstance(line, ModelError):
            raise line
        if isinstance(line, Answer):
            return line
        text = line if isinstance(line, str) else line(question)
        asked = question.instructions + question.text
        return Answer(text, estimate_tokens(asked), estimate_tokens(text), 0.0)

    def close(self) -> None:
        self.closed = True
