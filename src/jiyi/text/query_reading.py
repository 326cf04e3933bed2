"""What a person asks inside what they wrote: the question itself, the talk around it, what they put in quotes (SPEC R1)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

# A full stop inside quotation marks ends nothing: 主题是"学会休息。"的讲座在哪？ is one sentence.
_MARKED = r"“[^“”]{0,200}”|「[^「」]{0,200}」|『[^『』]{0,200}』|\"[^\"\n]{0,200}\""
_SENTENCE = re.compile(rf"(?:{_MARKED}|[^。！？!?\n.]|\.(?!\s|$))+[。！？!?\n.”\"』」]*|[。！？!?\n.]+")
_ASKS = re.compile(r"[?？]")
_QUOTED = re.compile(
    r"“([^“”]{2,80})”|\"([^\"]{2,80})\"|「([^「」]{2,80})」|『([^『』]{2,80})』|《([^《》]{2,80})》|`([^`]{2,80})`"
)
# A line of a talk that was handed over: <Ann>: "…", 小王：……
_TURN = re.compile(r"^\s*(?:<[^<>\n]{1,40}>|\w[^\n:：。，！？,.!?]{0,39})\s*[:：]")

# A message of two sentences is a question with its circumstances; from three on there is talk around it.
SENTENCES = 3
# After a question there may be a word of thanks; a question further up was one of the talk.
BEHIND = 1
QUESTIONS = 4
"""So many are asked one by one at the most: each is a search of its own. More of them are a list of words, or no questions at all."""


@dataclass(frozen=True, slots=True)
class Isolated:
    """`core` is the question, `rest` the talk around it, empty when all of it is the question. `announced`: it is said that
    this is the question, so the talk around it is beside the point; otherwise the talk may well be what it is about.

    `parts` are the questions in the core, where it asks several; `talk`: it is a talk that is handed over, `last` what was said
    last in it.
    """

    core: str
    rest: str = ""
    announced: bool = False
    parts: tuple[str, ...] = ()
    last: str = ""
    talk: bool = False


class Announcements:
    """The words by which a question announces itself."""

    __slots__ = ("_pattern",)

    def __init__(self, phrases: Iterable[str]) -> None:
        longest = sorted({p.casefold() for p in phrases if p.strip()}, key=lambda p: (-len(p), p))
        self._pattern = re.compile("|".join(map(re.escape, longest)) or "(?!)", re.IGNORECASE)

    def isolate(self, text: str) -> Isolated:
        """The question in a message of several sentences: its last, if it asks. A short message is all question, and so is
        a talk that is handed over, without the names before its lines: what is asked last in it is asked of all of it."""
        if said := _said(text):
            return Isolated("\n".join(line for _, line in said), last=_leading(said), talk=True)
        sentences = [s for s in _SENTENCE.findall(text) if s.strip(' \t\r\n"”』」')]
        asking = [i for i, s in enumerate(sentences) if _ASKS.search(s)]
        if not asking or len(sentences) - 1 - asking[-1] > BEHIND:
            return Isolated(text)
        last, cut = asking[-1], {i: self._announced(sentences[i]) for i in asking}
        announced = [i for i in asking if cut[i][0]]
        if not announced and len(sentences) < SENTENCES:
            return Isolated(text, parts=_several([sentences[i] for i in asking]))
        # Whoever announces two questions asks both.
        core = {i: cut[i][1] for i in (*announced, last)}
        rest = (cut[i][0] if i in core else sentence for i, sentence in enumerate(sentences))
        asked = [core[i] for i in sorted(core)]
        return Isolated("".join(asked), "".join(rest), bool(cut[last][0]), _several(asked))

    def _announced(self, sentence: str) -> tuple[str, str]:
        """A sentence cut behind the last words that announce a question, if any question follows."""
        cut = max((m.end() for m in self._pattern.finditer(sentence)), default=0)
        return (sentence[:cut], sentence[cut:]) if re.search(r"\w", sentence[cut:]) else ("", sentence)


def _several(questions: list[str]) -> tuple[str, ...]:
    return tuple(questions) if 1 < len(questions) <= QUESTIONS else ()


def _leading(said: Sequence[tuple[str, str]]) -> str:
    """The last line of a talk; "" where whoever says it asked a line before, goes on with something else, and waits for an answer."""
    voice, last = said[-1]
    waits = not _ASKS.search(last) and any(_ASKS.search(line) for other, line in said if other == voice)
    return "" if waits else last


def _said(text: str) -> list[tuple[str, str]]:
    """What is said in a talk, line by line with the mark of who says it, where most lines begin with that; empty when they do not."""
    lines = [line for line in text.splitlines() if line.strip()]
    said = [(turn.group().strip(), line[turn.end() :]) if (turn := _TURN.match(line)) else ("", line) for line in lines]
    turns = sum(bool(voice) for voice, _ in said)
    return said if turns > 1 and 2 * turns > len(lines) else []


def quoted(text: str) -> tuple[str, ...]:
    """What stands in quotation marks, as written: the words of somebody, a title, a piece of code."""
    return tuple(next(filter(None, groups)).strip() for groups in _QUOTED.findall(text))
