"""What a person asks inside what they wrote: the question itself, the talk around it, what they put in quotes (SPEC R1)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_SENTENCE = re.compile(r"(?:[^。！？!?\n.]|\.(?!\s|$))+[。！？!?\n.”\"』」]*|[。！？!?\n.]+")
_ASKS = re.compile(r"[?？]")
_QUOTED = re.compile(
    r"“([^“”]{2,80})”|\"([^\"]{2,80})\"|「([^「」]{2,80})」|『([^『』]{2,80})』|《([^《》]{2,80})》|`([^`]{2,80})`"
)

# A message of two sentences is a question with its circumstances; from three on there is talk around it.
SENTENCES = 3
# After a question there may be a word of thanks; a question further up was one of the talk.
BEHIND = 1


@dataclass(frozen=True, slots=True)
class Isolated:
    """`core` is the question, `rest` the talk around it, empty when all of it is the question."""

    core: str
    rest: str = ""


class Announcements:
    """The words by which a question announces itself."""

    __slots__ = ("_pattern",)

    def __init__(self, phrases: Iterable[str]) -> None:
        longest = sorted({p.casefold() for p in phrases if p.strip()}, key=lambda p: (-len(p), p))
        self._pattern = re.compile("|".join(map(re.escape, longest)) or "(?!)", re.IGNORECASE)

    def isolate(self, text: str) -> Isolated:
        """The question in a message of several sentences: its last, if it asks. A short message is all question."""
        sentences = [s for s in _SENTENCE.findall(text) if s.strip(' \t\r\n"”』」')]
        asking = [i for i, s in enumerate(sentences) if _ASKS.search(s)]
        if len(sentences) < SENTENCES or not asking or len(sentences) - 1 - asking[-1] > BEHIND:
            return Isolated(text)
        at = asking[-1]
        before, core = self._announced(sentences[at])
        return Isolated(core, "".join((*sentences[:at], before, *sentences[at + 1 :])))

    def _announced(self, sentence: str) -> tuple[str, str]:
        """A sentence cut behind the last words that announce a question, if any question follows."""
        cut = max((m.end() for m in self._pattern.finditer(sentence)), default=0)
        return (sentence[:cut], sentence[cut:]) if re.search(r"\w", sentence[cut:]) else ("", sentence)


def quoted(text: str) -> tuple[str, ...]:
    """What stands in quotation marks, as written: the words of somebody, a title, a piece of code."""
    return tuple(next(filter(None, groups)).strip() for groups in _QUOTED.findall(text))
