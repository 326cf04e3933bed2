"""The five schemes that A3 compares, each written plainly, without a language model (SPEC R12).

1. *stuff everything*: the whole talk, newest kept, as far as the window of the model reaches.
2. *vectors only*: every turn embedded, the three nearest to the question.
3. *JSON facts*: "the X is Y" in the user's words, kept as a key with a value, later ones over earlier ones; all of them are
   handed over.
4. *summary chain*: every six turns the summary so far and these turns are made into a new summary of a few sentences. A3
   asks a model for it; here the sentences with the commonest words are taken, so nothing is invented, and it drifts as theirs.
5. *hybrid*: all facts, the three nearest turns, and the last turns of the session; of a session that just opens there are none.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jiyi.domain.memory import IncomingMessage, Role
from jiyi.domain.tokens import estimate_tokens
from jiyi.evaluation.embedders import embedded
from jiyi.evaluation.schemes.scheme import Handed, line
from jiyi.ports import Embedder
from jiyi.shipped import load_segmenter

WINDOW = 4096
"""Tokens of A3's model. 0: no bound."""
NEAREST = 3
FACT_LIMIT = 60
"""Characters of a fact's key and of its value."""
CHAIN_TURNS = 6
CHAIN_SENTENCES = 3
CHAIN_TOKENS = 200


class StuffEverything:
    name = "stuff everything"

    def __init__(self, window: int = WINDOW) -> None:
        self._window = window
        self._heard: list[IncomingMessage] = []

    def hear(self, messages: Sequence[IncomingMessage]) -> None:
        self._heard += messages

    def hand(self, question: str, now: datetime) -> Handed:
        kept: deque[IncomingMessage] = deque()
        left = self._window
        for message in reversed(self._heard):
            left -= estimate_tokens(line(message) + "\n")
            if self._window and left < 0:
                break
            kept.appendleft(message)
        return Handed("\n".join(map(line, kept)), frozenset(m.id for m in kept))

    def close(self) -> None:
        """Nothing is open."""


class VectorsOnly:
    name = "vectors only"

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._heard: list[tuple[IncomingMessage, Any]] = []

    def hear(self, messages: Sequence[IncomingMessage]) -> None:
        self._heard += zip(messages, embedded(self._embedder, [m.text for m in messages]), strict=True)

    def nearest(self, question: str) -> list[IncomingMessage]:
        [wanted] = embedded(self._embedder, [question])
        ranked = sorted(self._heard, key=lambda pair: -float(pair[1] @ wanted))
        return [message for message, _ in ranked[:NEAREST]]

    def hand(self, question: str, now: datetime) -> Handed:
        found = self.nearest(question)
        return Handed("\n".join(map(line, found)), frozenset(m.id for m in found))

    def close(self) -> None:
        """Nothing is open."""


_SENTENCE = re.compile(r"[^。！？!?\n；;]+?(?:[。！？!?\n；;]|\.(?=\s|$)|$)")
_FACTS = (
    re.compile(r"(?P<key>[^，,。：:]{1,20}?)(?:改成|换成|换到|挪到|固定在|定为|叫做|名字叫|叫|设成|用的是|用|放在|住在|是在|是|在|由)(?P<value>.+)"),
    re.compile(
        r"(?:my |our |the )?(?P<key>\w[\w' -]{1,40}?) (?:is|are|was|were|has to be|have to be|lives?|lands?|goes|go|runs?|moved|wants?|needs?) "
        r"(?P<value>.+)",
        re.IGNORECASE,
    ),
)  # fmt: skip


class JsonFacts:
    name = "JSON facts"

    def __init__(self) -> None:
        self._facts: dict[str, tuple[str, str]] = {}

    def hear(self, messages: Sequence[IncomingMessage]) -> None:
        for message in messages:
            if message.role is Role.USER:
                for key, value in _stated(message.text):
                    self._facts[key] = (value, message.id)

    def hand(self, question: str, now: datetime) -> Handed:
        text = "\n".join(f"- {key}: {value}" for key, (value, _) in self._facts.items())
        return Handed(text, frozenset(mid for _, mid in self._facts.values()))

    def close(self) -> None:
        """Nothing is open."""


def _stated(text: str) -> Iterator[tuple[str, str]]:
    for sentence in _sentences(text):
        if sentence.endswith(("?", "？")):
            continue
        match = next((m for pattern in _FACTS if (m := pattern.match(sentence))), None)
        if match is not None and len(match["value"]) <= FACT_LIMIT:
            yield match["key"].strip().lower(), match["value"].strip(" 。.")


def _sentences(text: str) -> list[str]:
    return [m.group().strip() for m in _SENTENCE.finditer(text) if m.group().strip()]


@dataclass(frozen=True, slots=True)
class _Said:
    text: str
    message: str


class SummaryChain:
    name = "summary chain"

    def __init__(self) -> None:
        self._summary: list[_Said] = []
        self._buffer: list[IncomingMessage] = []
        self._segmenter = load_segmenter()

    def hear(self, messages: Sequence[IncomingMessage]) -> None:
        for message in messages:
            self._buffer.append(message)
            if len(self._buffer) == CHAIN_TURNS:
                self._summary = self._shortened()
                self._buffer = []

    def _shortened(self) -> list[_Said]:
        """The sentences of the summary so far and the buffer whose words are the commonest among them, in their order."""
        new = (_Said(s, m.id) for m in self._buffer for s in _sentences(m.text))
        sentences = [*self._summary, *new]
        words = [self._words(s.text) for s in sentences]
        counts = Counter(word for found in words for word in found)
        weights = [sum(counts[w] for w in found) / (len(found) or 1) for found in words]
        chosen: set[int] = set()
        tokens = 0
        for place in sorted(range(len(sentences)), key=lambda i: (-weights[i], i)):
            tokens += estimate_tokens(sentences[place].text)
            if len(chosen) == CHAIN_SENTENCES or tokens > CHAIN_TOKENS:
                break
            chosen.add(place)
        return [s for i, s in enumerate(sentences) if i in chosen]

    def _words(self, text: str) -> list[str]:
        return [t.text for t in self._segmenter.query_terms(text) if t.kind == "word" and not t.stop]

    def hand(self, question: str, now: datetime) -> Handed:
        text = "\n".join([*(s.text for s in self._summary), *map(line, self._buffer)])
        return Handed(text, frozenset(s.message for s in self._summary) | {m.id for m in self._buffer})

    def close(self) -> None:
        """Nothing is open."""


class Hybrid:
    name = "hybrid"

    def __init__(self, embedder: Embedder) -> None:
        self._facts, self._vectors = JsonFacts(), VectorsOnly(embedder)

    def hear(self, messages: Sequence[IncomingMessage]) -> None:
        self._facts.hear(messages)
        self._vectors.hear(messages)

    def hand(self, question: str, now: datetime) -> Handed:
        parts = [scheme.hand(question, now) for scheme in (self._facts, self._vectors)]
        return Handed("\n\n".join(p.text for p in parts if p.text), frozenset().union(*(p.ids for p in parts)))

    def close(self) -> None:
        """Nothing is open."""
