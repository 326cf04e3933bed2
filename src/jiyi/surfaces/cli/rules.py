"""`jiyi rules`: the fusion rules, to check, to try and to read (SPEC G2, U4)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from jiyi.assembly import open_memory
from jiyi.domain.fusion_rules import Ask, Derive, Rule, Weight
from jiyi.domain.memory import Language
from jiyi.errors import NotFound
from jiyi.graph_files import load_rules, shipped_rules
from jiyi.pipelines.graph.export import tie_document
from jiyi.shipped import load_vocabulary
from jiyi.surfaces.cli.calls import Call
from jiyi.surfaces.cli.output import Line, counted
from jiyi.surfaces.cli.wording import BOLD, DIM, Document

File = Annotated[
    Path | None, typer.Argument(metavar="FILE", help="A file of rules; by default those that the settings name.")
]


def check(call: Call, file: File = None) -> None:
    """Check a file of rules: every fault is told with its line."""
    rules = load_rules(load_vocabulary(), _named(call, file))
    on, off = len(rules.rules), len(rules.asleep)
    told = f"{counted(on, 'rule')} can be used{f', {off} off' if off else ''}"
    call.out.show({"rules": on, "off": off, "derived": sorted(rules.derived)}, [told])


def dry_run(call: Call, file: File = None) -> None:
    """Show what a file of rules makes of the user's memory, without using it from now on."""
    settings = replace(call.settings, fusion_rules=_named(call, file))
    with open_memory(settings=settings) as layer:
        call.work(layer)
        me = call.of(layer)
        found, asked = me.derived(), [q for q in me.questions() if q.topic == "rule"]
    document: Document = {
        "derived": [{**tie_document(i.tie), "why": i.why} for i in found],
        "questions": [{"id": q.id, "text": q.text} for q in asked],
        "cut": found.cut,
    }

    def lines() -> Iterator[Line]:
        for one in found:
            yield ((one.tie.text, BOLD), (f"  {one.tie.confidence:.2f}", ""))
            yield ((f"   {one.why}  ({one.tie.rule}, from {', '.join(one.tie.premises)})", DIM),)
        for question in asked:
            yield ((question.id, BOLD), (f"  {question.text}", ""))

    if not found and not asked:
        call.out.note("these rules make nothing of what is known now")
    call.out.show(document, lines())


def explain(
    call: Call,
    rule: Annotated[str | None, typer.Argument(metavar="RULE", help="Its id; without one all are listed.")] = None,
    file: Annotated[Path | None, typer.Option(metavar="FILE", help="Another file of rules.")] = None,
) -> None:
    """Say what the rules do, in Chinese and English."""
    rules = load_rules(load_vocabulary(), _named(call, file))
    known = [*rules.rules, *rules.asleep]
    if rule is not None:
        found = rules.get(rule)
        if found is None:
            raise NotFound(f"no rule {rule!r} here", "rule")
        known = [found]
    call.out.show(
        {"rules": [_document(r) for r in known]}, (line for r in known for line in _lines(r, rule is not None))
    )


def show(call: Call) -> None:
    """Print the shipped rules as they are written, to make a file of your own from."""
    text = shipped_rules()
    call.out.show({"text": text}, text.rstrip("\n").split("\n"))


def _named(call: Call, file: Path | None) -> str | None:
    return call.settings.fusion_rules if file is None else str(file)


def _document(rule: Rule) -> Document:
    return {
        "id": rule.id,
        "zh": rule.says[Language.ZH],
        "en": rule.says[Language.EN],
        "when": [[a.subject, list(a.relations) or "*", a.object] for a in rule.when],
        "then": _effect(rule),
        "off": rule.off,
        "line": rule.line,
    }


def _effect(rule: Rule) -> str:
    effect = rule.effect
    match effect:
        case Derive():
            return f"derives {effect.subject} {effect.relation} {effect.object}, {effect.sure:.2f} sure"
        case Weight():
            return f"adds {effect.by} to the weight of {effect.variable}"
        case Ask():
            return f"asks about triple {' or '.join(map(str, effect.about))}"


def _lines(rule: Rule, whole: bool) -> Iterator[Line]:
    yield ((rule.id, BOLD), ("  off" if rule.off else "", DIM))
    yield f"   {rule.says[Language.ZH]}"
    yield f"   {rule.says[Language.EN]}"
    yield ((f"   {_effect(rule)}", DIM),)
    if whole:
        for number, atom in enumerate(rule.when):
            relations = " or ".join(atom.relations) or "any relation"
            yield ((f"   {number}: {atom.subject} {relations} {atom.object}{', also past' if atom.past else ''}", DIM),)
