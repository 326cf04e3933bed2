"""A name with who bears it beside it: Pepper, my guinea pig, … · 毛毛，就是我的猫，… (SPEC C6, C10).

The two stand in clauses of their own, so no form sees them together. What follows speaks of the one who was named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jiyi.domain.memory import Language
from jiyi.pipelines.distilling.clauses import Clause, View, trimmed
from jiyi.pipelines.distilling.fitting import Fitter, Found, Talk, Who
from jiyi.pipelines.distilling.grammar import compiled


@dataclass(frozen=True, slots=True)
class Apposition:
    """Over two clauses: `named` is what they say, `who` of whom the next one speaks."""

    named: Found
    who: Who


def apposition(fitter: Fitter, view: View, talk: Talk, parts: Sequence[Clause], at: int) -> Apposition | None:
    """What `parts[at]` and the clause behind it say together, when one names whom the other says to be the user's."""
    if at + 1 >= len(parts) or not fitter.narrowing.may("apposed", talk.signs):
        return None
    first, second = parts[at], parts[at + 1]
    if at + 2 < len(parts) and fitter.says(view, "listed", parts[at + 2]):
        return None  # Ann, my brother, and Sue are three
    kin = _kin(fitter, view, second)
    if kin and not (at + 2 < len(parts) and fitter.named(view, parts[at + 2], kin)):  # Hi Tom, my dog, Rex, …
        name = _at_end(fitter, view, first, kin)
        return _said(fitter, view, kin, name, Clause(first.start, second.end)) if name else None
    kin = _kin(fitter, view, first)
    if not kin or at + 2 >= len(parts):
        return None
    name = _after(fitter, view, second, kin)
    return _said(fitter, view, kin, name, Clause(first.start, second.end)) if name else None


def _kin(fitter: Fitter, view: View, clause: Clause) -> str:
    """What a clause says that somebody is to the user, where that is all it says."""
    if not fitter.says(view, "apposed", clause):
        return ""
    found = compiled(fitter.grammar.kin).findall(view.shadow, clause.start, clause.end)
    return fitter.grammar.relative(found[-1]) if found else ""


def _at_end(fitter: Fitter, view: View, clause: Clause, kin: str) -> Clause | None:
    """The name with which a clause ends: the whole, or what presents or meets somebody, and then the name."""
    for start in _starts(fitter, view, clause):
        name = Clause(start, clause.end)
        before = trimmed(view.shadow, clause.start, start)
        if fitter.named(view, name, kin) and (before.start >= before.end or fitter.says(view, "presenting", before)):
            return name
    return None


def _starts(fitter: Fitter, view: View, clause: Clause) -> list[int]:
    """Where the name at the end of a clause may begin, the shortest first: Meet Max is none."""
    if fitter.language is Language.ZH:
        return list(range(clause.end - 1, clause.start - 1, -1))
    words = view.shadow[clause.start : clause.end].split(" ")
    return [clause.end - len(" ".join(words[-n:])) for n in range(1, min(2, len(words)) + 1)]


def _after(fitter: Fitter, view: View, clause: Clause, kin: str) -> Clause | None:
    """The name that a clause consists of, behind 也就是 where the language asks for it."""
    joined = compiled(fitter.grammar.patterns["namely"]).match(view.shadow, clause.start, clause.end)
    if joined is None:
        return None
    name = trimmed(view.shadow, joined.end(), clause.end)
    return name if fitter.named(view, name, kin) else None


def _said(fitter: Fitter, view: View, kin: str, name: Clause, span: Clause) -> Apposition | None:
    naming = fitter.vocabulary.get(fitter.constructions.naming)
    if naming is None:
        return None
    said, subject = view.text[name.start : name.end], fitter.each_of(kin)
    value = fitter.objects.value(said, naming)
    found = Found(said, value, span.start, span.end, fitter.language, relation=naming, subject=subject, object_start=name.start)  # fmt: skip
    return Apposition(found, Who("name", said, subject))
