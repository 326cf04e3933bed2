"""`jiyi eval sample`: stored memories for people to judge, with false ones mixed in, and what their labels come to (SPEC R12).

A sheet holds memories with the turns they rest on, in random order; the key, a file of its own, says which are real.
Whoever labels never sees the key. The false ones are made of real memories that are not on the sheet, by these rules:

- *value*: the object is replaced by that of another memory with the same relation and language that this user never
  stated for it.
- *person*: the user's fact becomes the neighbour's (用户的邻居, User's neighbour); anybody else's becomes the user's.
- *date*: a date in the text, else the day the memory is said to be of, is moved by 40–300 days into the past.
- *negation*: the antonym of the relation, else the sentence as no longer true; a denial becomes a statement.

A label is `good`, `bad` or `unsure`; unsure counts as not good and as not detected.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import combinations
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from jiyi.domain.memory import IncomingMessage, Language, Memory, message_handle
from jiyi.domain.relations import USER, Vocabulary, render, subject_name
from jiyi.errors import InputError
from jiyi.evaluation.datasets import locomo
from jiyi.evaluation.datasets.files import measuring
from jiyi.evaluation.extraction import Chat
from jiyi.evaluation.harness import TIMEZONE, OpenLayer, open_default
from jiyi.evaluation.observing import opened
from jiyi.evaluation.values import fold
from jiyi.importers.formats import read_file
from jiyi.scoped_memory import ScopedMemory

GOOD, BAD, UNSURE = "good", "bad", "unsure"
REAL = "real"
KINDS = ("value", "person", "date", "negation")
NEIGHBOUR = {Language.ZH: "用户的邻居", Language.EN: "User's neighbour"}
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True)
class SamplePolicy:
    """How a sheet is mixed, and when a listed fact counts as stored."""

    planted: float = 0.2  # of the sheet
    doubtful: float = 0.5  # of a fact's keywords in one memory: to be looked at


@dataclass(frozen=True, slots=True)
class Stored:
    """A live memory of one source, and its evidence: the turns it rests on, each with the turn before."""

    source: str
    memory: Memory
    turns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a sheet, with what the key says of it."""

    stored: Stored
    text: str
    subject: str
    day: str
    kind: str = REAL


# ------------------------------------------------------------------ what is stored


@measuring()
def read_chats(data: Path, half: str) -> list[Chat]:
    """MemoryBank in both languages, and LoCoMo with each speaker as the user.

    Raises:
        InputError: no such files. UnreadableFile: a file of another shape.
    """
    zone = ZoneInfo(TIMEZONE)
    chats = []
    for path in sorted((data / "memorybank_zh").glob("memory_bank_*.json")):
        people: dict[str, list[IncomingMessage]] = {}
        for conversation in read_file(path, format="memorybank", zone=zone).conversations:
            people.setdefault(str(conversation.user), []).extend(conversation.messages)
        chats += [Chat(f"{path.stem}/{name}", tuple(messages), ()) for name, messages in people.items()]
    return chats + locomo.read_chats(data / "locomo", half, zone)


def collect(
    chats: Sequence[Chat], open_layer: OpenLayer = open_default, step: Callable[[int], None] = lambda _: None
) -> list[Stored]:  # fmt: skip
    """Observe chats at default settings, and gather what is stored with the turns it rests on."""
    stored: list[Stored] = []
    with opened(open_layer) as observed:
        for chat in chats:
            me = observed(chat.id, chat.messages)
            stored += [Stored(chat.id, memory, tuple(_turns(me, memory))) for memory in me.memories()]
            step(1)
    return stored


def _turns(me: ScopedMemory, memory: Memory) -> Iterator[str]:
    """Each turn of the evidence after the one before it, in order."""
    shown: dict[int, str] = {}
    for message in me.evidence(memory.id):
        around = me.history(around=message_handle(message.seq), limit=3).messages
        for turn in (turn for turn in around if turn.seq <= message.seq):
            shown[turn.seq] = f"{turn.at:%Y-%m-%d} {turn.name or turn.role.value}: {turn.text}"
    yield from (shown[seq] for seq in sorted(shown))


# ------------------------------------------------------------------ drawing a sheet


def draw(stored: Sequence[Stored], size: int, seed: int, vocabulary: Vocabulary, policy: SamplePolicy) -> list[Row]:
    """`size` rows in random order, of them `policy.planted` false; the same for the same seed and memories.

    Raises:
        InputError: there are fewer memories than that.
    """
    if size < 1 or size > len(stored):
        raise InputError(f"size = {size}: {len(stored):,} memories were stored; ask for 1 to {len(stored):,}")
    rng = random.Random(seed)
    shuffled = rng.sample(list(stored), len(stored))
    wanted = round(policy.planted * size)
    rows = [_real(s) for s in shuffled[: size - wanted]]
    rows += _planted(shuffled[size - wanted :], wanted, stored, vocabulary, rng)
    rng.shuffle(rows)
    return rows


