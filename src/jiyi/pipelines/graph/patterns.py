"""Patterns become memories (SPEC G5).

    the latest sessions ─▶ the user's own words ─▶ signs ─▶ count ─▶ what holds, what no longer does ─▶ judge ─▶ GATEWAY
                              without echo,          of occasions      one plan a pattern
                              quotes, attempts       and wishes

All of it is counted anew each time, so nothing beside the memory itself has to be kept, forgotten or exported, and any order
of arrival ends in the same (decision 0037). A memory has its cases as evidence, one statement a session: cases it was made of,
not somebody's words for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from jiyi.domain.belief import Judgement, Observation, Verdict
from jiyi.domain.forgetting import Erased
from jiyi.domain.language import language_of
from jiyi.domain.memory import Category, Evidence, Language, Memory, Message, Mode, Role, Source, Status, Triple
from jiyi.domain.patterns import PATTERN, PATTERN_KEY, Case, Pair, Pattern, PatternPolicy, Seen, counted
from jiyi.domain.plans import Actor, Plan, Verb
from jiyi.domain.relations import USER
from jiyi.domain.scope import Scope
from jiyi.domain.standing import Detail
from jiyi.pipelines.gateway import Gateway, Receipt
from jiyi.pipelines.guarding import Guard
from jiyi.pipelines.judging import Judging, Occasion
from jiyi.pipelines.recalling.arising import Arising
from jiyi.pipelines.retaining import Retaining
from jiyi.ports import Unit, View
from jiyi.text.signs import Marked, Signs

PATTERNS = "patterns"
"""Kind of the job that counts. It has no payload."""

RULES = Actor("rules", "job")
CHUNK = 500


@dataclass(frozen=True, slots=True)
class Noticed:
    """One pattern as it is counted now. `memory` tells it, if there is one; `because` says why it is none, and is empty where
    it is one."""

    text: str
    pattern: Pattern
    memory: Memory | None
    because: str


@dataclass(frozen=True, slots=True)
class Noticing:
    """What counting needs besides the store."""

    arising: Arising
    guard: Guard
    retaining: Retaining
    judging: Judging
    gateway: Gateway
    policy: PatternPolicy

    # -------------------------------------------------------------- the job

    def come_tonight(self, unit: Unit, scope: Scope, now: datetime) -> None:
        """More was said: count at night."""
        unit.schedule.sooner(scope, PATTERNS, self.gateway.night(now))

    def run(
        self, unit: Unit, scope: Scope, now: datetime, *, actor: Actor = RULES, dry_run: bool = False
    ) -> list[Receipt]:
        """Count, and have memory follow, one plan a pattern; in a dry run only say what would change, as one plan."""
        return self.follow(unit, scope, self.seen(unit, scope), now, actor=actor, dry_run=dry_run)

    def follow(
        self,
        unit: Unit,
        scope: Scope,
        seen: Sequence[Seen],
        now: datetime,
        *,
        actor: Actor = RULES,
        dry_run: bool = False,
    ) -> list[Receipt]:
        """The second half of `run`, for whoever has read the sessions before the transaction, which is the slow half."""
        if self.retaining.detail(unit, scope) is Detail.MINIMAL:
            return []  # SPEC C5: no talk is kept that could be counted.
        patterns = self._allowed(unit, scope, counted(seen))
        patterns += self._gone(unit, scope, patterns)
        if dry_run:
            plan = self._plan(unit, scope, patterns, Occasion(Verb.PATTERN, actor, now, "counted"), dry_run=True)
            return [self.gateway.preview(plan)] if plan.changes else []
        receipts = []
        for pattern in patterns:
            plan = self._plan(unit, scope, [pattern], Occasion(Verb.PATTERN, actor, now, _told(pattern)))
            if plan.changes:
                receipts.append(self.gateway.apply(unit, scope, plan))
        return receipts

    def noticed(self, unit: Unit, scope: Scope) -> list[Noticed]:
        """What is counted now: what is a pattern first, then by how many sessions show it."""
        memories = {m.value: m for m in reversed(unit.memories.of_keys(scope, [PATTERN_KEY]))}
        found = []
        for pattern in counted(self.seen(unit, scope)):
            pair = pattern.pair
            memory = memories.get(pair.value)
            text = memory.text if memory else self._text(pair, pattern.language)
            found.append(Noticed(text, pattern, memory, pattern.why_not(self.policy)))
        return sorted(found, key=lambda n: (bool(n.because), -n.pattern.support, -n.pattern.share, n.pattern.pair))

    # -------------------------------------------------------------- reading

    def seen(self, unit: Unit, scope: Scope) -> list[Seen]:
        """What each of the latest sessions shows, in the user's own words alone."""
        signs, found = self.arising.known(unit, scope), []
        for info in unit.messages.sessions(scope, self.policy.sessions):
            shown = self._read(self._messages(unit, scope, info.session), info.session, signs)
            if shown is not None:
                found.append(shown)
        return found

    def _messages(self, unit: Unit, scope: Scope, session: str) -> list[Message]:
        return unit.messages.window(scope, session=session, limit=CHUNK)

    def _read(self, messages: Sequence[Message], session: str, signs: Signs) -> Seen | None:
        own = [m for m in messages if m.role is Role.USER and not m.digest][: self.policy.turns]
        if not own:
            return None
        marked = {m.seq: signs.read(m.text) for m in own if len(m.text) <= self.policy.chars}
        # What only looks like the user's words is told by the turns before it; it is looked for where there is a sign.
        telling = [m for m in messages if m.role is not Role.USER or marked.get(m.seq)]
        allowed = self.guard.evidence(telling) if any(marked.values()) else {}
        turns = [(m, [s for s in marked.get(m.seq, ()) if _inside(s, allowed.get(m.seq, ()))]) for m in own]
        occasions: dict[str, datetime] = {}
        cases: dict[Pair, Case] = {}
        for at, (message, sentences) in enumerate(turns):
            occasions |= {name: message.at for s in sentences for name in s.conditions}
            before = turns[at - 1 : at] if at else []
            for pair, evidence in _pairs([*before, (message, sentences)]):
                cases.setdefault(pair, Case(session, message.at, evidence, language_of(message.text)))
        wanted = frozenset(name for _, sentences in turns for s in sentences for name in s.consequences)
        return Seen(session, occasions, wanted, cases)

    # -------------------------------------------------------------- what may be learnt

    def _allowed(self, unit: Unit, scope: Scope, patterns: Sequence[Pattern]) -> list[Pattern]:
        """The patterns without cases that may not be learnt from: of a pattern that was forgotten since (SPEC F6)."""
        if unit.forgotten.horizon(scope) is None:
            return list(patterns)
        found = []
        for pattern in patterns:
            admitted = {o.evidence for o in self.gateway.admit(unit, scope, self._cases(pattern))}
            found.append(pattern.without([c for c in pattern.cases if c.evidence not in admitted]))
        return found

    def _gone(self, unit: Unit, scope: Scope, patterns: Sequence[Pattern]) -> list[Pattern]:
        """What is remembered and not seen at all any more."""
        pairs = {p.pair for p in patterns}
        known = {Pair.of(m.value) for m in unit.memories.believed(scope, [PATTERN_KEY])}
        return [Pattern(pair) for pair in sorted(p for p in known if p is not None and p not in pairs)]

    def _taken_back(self, unit: Unit, scope: Scope) -> dict[str, frozenset[int]]:
        """By pattern: the messages of cases from which it was learnt, and the user took that back (SPEC B8)."""
        taken: dict[str, frozenset[int]] = {}
        for entry in unit.ledger.entries(scope):
            for change in entry.plan.changes if entry.plan.verb is Verb.UNDO else ():
                memory = change.before or change.after
                assert memory is not None
                if memory.key == PATTERN_KEY and change.after is None:
                    taken[memory.value] = frozenset(e.message for e in memory.evidence)
                elif memory.key == PATTERN_KEY and change.before is None:
                    taken.pop(memory.value, None)
        return taken

    # -------------------------------------------------------------- planning

    def _plan(
        self, unit: Unit, scope: Scope, patterns: Sequence[Pattern], occasion: Occasion, *, dry_run: bool = False
    ) -> Plan:
        told: dict[str, list[Memory]] = {}
        for memory in unit.memories.believed(scope, [PATTERN_KEY]):
            told.setdefault(memory.value, []).append(memory)
        swaps: list[tuple[Memory, Memory | None]] = []
        fresh: list[Pattern] = []
        for pattern in patterns:
            memories = told.get(pattern.pair.value, [])
            if not memories and not pattern.why_not(self.policy):
                fresh.append(pattern)
            elif memories:
                swaps += self._recounted(unit, scope, pattern, memories, occasion.now)
        observations = [o for pattern in self._never_taken_back(unit, scope, fresh) for o in self._cases(pattern)]
        judgements = [_judged(before, after, occasion.reason) for before, after in swaps if before != after]
        return self.judging.recounted(unit, scope, swaps, observations, occasion, judgements, dry_run=dry_run)

    def _never_taken_back(self, unit: Unit, scope: Scope, patterns: Sequence[Pattern]) -> list[Pattern]:
        taken = self._taken_back(unit, scope) if patterns else {}
        left = [p.without([c for c in p.cases if c.messages & taken.get(p.pair.value, frozenset())]) for p in patterns]
        return [p for p in left if not p.why_not(self.policy)]

    def _cases(self, pattern: Pattern) -> list[Observation]:
        pair = pattern.pair
        first = Observation(
            self._text(pair, pattern.language), Category.GENERAL, self.policy.importance, Source.INFERRED,
            pattern.trust(self.policy), pattern.cases[0].at, pair.value, Triple(USER, PATTERN, pair.value), Mode.CASE,
            keywords=self.arising.signs.keywords(pair.condition, pair.consequence), language=pattern.language,
        )  # fmt: skip
        return [replace(first, at=case.at, evidence=case.evidence) for case in pattern.cases]

    def _recounted(
        self, unit: Unit, scope: Scope, pattern: Pattern, memories: Sequence[Memory], now: datetime
    ) -> list[tuple[Memory, Memory | None]]:
        """The memories of a pattern with the cases as they are counted now. What the user said of it stays (SPEC B8): what
        they rejected is left alone, and so is, for a time, what they took back."""
        undone = unit.ledger.undone(scope, Verb.PATTERN, [m.seq for m in memories])
        if any(at + self.policy.left_alone > now for at in undone.values()):
            return []
        if all(m.status is Status.RETRACTED for m in memories):
            return []
        first, *rest = sorted(memories, key=lambda m: (m.status is Status.RETRACTED, m.seq))
        own = [e for e in first.evidence if not _is_counted(e)]
        if not own and pattern.support < self.policy.min_sessions:
            return [(first, None)]
        counts = [
            replace(e, at=c.at, mode=Mode.CASE, source=Source.INFERRED, trust=pattern.trust(self.policy))
            for c in pattern.cases
            for e in c.evidence
        ]
        if counts and pattern.why_not(self.policy):
            fell, trust = pattern.fell_at(self.policy), pattern.trust(self.policy)
            counts.append(Evidence(0, 0, 0, fell, "", Mode.OVER, Source.INFERRED, trust))
        evidence = tuple(sorted({*own, *counts}, key=lambda e: e.place))
        after = replace(self._in_language(pattern, first), evidence=evidence)
        stripped = [(m, replace(m, evidence=tuple(e for e in m.evidence if not _is_counted(e)))) for m in rest]
        return [(first, after), *((m, s) for m, s in stripped if s.evidence and s != m)]

    # -------------------------------------------------------------- wording

    def _in_language(self, pattern: Pattern, memory: Memory) -> Memory:
        """In the language of its cases, unless the user put it in words of their own."""
        texts = {self._text(pattern.pair, language) for language in Language}
        if memory.text not in texts or not pattern.cases:
            return memory
        return replace(memory, text=self._text(pattern.pair, pattern.language), language=pattern.language)

    def _text(self, pair: Pair, language: Language) -> str:
        return self.arising.signs.tell(pair.condition, pair.consequence, language.value)


