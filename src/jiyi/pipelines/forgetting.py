"""Forgetting on demand: what is asked for becomes an erasure, which the gateway carries out (SPEC F6).

    request ─▶ target (memories, messages, places) ─▶ closure (what rests on what) ─▶ erasure (plan, blots, tombstones)

A message that no other memory rests on goes whole; from another only the places go. A memory goes when it is asked for,
or when everything it rests on goes; from another only the evidence goes. The same way back, from tombstones instead of a
request, makes a restored backup or an imported export forget again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from hashlib import blake2b
from operator import attrgetter
from typing import TypeAlias

from jiyi.domain.belief import ended
from jiyi.domain.forgetting import (
    BURIED,
    Blotted,
    ForgettingPolicy,
    Mark,
    Reach,
    Tombstone,
    buried_id,
    digest_of,
    value_words,
)
from jiyi.domain.memory import NO_LABELS, Evidence, Memory, Message, Mode, Status, memory_id
from jiyi.domain.plans import Actor, Change, LedgerEntry, Plan, Verb
from jiyi.domain.refining import Refining
from jiyi.domain.relations import USER, Vocabulary, render
from jiyi.domain.revision import resumed
from jiyi.domain.scope import Scope
from jiyi.domain.settling import ENDING
from jiyi.errors import InputError, NotFound
from jiyi.pipelines.graph.view import GraphView
from jiyi.pipelines.indexing import Indexing
from jiyi.pipelines.merging import merged_into
from jiyi.pipelines.tombstones import Tombs, blotted, names_of, places, told_by
from jiyi.ports import Unit

CHUNK = 500
MOMENT = timedelta(microseconds=1)
Pictures: TypeAlias = Mapping[int, Sequence[Memory]]
"""Every memory by number: as it is, or as the ledger last shows it; then all its pictures in the ledger, in order."""
Times: TypeAlias = tuple[datetime | None, datetime | None]
"""From the first on, up to the second; None is without end."""
Told: TypeAlias = Times | str
"""When, or in which session, something was told without a message."""
_HANDLE = re.compile(r"\bh(\d+)\b")


@dataclass(frozen=True, slots=True)
class Request:
    """What to forget: exactly one of the fields says it, `since` and `until` together one. Make it with `read_request`."""

    memory: int | None = None
    topic: str | None = None
    session: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    everything: bool = False

    @property
    def reach(self) -> Reach:
        if self.everything:
            return Reach.EVERYTHING
        for reach, value in ((Reach.MEMORY, self.memory), (Reach.TOPIC, self.topic), (Reach.SESSION, self.session)):
            if value is not None:
                return reach
        return Reach.TIME


def read_request(request: Request) -> Request:
    """The request, checked.

    Raises:
        InputError: nothing is asked for, or several things at once.
    """
    said = [request.memory, request.topic, request.session, request.since or request.until, request.everything or None]
    if sum(value is not None for value in said) != 1:
        raise InputError(
            "say what to forget, one thing at a time: a memory, a topic, a session, a time (since and until), or everything"
        )
    if request.since is not None and request.until is not None and request.since >= request.until:
        raise InputError("since must come before until: nothing lies between them")
    return request


@dataclass(frozen=True, slots=True)
class Erasure:
    """A forgetting, ready to be carried out: nothing has happened yet.

    `plan.changes` holds the memories that go, then those that change. `gone` are the numbers whose pictures leave the
    ledger; `resting` the messages that go whole, which no evidence may name any more; `renamed` the sessions that lose
    their name, by message. What was told without a message between the instants of `told` goes too.
    """

    reach: Reach
    plan: Plan
    gone: frozenset[int]
    blots: tuple[Blotted, ...]
    tombstones: tuple[Tombstone, ...]
    renamed: Mapping[int, str] = field(default_factory=dict)
    told: Told | None = None

    @property
    def resting(self) -> frozenset[int]:
        return frozenset(b.before.seq for b in self.blots if b.after.forgotten)

    @property
    def horizon(self) -> datetime:
        return max([self.plan.at, *(t.at for t in self.tombstones)])

    @property
    def is_empty(self) -> bool:
        return not (self.plan.changes or self.blots or self.gone)

    def counts(self) -> dict[str, int]:
        """What goes, by kind."""
        return {
            "memories": sum(c.after is None for c in self.plan.changes),
            "messages": len(self.resting),
            "passages": len(self.blots) - len(self.resting),
        }

    def seal(self, key: bytes, request: Request) -> str:
        """Sixteen characters that stand for the request and what goes, as long as the same would go: whoever was shown
        a preview can ask for just that. Without `key` nobody can tell what a seal stands for, nor make one."""
        asked = [request.memory, request.topic, request.session, request.since, request.until, request.everything]
        changes = [[c.seq, *(m and [m.text, m.status.value] for m in (c.before, c.after))] for c in self.plan.changes]
        blots = [[b.before.seq, b.before.text, b.after.text] for b in self.blots]
        whole = [list(map(str, asked)), changes, blots, sorted(self.gone), sorted(self.renamed.items())]
        return blake2b(f"seal\x1f{json.dumps(whole)}".encode(), key=key, digest_size=8).hexdigest()

    def of_picture(self, memory: Memory) -> Memory:
        """A picture of a memory that stays, without evidence that goes."""
        resting = self.resting
        kept = [e for e in memory.evidence if e.message not in resting and not _was_told(e, self.told)]
        named = [replace(e, session=self.renamed[e.message]) if e.message in self.renamed else e for e in kept]
        return memory if tuple(named) == memory.evidence else replace(memory, evidence=tuple(named))

    def of_entry(self, entry: LedgerEntry) -> LedgerEntry:
        """A ledger entry without what goes; the very same when it holds nothing of it."""
        changes = tuple(
            Change(*(None if m is None else self.of_picture(m) for m in (c.before, c.after)))
            for c in entry.plan.changes
        )
        reason = entry.plan.reason
        if {int(seq) for seq in _HANDLE.findall(reason)} & (self.resting | self.renamed.keys()):
            reason = ""  # It names the session.
        if changes == entry.plan.changes and reason == entry.plan.reason:
            return entry
        return replace(entry, plan=replace(entry.plan, changes=changes, reason=reason))


@dataclass(slots=True)
class _Target:
    """What is asked for, before it is known what rests on what.

    `memories` by number, as last seen. `whole` messages go whatever rests on them; `topical` ones unless a memory that
    stays does. `loose` places go in any case, `around` them the places that no such memory needs. `stained` memories
    stay, but not their pictures in the ledger.
    """

    memories: dict[int, Memory] = field(default_factory=dict)
    stained: set[int] = field(default_factory=set)
    whole: set[int] = field(default_factory=set)
    topical: set[int] = field(default_factory=set)
    loose: dict[int, set[int]] = field(default_factory=dict)
    around: dict[int, set[int]] = field(default_factory=dict)
    marks: list[tuple[Mark, str]] = field(default_factory=list)
    told: Told | None = None
    ever: bool = True  # whether also what a memory once rested on goes with it


@dataclass(frozen=True, slots=True)
class Forgetting:
    """Makes erasures. Holds no state."""

    indexing: Indexing
    vocabulary: Vocabulary
    refining: Refining
    graph: GraphView
    policy: ForgettingPolicy = field(default_factory=ForgettingPolicy)

    def plan(self, unit: Unit, scope: Scope, request: Request, actor: Actor, now: datetime) -> Erasure:
        """What a request would erase.

        Raises:
            NotFound: no such memory, now or in the ledger; no such session. InputError: a topic that says nothing.
        """
        pictures = _pictures(unit, scope)
        match request.reach:
            case Reach.MEMORY:
                assert request.memory is not None
                target = self._memory(unit, scope, request.memory, pictures)
                reason = f"{memory_id(request.memory)} forgotten on request"
            case Reach.TOPIC:
                assert request.topic is not None
                target, reason = self._topic(unit, scope, request.topic, pictures), "a topic forgotten on request"
            case Reach.SESSION:
                target, reason = self._session(unit, scope, request.session, pictures), "a session forgotten on request"
            case Reach.TIME:
                target, reason = self._time(unit, scope, request, pictures), "a span of time forgotten on request"
            case Reach.EVERYTHING:
                target, reason = self._everything(unit, scope, pictures), "everything forgotten on request"
        return self._closed(unit, scope, request.reach, target, Plan(Verb.FORGET, actor, now, reason, ()), pictures)

    def plan_again(self, unit: Unit, scope: Scope, reach: Reach, actor: Actor, now: datetime) -> Erasure:
        """What has come back, held against the tombstones (from a backup, an export), to be erased again."""
        pictures, tombs, target = (
            _pictures(unit, scope),
            Tombs(unit, scope, self.indexing.folding, whole=True),
            _Target(),
        )
        for message in all_messages(unit, scope):
            hits = tombs.hits(message)
            if hits.whole:
                target.whole.add(message.seq)
            elif hits.topics or hits.named:
                self._topical(target, message, places(hits.topics))
            if hits.spans:
                target.loose.setdefault(message.seq, set()).update(places(hits.spans))
        for seq, (memory, *older) in pictures.items():
            if tombs.holds(memory):
                target.memories[seq] = memory
            elif any(map(tombs.holds, older)):
                target.stained.add(seq)
        plan = Plan(Verb.FORGET, actor, now, "forgotten before, and again", ())
        return self._closed(unit, scope, reach, target, plan, pictures)

    # ---------------------------------------------------------------- targets

    def _memory(self, unit: Unit, scope: Scope, seq: int, pictures: Pictures) -> _Target:
        if seq not in pictures:
            raise NotFound(f"no memory {memory_id(seq)} here", "memory")
        memory = pictures[seq][0]
        target, own = (
            _Target({seq: pictures[seq][0]}),
            {self.indexing.folding.words(said) for said in self._values_of(memory)},
        )
        others = [m for m in unit.memories.listing(scope, status=None) if m.seq != seq]
        # Words that another memory says too are not this one's to take away.
        own = {words for words in own if self._is_specific(words) and not any(self._says(m, words) for m in others)}
        target.marks += [(Mark.WORDS, words) for words in sorted(own)]
        stored, value = {m.seq for m in others}, value_words(memory.key, memory.value)
        for number, pictured in pictures.items():
            if number == seq or not any(
                value_words(p.key, p.value) == value or self._is_about(p, own, ()) for p in pictured
            ):
                continue
            # An undo took it away, but the ledger still shows that it said the same.
            if number not in stored:
                target.memories[number] = pictured[0]
            elif any(self._is_about(p, own, ()) for p in pictured[1:]):
                target.stained.add(number)
        for message in all_messages(unit, scope) if own else ():
            passage = self.indexing.folding.passage(message.text)
            if found := places(span for words in own for span in passage.places(words)):
                target.loose[message.seq] = found
        return target

    def _values_of(self, memory: Memory) -> Iterator[str]:
        """The words of a memory's value: its object, and as it was said where that reads otherwise (50万 for 500000)."""
        if memory.triple is None:
            yield memory.text
            return
        yield memory.triple.object
        relation = self.vocabulary.get(memory.triple.relation)
        if relation is not None:
            hole = "\ufffc"
            line = render(relation, memory.triple.subject, hole, memory.language, negated=memory.triple.negated)
            before, _, after = line.partition(hole)
            if memory.text.startswith(before) and memory.text.endswith(after):
                yield memory.text[len(before) : len(memory.text) - len(after)]

    def _topic(self, unit: Unit, scope: Scope, topic: str, pictures: Pictures) -> _Target:
        terms, relations = self.topic_terms(topic)
        beside = self.graph.names_beside(unit, scope, topic) + self.graph.words.ways_to_say(topic)
        terms |= {self.indexing.folding.words(name) for name in beside}
        target = _Target(marks=[(Mark.TOPIC, t) for t in sorted(terms)] + [(Mark.RELATION, r) for r in relations])
        for seq, (memory, *older) in pictures.items():
            if self._is_about(memory, terms, relations):
                target.memories[seq] = memory
            elif any(self._is_about(p, terms, relations) for p in older):
                target.stained.add(seq)
        for message in all_messages(unit, scope):
            passage = self.indexing.folding.passage(message.text)
            found = places(span for term in terms for span in passage.places(term))
            if found or any(self._mentions(name, terms) for name in names_of(message)):
                self._topical(target, message, found)
        return target

    def topic_terms(self, topic: str) -> tuple[frozenset[str], tuple[str, ...]]:
        """A topic's term and its aliases, folded, and the relations that it names (数据库 names database too).

        Raises:
            InputError: the topic says nothing that could be looked for.
        """
        words = self.indexing.folding.words
        term = words(topic)
        named = [r for r in self.vocabulary if term in {words(name) for name in r.names.all}]
        everywhere = self.graph.words.subject_of(topic) == USER or not (named or self._has_content(term))
        if not any(c.isalnum() for c in term) or everywhere:
            raise InputError(f"topic {topic!r} is in every text: name the thing itself, such as 数据库 or Acme")
        return frozenset({term, *(words(n) for r in named for n in r.names.all)}), tuple(r.name for r in named)

    def _session(self, unit: Unit, scope: Scope, session: str | None, pictures: Pictures) -> _Target:
        found = unit.messages.window(scope, session=session, limit=max(unit.messages.last_seq(scope), 1))
        told = any(_was_told(e, session) for m, *_ in pictures.values() for e in m.evidence)
        if not found and not told:
            raise NotFound(f"no session {session!r} here: look it up in the list of sessions", "session")
        return _Target(whole={m.seq for m in found}, told=session, ever=False)

    def _time(self, unit: Unit, scope: Scope, request: Request, pictures: Pictures) -> _Target:
        since, until = request.since, request.until
        found = unit.messages.window(scope, since=since, until=until, limit=max(unit.messages.last_seq(scope), 1))
        target = _Target(whole={m.seq for m in found}, told=(since, until), ever=False)
        for seq, (memory, *_) in pictures.items():
            # What was told without a message, and came without evidence.
            told = memory.learnt_at
            if not memory.evidence and (since is None or told >= since) and (until is None or told < until):
                target.memories[seq] = memory
        return target

    def _everything(self, unit: Unit, scope: Scope, pictures: Pictures) -> _Target:
        return _Target(
            {seq: known[0] for seq, known in pictures.items()},
            whole={m.seq for m in all_messages(unit, scope)},
            ever=False,
        )

    def _topical(self, target: _Target, message: Message, found: set[int]) -> None:
        """A message with a topic in it: its places go, and the sentences around them as far as nobody needs them."""
        target.topical.add(message.seq)
        target.loose.setdefault(message.seq, set()).update(found)
        for _, (start, end) in self.indexing.folding.sentences(message.text):
            if not found.isdisjoint(range(start, end)):
                target.around.setdefault(message.seq, set()).update(range(start, end))

    # ---------------------------------------------------------------- closure

    def _closed(
        self, unit: Unit, scope: Scope, reach: Reach, target: _Target, plan: Plan, pictures: Pictures
    ) -> Erasure:
        memories = unit.memories.listing(scope, status=None)
        for seq, (memory, *_) in pictures.items():  # also those that an undo removed: the ledger shows them
            if memory.evidence and all(e.message in target.whole or _was_told(e, target.told) for e in memory.evidence):
                target.memories.setdefault(seq, memory)
        target.stained |= merged_into(unit, scope, target.memories)
        spans = _evidence_of(target, pictures)
        staying = [m for m in memories if m.seq not in target.memories]
        needed: dict[int, list[Evidence]] = {}
        for memory in staying:
            # A case is only counted: no pattern keeps the words of one from going, and none takes them along.
            for e in filter(attrgetter("tells"), memory.evidence):
                needed.setdefault(e.message, []).append(e)
        touched = target.whole | target.topical | spans.keys() | target.loose.keys()
        key = unit.forgotten.key(scope)
        blots, renamed = [], {}
        for message in unit.messages.get(scope, touched):
            if message.forgotten:
                continue
            after = self._without(message, target, spans, needed.get(message.seq, []), key)
            if after != message:
                blots.append(Blotted(message, after))
            if not after.forgotten and after.session != message.session:
                renamed[message.seq] = after.session
        erasure = Erasure(
            reach, plan, frozenset(target.memories) | target.stained, tuple(blots), (), renamed, target.told
        )  # fmt: skip
        changes = [Change(m, None) for _, m in sorted(target.memories.items())]
        for memory in staying:
            left = erasure.of_picture(memory)
            # What is past stays past, whatever becomes of the words and the memory that say why; what was past only
            # because it was told more precisely is believed as it was told.
            by = target.memories.get(memory.successor) if memory.successor is not None else None
            if by is not None and self._only_less_precise(memory, by):
                left = resumed(left)
            elif by is not None:
                left = replace(ended(left, left.valid_to or plan.at), successor=None)
            elif _ends(memory) and not _ends(left):
                mode = Mode.WRONG if memory.status is Status.RETRACTED else Mode.OVER
                left = ended(left, left.valid_to or plan.at, mode)
            if left != memory:
                changes.append(Change(memory, left))
        erasure = replace(erasure, plan=replace(plan, changes=tuple(changes)))
        return replace(erasure, tombstones=self._tombstones(unit, scope, target, erasure, staying, pictures, key))

    def _only_less_precise(self, memory: Memory, by: Memory) -> bool:
        """Whether a memory is past only because another, which stands, tells the same more precisely (SPEC B2)."""
        if memory.triple is None or by.triple is None or memory.status is not Status.ENDED or _ends(memory):
            return False
        alike = memory.key == by.key and not memory.triple.negated and not by.triple.negated
        finer = self.refining.of(self.vocabulary.get(memory.triple.relation))
        return alike and by.status is Status.LIVE and finer(by.value, memory.value)

    def _without(
        self,
        message: Message,
        target: _Target,
        spans: Mapping[int, Mapping[int, list[Evidence]]],
        needed: Sequence[Evidence],
        key: bytes,
    ) -> Message:
        """The message after the erasure."""
        seq, text = message.seq, message.text
        goes_alone = (seq in spans or seq in target.topical) and not needed
        if seq in target.whole or goes_alone:
            return buried(message, key)
        keep = {i for e in needed for i in range(e.start, e.end)}
        gone = set(target.loose.get(seq, ())) | (target.around.get(seq, set()) - keep)
        for number, told in spans.get(seq, {}).items():
            gone |= _own(text, target.memories[number], told, keep)
        left = blotted(text, gone) if gone else text
        if not left:
            return buried(message, key)
        terms = {words for mark, words in target.marks if mark is Mark.TOPIC}
        return (
            self._unnamed(replace(message, text=left, altered=True), terms, key) if left != text or terms else message
        )

    def _unnamed(self, message: Message, terms: Collection[str], key: bytes) -> Message:
        """The message without names that hold a topic."""
        held = {name for name in names_of(message) if self._mentions(name, terms)}
        if not held:
            return message
        session = message.session
        return replace(
            message,
            name=None if message.name in held else message.name,
            session=f"~{digest_of(key, Mark.ID, session).hex()}" if session in held else session,
            labels={k: v for k, v in message.labels.items() if not {k, v} & held} or NO_LABELS,
            altered=True,
        )

    # ---------------------------------------------------------------- tombstones

    def _tombstones(
        self,
        unit: Unit,
        scope: Scope,
        target: _Target,
        erasure: Erasure,
        staying: Sequence[Memory],
        pictures: Pictures,
        key: bytes,
    ) -> tuple[Tombstone, ...]:
        """What keeps it from coming back: nothing that also stands in what stays."""
        marks = dict.fromkeys(target.marks, erasure.plan.at)
        gone = target.memories.keys() | target.stained
        kept_values = {value_words(m.key, m.value) for m in staying}
        kept_values |= {value_words(p.key, p.value) for n, known in pictures.items() if n not in gone for p in known}
        for number in target.memories:
            for picture in pictures.get(number, ()):
                if (value := value_words(picture.key, picture.value)) not in kept_values:
                    at = marks.get((Mark.VALUE, value), erasure.plan.at)
                    marks[Mark.VALUE, value] = max(at, picture.affirmed_at + MOMENT)
        buried_ones = [b.before for b in erasure.blots if b.after.forgotten]
        if buried_ones:
            changed = {b.before.seq: b.after for b in erasure.blots}
            texts = self._texts(changed.get(m.seq, m) for m in all_messages(unit, scope))
            for message in buried_ones:
                for mark, words in self._marks_of(message):
                    if mark is Mark.ID or words not in texts:
                        at = marks.get((mark, words), erasure.plan.at)
                        marks[mark, words] = max(at, message.at + MOMENT)
        return tuple(
            Tombstone(mark, digest_of(key, mark, words), at, len(words) if mark in (Mark.WORDS, Mark.TOPIC) else 0)
            for (mark, words), at in marks.items()
        )

    def _marks_of(self, message: Message) -> Iterator[tuple[Mark, str]]:
        folding = self.indexing.folding
        yield Mark.ID, message.id
        if words := folding.words(message.text):
            yield Mark.TEXT, words
        for words, _ in folding.sentences(message.text):
            least = self.policy.han_sentence if _is_han(words) else self.policy.other_sentence
            if len(words) >= least:
                yield Mark.SENTENCE, words

    def _texts(self, messages: Iterable[Message]) -> set[str]:
        folding = self.indexing.folding
        texts: set[str] = set()
        for message in messages:
            if message.text:
                texts.add(folding.words(message.text))
                texts.update(words for words, _ in folding.sentences(message.text))
        return texts

    # ---------------------------------------------------------------- words

    def _is_specific(self, words: str) -> bool:
        letters, digits = sum(c.isalpha() for c in words), sum(c.isdigit() for c in words)
        if not letters:
            return digits >= self.policy.digits
        least = self.policy.han_words if _is_han(words) and not digits else self.policy.other_words
        return letters + digits >= least and self._has_content(words)

    def _has_content(self, words: str) -> bool:
        return any(not term.stop for term in self.indexing.segmenter.query_terms(words))

    def _says(self, memory: Memory, words: str) -> bool:
        return any(self._mentions(part, {words}) for part in told_by(memory))

    def _mentions(self, text: str, terms: Collection[str]) -> bool:
        passage = self.indexing.folding.passage(text)
        return any(True for term in terms for _ in passage.places(term))

    def _is_about(self, memory: Memory, terms: Collection[str], relations: Collection[str]) -> bool:
        if memory.triple is not None and memory.triple.relation in relations:
            return True
        return any(self._mentions(part, terms) for part in told_by(memory))


