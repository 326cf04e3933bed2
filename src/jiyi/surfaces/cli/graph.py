"""`jiyi graph`: what memories speak of, and what leads from one thing to another (SPEC G1, G3, U4)."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from jiyi.errors import InputError
from jiyi.pipelines.gateway import Receipt
from jiyi.pipelines.graph.export import tie_document, written
from jiyi.pipelines.graph.questions import Entity, Tie
from jiyi.surfaces.cli.calls import Call
from jiyi.surfaces.cli.output import Line
from jiyi.surfaces.cli.wording import BOLD, DIM, Document

Relations: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--relation", "-r", metavar="NAME", help="Only this relation: COMPETES_WITH, or 竞品. May be repeated."
    ),
]
Sure: TypeAlias = Annotated[
    float, typer.Option("--min-confidence", min=0.0, max=1.0, metavar="P", help="How sure every step must be.")
]
At: TypeAlias = Annotated[str | None, typer.Option("--at", metavar="DATE", help="What held then, instead of now.")]
Limit: TypeAlias = Annotated[int, typer.Option(min=1, max=1000, metavar="N", help="Answers at the most.")]
Name: TypeAlias = Annotated[str, typer.Argument(metavar="NAME", help="Any of its names; 用户 or User for the user.")]
DryRun: TypeAlias = Annotated[bool, typer.Option("--dry-run", help="Only show what would change.")]


def entities(
    call: Call,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Only this one, with its weight.")] = None,
    limit: Limit = 50,
) -> None:
    """List what memories speak of, with all names and why each is one."""
    with call.layer() as layer:
        call.work(layer)
        me = call.of(layer)
        found = me.entities(limit) if name is None else [me.entity(name)]
    if not found:
        call.out.note("no memory speaks of anything yet")
    call.out.show({"entities": [_entity_document(e) for e in found]}, (_entity_line(e) for e in found))


def neighbours(
    call: Call,
    name: Name,
    hops: Annotated[int, typer.Option(min=1, metavar="N", help="Steps at the most.")] = 1,
    relation: Relations = None,
    min_confidence: Sure = 0.0,
    at: At = None,
    limit: Limit = 50,
) -> None:
    """Show what is near something: told, or derived by a rule."""
    with call.layer() as layer:
        call.work(layer)
        found = call.of(layer).neighbours(
            name, hops=hops, relations=relation or (), min_confidence=min_confidence, at=call.as_of(at, "--at"), limit=limit
        )  # fmt: skip
    _note(call, len(found), found.cut, found.note)
    documents = [
        {
            "entity": n.entity,
            "type": n.type.value,
            "hops": n.hops,
            "confidence": n.confidence,
            "path": _documents(n.path),
        }
        for n in found
    ]

    def lines() -> Iterator[Line]:
        for one in found:
            yield ((one.entity, BOLD), (f"  {one.type}, {one.hops} away, {one.confidence:.2f}", ""))
            yield from _tie_lines(one.path)

    call.out.show({"neighbours": documents, "cut": found.cut, "note": found.note}, lines())


def paths(
    call: Call,
    start: Annotated[str, typer.Argument(metavar="FROM", help="Any of its names.")],
    end: Annotated[str, typer.Argument(metavar="TO", help="Any of its names.")],
    hops: Annotated[int, typer.Option(min=1, metavar="N", help="Steps at the most.")] = 4,
    relation: Relations = None,
    min_confidence: Sure = 0.0,
    at: At = None,
    limit: Limit = 10,
) -> None:
    """Show what leads from one thing to another, the shortest way first."""
    with call.layer() as layer:
        call.work(layer)
        found = call.of(layer).paths(
            start, end, hops=hops, relations=relation or (), min_confidence=min_confidence, at=call.as_of(at, "--at"), limit=limit
        )  # fmt: skip
    _note(call, len(found), found.cut, found.note)
    documents = [{"entities": list(p.entities), "confidence": p.confidence, "ties": _documents(p.ties)} for p in found]

    def lines() -> Iterator[Line]:
        for one in found:
            yield ((" – ".join(one.entities), BOLD), (f"  {one.confidence:.2f}", ""))
            yield from _tie_lines(one.ties)

    call.out.show({"paths": documents, "cut": found.cut, "note": found.note}, lines())


def match(
    call: Call,
    triples: Annotated[
        list[str], typer.Argument(metavar="TRIPLE...", help="Such as '?us COMPETES_WITH ?x' '?x 报价 ?price'.")
    ],
    past: Annotated[bool, typer.Option("--past", help="Also what is over.")] = False,
    min_confidence: Sure = 0.0,
    at: At = None,
    limit: Limit = 50,
) -> None:
    """Find where several triples hold together, and how much time lies between them."""
    pattern = [_parts(text) for text in triples]
    with call.layer() as layer:
        call.work(layer)
        found = call.of(layer).match(
            pattern, past=past, min_confidence=min_confidence, at=call.as_of(at, "--at"), limit=limit
        )
    _note(call, len(found), found.cut, found.note)
    documents = [
        {"bound": dict(r.bound), "confidence": r.confidence, "days": list(r.days), "ties": _documents(r.ties)}
        for r in found
    ]

    def lines() -> Iterator[Line]:
        for row in found:
            told = "  ".join(f"{variable} = {entity}" for variable, entity in row.bound.items())
            days = f"  {', '.join(f'{d:+.0f}' for d in row.days)} days" if row.days else ""
            yield ((told, BOLD), (f"  {row.confidence:.2f}{days}", ""))
            yield from _tie_lines(row.ties)

    call.out.show({"matches": documents, "cut": found.cut, "note": found.note}, lines())


def export(
    call: Call,
    form: Annotated[str, typer.Option("--format", "-f", metavar="FORMAT", help="graphml, json or mermaid.")] = "json",
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it there.")] = None,
    around: Annotated[str | None, typer.Option(metavar="NAME", help="Only what is near this.")] = None,
    hops: Annotated[int, typer.Option(min=1, metavar="N", help="How near.")] = 2,
    relation: Relations = None,
    min_confidence: Sure = 0.0,
    at: At = None,
) -> None:
    """Write the graph for another program: Gephi, Cytoscape, a Markdown page."""
    with call.layer() as layer:
        call.work(layer)
        picture = call.of(layer).graph(
            around=around, hops=hops, relations=relation or (), min_confidence=min_confidence, at=call.as_of(at, "--at")
        )
    text = written(picture, form)
    _note(call, len(picture.ties), picture.cut, picture.note)
    counts = {"entities": len(picture.entities), "ties": len(picture.ties)}
    if output is None:
        call.out.show({**counts, "format": form, "text": text}, text.rstrip("\n").split("\n"))
        return
    try:
        with output.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise InputError(f"{output}: {error.strerror or error}: choose another file") from error
    call.out.show(
        {**counts, "format": form, "path": str(output)},
        [f"wrote {counts['entities']} entities and {counts['ties']} triples to {output}"],
    )


def merge(
    call: Call,
    one: Annotated[str, typer.Argument(metavar="NAME", help="Any of its names.")],
    other: Annotated[str, typer.Argument(metavar="NAME", help="Another name.")],
    dry_run: DryRun = False,
) -> None:
    """Say that two names mean one thing."""
    with call.layer() as layer:
        call.work(layer)
        receipt = call.of(layer).merge_entities(one, other, dry_run=dry_run)
        entity = None if dry_run else call.of(layer).entity(one)
    _show_change(call, receipt, [] if entity is None else [entity])


def split(
    call: Call,
    one: Annotated[str, typer.Argument(metavar="NAME", help="Any of its names.")],
    other: Annotated[str, typer.Argument(metavar="NAME", help="Another name.")],
    dry_run: DryRun = False,
) -> None:
    """Say that two names do not mean one thing."""
    with call.layer() as layer:
        call.work(layer)
        receipt = call.of(layer).split_entities(one, other, dry_run=dry_run)
    _show_change(call, receipt, [])


def _show_change(call: Call, receipt: Receipt, entities: Sequence[Entity]) -> None:
    changes = [c.after.text for c in receipt.plan.changes if c.after is not None]
    document: Document = {
        "plan": receipt.plan_id,
        "verb": receipt.verb.value,
        "memories": changes,
        "entities": [_entity_document(e) for e in entities],
    }

    def lines() -> Iterator[Line]:
        done = (
            f"{receipt.plan_id}, `jiyi undo {receipt.plan_id}` takes it back"
            if receipt.plan_id
            else "nothing was changed"
        )
        yield from changes
        yield ((done, DIM),)
        yield from map(_entity_line, entities)

    call.out.show(document, lines())


def _parts(text: str) -> list[str]:
    """A triple as it is typed; a name of several words stands in quotes."""
    try:
        parts = shlex.split(text)
    except ValueError as error:
        raise InputError(f"triple {text!r}: {error}") from error
    if len(parts) != 3:
        raise InputError(f"triple {text!r}: write subject, relation and object; quote a name of several words")
    return parts


def status(call: Call) -> None:
    """Show the engine that follows the graph: whether it answers, and what it has still to hear of."""
    with call.layer() as layer:
        found = layer.graph_engine()
    if found is None:
        call.out.show({"engine": None}, ["no engine follows the graph: the database answers alone (docs/neo4j.md)"])
        return
    document = {
        "engine": found.engine, "mark": found.mark, "answers": not found.fault, "fault": found.fault, "scopes": found.scopes,
        "lagging": found.lagging, "waiting": found.waiting,
    }  # fmt: skip
    told = f"{found.lagging:,} of {found.scopes:,} users wait to be told, {found.waiting:,} edges of them one by one"
    lines: list[Line] = [((found.engine, BOLD), (f"  {found.fault or 'answers'}", ""))]
    heard = "nothing waits to be told" if found.fault else "it has heard of everything"
    lines += [told if found.lagging else heard, ((f"owners begin with {found.mark}", DIM),)]
    call.out.show(document, lines)


def repair(call: Call) -> None:
    """Hold all that the engine has against the database, and make it right."""
    with call.layer() as layer:
        done = layer.repair()
    call.out.show({"repaired": done}, done or ["the engine has all that the database has, and nothing else"])


def _note(call: Call, count: int, cut: bool, note: str = "") -> None:
    if note:
        call.out.note(note)
    if not count:
        call.out.note("nothing is there that fits")
    if cut:
        call.out.note("a limit left something out: settings `graph`")


def _entity_document(entity: Entity) -> Document:
    because = {} if entity.because is None else {"weight": entity.weight, "because": dict(entity.because)}
    return {
        "name": entity.name,
        "type": entity.type.value,
        "aliases": {a.name: a.reason.value for a in entity.aliases},
        **because,
    }


def _entity_line(entity: Entity) -> Line:
    others = [f"{a.name} ({a.reason})" for a in entity.aliases if a.name != entity.name]
    weight = "" if entity.because is None else f"  weight {entity.weight:.2f}"
    rules = ", ".join(f"{rule} {by:+.2f}" for rule, by in (entity.because or {}).items())
    told = f"  = {', '.join(others)}" if others else ""
    return ((entity.name, BOLD), (f"  {entity.type}{told}{weight}", ""), (f"  {rules}" if rules else "", DIM))


def _documents(ties: Sequence[Tie]) -> list[Any]:
    return [tie_document(tie) for tie in ties]


def _tie_lines(ties: Sequence[Tie]) -> Iterator[Line]:
    for tie in ties:
        origin = tie.memory or f"{tie.rule} from {', '.join(tie.premises)}"
        yield ((f"   {tie.subject} –{tie.relation}→ {tie.object}  {tie.confidence:.2f}  {origin}", DIM),)
