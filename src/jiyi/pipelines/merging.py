"""Near-duplicates and fragments are found through the text index and merged, one plan each (SPEC F4)."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from jiyi.domain.belief import Judgement, Verdict
from jiyi.domain.heat import HeatPolicy
from jiyi.domain.memory import Memory, memory_id
from jiyi.domain.merging import (
    CLAUSE,
    MergingPolicy,
    is_fragment,
    may_merge,
    merged,
    merged_heat,
    same_value,
    same_words,
)
from jiyi.domain.plans import Actor, Change, Plan, Verb
from jiyi.domain.scope import Scope
from jiyi.errors import SettingsError
from jiyi.pipelines.recalling.question import read_question
from jiyi.ports import Kind, Unit
from jiyi.text.segmentation import Segmenter

HARMLESS = frozenset("。，、；：！,;:!.“”\"'‘’「」『』《》 \t\r\n")
_NUMBER = re.compile(r"\d+")
ENDS_CLAUSE = frozenset("。，；！,;!.")


@dataclass(frozen=True, slots=True)
class MergeWords:
    """What `merging.toml` says: idle words, one word for each group that is written in several ways, and the words that
    take back what was said before them."""

    light: frozenset[str]
    same: Mapping[str, str]
    turns: frozenset[str]

    @classmethod
    def parse(cls, data: Mapping[str, Any], segmenter: Segmenter) -> MergeWords:
        """Raises: SettingsError when a table is missing or holds something else."""
        try:
            tables = {name: [w for words in data[name].values() for w in words] for name in ("light", "same", "turns")}
            same = {segmenter.fold(word): segmenter.fold(group[0]) for group in tables["same"] for word in group}
            light, turns = (frozenset(map(segmenter.fold, tables[name])) for name in ("light", "turns"))
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise SettingsError(
                f"merging.toml: expected tables light, same and turns with zh and en ({error})"
            ) from error
        return cls(light, same, turns)


@dataclass(frozen=True, slots=True)
class Merging:
    """Finds what says the same. Built once."""

    segmenter: Segmenter
    words: MergeWords
    policy: MergingPolicy
    heat: HeatPolicy

    def plan(self, unit: Unit, scope: Scope, seq: int, now: datetime, actor: Actor) -> Plan | None:
        """The plan that merges a memory with all that say the same; None when nothing does."""
        found = unit.memories.get(scope, [seq])
        if not found:
            return None
        nominee = found[0]
        alike = [m for m in self._candidates(unit, scope, nominee) if self.alike(nominee, m)]
        undone = unit.ledger.undone(scope, Verb.MERGE, [seq, *(m.seq for m in alike)])
        # Whoever took a merge back wants the two apart.
        alike = [] if seq in undone else [m for m in alike if m.seq not in undone]
        if not alike:
            return None
        longest = max([nominee, *alike], key=lambda m: (len(self.read(m.text)), m.importance, -m.seq))
        others = [m for m in [nominee, *alike] if self.alike(longest, m)]
        return _plan(unit, scope, longest, others, now, actor) if others else None

    def join_heat(self, unit: Unit, scope: Scope, plan: Plan, now: datetime) -> None:
        """Before the plan is carried out: what was read of each was read of the one that stays."""
        winner = plan.changes[0].seq
        heat = merged_heat(unit.memories.heat(scope, [c.seq for c in plan.changes]), winner, now, self.heat)
        if heat is not None:
            unit.memories.set_heat(scope, {winner: heat})

    def alike(self, one: Memory, other: Memory) -> bool:
        """Whether two memories say the same, or one what the other begins with."""
        if not may_merge(one, other):
            return False
        if one.key:
            assert one.triple is not None
            assert other.triple is not None
            mine, theirs = (self.read(m.triple.object) for m in (one, other) if m.triple)
            return same_value(mine, theirs) and same_value(self.read(one.value), self.read(other.value))
        if _NUMBER.findall(one.text) != _NUMBER.findall(other.text):
            return False  # Told at a glance, and most often; reading both says the same.
        mine, theirs = self.read(one.text), self.read(other.text)
        if same_words(mine, theirs):
            return True
        short, long = sorted((mine, theirs), key=len)
        return is_fragment(short, long, self.words.turns, self.policy.fragment_share)

    def read(self, text: str) -> list[str]:
        """The words of a text in order, without the idle ones; signs between them are words too, and where a clause ends
        stands `CLAUSE`."""
        folded, place, read = self.segmenter.fold(text), 0, list[str]()
        for word in self.segmenter.words(text):
            start = folded.find(word, place)
            if start < 0:
                continue  # it overlaps the one before
            read += _signs(folded[place:start])
            if word not in self.words.light:
                read.append(self.words.same.get(word, word))
            place = start + len(word)
        read += _signs(folded[place:])
        while read and read[-1] == CLAUSE:
            read.pop()
        return read

    def _candidates(self, unit: Unit, scope: Scope, memory: Memory) -> Sequence[Memory]:
        terms = [(t.text, t.weight) for t in read_question(memory.text, self.segmenter).content if t.kind == "word"]
        if not terms:
            return []
        # What says the same holds all these words, so the few that are likely to be rare find it; what one goes on from is
        # found from its own side.
        terms.sort(key=lambda term: (not any(c.isdigit() for c in term[0]), -len(term[0])))
        terms = terms[: self.policy.search_terms]
        hits = unit.text.search(scope, Kind.MEMORY, terms, self.policy.candidates)
        return unit.memories.get(scope, [hit.seq for hit in hits if hit.seq != memory.seq])


def _signs(between: str) -> list[str]:
    """What stands between two words: a sign that matters (-5 is not 5), or the end of a clause."""
    if ENDS_CLAUSE.intersection(between) and HARMLESS.issuperset(between):
        return [CLAUSE]
    return [sign for sign in between if sign not in HARMLESS]


def _plan(unit: Unit, scope: Scope, winner: Memory, others: Sequence[Memory], now: datetime, actor: Actor) -> Plan:
    gone = {m.seq for m in others}
    pointing = [m for m in unit.memories.replaced_by(scope, gone) if m.seq not in gone and m.seq != winner.seq]
    # The one that stays is named even when nothing in it changes: who forgets it must find what went into it.
    changes = [Change(winner, merged(winner, others)), *(Change(m, None) for m in others)]
    changes += [Change(m, replace(m, successor=winner.seq)) for m in pointing]
    words = f"{', '.join(memory_id(m.seq) for m in others)} merged into {winner.id}, with all evidence"
    told = Judgement(Verdict.MERGE, "says-the-same", (words,), same=winner.seq, ends=tuple(sorted(gone)))
    return Plan(Verb.MERGE, actor, now, "two that say the same", tuple(changes), (told,))


def merged_into(unit: Unit, scope: Scope, seqs: Collection[int]) -> set[int]:
    """The memories that went into these and are no more: the ledger still holds what they said (SPEC F4)."""
    merged, left = set[int](), set(seqs)
    while left:
        about = [e.plan for seq in left for e in unit.ledger.about(scope, seq) if e.plan.verb is Verb.MERGE]
        into = [plan for plan in about if any(c.seq in left and c.after is not None for c in plan.changes)]
        gone = {c.seq for plan in into for c in plan.changes if c.after is None} - merged
        left = gone - {m.seq for m in unit.memories.get(scope, gone)}
        merged |= left
    return merged