# ---------------------------------------------------------------------------------- what is there


def all_messages(unit: Unit, scope: Scope) -> Iterator[Message]:
    """Every message that can be read, by number."""
    seq = 0
    while batch := unit.messages.after_seq(scope, seq, CHUNK):
        yield from batch
        seq = batch[-1].seq


def buried(message: Message, key: bytes) -> Message:
    """What is left of a forgotten message: its number, its role, its instant, and a hash in the place of its id."""
    return Message(
        message.seq, buried_id(key, message.id), BURIED, message.role, "", message.at, forgotten=True, altered=True
    )


def _pictures(unit: Unit, scope: Scope) -> Pictures:
    stored = {m.seq: m for m in unit.memories.listing(scope, status=None)}
    seen: dict[int, list[Memory]] = {seq: [] for seq in stored}
    for entry in unit.ledger.entries(scope):
        for change in entry.plan.changes:
            seen.setdefault(change.seq, []).extend(m for m in (change.before, change.after) if m is not None)
    return {seq: [stored.get(seq) or older[-1], *older] for seq, older in sorted(seen.items())}


def _evidence_of(target: _Target, pictures: Pictures) -> dict[int, dict[int, list[Evidence]]]:
    """By message and memory: the spans that the memories rest on. An undo takes evidence from a memory, not what was
    said, so where a memory or a topic is forgotten, messages that one once rested on go too."""
    spans: dict[int, dict[int, list[Evidence]]] = {}
    for number, memory in target.memories.items():
        told = (memory, *(pictures.get(number, ()) if target.ever else ()))
        known = {e for m in told for e in m.evidence if e.tells}
        for e in sorted(known, key=lambda e: e.place):
            spans.setdefault(e.message, {}).setdefault(number, []).append(e)
    return spans


