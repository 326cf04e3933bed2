"""Find text that tries to instruct the agent, and what in a message is not the user's own talk (SPEC C12).

Pure and without a verdict: it says where an attempt stands, of what kind it is, and whether it is only quoted. Invisible
characters, look-alike letters, spaced or encoded writing are undone first, with every place of the original kept. The
wordings are data: `vocabulary/poisoning.toml`.
"""

from __future__ import annotations

import binascii
import html
import re
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from unicodedata import category, normalize

from jiyi.errors import SettingsError

Span = tuple[int, int]

_FLAGS = re.IGNORECASE | re.DOTALL | re.MULTILINE
_GAP = r"[^。！？!?]{0,28}?"
_START = (
    r"(?:(?:^|[.,;:!?。，；：！？\n\"'“”‘’()\[\]{}>*_-])\s*|\b(?:please|and|then|always|must|should|you|now|just|kindly|to|never"
    r"|immediately|instead|shall|also|first|finally)\s+|[请并再就要把都]|然后|立即|必须|马上)"
)
_SPACE = r"[\s_+.-]{1,3}"

# Letters of other scripts that look like Latin ones, and digits and signs that stand for letters.
_LOOKALIKE = str.maketrans(
    "аеорсухікмтвнӏԁցѕјʟɡıοαερτυνκιβη", "aeopcyxikmtbhldgsjlgioaeptuvkibn"
)  # fmt: skip
_LEET = str.maketrans("013457@$!|", "oieastasil")
_LEET_WORD = re.compile(r"[a-z][013457@$!|]{1,3}[a-z]|\b[013457@$!|][a-z]{3}")
_SPACED = re.compile(
    r"(?<!\w)(?:\w[\s\-_.·*|~^/]{1,2}){4,}\w(?!\w)|(?:[\u4e00-\u9fff][\s\-_.·*|~^/+]{1,2}){2,}[\u4e00-\u9fff]"
)
_JOINTS = re.compile(r"(?<=\w)[\s\-_.·*|~^/+]{1,2}(?=\w)")
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/_-]{16,}={0,2}(?![A-Za-z0-9+/=_-])")
_HEX = re.compile(r"(?<![0-9A-Za-z])(?:0x)?(?:[0-9a-fA-F]{2}[ :]?){12,}(?![0-9A-Za-z])")
_ESCAPES = re.compile(r"(?:\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2})+")
_PERCENT = re.compile(r"%[0-9a-fA-F]{2}[\w%.-]*%[0-9a-fA-F]{2}")
_ENTITY = re.compile(r"&#?\w{1,8};")
_ROT13 = str.maketrans("abcdefghijklmnopqrstuvwxyz", "nopqrstuvwxyzabcdefghijklm")
_QUOTED = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]+`|“[^”]*”|「[^」]*」|『[^』]*』|‘[^’\n]*’|\"[^\"\n]*\"|(?<!\w)'[^'\n]*'(?!\w)|^[ \t]*>.*?$|《[^》\n]*》",
    re.DOTALL | re.MULTILINE,
)
# Without one of these nothing is marked up.
_MARKS = re.compile(r"[<~\"'“‘«\[|/#%-]")
# The end of a text in which it announces what comes next.
_ANNOUNCED = 60
# A decoded text is one when nearly all of it can be read.
_READABLE = 0.9


@dataclass(frozen=True, slots=True)
class Attempt:
    """`[start, end)` of a text tries to instruct the agent. `kind` is one of `[kinds]`; `quoted`: only as a citation."""

    start: int
    end: int
    kind: str
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class PoisoningRules:
    """`poisoning.toml`, read and compiled."""

    kinds: Mapping[str, re.Pattern[str]]
    near: Mapping[str, tuple[str, ...]]
    foreign: re.Pattern[str]
    handed: re.Pattern[str]
    orders: re.Pattern[str]
    files: re.Pattern[str]
    commands: re.Pattern[str]


def parse_poisoning(data: Mapping[str, Any]) -> PoisoningRules:
    """The rules from the parsed `poisoning.toml`.

    Raises:
        SettingsError: a table, a word or a shape cannot be used; says which.
    """
    try:
        words = {name: _words(listed) for name, listed in data["words"].items()} | {"gap": _GAP, "start": _START}
        kinds = {name: _compiled(shapes, words) for name, shapes in data["kinds"].items()}
        foreign = data["foreign"]
        lists = {
            name: _words(foreign[name]) for name in ("sources", "saying", "tasks", "speakers", "when", "said", "found")
        }
        says = rf"(?:{lists['sources']})(?:[ \t]*(?:{lists['saying']})){{0,8}}"
        return PoisoningRules(
            kinds=kinds,
            near={name: tuple(data["near"][name]) for name in kinds},
            foreign=re.compile("|".join(foreign["shapes"]), _FLAGS),
            handed=re.compile(
                rf"(?:(?:{lists['sources']})(?:[ \t]*(?:{lists['saying']}|{lists['sources']})){{1,8}}|(?:{lists['tasks']})[^\n:：]{{0,20}})[ \t]*[:：][ \t]*\n.*",
                _FLAGS,
            ),
            orders=re.compile(
                rf"{says}\s*[:：].*?$|(?:{lists['tasks']})[^\n:：]{{0,20}}[:：].*?$"
                rf"|(?:(?:{lists['speakers']})\s*(?:{lists['when']})?\s*(?:{lists['said']})|{lists['found']})(?:\s*[:：][^\n]*|[^\n。.!?！？]*)",
                _FLAGS,
            ),
            files=re.compile(foreign["files"], re.IGNORECASE),
            commands=re.compile(foreign["commands"], re.IGNORECASE),
        )
    except (KeyError, TypeError, AttributeError, re.error) as error:
        raise SettingsError(f"poisoning.toml: {type(error).__name__} {error}") from error


def _words(listed: Sequence[str]) -> str:
    """A list as one choice. Words in Latin letters are whole words."""
    latin = [w for w in listed if w.isascii() and re.match(r"[a-z(]", w)]
    other = [w for w in listed if w not in latin]
    whole = [rf"(?<![a-z0-9])(?:{'|'.join(latin)})(?![a-z0-9])"] if latin else []
    return "|".join([*whole, *other])


def _compiled(shapes: Sequence[str], words: Mapping[str, str]) -> re.Pattern[str]:
    def slot(match: re.Match[str]) -> str:
        return words[match[1]]

    filled = [re.sub(r"\{([a-z_]+)\}", slot, shape) for shape in shapes]
    source = "|".join(f"(?:{shape})" for shape in filled)
    # A space in a shape is any short joint of words: file names write ignore_all_instructions.
    source = re.sub(r" \?", "[\\\\s_+.-]{0,3}", re.sub(r"\[ ", "[\x00", source)).replace(" ", _SPACE)
    return re.compile(source.replace("\x00", " "), _FLAGS)


@dataclass(frozen=True, slots=True)
class _Plain:
    """A text in plain writing; `places[i]` is where its i-th character stands in the original, None: right there."""

    text: str
    places: Sequence[Span] | None = None

    def original(self, start: int, end: int) -> Span:
        if self.places is None:
            return start, end
        inside = self.places[start:end]
        return (inside[0][0], inside[-1][1]) if inside else (0, 0)


@dataclass(frozen=True, slots=True)
class Screen:
    """Screens texts. Built once; pure.

    Args:
        rules: the wordings.
        fold_character: one character in its plain form, traditional ones in simplified.
    """

    rules: PoisoningRules
    fold_character: Callable[[str], str]

    def find(self, text: str) -> tuple[Attempt, ...]:
        """The attempts in a text, in order."""
        found: dict[Span, str] = {}
        plain = self._plain(text)
        for written in (plain, *_respelled(plain)):
            for kind, start, end in self._hits(written.text):
                found.setdefault(written.original(start, end), kind)
        for (start, end), inner in _decoded(text, plain.text):
            if next(self._hits(self._plain(inner).text), None) is not None:
                found.setdefault((start, end), "encoded")
        if not found:
            return ()
        quotes = [m.span() for m in _QUOTED.finditer(text)]
        return tuple(
            Attempt(start, end, kind, kind != "encoded" and any(a <= start and end <= b for a, b in quotes))
            for (start, end), kind in sorted(found.items())
        )

    def foreign(self, text: str) -> list[Span]:
        """What is marked up, quoted over lines or handed over: not the user's own talk, whatever it says."""
        lines = "\n" in text
        found = [m.span() for m in self.rules.foreign.finditer(text)] if lines or _MARKS.search(text) else []
        if lines:
            found += [m.span() for m in self.rules.handed.finditer(text)]
        return found

    def orders_of_others(self, text: str) -> list[Span]:
        """Where somebody else speaks, or where a text to be worked on stands: no standing request of the user's."""
        return [m.span() for m in self.rules.orders.finditer(text)]

    def announces(self, text: str) -> bool:
        """Whether a text ends by announcing somebody else's: what comes next is handed over."""
        return self.rules.handed.search(text.rstrip()[-_ANNOUNCED:] + "\n") is not None

    def is_file_name(self, text: str) -> bool:
        return self.rules.files.search(text) is not None

    def is_command(self, value: str) -> bool:
        """Whether a value, such as a name, is an order."""
        return self.rules.commands.search(value) is not None

    def _hits(self, text: str) -> Iterator[tuple[str, int, int]]:
        for kind, pattern in self.rules.kinds.items():
            if any(map(text.__contains__, self.rules.near[kind])):  # a generator would take twice as long
                for match in pattern.finditer(text):
                    yield kind, match.start(), match.end()

    def _plain(self, text: str) -> _Plain:
        """Lower case, simplified, half-width; without what cannot be seen; hidden tag characters as what they spell."""
        if text.isascii():
            return _Plain(text.lower())
        letters: list[str] = []
        places: list[Span] = []
        for at, character in enumerate(text):
            for letter in self._letters(character):
                letters.append(letter)
                places.append((at, at + 1))
        return _Plain("".join(letters), places)

    def _letters(self, character: str) -> str:
        if character < "\x80":
            return character.lower()
        if 0xE0020 <= ord(character) <= 0xE007E:
            return chr(ord(character) - 0xE0000).lower()
        if "\u4e00" <= character <= "\u9fff":
            return self.fold_character(character)
        if category(character) in ("Cf", "Mn", "Me", "Cc", "Co"):
            return ""
        plain = normalize("NFKC", character).lower()
        # é is read as e, й stays й.
        bare = normalize("NFKD", plain)
        return bare[0] if bare[:1].isascii() and len(plain) == 1 else plain


def _respelled(plain: _Plain) -> Iterator[_Plain]:
    """The same text with digits read as letters, and with letters that stand apart put together, where there are such."""
    latin = plain.text.translate(_LOOKALIKE)
    if latin != plain.text:
        yield _Plain(latin, plain.places)
    if _LEET_WORD.search(plain.text):
        yield _Plain(plain.text.translate(_LEET), plain.places)
    if _SPACED.search(plain.text):
        letters: list[str] = []
        places: list[Span] = []
        gaps = {
            i
            for run in _SPACED.finditer(plain.text)
            for j in _JOINTS.finditer(plain.text, *run.span())
            for i in range(*j.span())
        }
        for i, letter in enumerate(plain.text):
            if i not in gaps:
                letters.append(letter)
                places.append(plain.original(i, i + 1))
        yield _Plain("".join(letters), places)
    if "erongi" in plain.text or "略忽" in plain.text or "snoitcurtsni" in plain.text:
        yield _whole(plain.text[::-1], plain)
    if "vtaber" in plain.text or "qvfertneq" in plain.text:
        yield _whole(plain.text.translate(_ROT13), plain)


def _whole(text: str, plain: _Plain) -> _Plain:
    """A respelling whose places are lost: it stands for all of the text."""
    return _Plain(text, [plain.original(0, len(plain.text))] * len(text))


def _decoded(text: str, plain: str) -> Iterator[tuple[Span, str]]:
    """What is written in base64, hexadecimal digits, escapes, percent signs or entities, decoded."""
    if "\\" in text:
        yield from ((m.span(), _unescaped(m.group())) for m in _runs(_ESCAPES, text))
    if "%" in text and _PERCENT.search(text):
        yield (0, len(text)), _unquoted(text)
    if "&" in text and _ENTITY.search(text):
        yield (0, len(text)), html.unescape(text)
    for match in _BASE64.finditer(text):
        if inner := _readable(_from_base64(match.group())):
            yield match.span(), inner
    for match in _HEX.finditer(text):
        if inner := _readable(_from_hex(match.group())):
            yield match.span(), inner


def _runs(pattern: re.Pattern[str], text: str) -> Iterable[re.Match[str]]:
    return (m for m in pattern.finditer(text) if len(m.group()) >= 16)


def _unescaped(text: str) -> str:
    return re.sub(r"\\[ux]([0-9a-fA-F]{2,4})", lambda m: chr(int(m[1], 16)), text)


def _unquoted(text: str) -> str:
    """%69 as i, also over several bytes of one letter."""
    return re.sub(
        r"(?:%[0-9a-fA-F]{2})+", lambda m: bytes.fromhex(m.group().replace("%", "")).decode(errors="replace"), text
    )


def _from_base64(text: str) -> bytes:
    padded = text.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return b64decode(padded + "=" * (-len(padded) % 4), validate=True)
    except (binascii.Error, ValueError):
        return b""


def _from_hex(text: str) -> bytes:
    digits = re.sub(r"^0x|[ :]", "", text)
    return bytes.fromhex(digits[: len(digits) // 2 * 2])


def _readable(data: bytes) -> str:
    """The bytes as text, empty when they are none."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return ""
    good = sum(c.isprintable() or c.isspace() for c in text)
    return text if text and good >= _READABLE * len(text) else ""