def _real(stored: Stored) -> Row:
    memory = stored.memory
    # The day where it was said, as the turns show it.
    day = memory.affirmed_at.astimezone(ZoneInfo(TIMEZONE)).date().isoformat()
    return Row(stored, memory.text, _subject(memory), day)


def _subject(memory: Memory) -> str:
    if memory.triple is None:
        return ""
    return subject_name(memory.triple.subject, memory.language)


def _planted(
    pool: Sequence[Stored], wanted: int, stored: Sequence[Stored], vocabulary: Vocabulary, rng: random.Random
) -> Iterator[Row]:
    """False rows, the kinds by turns as far as the memories left allow."""
    made = 0
    for one in pool:
        if made == wanted:
            return
        first = made % len(KINDS)
        rows = (falsify(one, kind, stored, vocabulary, rng) for kind in (*KINDS[first:], *KINDS[:first]))
        row = next((row for row in rows if row is not None), None)
        if row is not None:
            made += 1
            yield row


def falsify(one: Stored, kind: str, stored: Sequence[Stored], vocabulary: Vocabulary, rng: random.Random) -> Row | None:
    """The memory made false in one way, or None where that cannot be done."""
    row = _real(one)
    if kind == "date":
        return _other_day(row, rng)
    text_subject = _REWRITTEN[kind](one, stored, vocabulary, rng)
    if text_subject is None or fold(text_subject[0]) == fold(row.text):
        return None
    return replace(row, text=text_subject[0], subject=text_subject[1], kind=kind)


def _other_day(row: Row, rng: random.Random) -> Row:
    by = timedelta(days=rng.randint(40, 300))
    written = _DATE.search(row.text)
    if written is None:
        return replace(row, day=(date.fromisoformat(row.day) - by).isoformat(), kind="date")
    moved = (date.fromisoformat(written.group()) - by).isoformat()
    return replace(row, text=row.text.replace(written.group(), moved), kind="date")


Rewritten = tuple[str, str] | None


def _other_value(one: Stored, stored: Sequence[Stored], vocabulary: Vocabulary, rng: random.Random) -> Rewritten:
    triple, language = one.memory.triple, one.memory.language
    relation = None if triple is None else vocabulary.get(triple.relation)
    if triple is None or relation is None:
        return None
    own = {fold(s.memory.triple.object) for s in stored if s.source == one.source and s.memory.triple is not None}
    others = sorted(
        {
            s.memory.triple.object
            for s in stored
            if s.memory.triple is not None
            and (s.memory.triple.relation, s.memory.language) == (triple.relation, language)
            and fold(s.memory.triple.object) not in own
        }
    )
    if not others:
        return None
    value = rng.choice(others)
    return render(relation, triple.subject, value, language, negated=triple.negated), _subject(one.memory)


def _other_person(one: Stored, stored: Sequence[Stored], vocabulary: Vocabulary, rng: random.Random) -> Rewritten:
    triple, language = one.memory.triple, one.memory.language
    relation = None if triple is None else vocabulary.get(triple.relation)
    if triple is None or relation is None:
        return None
    who = NEIGHBOUR[language] if triple.subject == USER else USER
    shown = subject_name(who, language)
    return render(relation, who, triple.object, language, negated=triple.negated), shown


def _flipped(one: Stored, stored: Sequence[Stored], vocabulary: Vocabulary, rng: random.Random) -> Rewritten:
    triple, language = one.memory.triple, one.memory.language
    relation = None if triple is None else vocabulary.get(triple.relation)
    if triple is None or relation is None:
        return None
    opposite = vocabulary.get(relation.antonym) if relation.antonym and not triple.negated else None
    negated = opposite is None and not triple.negated
    return render(opposite or relation, triple.subject, triple.object, language, negated=negated), _subject(one.memory)


_REWRITTEN: Mapping[str, Callable[[Stored, Sequence[Stored], Vocabulary, random.Random], Rewritten]] = {
    "value": _other_value,
    "person": _other_person,
    "negation": _flipped,
}


# ------------------------------------------------------------------ files


