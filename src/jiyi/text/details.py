"""The details of a text that a digest must keep as they stand: commands, versions, paths, error text, amounts (SPEC R6)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from jiyi.text.numbers import find_numbers

LONGEST = 400
"""Characters of one detail. A longer run is pasted data."""


@dataclass(frozen=True, slots=True)
class Detail:
    """The detail `[start, end)` of a text. `weight` is how much a digest without it would lack."""

    start: int
    end: int
    kind: str
    weight: float


WEIGHTS: Mapping[str, float] = {
    "error": 3.0, "command": 3.0, "code": 2.0, "version": 2.0, "path": 2.0, "amount": 2.0, "url": 1.5, "name": 1.0,
    "measure": 1.0,
}  # fmt: skip

_PLAIN = r"[^\s\u3000-\u303f\u3400-\u9fff\uff00-\uffef]"
_ERROR = re.compile(
    r"(?<![\w.])(?:[\w.]*(?:Error|Exception|Fault|Warning)\b(?:\s*[:：]\s*[^\n。；]{1,200})?"
    r"|(?:error|fatal|panic|错误|异常)\s*[:：]\s*[^\n。；]{1,200}"
    r"|(?:exit|status|error|错误|退出)\s?(?:code|码)\s*[:：=]?\s*-?\d+"
    r"|(?:HTTP|http)\s?[45]\d\d|[45]\d\d(?=\s?(?:错误|报错|error|Bad Gateway|Not Found|Forbidden|Internal))"
    r"|(?:ECONN[A-Z]+|ENO[A-Z]{3,}|EACCES|EADDR[A-Z]+|EPERM|ETIMEDOUT|EPIPE|EEXIST|EISDIR|EMFILE|EHOSTUNREACH|EINVAL|EBUSY"
    r"|ERESOLVE|ELIFECYCLE|SIG(?:KILL|SEGV|TERM|ABRT)|OOMKilled|(?:ORA|SQLSTATE|ERR|TS|CS|E)-?\d{3,6})\b|Traceback \(most recent call last\)|Segmentation fault|Permission denied"
    r"|(?:connection|Connection) (?:refused|reset|timed out)(?: by peer)?|No such file or directory|command not found)"
)
_CODE = re.compile(r"`[^`\n]{1,200}`")
_URL = re.compile(rf"[a-z][a-z0-9+.]{{1,9}}://{_PLAIN}{{2,200}}", re.I)
_VERSION = re.compile(
    r"(?<![\w.])[A-Za-z][\w.\-\[\]]*\s?(?:==|>=|<=|~=|!=|\^)\s?\d[\w.*+!-]*"
    r"|(?<![\w.])[vV]?\d+(?:\.\d+){1,3}(?:[-+.]?(?:rc|alpha|beta|dev|post|a|b)\.?\d*)?(?![\w%]|\.\d)"
)
_PATH = re.compile(
    r"(?<![\w/])(?:~|\.{1,2})?/(?=[\w.\-@%+/]{3})(?:[\w.\-@%+]+/)*[\w.\-@%+]+|\b[A-Za-z]:\\(?:[\w.\- ]+\\)*[\w.\-]+"
    # Without a root: a file in a folder, or three steps of words. and/or, 24/7 and 2026/03/01 are none.
    r"|(?<![\w./])[\w.\-]+(?:/[\w.\-]+)*/[\w\-]+\.[A-Za-z]\w{0,5}\b|(?<![\w./])[A-Za-z][\w.\-]*(?:/[A-Za-z][\w.\-]*){2,}"
    r"|(?<![\w.])\.[a-z][\w\-]{1,20}\b",
    re.ASCII,
)
_NAME = re.compile(
    r"(?<!\w)(?:[A-Z]{2,5}-\d{3,8}|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[a-z][a-z0-9]*(?:_[a-z0-9]+)+|--?[a-z][\w-]*(?:=\S+)?|[a-z]+(?:[A-Z][a-z0-9]+)+(?:\(\))?)(?!\w)",
    re.ASCII,
)
_MARKED = re.compile(r"[/=:@_~$\"'|]|^-{1,2}\w|\w-\w|\w\.\w|^\.|\d")


@dataclass(frozen=True, slots=True)
class Details:
    """Finds them. Built once from the words that begin commands, the endings of files and the units after numbers."""

    command: re.Pattern[str]
    subcommands: frozenset[str]
    file: re.Pattern[str]
    measure: re.Pattern[str]

    @classmethod
    def of(
        cls, commands: Sequence[str], subcommands: Sequence[str], endings: Sequence[str], units: Sequence[str]
    ) -> Details:
        first = _either(commands)
        # A command runs on over what is plain ASCII; in English prose it ends where words without marks go on.
        argument = rf"(?:[-/.~$\"'=]{_PLAIN}*|{_PLAIN}*[-_/.=:@\d]{_PLAIN}*|[a-z]{_PLAIN}*)"
        bounded = [u for u in units if u[-1].isascii() and u[-1].isalpha()]
        other = [u for u in units if u not in bounded]
        return cls(
            re.compile(rf"(?<![\w.\-/])(?:sudo )?(?:{first})(?: {argument}){{1,12}}"),
            frozenset(subcommands),
            re.compile(rf"(?<![\w.])[\w\-]+(?:\.[\w\-]+)*\.(?:{_either(endings)})(?!\w)", re.ASCII),
            re.compile(rf"(?<![\w.])\d[\d,]*(?:\.\d+)?\s?(?:(?:{_either(bounded)})(?![A-Za-z])|{_either(other)})"),
        )

    def find(self, text: str) -> list[Detail]:
        """From left to right, none inside another: of two that overlap the weightier counts, then the longer."""
        found = sorted(self._all(text), key=lambda d: (-d.weight, d.start - d.end, d.start))
        kept: list[Detail] = []
        for detail in found:
            if all(detail.end <= k.start or detail.start >= k.end for k in kept):
                kept.append(detail)
        return sorted(kept, key=lambda d: d.start)

    def _all(self, text: str) -> Iterator[Detail]:
        for kind, pattern in self._patterns():
            for match in pattern.finditer(text):
                start, end = match.span()
                while end > start and text[end - 1] in " \t,.;:，。；：)）":
                    end -= 1
                if kind == "command" and not self._is_command(text[start:end]):
                    continue
                if 1 < end - start <= LONGEST:
                    yield Detail(start, end, kind, WEIGHTS[kind])
        for number in find_numbers(text):
            if number.unit:
                yield Detail(number.start, number.end, "amount", WEIGHTS["amount"])

    def _is_command(self, text: str) -> bool:
        """`go home` and "make sure" are talk: a command has a known second word, or an argument that no prose has."""
        _, *arguments = text.removeprefix("sudo ").split(" ")
        return text.startswith("sudo ") or arguments[0] in self.subcommands or any(map(_MARKED.search, arguments[:4]))

    def _patterns(self) -> Iterable[tuple[str, re.Pattern[str]]]:
        return (
            ("error", _ERROR), ("command", self.command), ("code", _CODE), ("version", _VERSION), ("path", _PATH),
            ("path", self.file), ("url", _URL), ("name", _NAME), ("measure", self.measure),
        )  # fmt: skip


def _either(words: Sequence[str]) -> str:
    return "|".join(re.escape(w) for w in sorted(words, key=len, reverse=True))
