"""What of a conversation may become memory (SPEC C2, C3, C4, C12).

    message ─▶ blot out echo and other people's text ─▶ clean ─▶ distil ─▶ admit or refuse

Distilling by rules and by a model both stand behind this: `read` says what may be read and where it stands, `admit` looks at
what was read with the turns before it. Nothing here changes a message; what is not admitted stays in it as evidence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jiyi.domain.belief import Judgement, Observation, Verdict
from jiyi.domain.language import language_of
from jiyi.domain.memory import Category, Language, Message, Role, message_handle
from jiyi.domain.scope import Scope
from jiyi.errors import InstructsAgent, SettingsError
from jiyi.pipelines.context import CLOSE, OPEN, WORDS
from jiyi.ports import Unit
from jiyi.settings import GuardPolicy
from jiyi.text.cleaning import Cleaned, Cleaner
from jiyi.text.poisoning import Screen

Span = tuple[int, int]

# Ends the sentence on both sides, so that what was apart does not become one statement.
_BLOT = "\n"
_SENTENCE_END = re.compile(r"[。！？!?；;\n]|\.(?=\s)")
_LETTERS = re.compile(r"[^\W_]+")
# An attempt of these kinds is followed by what it wants; of the others, its own sentence is all.
_OPENS = frozenset({"override", "identity", "channel", "other_languages", "encoded"})
_CITATION = {Language.ZH: "引文：“{text}”", Language.EN: "Quoted text: “{text}”"}
_PASSING = frozenset({Category.PREFERENCE, Category.GOAL})


@dataclass(frozen=True, slots=True)
class EchoRules:
    """`echo.toml`, read and compiled."""

    block: re.Pattern[str]
    attributed: re.Pattern[str]


def parse_echo(data: Mapping[str, Any]) -> EchoRules:
    """The rules from the parsed `echo.toml`.

    Raises:
        SettingsError: a table or a shape cannot be used; says which.
    """
    try:
        block, attributed = data["block"], data["attributed"]
        titles = {w for words in WORDS.values() for k, w in words.items() if k in _HEADINGS}
        slots = {
            "{open}": re.escape(OPEN), "{close}": re.escape(CLOSE), "{handle}": block["handle"],
            "{title}": f"(?:{'|'.join(re.escape(t) for t in sorted(titles, key=len, reverse=True))})",
        }  # fmt: skip
        shapes = [block[name] for name in ("fence", "line", "profile_line", "heading")]
        for slot, value in slots.items():
            shapes = [shape.replace(slot, value) for shape in shapes]
        flags = re.IGNORECASE | re.DOTALL | re.MULTILINE
        english = "|".join(attributed["en"])
        return EchoRules(
            block=re.compile("|".join(f"(?:{shape})" for shape in shapes), flags),
            attributed=re.compile("|".join([*attributed["zh"], rf"(?<![a-z])(?:{english})"]), flags),
        )
    except (KeyError, TypeError, AttributeError, re.error) as error:
        raise SettingsError(f"echo.toml: {type(error).__name__} {error}") from error


_HEADINGS = frozenset(
    {"head", "profile", "rules", "facts", "memories", "passages", "session", "nothing", "nothing else"}
)


@dataclass(frozen=True, slots=True)
class Reading:
    """A message as it may be distilled: `text` is what is left to read of it."""

    message: Message
    cleaned: Cleaned

    @property
    def text(self) -> str:
        return self.cleaned.text

    def original(self, start: int, end: int) -> Span:
        """Where a stretch of `text` stands in the message."""
        return self.cleaned.original(start, end)


@dataclass(frozen=True, slots=True)
class Admitted:
    """The observations that may be judged, and a refusal for each message whose attempt was kept out."""

    observations: tuple[Observation, ...]
    refusals: tuple[Judgement, ...] = ()


@dataclass(frozen=True, slots=True)
class Declared:
    """A text to be remembered as it may be kept. `cites`: word for word, since it cites an attempt to instruct."""

    text: str
    cites: bool = False
    refusals: tuple[Judgement, ...] = ()


@dataclass(frozen=True, slots=True)
class _Bars:
    """What of a message may not be learnt. `talk` is its text without what is `foreign`; `cites`: an attempt stands in it,
    be it in quotation marks."""

    talk: str
    foreign: tuple[Span, ...]
    attempts: tuple[Span, ...]
    attributed: tuple[Span, ...]
    cites: bool


@dataclass(frozen=True, slots=True)
class _Source:
    """A message that is evidence, with the turns before it."""

    message: Message
    before: Sequence[Message]
    bars: _Bars


@dataclass(frozen=True, slots=True)
class Guard:
    """Stands at the entrance of memory. Built once; keeps nothing."""

    cleaner: Cleaner
    screen: Screen
    echo: EchoRules
    policy: GuardPolicy

    def read(self, message: Message) -> Reading:
        """What of a message may be read: only the user's own talk, cleaned. Of any other role, nothing (SPEC C4)."""
        if message.role is not Role.USER or message.forgotten or len(message.text) > self.policy.max_chars:
            return Reading(message, Cleaned("", ()))
        return Reading(message, self.cleaner.clean(self._talk(message)))

    def evidence(self, messages: Sequence[Message]) -> dict[int, tuple[Span, ...]]:
        """For each message by number, the spans that a memory may rest on; for a distiller that cites by itself.

        `messages` are in order; earlier ones are what later ones may echo.
        """
        spans: dict[int, tuple[Span, ...]] = {}
        for i, message in enumerate(messages):
            kept, barred = self.read(message).cleaned.kept, []
            if kept:
                bars, said = self._bars(message), self._said_before(messages[:i])
                echoes = [s for s in _sentences(message.text) if self._is_echo(message.text[slice(*s)], said)]
                barred = [*bars.foreign, *bars.attempts, *bars.attributed, *echoes]
            spans[message.seq] = tuple(_outside(kept, barred))
        return spans

    def admit(
        self, observations: Iterable[Observation], messages: Sequence[Message], before: Sequence[Message]
    ) -> Admitted:
        """What of the observations may be judged.

        Args:
            observations: as a distiller gives them, with evidence in `messages`.
            messages: the messages that were distilled.
            before: the turns of the session before them, in order.
        """
        turns = [*before, *messages]
        sources = {m.seq: _Source(m, turns[: len(before) + i], self._bars(m)) for i, m in enumerate(messages)}
        admitted, refused = [], set()
        for observation in observations:
            spans = [(sources[e.message], (e.start, e.end)) for e in observation.evidence if e.message in sources]
            if any(_touches(span, m.bars.attempts) for m, span in spans) or self._orders_wrongly(observation, spans):
                refused |= {m.message.seq for m, _ in spans}
            elif not self._adds_nothing(observation, spans):
                admitted.append(observation)
        return Admitted(tuple(admitted), tuple(_refusal(message_handle(seq)) for seq in sorted(refused)))

    def declared(self, text: str, category: Category | None) -> Declared:
        """A text that is to be remembered, as it may be kept: one that holds an attempt is a citation and nothing else.

        Raises:
            InstructsAgent: it is asked to be more than that.
        """
        attempts = self.screen.find(text)
        if not attempts:
            return Declared(text)
        if category not in (None, Category.GENERAL):
            worst = max(attempts, key=lambda a: a.end - a.start)
            raise InstructsAgent(text[worst.start : worst.end], worst.kind)
        made = [a for a in attempts if not a.quoted]
        if not made:
            return Declared(text, cites=True)
        quoted = _CITATION[language_of(text)].format(text=text)
        return Declared(quoted, cites=True, refusals=(_refusal(f"the text ({made[0].kind})"),))

    # ------------------------------------------------------------------ what may not be read

    def _talk(self, message: Message) -> str:
        """The message with what is no talk of the user's blotted out, every other character in its place."""
        return _blotted(message.text, self._blots(message))

    def _blots(self, message: Message) -> Iterator[Span]:
        text = message.text
        yield from (m.span() for m in self.echo.block.finditer(text))
        yield from self.screen.foreign(text)
        if "\n" in text:
            yield from self.cleaner.others(text, message.name)

    def _bars(self, message: Message) -> _Bars:
        foreign = list(self._blots(message))
        talk = _blotted(message.text, foreign)
        found = self.screen.find(talk)
        attempts = []
        for attempt in found:
            start, end = _sentence(talk, attempt.start, attempt.end)
            if not attempt.quoted:
                # Where a message tries to instruct, with what it leads up to.
                attempts.append((start, len(talk) if attempt.kind in _OPENS else end))
        attributed = [_sentence(message.text, *m.span()) for m in self.echo.attributed.finditer(message.text)]
        return _Bars(talk, tuple(foreign), tuple(attempts), tuple(attributed), cites=bool(found))

    def _attempts(self, text: str) -> bool:
        return any(not a.quoted for a in self.screen.find(text))

    # ------------------------------------------------------------------ what may not be learnt

    def _orders_wrongly(self, observation: Observation, spans: Sequence[tuple[_Source, Span]]) -> bool:
        """Whether an observation is an attempt in other words, or a standing request that is not the user's own."""
        triple = observation.triple
        # What a message without an attempt says word for word is none.
        literal = triple.object if triple is not None else observation.text
        if not spans or any(m.bars.cites or literal not in m.message.text for m, _ in spans):
            found = self.screen.find(observation.text)
            if any(not a.quoted for a in found):
                return True
            if found and (triple is not None or observation.category is not Category.GENERAL):
                return True
        if triple is not None and self.screen.is_command(triple.object):
            return True
        if observation.category is not Category.RULE:
            return False
        return self.screen.is_file_name(observation.text) or any(
            m.bars.attempts
            or any(start <= span[0] < end for start, end in self.screen.orders_of_others(m.message.text))
            or self._continues_attempt(m)
            for m, span in spans
        )

    def _continues_attempt(self, source: _Source) -> bool:
        """An attempt split over turns, one made just before, or a text that the turn before announced."""
        own = [m for m in source.before if m.role is Role.USER][-self.policy.split_turns :]
        if not own or self.policy.split_turns == 0:
            return False
        talk = "\n".join([*map(self._talk, own), source.bars.talk])
        return self.screen.announces(own[-1].text) or self._attempts(talk)

    def _adds_nothing(self, observation: Observation, spans: Sequence[tuple[_Source, Span]]) -> bool:
        mood = observation.category in _PASSING and not observation.kept
        if mood and any(self.cleaner.passing(m.message.text[start:end]) for m, (start, end) in spans):
            return True
        return bool(spans) and all(self._is_echoed(m, span) for m, span in spans)

    def _is_echoed(self, source: _Source, span: Span) -> bool:
        """Whether a stretch is not the user's, is given back to the assistant, or is a copy of what stood before."""
        if _touches(span, source.bars.foreign) or _touches(span, source.bars.attributed):
            return True
        text = source.message.text
        return self._is_echo(text[slice(*_sentence(text, *span))], self._said_before(source.before))

    def _said_before(self, before: Sequence[Message]) -> str:
        return "\n".join(_letters(m.text) for m in before[-self.policy.turns :] if m.role is not Role.USER)

    def _is_echo(self, sentence: str, said: str) -> bool:
        """Whether a sentence is long enough to be a copy and stands in what the others said."""
        letters = _letters(sentence)
        weight = len(letters) + sum("\u4e00" <= c <= "\u9fff" for c in letters)
        return weight >= self.policy.echo_letters and letters in said


