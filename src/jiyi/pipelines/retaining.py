"""What retention keeps of talk: which statements become memories, and what is left of the words (SPEC C5).

The full words of a message exist from when it is acknowledged until it is distilled, since distilling needs them. Under
`minimal` one transaction then learns what is to be kept and takes the rest away: the cited spans stay in their places, a
span of other talk leaves one digest, all else is a tombstone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from jiyi.domain.belief import Observation
from jiyi.domain.closing import within
from jiyi.domain.forgetting import BLOT
from jiyi.domain.language import language_of
from jiyi.domain.memory import Category, Evidence, Language, Memory, Message, Role
from jiyi.domain.plans import Actor, Change, Plan, Verb
from jiyi.domain.relations import USER, WHOEVER
from jiyi.domain.scope import Scope
from jiyi.domain.settling import OUTRIGHT
from jiyi.domain.standing import Detail, RetentionPolicy
from jiyi.pipelines.distil import Distiller
from jiyi.pipelines.distilling.reading import Plain
from jiyi.pipelines.gateway import Gateway, Left
from jiyi.pipelines.guarding import Admitted, Guard, turns_before
from jiyi.pipelines.high_value import HighValue
from jiyi.pipelines.redacting import Redaction
from jiyi.ports import Unit

LONGEST_WHOLE = 500
"""Characters of a sentence that is kept as it stands; a longer one is no sentence of talk."""
SMALL = 1
"""Importance of what only `everything` keeps: it goes first (SPEC F3)."""
CHUNK = 500

_SEPARATOR = {Language.ZH: "、", Language.EN: ", "}
_BETWEEN = re.compile(r"、|, ")


@dataclass(frozen=True, slots=True)
class Retaining:
    """Chooses what is kept. Built once; `words` gives the telling words of a text, in order, as a person would see them.

    What a stored message states is read here and nowhere else, for the first time or again.
    """

    distiller: Distiller
    guard: Guard
    gateway: Gateway
    high_value: HighValue
    redaction: Redaction
    words: Callable[[str], list[str]]
    stems: Callable[[str], frozenset[str]]
    policy: RetentionPolicy

    def detail(self, unit: Unit, scope: Scope) -> Detail:
        """The detail in force for a user."""
        return self.policy.detail_of(unit.standings.get(scope))

    # -------------------------------------------------------------- what is learnt

    def read(self, unit: Unit, scope: Scope, message: Message, detail: Detail) -> list[Observation]:
        """What a message states that is to be kept under this detail. Blots state nothing."""
        if message.role is not Role.USER:
            return []
        zone = message.at.tzinfo or UTC
        legible = self.redaction.legible(message)
        cleaned = self.guard.read(legible).cleaned
        read = self.distiller.distil(
            legible, zone=zone, cleaned=cleaned, known=lambda o: self._about_known(unit, scope, o)
        )
        if detail is not Detail.BALANCED:
            sentences = self.distiller.plain(legible, zone=zone, cleaned=cleaned)
            plain = [p for p in sentences if p.end - p.start <= LONGEST_WHOLE]
            valued = [p for p in plain if self._named(p)]
            whole = [o for p in valued if (o := self._in_full(legible, p, read)) is not None]
            if detail is Detail.MINIMAL:
                read = [o for o in read if self._kept(unit, scope, o, valued)]
            else:
                whole += [self._aside(legible, p) for p in plain if self._told(p) and not _overlap(p, [*read, *whole])]
            read = [*read, *whole]
        if message.altered:
            read = [replace(o, replaces="", replaces_text="") if BLOT in o.replaces_text else o for o in read]
            read = [o for o in read if BLOT not in o.text]
        return [o for o in read if self.redaction.tells(o)]

    def admit(self, unit: Unit, scope: Scope, message: Message, read: Sequence[Observation]) -> Admitted:
        """What of that may be judged: nothing that was forgotten, that echoes, or that instructs (SPEC F6, C3, C12)."""
        told = self.gateway.admit(unit, scope, read)
        if not told:
            return Admitted(())
        turns = turns_before(unit, scope, message, self.guard.policy.turns)
        return self.guard.admit(told, [self.redaction.legible(message)], turns)

    def _about_known(self, unit: Unit, scope: Scope, observation: Observation) -> Observation | None:
        """The observation, where a fact of the relations that it asks for names what it speaks of: another than the user, else
        what it tells. Who corrects a name corrects the one fact that tells it so."""
        assert observation.triple is not None
        subject = observation.triple.subject
        facts = unit.memories.of_relations(scope, sorted(observation.known))
        if subject == WHOEVER:
            told = {
                (m.triple.subject, m.triple.relation) for m in facts if m.triple and m.value == observation.replaces
            }
            return self.distiller.about(observation, *told.pop()) if len(told) == 1 else None
        spoken = observation.value if subject == USER else self.distiller.fold(subject).strip()
        words = self.stems(spoken)
        known = any(
            within(m.value, spoken)
            or within(spoken, m.value)
            or (subject == USER and bool(words) and words <= self.stems(m.value))
            for m in facts
        )
        return observation if known else None

    def told_before(
        self, unit: Unit, scope: Scope, message: Message, plan: Plan
    ) -> Iterator[tuple[Message, list[Observation]]]:
        """What earlier messages said of one who was not known by that name then, and is by a plan that a message led to: Toffee
        died, before anybody heard of a dog called Toffee."""
        naming = self.distiller.constructions.naming
        told = (c.after.triple for c in plan.changes if c.before is None and c.after is not None and c.after.triple)
        for name in {t.object for t in told if t.relation == naming and not t.negated}:
            for earlier in reversed(unit.messages.containing(scope, [name], self.policy.earlier)):
                if earlier.seq < message.seq:
                    asked = [o for o in self.read(unit, scope, earlier, self.detail(unit, scope)) if o.known]
                    news = asked and [o for o in asked if not self._was_told(unit, scope, earlier, o)]
                    if news:
                        yield earlier, news

    def _was_told(self, unit: Unit, scope: Scope, message: Message, observation: Observation) -> bool:
        """Whether a memory of any status holds it from that message already."""
        seqs = unit.memories.resting_on(scope, [message.seq]).get(message.seq, ())
        return any(m.key == observation.key and m.value == observation.value for m in unit.memories.get(scope, seqs))

    def _named(self, plain: Plain) -> bool:
        return self.high_value.of_sentence(plain.words, plain.language) is not None

    def _kept(self, unit: Unit, scope: Scope, observation: Observation, valued: Sequence[Plain]) -> bool:
        """Asked for, of high value, or the end of something that is kept (B3: what is over must not be told on)."""
        relation = observation.triple.relation if observation.triple else None
        if observation.kept or self.high_value.of_fact(relation, observation.category) is not None:
            return True
        if any(_overlap(p, [observation]) for p in valued):
            return True
        ends = observation.mode in OUTRIGHT and observation.triple is not None
        return ends and bool(unit.memories.of_keys(scope, [observation.key], 1))

    def _in_full(self, message: Message, plain: Plain, read: Sequence[Observation]) -> Observation | None:
        """The sentence itself, where the rules read nothing in it, or only a part of what is kept in full."""
        named = self.high_value.of_sentence(plain.words, plain.language)
        assert named is not None
        told = [o for o in read if _overlap(plain, [o])]
        if told and (not named.whole or any(o.triple and plain.said.endswith(o.triple.object) for o in told)):
            return None
        return self._whole(message, plain, named.category, named.importance)

    def _told(self, plain: Plain) -> bool:
        """A small thing worth knowing: the user's own, on a day that is known, and no small talk."""
        return plain.own and plain.dated and not self.high_value.trifling(plain.words, plain.language)

    def _aside(self, message: Message, plain: Plain) -> Observation:
        return self._whole(message, plain, Category.EVENT, SMALL)

    def _whole(self, message: Message, plain: Plain, category: Category, importance: int) -> Observation:
        zone = message.at.tzinfo or UTC
        return self.distiller.whole(message, plain, zone=zone, category=category, importance=importance)

    # -------------------------------------------------------------- what is left

    def trimming(
        self, unit: Unit, scope: Scope, messages: Sequence[Message], actor: Actor, now: datetime
    ) -> tuple[Plan, list[Left]]:
        """The plan to take away what no memory cites of these messages, and what is left of each that changes."""
        cited: dict[int, list[Evidence]] = {}
        resting = unit.memories.resting_on(scope, [m.seq for m in messages])
        for memory in unit.memories.get(scope, {seq for seqs in resting.values() for seq in seqs}):
            for span in memory.evidence:
                cited.setdefault(span.message, []).append(span)
        left = self._left(unit, scope, messages, cited)
        reason = f"detail is {Detail.MINIMAL}: the words of {_many(len(left), 'message')} are not kept"
        return Plan(Verb.TRIM, actor, now, reason, ()), left

    def past(self, unit: Unit, scope: Scope, decision: Plan) -> tuple[Plan, list[Left]]:
        """The same for all that is stored: what `minimal` would not have kept goes, memories of any status too.

        Args:
            decision: the plan that sets the dial; the one given does that as well.
        """
        memories = unit.memories.listing(scope, status=None)
        valued = self._valued_spans(unit, scope, {e.message for m in memories for e in m.evidence})
        kept = [m for m in memories if self._keeps(m, valued)]
        staying = {m.seq for m in kept}
        changes = [Change(m, None) for m in memories if m.seq not in staying]
        changes += [
            Change(m, replace(m, successor=None))
            for m in kept
            if m.successor is not None and m.successor not in staying
        ]
        cited: dict[int, list[Evidence]] = {}
        for span in (span for m in kept for span in m.evidence):
            cited.setdefault(span.message, []).append(span)
        left = self._left(unit, scope, list(_all_messages(unit, scope)), cited)
        gone = len(memories) - len(kept)
        reason = (
            f"detail {Detail.MINIMAL}, for the past too: {_many(gone, 'memory', 'memories')} and the words of "
            f"{_many(len(left), 'message')} go for good"
        )
        return replace(decision, verb=Verb.TRIM, reason=reason, changes=tuple(changes)), left

    def _keeps(self, memory: Memory, valued: Mapping[int, Sequence[Plain]]) -> bool:
        relation = memory.triple.relation if memory.triple else None
        if memory.kept or self.high_value.of_fact(relation, memory.category) is not None:
            return True
        return any(e.start < p.end and p.start < e.end for e in memory.evidence for p in valued.get(e.message, ()))

    def _valued_spans(self, unit: Unit, scope: Scope, seqs: Collection[int]) -> dict[int, list[Plain]]:
        found = {}
        for message in unit.messages.get(scope, seqs):
            legible = self.redaction.legible(message)
            cleaned = self.guard.read(legible).cleaned
            plain = self.distiller.plain(legible, zone=message.at.tzinfo or UTC, cleaned=cleaned)
            found[message.seq] = [p for p in plain if self._named(p)]
        return found

    def _left(
        self, unit: Unit, scope: Scope, messages: Sequence[Message], cited: Mapping[int, Sequence[Evidence]]
    ) -> list[Left]:
        """What is left of each message that loses something."""
        readable = [m for m in messages if not m.forgotten and not m.digest]
        left = {m.seq: Left(m, _only(m.text, cited.get(m.seq, ()))) for m in readable}
        # Of a message that lost words before, what goes now was no other talk.
        said = [m for m in readable if m.role is Role.USER and not left[m.seq].text and not m.altered]
        left |= {one.message.seq: one for one in self._digests(unit, scope, said)}
        return [one for _, one in sorted(left.items()) if one.text != one.message.text]

    # -------------------------------------------------------------- digests

    def _digests(self, unit: Unit, scope: Scope, said: Iterable[Message]) -> list[Left]:
        """One digest for what a session said within the time of a span, in the place of its first message; words that
        come later go into the digest that is there."""
        open_: dict[str, tuple[Message, list[str]]] = {}
        made: dict[int, tuple[Message, list[str]]] = {}
        for message in sorted(said, key=lambda m: (m.at, m.seq)):
            words = self._telling(self.guard.read(message).text)
            digest = open_.get(message.session)
            if digest is None or message.at - digest[0].at >= self.policy.digest_span:
                digest = self._stored_digest(unit, scope, message) or (message, [])
                open_[message.session] = digest
            made[digest[0].seq] = digest
            digest[1].extend(word for word in words if word not in digest[1])
        return [
            Left(carrier, text, digest=True)
            for carrier, words in made.values()
            if (text := _joined(words, self.policy.digest_chars))
        ]

    def _stored_digest(self, unit: Unit, scope: Scope, message: Message) -> tuple[Message, list[str]] | None:
        span = self.policy.digest_span
        around = unit.messages.window(
            scope, session=message.session, since=message.at - span, until=message.at + span, latest=True, limit=CHUNK
        )
        digest = next((m for m in reversed(around) if m.digest and abs(m.at - message.at) < span), None)
        return None if digest is None else (digest, _BETWEEN.split(digest.text))

    def _telling(self, text: str) -> list[str]:
        """The words that say what a text is about; none of a label, none of small talk."""
        for start, end in reversed(self.redaction.redactor.labels(text)):
            text = f"{text[:start]} {text[end:]}"
        words: list[str] = []
        for part in re.split(r"[。！？!?；;，,\n]+|\.(?=\s|$)", text):
            folded = self.distiller.fold(part)
            if not self.high_value.trifling(folded, language_of(folded)):
                words += self.words(part)
        return words


def _joined(words: Sequence[str], most: int) -> str:
    """As many of the words as fit, the first ones first."""
    separator = _SEPARATOR[language_of(" ".join(words))]
    text = ""
    for word in words:
        longer = f"{text}{separator}{word}" if text else word
        if len(longer) <= most:
            text = longer
    return text


def _only(text: str, spans: Collection[Evidence]) -> str:
    """The characters of the spans in their places, nothing behind the last of them; empty without any."""
    needed = {i for e in spans for i in range(e.start, e.end)}
    kept = "".join(c if i in needed or c == BLOT else BLOT for i, c in enumerate(text))
    return kept.rstrip(BLOT)


def _overlap(plain: Plain, observations: Sequence[Observation]) -> bool:
    return any(e.start < plain.end and plain.start < e.end for o in observations for e in o.evidence)


def _all_messages(unit: Unit, scope: Scope) -> Iterable[Message]:
    after = 0
    while batch := unit.messages.after_seq(scope, after, CHUNK):
        yield from batch
        after = batch[-1].seq


def _many(count: int, noun: str, plural: str = "") -> str:
    return f"{count} {noun if count == 1 else plural or noun + 's'}"