@dataclass(frozen=True, slots=True)
class PatternView(View):
    """Nothing is kept of what was counted; but where words go, what rests on them is counted again (SPEC F6)."""

    @property
    def name(self) -> str:
        return "patterns"

    def erase(self, unit: Unit, scope: Scope, erased: Erased) -> int:
        if erased.messages and unit.memories.believed(scope, [PATTERN_KEY]):
            unit.jobs.put(scope, PATTERNS, {}, erased.at)
        return 0

    def rebuild(self, unit: Unit, scope: Scope) -> int:
        return 0


# ------------------------------------------------------------------ small parts


def _pairs(turns: Sequence[tuple[Message, Sequence[Marked]]]) -> Iterator[tuple[Pair, tuple[Evidence, ...]]]:
    """What the last of one or two turns of the user wants, with each occasion that it or the turn before brings up; and
    the sentences that show it."""
    message, sentences = turns[-1]
    for wish in sentences:
        for turn, before in reversed(turns):
            for occasion in before:
                evidence = _evidence(turn, occasion, message, wish)
                for condition in sorted(occasion.conditions):
                    for consequence in sorted(wish.consequences):
                        yield Pair(condition, consequence), evidence


def _evidence(turn: Message, occasion: Marked, message: Message, wish: Marked) -> tuple[Evidence, ...]:
    if turn.seq == message.seq:
        start, end = min(occasion.start, wish.start), max(occasion.end, wish.end)
        return (Evidence(message.seq, start, end, message.at, message.session),)
    return (
        Evidence(turn.seq, occasion.start, occasion.end, message.at, message.session),
        Evidence(message.seq, wish.start, wish.end, message.at, message.session),
    )


def _inside(sentence: Marked, spans: Sequence[tuple[int, int]]) -> bool:
    """Whether a sentence is the user's own: all of it, but for what cleaning takes from its ends."""
    kept = sum(max(0, min(end, sentence.end) - max(start, sentence.start)) for start, end in spans)
    return 2 * kept > sentence.end - sentence.start


def _is_counted(evidence: Evidence) -> bool:
    """Whether a statement of a pattern's memory was counted, and not said."""
    ours = evidence.mode is Mode.OVER and evidence.source is Source.INFERRED and not evidence.message
    return ours or evidence.mode is Mode.CASE


def _told(pattern: Pattern) -> str:
    return f"seen in {pattern.support} of {pattern.held} sessions in which it comes up"


def _judged(before: Memory, after: Memory | None, reason: str) -> Judgement:
    if after is None or any(e.mode is Mode.OVER and _is_counted(e) for e in after.evidence):
        return Judgement(Verdict.REPLACE, "no-pattern", (reason,), ends=(before.seq,))
    return Judgement(Verdict.CORROBORATE, "counted", (reason,), same=before.seq)