def turns_before(unit: Unit, scope: Scope, message: Message, turns: int) -> list[Message]:
    """The turns of the session before a message, in order: what it may echo."""
    return unit.messages.window(
        scope, session=message.session, before=(message.at, message.seq), latest=True, limit=max(1, turns)
    )


def _refusal(what: str) -> Judgement:
    reason = f"{what} tries to instruct the agent: no rule and no part of the profile, a quotation at most"
    return Judgement(Verdict.REFUSE, "tries-to-instruct", (reason,))


def _blotted(text: str, spans: Iterable[Span]) -> str:
    for start, end in spans:
        text = text[:start] + _BLOT * (end - start) + text[end:]
    return text


def _letters(text: str) -> str:
    return "".join(_LETTERS.findall(text.lower()))


def _sentences(text: str) -> Iterator[Span]:
    start = 0
    for match in _SENTENCE_END.finditer(text):
        yield start, match.end()
        start = match.end()
    if start < len(text):
        yield start, len(text)


def _sentence(text: str, start: int, end: int) -> Span:
    """The whole sentences around a stretch."""
    first = max((m.end() for m in _SENTENCE_END.finditer(text, 0, start)), default=0)
    last = _SENTENCE_END.search(text, max(start, end - 1))
    return first, last.end() if last else len(text)


def _touches(span: Span, others: Iterable[Span]) -> bool:
    return any(span[0] < end and start < span[1] for start, end in others)


def _outside(kept: Iterable[Span], barred: Sequence[Span]) -> Iterator[Span]:
    """The parts of the kept stretches that no barred one covers."""
    for start, end in kept:
        at = start
        for left, right in sorted(barred):
            if left < end and right > at:
                if left > at:
                    yield at, left
                at = max(at, right)
        if at < end:
            yield at, end
