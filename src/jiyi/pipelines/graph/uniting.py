"""The user says that two names mean one thing, or that they do not (SPEC G1). Both are statements like any other: judged, in the
ledger, undoable, exported and forgotten; which names stand together follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from jiyi.domain.belief import Observation
from jiyi.domain.language import language_of
from jiyi.domain.memory import Evidence, Language, Mode, Source, Triple
from jiyi.domain.plans import Plan
from jiyi.domain.relations import Relation, fact_key, is_own_side, render
from jiyi.domain.scope import Scope
from jiyi.errors import InputError, NotFound
from jiyi.pipelines.graph.view import GraphView
from jiyi.pipelines.judging import Judging, Occasion
from jiyi.ports import Unit

MAX_NAME = 80
APART: Mapping[Language, str] = {Language.ZH: "{}和{}不是一回事", Language.EN: "{} and {} are not the same"}


def check_names(one: str, other: str) -> None:
    """Raises: InputError."""
    if one == other:
        raise InputError("give two names: one name is always one thing")
    for name in (one, other):
        if is_own_side(name):
            raise InputError(
                f"{name} stands for the user's own side, which has the names that are told of it: remember “my name is …” "
                "or “my wife is …” instead"
            )
        if len(name) > MAX_NAME or "\n" in name:
            raise InputError(f"a name has at most {MAX_NAME} letters, on one line")


def unite(
    unit: Unit,
    scope: Scope,
    names: tuple[str, str],
    occasion: Occasion,
    judging: Judging,
    view: GraphView,
    *,
    apart: bool,
    dry_run: bool = False,
) -> Plan:
    """The plan by which two names are one thing from now on, or with `apart` are two. With `dry_run` in a unit for reading.

    Raises:
        NotFound: no memory speaks of either. InputError: names that cannot be told apart by their writing.
    """
    one, other = names
    named = [view.words.named(name) for name in names]
    if not unit.graph.named(scope, names) and not unit.graph.alike(scope, [n.base for n in named]):
        raise NotFound(
            f"no memory speaks of {one!r} or of {other!r}: look among the entities for what they speak of", "entity"
        )
    if apart and named[0].spelling == named[1].spelling:
        raise InputError(f"{one} and {other} are one name in two writings: they cannot be told apart")
    relation = _relation(view)
    subject, thing = _turned(unit, scope, one, other, relation, judging)
    said = _said(subject, thing, relation, occasion.now, judging, apart=apart)
    return judging.all(unit, scope, [said], occasion, dry_run=dry_run)


def _relation(view: GraphView) -> Relation:
    """The identity that may hold of many and reads the same from both sides."""
    return next(r for r in view.vocabulary.identities if not r.single and r.inverse == r.name)


def _turned(unit: Unit, scope: Scope, one: str, other: str, relation: Relation, judging: Judging) -> tuple[str, str]:
    """The pair as it was said before, so that a later word meets the earlier; else the longer name first."""
    first, second = sorted((one, other), key=lambda name: (-len(name), name))
    told = unit.memories.believed(scope, [fact_key(second, relation.name)])
    return (second, first) if any(m.value == judging.fold(first).strip() for m in told) else (first, second)


def _said(subject: str, thing: str, relation: Relation, now: datetime, judging: Judging, *, apart: bool) -> Observation:
    language = language_of(subject + thing)
    text = APART[language].format(subject, thing) if apart else render(relation, subject, thing, language)
    start = judging.confidence.start(Source.DECLARED)
    return Observation(
        text=text,
        category=relation.category,
        importance=relation.importance,
        source=Source.DECLARED,
        start=start,
        at=now,
        value=judging.fold(thing).strip(),
        triple=Triple(subject, relation.name, thing, negated=apart),
        mode=Mode.DENIAL if apart else Mode.CHANGE,
        evidence=(Evidence(0, 0, 0, now, "entities"),),
        keywords=tuple(relation.names.of(language)),
        kept=True,
        language=language,
    )