def sheet_lines(rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    """What whoever labels sees; `label` is to be filled in."""
    for number, row in enumerate(rows, 1):
        yield {
            "n": number, "memory": row.text, "date": row.day, "subject": row.subject, "turns": list(row.stored.turns),
            "label": "",
        }  # fmt: skip


def key_lines(rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    """What each row truly is: `real`, or the way in which it was made false and the memory it was made of."""
    for number, row in enumerate(rows, 1):
        yield {
            "n": number,
            "kind": row.kind,
            "source": row.stored.source,
            "id": row.stored.memory.id,
            "of": row.stored.memory.text,
        }


def write_lines(path: Path, lines: Iterable[Mapping[str, Any]]) -> None:
    """Raises: InputError: the file exists already."""
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}: name another file with --out") from error


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Raises: InputError: not there, or a line is no JSON object."""
    try:
        found = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{path}: a line is no JSON: {error}") from error
    if not all(isinstance(line, dict) for line in found):
        raise InputError(f"{path}: every line must be a JSON object")
    return found


def read_labels(path: Path, key: Mapping[int, str]) -> dict[int, str]:
    """The labels of a sheet by row.

    Raises:
        InputError: a row of the key has none, or one that does not exist.
    """
    labels = {line.get("n"): str(line.get("label", "")).strip().lower() for line in read_lines(path)}
    wrong = [str(n) for n in key if labels.get(n) not in (GOOD, BAD, UNSURE)]
    if wrong:
        shown = ", ".join(wrong[:10]) + (", …" if len(wrong) > 10 else "")
        raise InputError(f"{path}: rows {shown} need a label: {GOOD}, {BAD} or {UNSURE}")
    return {n: labels[n] for n in key}


def read_key(path: Path) -> dict[int, str]:
    """Row to kind. Raises: InputError: this is no key."""
    key = {line.get("n"): line.get("kind") for line in read_lines(path)}
    if not key or not all(isinstance(n, int) and kind in (REAL, *KINDS) for n, kind in key.items()):
        raise InputError(f"{path}: this is no key that `jiyi eval sample` wrote")
    return {int(str(n)): str(kind) for n, kind in key.items()}


# ------------------------------------------------------------------ what labels come to


@dataclass(frozen=True, slots=True)
class Share:
    """`part` of `whole`, with its 95 % Wilson interval."""

    part: int
    whole: int

    @property
    def value(self) -> float | None:
        return self.part / self.whole if self.whole else None

    @property
    def interval(self) -> tuple[float, float]:
        return wilson(self.part, self.whole)

    def data(self) -> dict[str, Any]:
        return {"part": self.part, "whole": self.whole, "share": self.value, "interval": list(self.interval)}

    def __str__(self) -> str:
        if not self.whole:
            return "none"
        low, high = self.interval
        return f"{self.part} of {self.whole} = {self.part / self.whole:.1%} (95 %: {low:.1%}–{high:.1%})"


def wilson(part: int, whole: int, z: float = 1.959964) -> tuple[float, float]:
    """The Wilson score interval of a share; (0, 1) of nothing."""
    if not whole:
        return 0.0, 1.0
    share, square = part / whole, z * z / whole
    middle = (share + square / 2) / (1 + square)
    half = z * math.sqrt(share * (1 - share) / whole + square / (4 * whole)) / (1 + square)
    return max(0.0, middle - half), min(1.0, middle + half)


def kappa(a: Sequence[str], b: Sequence[str]) -> float | None:
    """Cohen's kappa: agreement beyond chance; None where chance alone would agree on everything."""
    size = len(a)
    if not size:
        return None
    observed = sum(x == y for x, y in zip(a, b, strict=True)) / size
    first, second = Counter(a), Counter(b)
    chance = sum(first[label] * second[label] for label in first) / size**2
    return None if chance == 1 else (observed - chance) / (1 - chance)


@dataclass(frozen=True, slots=True)
class Judged:
    """What one sheet of labels says."""

    name: str
    good: Share
    detected: Mapping[str, Share]  # by kind of planted row, and "all"


@dataclass(frozen=True, slots=True)
class Verdicts:
    sheets: tuple[Judged, ...]
    agreement: Mapping[str, float | None]  # "a / b" → Cohen's kappa

    def text(self) -> str:
        lines = ["| labels | judged good | planted found | " + " | ".join(KINDS) + " |"]
        lines.append("| --- " * (3 + len(KINDS)) + "|")
        for sheet in self.sheets:
            kinds = " | ".join(f"{sheet.detected[k].part}/{sheet.detected[k].whole}" for k in KINDS)
            lines.append(f"| {sheet.name} | {sheet.good} | {sheet.detected['all']} | {kinds} |")
        for pair, value in self.agreement.items():
            lines.append(f"\nCohen's kappa, {pair}: {'undefined' if value is None else f'{value:.3f}'}")
        lines.append("\ngood: of the real memories. planted found: false ones labelled bad. unsure is neither.")
        return "\n".join(lines)

    def data(self) -> dict[str, Any]:
        return {
            "sheets": [
                {"name": s.name, "good": s.good.data(), "detected": {k: v.data() for k, v in s.detected.items()}}
                for s in self.sheets
            ],
            "kappa": dict(self.agreement),
        }


def judge(sheets: Mapping[str, Mapping[int, str]], key: Mapping[int, str]) -> Verdicts:
    """Hold labels, by the name of who gave them, against the key."""
    judged = []
    for name, labels in sheets.items():
        real = [n for n, kind in key.items() if kind == REAL]
        good = Share(sum(labels[n] == GOOD for n in real), len(real))
        detected = {kind: _detected(labels, [n for n, k in key.items() if k == kind]) for kind in KINDS}
        every = _detected(labels, [n for n, k in key.items() if k != REAL])
        judged.append(Judged(name, good, {"all": every, **detected}))
    agreement = {
        f"{a} / {b}": kappa([sheets[a][n] for n in key], [sheets[b][n] for n in key])
        for a, b in combinations(sheets, 2)
    }
    return Verdicts(tuple(judged), agreement)


def _detected(labels: Mapping[int, str], rows: Sequence[int]) -> Share:
    return Share(sum(labels[n] == BAD for n in rows), len(rows))


# ------------------------------------------------------------------ worth keeping


@dataclass(frozen=True, slots=True)
class Worth:
    """A fact that somebody found worth keeping. A keyword may name wordings, `a|b`; one of them is enough."""

    source: str
    fact: str
    keywords: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Kept:
    """How many facts are stored, with the doubtful ones and the memory that comes nearest."""

    stored: Share
    doubtful: tuple[tuple[Worth, str], ...]
    missing: tuple[Worth, ...]
    policy: SamplePolicy

    def text(self) -> str:
        lines = [
            f"worth keeping and stored: {self.stored}; doubtful: {len(self.doubtful)}; missing: {len(self.missing)}",
            "stored: one live memory of that source holds every keyword (folded; a wording of it is enough). doubtful: at "
            f"least {self.policy.doubtful:.0%} of them; look at these:",
        ]
        lines += [f"- {worth.source}: {worth.fact} · {near}" for worth, near in self.doubtful]
        return "\n".join(lines)

    def data(self) -> dict[str, Any]:
        return {
            "stored": self.stored.data(),
            "doubtful": [{"source": w.source, "fact": w.fact, "nearest": near} for w, near in self.doubtful],
            "missing": [{"source": w.source, "fact": w.fact} for w in self.missing],
        }


def read_worth(path: Path) -> list[Worth]:
    """Lines `{"source": …, "fact": …, "keywords": […]}`.

    Raises:
        InputError: a line that is not so.
    """
    found = []
    for number, line in enumerate(read_lines(path), 1):
        words = line.get("keywords")
        named = all(isinstance(line.get(k), str) and line[k] for k in ("source", "fact"))
        if not named or not isinstance(words, list) or not words or not all(isinstance(w, str) and w for w in words):
            raise InputError(f'{path}, line {number}: write {{"source": "…", "fact": "…", "keywords": ["…"]}}')
        found.append(Worth(line["source"], line["fact"], tuple(words)))
    return found


def find_worth(
    worth: Sequence[Worth], stored: Sequence[Stored], sources: Collection[str], policy: SamplePolicy
) -> Kept:
    """How many listed facts are among the stored memories of their `sources`.

    Raises:
        InputError: a source that nothing was observed from.
    """
    if unknown := {fact.source for fact in worth} - set(sources):
        raise InputError(f"no source {', '.join(sorted(unknown)[:5])}; there are {', '.join(sorted(sources))}")
    by_source: dict[str, list[str]] = {}
    for one in stored:
        by_source.setdefault(one.source, []).append(one.memory.text)
    kept, doubtful, missing = 0, [], []
    for fact in worth:
        best, near = max(
            ((_held(fact.keywords, text), text) for text in by_source.get(fact.source, ())),
            key=lambda pair: pair[0], default=(0.0, ""),
        )  # fmt: skip
        if best == 1:
            kept += 1
        elif best >= policy.doubtful:
            doubtful.append((fact, near))
        else:
            missing.append(fact)
    return Kept(Share(kept, len(worth)), tuple(doubtful), tuple(missing), policy)


def _held(keywords: Sequence[str], text: str) -> float:
    folded = fold(text)
    return sum(any(_stands(fold(w), folded) for w in word.split("|")) for word in keywords) / len(keywords)


def _stands(word: str, text: str) -> bool:
    """A word of letters stands at the beginning of a word: goat in goats, and not eat in heat."""
    return bool(re.search(rf"(?<![a-z0-9]){re.escape(word)}", text)) if word.isascii() else word in text
