"""`USER.md`: the profile as a file that its user may edit (SPEC B7). How it reads, and how an edited one is read.

    # 我的记忆                                     the title
    <!-- … -->                                    how to edit it
    ## 个人信息                                    a category
    - 住在杭州 [m3]                                a line, and the memory it tells of
    <!-- jiyi profile 1 … m3:5f0c9a27e1b4 -->     what was written: when, for whom, and each line's digest

The last comment is the base of a three-way merge. It stands at the end, so that a file that was cut off has none and
nothing missing from it counts as taken out.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from jiyi.domain.memory import Category, Language, Memory
from jiyi.domain.profile import UNVERIFIED, ProfileLine
from jiyi.domain.scope import Scope

VERSION = "1"
TITLES = {Language.ZH: "我的记忆", Language.EN: "What is remembered of me"}
HEADINGS = {
    Category.PROFILE: {Language.ZH: "个人信息", Language.EN: "Profile"},
    Category.PREFERENCE: {Language.ZH: "偏好", Language.EN: "Preferences"},
    Category.GOAL: {Language.ZH: "目标", Language.EN: "Goals"},
    Category.PROJECT: {Language.ZH: "项目", Language.EN: "Projects"},
    Category.TASK: {Language.ZH: "任务", Language.EN: "Tasks"},
    Category.EVENT: {Language.ZH: "事件", Language.EN: "Events"},
    Category.RELATIONSHIP: {Language.ZH: "关系", Language.EN: "Relationships"},
    Category.RULE: {Language.ZH: "长期要求", Language.EN: "Standing rules"},
    Category.GENERAL: {Language.ZH: "其他", Language.EN: "Other"},
}
# An id here could be taken for that of a line, once an editor has wrapped it.
HOW_TO = {
    Language.ZH: "由 jiyi 写出，可以直接修改：改一行是更正，加一行“- …”是补充，删一行是否定。"
    "行尾的 [m…] 和文件末尾的注释请保留。改完执行 jiyi profile --read 读回。",
    Language.EN: "Written by jiyi, and yours to edit: change a line to correct it, add one (“- …”) to have it remembered, "
    "delete one to reject it. Keep the [m…] at its end and the comment at the end of the file, then run "
    "jiyi profile --read.",
}
_CATEGORY_OF = {name.casefold(): category for category, names in HEADINGS.items() for name in names.values()}
_OURS = {*TITLES.values(), *(name for names in HEADINGS.values() for name in names.values())}

_BULLET = re.compile(r"\s*(?:[-+•](?![-+\d])\s*|\*\s+|[-+]\s+|\d{1,3}[.)、]\s+)(.*)", re.DOTALL)
_RULE = re.compile(r"\s*([-*_])(?:\s*\1){2,}\s*")
_HEADING = re.compile(r"\s{0,3}(#{1,6})\s*(.*?)\s*#*\s*")
_FENCE = re.compile(r"\s*(```|~~~)")
# Editors and converters write brackets in full width, or escape them.
_CITED = re.compile(r"\s*\\?[\[［【]\s*m(\d{1,15})\s*\\?[\]］】]\s*$", re.IGNORECASE)
_MARKED = re.compile(r"\s*(?:" + "|".join(re.escape(mark.strip()) for mark in UNVERIFIED.values()) + r")\s*$")
_BASE = re.compile(r"jiyi profile (\S+) (\S+) (\S+)((?: m\d+:[0-9a-f]+)*)")
_MARK = re.compile(r" m(\d+):([0-9a-f]+)")


def digest(text: str) -> str:
    """What a line says, as 12 hexadecimal digits: spaces, line ends and our own marks do not count."""
    plain = re.sub(r"\s+", "", unicodedata.normalize("NFC", _MARKED.sub("", text)))
    return hashlib.blake2b(plain.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def owner_mark(scope: Scope) -> str:
    """For whom a file was written; it does not say the name."""
    return hashlib.blake2b(f"{scope.tenant}\x1f{scope.user}".encode(), digest_size=6).hexdigest()


# ------------------------------------------------------------------ writing


def write_user_file(scope: Scope, lines: Sequence[ProfileLine], at: datetime, language: Language | None = None) -> str:
    """The whole file.

    Args:
        lines: of the profile, in order, all of them: the file is under no budget.
        language: of headings; by default the one that most lines are in.
    """
    tongue = language or _spoken(lines)
    parts = [f"# {TITLES[tongue]}", "", f"<!-- {HOW_TO[tongue]} -->"]
    heading = None
    for line in lines:
        if line.memory.category is not heading:
            heading = line.memory.category
            parts += ["", f"## {HEADINGS[heading][tongue]}", ""]
        parts.append(line.text)
    marks = "".join(f"\n{line.memory.id}:{digest(line.memory.text)}" for line in lines)
    return "\n".join([*parts, "", f"<!-- jiyi profile {VERSION} {at.isoformat()} {owner_mark(scope)}{marks} -->", ""])


def _spoken(lines: Iterable[ProfileLine]) -> Language:
    tongues = [line.memory.language for line in lines]
    return Language.EN if tongues.count(Language.EN) > tongues.count(Language.ZH) else Language.ZH


# ------------------------------------------------------------------ reading


@dataclass(frozen=True, slots=True)
class FileLine:
    """A line that states something. `cites` is the number of the memory that it tells of; `category` its heading's;
    `stored` the text as it would be stored, where that is another (SPEC C11)."""

    number: int
    text: str
    cites: int | None = None
    category: Category | None = None
    stored: str = ""

    @property
    def digest(self) -> str:
        return digest(self.text)

    @property
    def stored_digest(self) -> str:
        return digest(self.stored or self.text)


@dataclass(frozen=True, slots=True)
class Base:
    """What was written: when, for whom, and what each line said."""

    version: str
    at: datetime
    owner: str
    digests: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class UserFile:
    """A file as it was read. `others`: the numbers of lines that state nothing we know how to read, and are left alone."""

    lines: tuple[FileLine, ...]
    base: Base | None
    others: tuple[int, ...] = ()
    titles: tuple[str, ...] = ()


@dataclass(slots=True)
class _Reading:
    lines: list[FileLine] = field(default_factory=list)
    others: list[int] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)
    base: Base | None = None
    category: Category | None = None
    fenced: bool = False


def read_user_file(text: str) -> UserFile:
    """Whatever an editor left: line ends, indents, bullets, headings and comments of any kind."""
    reading = _Reading()
    for number, block in _blocks(text.removeprefix("\ufeff")):
        _take(reading, number, block)
    return UserFile(tuple(reading.lines), reading.base, tuple(reading.others), tuple(reading.titles))


def _blocks(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their numbers; a comment, and a line that was wrapped, in one piece under the number of its first."""
    number, pending = 0, ""
    for at, line in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        if pending and (_goes_on(pending, line) or _continues(pending, line)):
            pending = f"{pending}\n{line}"
            continue
        if pending:
            yield number, pending
        number, pending = at, line
    if pending:
        yield number, pending


