"""What is believed, as a fold over everything that was said (SPEC B2–B5, decision 0004).

The statements about one thing are sorted by when they were said and gone through once. At each instant some claims
are *live*; a statement that contradicts none of them joins them, and one that does either ends them, waits beside
them (*held*), or is refused. Since only the statements count, and never the order in which they reached us, every
order of arrival ends in the same beliefs.

    said outright (B3)            ends what it contradicts
    on a better word              ends what it contradicts
    on a weaker word              is held
    bare, against a declaration   is arbitrated (B4): takes its place, or is held for its session
    bare, more precise            takes the place of the coarser one, which it contains (B2, decision 0018)
    bare, coarser                 bears out the more precise one that stands
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from jiyi.domain.confidence import ConfidencePolicy, faded
from jiyi.domain.memory import Evidence, Mode, Source, Status
from jiyi.domain.refining import Finer, never_finer
from jiyi.domain.relations import Relation

OUTRIGHT = frozenset({Mode.CHANGE, Mode.CORRECTION, Mode.DENIAL})
ENDING = frozenset({Mode.OVER, Mode.WRONG})
RANK = {Source.TOOL: 0, Source.INFERRED: 1, Source.IMPORTED: 1, Source.DECLARED: 2, Source.VERIFIED: 2}
DECLARED = RANK[Source.DECLARED]
REFINE = "refine"
REFINED = (REFINE, ("the same, more precisely",))


@dataclass(frozen=True, slots=True)
class ArbitrationPolicy:
    """When a bare contradiction wins over what was declared (SPEC B4)."""

    # "Said at least twice in the session."
    times: int = 2
    # With two of the three conditions the old one must be weaker than this, or about to be over.
    weak: float = 0.75
    expiring: timedelta = timedelta(days=30)
    # What was stated in so many sessions is in use, and age alone does not make it give way.
    used_sessions: int = 3
    # An inference counts as declared once so many independent sessions bear it out (SPEC B1).
    confirmations: int = 2


@dataclass(frozen=True, slots=True)
class Claim:
    """What is said of a subject: `relation` is empty for a statement without a triple."""

    relation: str
    value: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Statement:
    claim: Claim
    evidence: Evidence

    @property
    def order(self) -> tuple[object, ...]:
        """By time; at one instant outright words come last, then what they say is over. Numbers of messages do not
        count: they tell when a message reached us."""
        said, claim = self.evidence, self.claim
        weight = 2 if said.mode in ENDING else 1 if said.mode in OUTRIGHT else 0
        return (
            said.at, weight, said.start, claim.value, claim.negated,
            claim.relation, RANK[said.source], said.mode, said.session, said.trust, said.source,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Standing:
    """On whose word a claim stands, how sure that was, since when it was not restated, and the last outright change."""

    source: Source
    trust: float
    affirmed_at: datetime
    changed_at: datetime | None


@dataclass(slots=True, eq=False)
class Spell:
    """One stretch of time over which a claim was held: as believed, as waiting, or as past.

    `since` is when it began, `over` when it ended, `by` what ended it. `demoted`: it was believed until an arbitration
    went against it (SPEC B4). `refused`: what was said of it on a weaker word since the user rejected it (SPEC B8); it is
    kept, for what was said before the rejection may still reach us, and counts for nothing. `refined`: it is past only
    because what ended it says the same more precisely (SPEC B2). `borne`: what was said of a coarser form since, which
    bears this one out; it is evidence of the coarser claim. `rule` and `reasons` tell of its last turn.
    `best`, `inferred_in` and `outright_at` are kept while statements are added, so that a long history is gone through
    once: the best word of it, the sessions that inferred it, and when it was said outright.
    """

    claim: Claim
    since: datetime
    status: Status = Status.LIVE
    said: list[Evidence] = field(default_factory=list)
    over: datetime | None = None
    by: Spell | None = None
    demoted: bool = False
    refused: list[Evidence] = field(default_factory=list)
    refined: bool = False
    borne: list[Evidence] = field(default_factory=list)
    rule: str = "new"
    reasons: tuple[str, ...] = ()
    best: int = -1
    inferred_in: set[str] = field(default_factory=set)
    outright_at: set[datetime] = field(default_factory=set)

    def add(self, said: Evidence) -> None:
        """Count one more statement in; they come in order of time."""
        self.said.append(said)
        if said.source is Source.INFERRED and said.mode is not Mode.CASE:
            self.inferred_in.add(said.session)
        if said.mode in OUTRIGHT:
            self.outright_at.add(said.at)
        if said.mode not in ENDING or self.best < 0:
            self.best = max(self.best, RANK[said.source])

    @property
    def last(self) -> datetime:
        return self.said[-1].at

    @property
    def words(self) -> list[Evidence]:
        """All that bears it out."""
        return [*self.said, *self.borne]

    @property
    def until(self) -> datetime | None:
        """When it is over by itself: as late as anybody says, and never when somebody names no end (SPEC C8)."""
        ends = [e.until for e in self.said if e.mode not in ENDING]
        named = [end for end in ends if end is not None]
        return max(named) if named and len(named) == len(ends) else None


Contradicts = Callable[[Claim, Claim], bool]


def contradiction(relation: Relation | None, finer: Finer = never_finer) -> Contradicts:
    """What cannot hold together: another value of a single-valued relation, the same object of opposites, or a
    statement and its denial, which denies every finer form as well (SPEC B5)."""
    single = relation is not None and relation.single

    def contradicts(one: Claim, other: Claim) -> bool:
        if one.relation != other.relation:
            # A group holds one relation and its opposite, so these are opposites.
            return one.value == other.value and one.negated == other.negated
        if one.value == other.value:
            return one.negated != other.negated
        if one.negated != other.negated:
            said, denied = (other, one) if one.negated else (one, other)
            return finer(said.value, denied.value)
        return single and not one.negated

    return contradicts


def stand(said: Sequence[Evidence], confidence: ConfidencePolicy, policy: ArbitrationPolicy) -> Standing:
    """On whose word a claim stands: the best that anybody gave, where a weaker one only adds its evidence (SPEC B1)."""
    asserted = [e for e in said if e.mode not in ENDING] or list(said)
    best = max(RANK[e.source] for e in asserted)
    counted = [e for e in asserted if RANK[e.source] == best]
    affirmed_at = max(e.at for e in counted)
    changed = [e.at for e in counted if e.mode in OUTRIGHT]
    changed_at = max(changed) if changed else None
    # The cases that an inference was made of confirm nothing: they are that inference (SPEC G5).
    inferred = {e.session for e in asserted if e.source is Source.INFERRED and e.mode is not Mode.CASE}
    if best < DECLARED and len(inferred) >= policy.confirmations:
        return Standing(Source.DECLARED, confidence.start(Source.DECLARED), affirmed_at, changed_at)
    # The word that makes us surest at the last time it was said: a verification that is past gives way to a new word.
    surest = max(counted, key=lambda e: (faded(e.source, e.trust, affirmed_at - e.at, confidence), e.trust, e.source))
    return Standing(surest.source, surest.trust, affirmed_at, changed_at)


def settle(
    statements: Iterable[Statement],
    relation: Relation | None,
    confidence: ConfidencePolicy,
    policy: ArbitrationPolicy,
    finer: Finer = never_finer,
) -> list[Spell]:
    """All spells of the claims of one subject about one relation and its opposite, in the order they began to be told.

    Args:
        statements: all that was said, in any order.
        relation: the vocabulary's entry, if it has one.
        finer: how a value of the relation is a more precise form of another.
    """
    fold = _Fold(relation, confidence, policy, finer)
    for statement in sorted(statements, key=lambda s: s.order):
        fold.take(statement)
    return fold.spells


class _Fold:
    """What stands after the statements taken so far."""

    def __init__(
        self, relation: Relation | None, confidence: ConfidencePolicy, policy: ArbitrationPolicy, finer: Finer
    ) -> None:
        self._contradicts = contradiction(relation, finer)
        self._single = relation is not None and relation.single
        self._finer = finer
        self._confidence, self._policy = confidence, policy
        self.spells: list[Spell] = []
        # A claim has at most one spell that is live and one that is held; and the latest of any kind.
        self._live: dict[Claim, Spell] = {}
        self._held: dict[Claim, Spell] = {}
        self._latest: dict[Claim, Spell] = {}
        self._rejected: dict[Claim, int] = {}
        self._refused: dict[Claim, Spell] = {}
        # What is past only because a finer form stands.
        self._outgrown: dict[int, Spell] = {}
        self._said_in: dict[tuple[Claim, str], set[datetime]] = {}

    def take(self, statement: Statement) -> None:
        claim, said = statement.claim, statement.evidence
        if said.mode in ENDING:
            self._end_named(claim, said)
        else:
            self._assert(claim, said)
        # Each statement, whatever it is about: what is said of one value must not decide when another is believed.
        self._release()
        self._narrow()

    def _assert(self, claim: Claim, said: Evidence) -> None:
        if said.own and RANK[said.source] >= DECLARED:
            self._said_in.setdefault((claim, said.session), set()).add(said.at)
        live = self._live.get(claim)
        if live is not None:
            self._affirm(live, said)
        elif self._was_rejected(claim, said):
            self._refuse(claim, said)
        elif (finer := self._said_finer(claim, said)) is not None:
            self._bear_out(claim, said, finer)
        else:
            self._meet(claim, said)

    # ------------------------------------------------------------------ a claim that is not live

    def _meet(self, claim: Claim, said: Evidence) -> None:
        rivals = [s for s in self._live.values() if self._contradicts(claim, s.claim)]
        if not rivals:
            self._believe(claim, said, [], *(REFINED if self._coarser(claim, RANK[said.source]) else ("new", ())))
            return
        rank = RANK[said.source]
        stronger = [r for r in rivals if self._rank(r) > rank]
        if stronger:
            self._hold(claim, said, "weaker-source", (f"{said.source} does not outweigh what is {_words(stronger)}",))
        elif said.mode in OUTRIGHT:
            how = {Mode.CORRECTION: "corrected", Mode.DENIAL: "denied"}.get(said.mode, "changed")
            self._believe(claim, said, rivals, f"user-{how}", (f"{said.mode} said outright",))
        elif all(self._refines(claim, r.claim) for r in rivals):
            self._believe(claim, said, rivals, *REFINED)
        elif all(self._rank(r) < rank for r in rivals):
            self._believe(claim, said, rivals, "stronger-source", (f"{said.source} outweighs what it contradicts",))
        elif rank < DECLARED:
            self._believe(claim, said, rivals, "newer", (f"the later of two that are {said.source}",))
        else:
            self._arbitrate(claim, said, rivals)

    def _arbitrate(self, claim: Claim, said: Evidence, rivals: Sequence[Spell]) -> None:
        """SPEC B4: the user's own words, said twice in the session (or asked to be remembered), at odds with nothing
        else; weighed with how old, how much in use and how near its end the declared one is."""
        policy = self._policy
        times = len(self._said_in.get((claim, said.session), ()))
        repeated = said.own and (times >= policy.times or said.mode is Mode.REQUEST)
        consistent = len(rivals) == 1
        met = [said.own, repeated, consistent]
        reasons = (
            f"{'the' if said.own else 'not the'} user's own words",
            "asked to be remembered" if said.mode is Mode.REQUEST else f"said {times} time(s) in this session",
            "contradicts nothing else" if consistent else f"contradicts {len(rivals)} things that stand",
        )
        old = [self._strength(r, said.at) for r in rivals]
        weak = all(sure < policy.weak or expiring for sure, expiring in old)
        in_use = any(len({e.session for e in r.words}) >= policy.used_sessions for r in rivals)
        if all(met) or (sum(met) == 2 and weak and not in_use):
            self._believe(claim, said, rivals, "arbitration", (*reasons, f"the old one was at {old[0][0]:.2f}"))
        else:
            self._hold(claim, said, "bare-contradiction", reasons)

    def _strength(self, spell: Spell, at: datetime) -> tuple[float, bool]:
        standing = stand(spell.words, self._confidence, self._policy)
        sure = faded(standing.source, standing.trust, at - standing.affirmed_at, self._confidence)
        until = spell.until
        return sure, until is not None and until - at <= self._policy.expiring

    # ------------------------------------------------------------------ moves

    def _believe(
        self, claim: Claim, said: Evidence, rivals: Sequence[Spell], rule: str, reasons: tuple[str, ...]
    ) -> None:
        spell = self._held.get(claim) or self._told_finer(claim) or self._begin(claim, said)
        spell.add(said)
        self._move(spell, Status.LIVE)
        spell.rule, spell.reasons = rule, reasons
        self._rejected.pop(claim, None)
        for rival in rivals:
            if rule == "arbitration":
                self._demote(rival, spell)
            elif rule == REFINE:
                self._refine(rival, spell)
            else:
                self._end(rival, spell, said)
        if said.mode is Mode.CORRECTION and rivals:
            spell.since = min(spell.since, *(r.since for r in rivals))
        self._outgrow(spell)
        self._close_waiting(spell, said)

    def _begin(self, claim: Claim, said: Evidence) -> Spell:
        spell = Spell(claim, said.at)
        self.spells.append(spell)
        self._latest[claim] = spell
        return spell

    def _move(
        self,
        spell: Spell,
        status: Status,
        over: datetime | None = None,
        by: Spell | None = None,
        *,
        demoted: bool = False,
        refined: bool = False,
    ) -> None:
        for place in (self._live, self._held):
            if place.get(spell.claim) is spell:
                del place[spell.claim]
        self._outgrown.pop(id(spell), None)
        spell.status, spell.over, spell.by, spell.demoted, spell.refined = status, over, by, demoted, refined
        if refined:
            self._outgrown[id(spell)] = spell
        if status is Status.LIVE:
            self._live[spell.claim] = spell
        elif status is Status.HELD:
            self._held[spell.claim] = spell

    def _affirm(self, spell: Spell, said: Evidence) -> None:
        spell.add(said)
        self._outgrow(spell)
        self._close_waiting(spell, said)

    def _hold(self, claim: Claim, said: Evidence, rule: str, reasons: tuple[str, ...]) -> None:
        spell = self._held.get(claim)
        if spell is None:
            spell = self._begin(claim, said)
            self._move(spell, Status.HELD)
        spell.add(said)
        spell.rule, spell.reasons = rule, reasons

    def _refuse(self, claim: Claim, said: Evidence) -> None:
        """SPEC B8: what the user rejected is not learnt again on a weaker word."""
        spell = self._latest.get(claim)
        if spell is None or spell.status is not Status.RETRACTED:
            spell = self._refused.get(claim)
        if spell is None:
            spell = self._refused[claim] = Spell(claim, said.at, Status.RETRACTED, over=said.at)
            self.spells.append(spell)
        spell.refused.append(said)
        spell.rule = "rejected-before"
        spell.reasons = (f"the user rejected it, and {said.source} does not outweigh that",)

    def _end(self, rival: Spell, by: Spell, said: Evidence) -> None:
        wrong = said.mode is Mode.CORRECTION
        if wrong:
            self._rejected[rival.claim] = RANK[said.source]
        # A claim that waited and is right now was right since it was first made.
        over = max(said.at if wrong else by.since, rival.since)
        self._move(rival, Status.RETRACTED if wrong else Status.ENDED, over, by)

    def _demote(self, rival: Spell, by: Spell) -> None:
        """SPEC B4: the old one drops to inferred, to be verified. It is no longer current, and not given up."""
        self._move(rival, Status.HELD, max(by.since, rival.since), by, demoted=True)

    def _end_named(self, claim: Claim, said: Evidence) -> None:
        wrong = said.mode is Mode.WRONG
        by = next((s for s in self._live.values() if said.at in s.outright_at), None)
        spell = self._latest.get(claim)
        standing = spell is not None and (spell.status in (Status.LIVE, Status.HELD) or self._stands_finer(spell))
        if spell is not None and standing and not self._gives_way(spell, said):
            # A weaker word, or there and back in one breath: it says something, and ends nothing.
            spell.add(said)
            return
        if wrong:
            self._rejected[claim] = RANK[said.source]
        if spell is None or (not standing and not self._single and spell.over is not None and spell.over < said.at):
            # 从 MySQL 换成 … tells of MySQL too, even when we had never heard of it.
            spell, standing = self._begin(claim, said), True
            spell.rule = "named-as-old"
        spell.add(said)
        # What is over, or wrong, is so in every detail.
        ended = [s for s in self._live.values() if self._refines(s.claim, claim) and self._gives_way(s, said)]
        for one in [spell, *ended] if standing else ended:
            status = Status.RETRACTED if wrong else Status.ENDED
            self._move(one, status, max(said.at, one.since), by if one is spell else by or spell)

    def _gives_way(self, spell: Spell, said: Evidence) -> bool:
        """Whether what stands is over when somebody says so."""
        return self._rank(spell) <= RANK[said.source] and said.at not in spell.outright_at

    # ------------------------------------------------------------------ what is more precise (SPEC B2)

    def _refines(self, claim: Claim, coarse: Claim) -> bool:
        alike = claim.relation == coarse.relation and not claim.negated and not coarse.negated
        return alike and self._finer(claim.value, coarse.value)

    def _coarser(self, claim: Claim, rank: int) -> list[Spell]:
        """What stands on no better word and is a coarser form of a claim."""
        return [s for s in self._live.values() if self._rank(s) <= rank and self._refines(claim, s.claim)]

    def _said_finer(self, claim: Claim, said: Evidence) -> Spell | None:
        """What says more precisely what is said now, and stands on a word as good. Who says outright that things changed
        means just what they say, unless they say the rest in the same breath, on a word as good."""
        rank = RANK[said.source]
        finer = [
            s
            for s in self._live.values()
            if self._rank(s) >= max(rank, self._borne_out(claim, said))
            and self._refines(s.claim, claim)
            and (
                said.mode not in OUTRIGHT
                or not self._single
                or any(e.at == said.at and RANK[e.source] >= rank for e in s.said)
            )
        ]
        return max(finer, key=lambda s: (s.last, s.claim.value), default=None)

    def _borne_out(self, claim: Claim, said: Evidence) -> int:
        """On how good a word a claim that is past only as the coarser one stands once it is said again."""
        spell = self._told_finer(claim)
        if spell is None:
            return -1
        inferred = spell.inferred_in | ({said.session} if said.source is Source.INFERRED else set())
        return DECLARED if len(inferred) >= self._policy.confirmations else -1

    def _outgrow(self, spell: Spell) -> None:
        """What stands takes along every coarser form of it that stands on no better word."""
        for coarse in self._coarser(spell.claim, self._rank(spell)):
            self._refine(coarse, spell)

    def _bear_out(self, claim: Claim, said: Evidence, finer: Spell) -> None:
        spell = self._held.get(claim) or self._told_finer(claim) or self._begin(claim, said)
        spell.add(said)
        self._refine(spell, finer)
        if said.source is not Source.INFERRED:  # what is guessed coarsely makes nothing precise surer
            finer.borne.append(said)
        self._close_waiting(finer, said, coarse=claim)

    def _refine(self, coarse: Spell, by: Spell) -> None:
        """The coarser one is history: it was not wrong, and what it tells stands in the more precise one."""
        over = coarse.over if coarse.refined else max(by.since, coarse.since)
        self._move(coarse, Status.ENDED, over, by, refined=True)
        coarse.rule, coarse.reasons = REFINED

    def _told_finer(self, claim: Claim) -> Spell | None:
        """The spell of a claim that is past only because a finer form of it stands: said again, it goes on."""
        latest = self._latest.get(claim)
        return latest if latest is not None and self._stands_finer(latest) else None

    def _stands_finer(self, spell: Spell) -> bool:
        return (
            spell.refined and spell.by is not None and (spell.by.status is Status.LIVE or self._stands_finer(spell.by))
        )

    def _was_rejected(self, claim: Claim, said: Evidence) -> bool:
        """SPEC B8: it was, or a coarser form of it was and nothing else of that stands."""
        rank = RANK[said.source]
        return any(
            by > rank and (one == claim or (self._refines(claim, one) and self._said_finer(one, said) is None))
            for one, by in self._rejected.items()
        )

    def _narrow(self) -> None:
        """What waits, and is a coarser or a finer form of what came to stand meanwhile, waits no longer."""
        for waiting in sorted(self._held.values(), key=lambda s: (s.last, s.claim.value), reverse=True):
            if waiting.demoted:
                continue
            finer = [s for s in self._live.values() if self._refines(s.claim, waiting.claim)]
            if any(self._rank(s) >= self._rank(waiting) for s in finer):
                self._refine(waiting, max(finer, key=lambda s: (self._rank(s), s.last, s.claim.value)))
                continue
            coarser = self._coarser(waiting.claim, self._rank(waiting))
            against = [s for s in self._live.values() if self._contradicts(waiting.claim, s.claim)]
            if coarser and all(s in coarser for s in against):
                self._move(waiting, Status.LIVE)
                waiting.rule, waiting.reasons = REFINED
                for coarse in coarser:
                    self._refine(coarse, waiting)

    # ------------------------------------------------------------------ what waits

    def _close_waiting(self, spell: Spell, said: Evidence, coarse: Claim | None = None) -> None:
        """Who says again what stands, or says outright what is so, has settled what was said against it before. Of two
        finer forms of what is said, a `coarse` word settles neither."""
        for waiting in [s for s in self._held.values() if self._contradicts(s.claim, spell.claim)]:
            if not waiting.demoted and (
                self._refines(waiting.claim, spell.claim) or self._refines(spell.claim, waiting.claim)
            ):
                continue  # says the same
            if coarse is not None and self._refines(waiting.claim, coarse):
                continue
            settled = said.own and waiting.last < said.at and self._rank(waiting) <= RANK[said.source]
            if settled and not (waiting.demoted and waiting.by is spell and not _anew(spell, said)):
                status = Status.ENDED if waiting.demoted else Status.RETRACTED
                self._move(waiting, status, waiting.over or max(said.at, waiting.since), spell)

    def _release(self) -> None:
        """What waited only because of something that is over now is believed: the best word first, then the latest."""
        coarse = [
            s
            for s in self._outgrown.values()
            if s.by is not None and s.by.status is Status.RETRACTED and self._latest[s.claim] is s
        ]
        for spell in sorted(
            (*self._held.values(), *coarse), key=lambda s: (self._rank(s), s.last, s.claim.value), reverse=True
        ):
            finer = [s for s in self._live.values() if self._refines(s.claim, spell.claim)]
            if not finer and not any(self._contradicts(spell.claim, s.claim) for s in self._live.values()):
                self._move(spell, Status.LIVE)
                spell.rule = "nothing-against-it"
                self._outgrow(spell)

    def _rank(self, spell: Spell) -> int:
        if spell.best < DECLARED and len(spell.inferred_in) >= self._policy.confirmations:
            return DECLARED
        return spell.best


def _anew(spell: Spell, said: Evidence) -> bool:
    """Whether this word bears the spell out: outright, or in a session that had not spoken of it."""
    return said.mode in OUTRIGHT or said.session not in {e.session for e in spell.words if e is not said}


def _words(spells: Sequence[Spell]) -> str:
    return ", ".join(sorted({e.source.value for s in spells for e in s.said}))