def _own(text: str, memory: Memory, spans: Collection[Evidence], keep: Collection[int]) -> set[int]:
    """The places that go with a memory. Where a memory that stays needs them too (从 A 换成 B rests under both), only
    what this one itself says goes: its object, or all of it when that is not there word for word."""
    told = {i for e in spans for i in range(e.start, min(e.end, len(text)))}
    own = told & _letters(text, memory.triple.object) if memory.triple else set()
    return (told - set(keep)) | (own or told)


def _letters(text: str, words: str) -> set[int]:
    """The places of the characters that say these words, in capitals or not."""
    return {i for m in re.finditer(re.escape(words), text, re.IGNORECASE) for i in range(m.start(), m.end())}


def _was_told(evidence: Evidence, told: Told | None) -> bool:
    """Whether it was told without a message (its number is 0) between these instants, or in that session."""
    if told is None or evidence.message:
        return False
    if isinstance(told, str):
        return evidence.session == told
    since, until = told
    return (since is None or evidence.at >= since) and (until is None or evidence.at < until)


def _ends(memory: Memory) -> bool:
    """Whether what was said of a past memory says that it is over or was wrong."""
    return memory.status in (Status.ENDED, Status.RETRACTED) and any(e.mode in ENDING for e in memory.evidence)


def _is_han(words: str) -> bool:
    return any("\u3400" <= c <= "\u9fff" for c in words)