def _goes_on(block: str, line: str) -> bool:
    """A comment goes on to its end; one that was left open must not swallow what is cited below it."""
    is_open = block.lstrip().startswith("<!--") and "-->" not in block
    return is_open and not _CITED.search(line) and not line.lstrip().startswith("<!--")


def _continues(block: str, line: str) -> bool:
    """An indented line after a bullet that does not cite yet goes on with it."""
    wrapped = line[:1] in (" ", "\t") and line.strip() != "" and not _BULLET.fullmatch(line)
    return wrapped and _BULLET.fullmatch(block) is not None and not _CITED.search(block)


def _take(reading: _Reading, number: int, block: str) -> None:
    stripped = block.strip()
    cited, bullet = _CITED.search(block), _BULLET.fullmatch(block)
    if _FENCE.match(block):
        reading.fenced = not reading.fenced
        reading.others.append(number)
    elif stripped.startswith("<!--"):
        _take_comment(reading, number, stripped)
    elif not stripped or _RULE.fullmatch(block):
        return
    elif cited is not None or (bullet is not None and not reading.fenced):
        said = block if bullet is None else bullet[1]
        cites = None if cited is None else int(cited[1])
        text = " ".join(_MARKED.sub("", _CITED.sub("", said)).split())
        if text or cites is not None:
            reading.lines.append(FileLine(number, text, cites, reading.category))
    elif (heading := _HEADING.fullmatch(block)) is not None and not reading.fenced:
        _take_heading(reading, number, heading[2], level=len(heading[1]))
    else:
        reading.others.append(number)


def _take_comment(reading: _Reading, number: int, comment: str) -> None:
    inside = " ".join(comment.removeprefix("<!--").removesuffix("-->").split())
    # A comment that was cut off may lack lines.
    found = _BASE.fullmatch(inside) if comment.endswith("-->") else None
    if found is None:
        if inside not in HOW_TO.values():
            reading.others.append(number)
        return
    try:
        at = datetime.fromisoformat(found[2])
    except ValueError:
        return
    if at.tzinfo is not None:
        reading.base = Base(found[1], at, found[3], {int(seq): mark for seq, mark in _MARK.findall(found[4])})


def _take_heading(reading: _Reading, number: int, text: str, *, level: int) -> None:
    if level == 1:
        reading.titles.append(text)
    reading.category = _CATEGORY_OF.get(text.casefold())
    if text not in _OURS:
        reading.others.append(number)


def digest_of(memory: Memory) -> str:
    return digest(memory.text)
