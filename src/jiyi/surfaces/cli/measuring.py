"""`jiyi eval`: measure what memory does on labelled cases (SPEC R12)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from jiyi.errors import InputError
from jiyi.evaluation.calibration import calibrate, document, lines
from jiyi.evaluation.case_files import read_cases
from jiyi.evaluation.extract_report import SETS, Wanted, measure, read_data
from jiyi.evaluation.harness import OWN_CASES, Report, open_default, run_case, run_folder
from jiyi.evaluation.regression import add_case
from jiyi.evaluation.sampling import (
    REAL,
    Row,
    SamplePolicy,
    Verdicts,
    collect,
    draw,
    find_worth,
    judge,
    key_lines,
    read_chats,
    read_key,
    read_labels,
    read_worth,
    sheet_lines,
    write_lines,
)
from jiyi.evaluation.silence import EMBEDDERS, HALVES, MORE, TALKS, load_people
from jiyi.evaluation.silence import measure as measure_silence
from jiyi.shipped import load_vocabulary
from jiyi.surfaces.cli.calls import Call

CASES_FAILED = 1


def cases(
    call: Call,
    folder: Annotated[Path | None, typer.Argument(metavar="DIR", help="By default the cases that jiyi ships.")] = None,
    only: Annotated[list[str] | None, typer.Option(metavar="ID", help="Only this case; may be repeated.")] = None,
) -> int | None:
    """Run the cases of a folder, each on a memory of its own. Exit code 1 when one fails."""
    report = run_folder(folder or OWN_CASES, only=only or ())
    call.out.show(report.data(), [report.text()])
    return None if report.ok else CASES_FAILED


def add_regression(
    call: Call,
    trace: Annotated[str, typer.Argument(metavar="TRACE", help="The bad recall: `jiyi explain` lists the latest.")],
    wanted: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Should have been in the answer: m42 or h17; may be repeated."),
    ] = None,
    unwanted: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Should not have been in it; may be repeated.")
    ] = None,
    to: Annotated[Path, typer.Option(metavar="FILE", help="The file of cases that it is added to.")] = Path(
        "regressions/recall.toml"
    ),
    name: Annotated[str, typer.Option("--id", metavar="NAME", help="Of the case; by default the trace's.")] = "",
) -> None:
    """Turn a bad recall into a case, with the turns it rests on and those that stood in the way, and run it.

    `jiyi eval cases DIR` runs the folder again, until it passes. The file holds what the memory holds: keep it as private.
    """
    with call.memory() as me:
        to.parent.mkdir(parents=True, exist_ok=True)
        case = add_case(me, trace, to, wanted=wanted or (), unwanted=unwanted or (), case_id=name)
    [added] = [c for c in read_cases(to) if c.id == case]
    passes = Report(to, (run_case(added, open_default),)).ok
    told = "passes already" if passes else "fails today, as it should until this is mended"
    call.out.show({"file": str(to), "case": case, "passes": passes}, [f"{to}: case {case} {told}"])


Data = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", help="The folder that holds the public data sets. (JIYI_EVALDATA)"),
]


def extract(
    call: Call,
    data: Data = None,
    which: Annotated[str, typer.Option("--set", metavar="NAME", help=f"{', '.join(SETS)} or all.")] = "all",
    half: Annotated[
        str, typer.Option(metavar="NAME", help="Which half of the data; it is part of file names.")
    ] = "dev",
    limit: Annotated[
        int, typer.Option(metavar="N", min=0, help="Only N talks of each set, evenly over it; 0: all.")
    ] = 0,
    misses: Annotated[int, typer.Option(metavar="N", min=0, help="Show N things that were said and not found.")] = 0,
    wrong: Annotated[int, typer.Option(metavar="N", min=0, help="Show N memories that are not true.")] = 0,
) -> None:
    """Measure what is distilled from public data: precision and recall, as Markdown tables.

    Every talk is observed in a fresh memory with default settings, and its memories are held against what the data
    says is true. What counts as a match is printed below the tables.
    """
    sets = SETS if which == "all" else (which,)
    read = read_data(Wanted(data_folder(data), sets, half, limit))
    with call.out.progress("observing", read.count, "talk") as step:
        found = measure(read, step=step)
    call.out.show(found.data(misses, wrong), [found.text(misses, wrong)])


def data_folder(given: Path | None) -> Path:
    """The folder of public data sets.

    Raises:
        InputError: none is named, or it is no folder.
    """
    named = given or (Path(os.environ["JIYI_EVALDATA"]) if os.environ.get("JIYI_EVALDATA") else None)
    if named is None:
        raise InputError("no data: name the folder of the public data sets with --data DIR or JIYI_EVALDATA")
    if not named.is_dir():
        raise InputError(f"{named} is no folder: --data names the one that holds memdaily, realmem, locomo, …")
    return named


def sample(
    call: Call,
    data: Data = None,
    seed: Annotated[int, typer.Option(metavar="N", help="The same seed draws the same sheet.")] = 1,
    size: Annotated[int, typer.Option(metavar="N", min=1, help="Rows of the sheet; a fifth of them is planted.")] = 200,
    half: Annotated[
        str, typer.Option(metavar="NAME", help="Which half of the data; it is part of file names.")
    ] = "dev",
    out: Annotated[
        Path | None, typer.Option(metavar="STEM", help="Write STEM.jsonl, to be labelled, and STEM.key.jsonl.")
    ] = None,
    facts: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Facts worth keeping, JSON lines: how many are stored.")
    ] = None,
    score: Annotated[list[Path] | None, typer.Option(metavar="FILE", help="A labelled sheet; may be repeated.")] = None,
    key: Annotated[Path | None, typer.Option(metavar="FILE", help="The key of the labelled sheets.")] = None,
) -> None:
    """Have stored memories judged: draw a sheet with false ones mixed in, or score labelled sheets.

    MemoryBank and LoCoMo are observed at default settings. Every row of the sheet shows a memory, the turns it rests on
    and the turn before each; its label is to be good, bad or unsure. The key says which rows are planted: an altered
    value, the wrong person, a wrong date, or the opposite. Lines of --facts are {"source", "fact", "keywords"}.
    """
    if score:
        if key is None:
            raise InputError("--score needs the key of the sheet: --key FILE")
        verdicts = _judged(score, key)
        call.out.show(verdicts.data(), [verdicts.text()])
        return
    if out is None and facts is None:
        raise InputError(
            "say what to do: --out STEM draws a sheet, --facts FILE looks for facts, --score FILE scores labels"
        )
    chats = read_chats(data_folder(data), half)
    with call.out.progress("observing", len(chats), "talk") as step:
        stored = collect(chats, step=step)
    document: dict[str, Any] = {"stored": len(stored)}
    lines: list[str] = []
    if facts is not None:
        kept = find_worth(read_worth(facts), stored, [chat.id for chat in chats], SamplePolicy())
        document |= {"facts": kept.data()}
        lines.append(kept.text())
    if out is not None:
        made = _sheet(draw(stored, size, seed, load_vocabulary(), SamplePolicy()), out)
        document |= made
        lines.append(
            f"{made['sheet']}: {made['rows']} of {len(stored):,} memories to label, {made['planted']} of them planted; "
            f"the key is {made['key']}"
        )
    call.out.show(document, lines)


def _sheet(rows: list[Row], out: Path) -> dict[str, Any]:
    sheet, key = out.with_name(f"{out.name}.jsonl"), out.with_name(f"{out.name}.key.jsonl")
    write_lines(sheet, sheet_lines(rows))
    write_lines(key, key_lines(rows))
    planted = sum(row.kind != REAL for row in rows)
    return {"sheet": str(sheet), "key": str(key), "rows": len(rows), "planted": planted}


def _judged(files: list[Path], key: Path) -> Verdicts:
    truth = read_key(key)
    # Two readers may call their sheets the same.
    alike = len({path.name for path in files}) < len(files)
    return judge({str(path) if alike else path.name: read_labels(path, truth) for path in files}, truth)


def calibration(
    call: Call,
    people: Annotated[int, typer.Option(min=1, metavar="N", help="Simulated people.")] = 400,
    seed: Annotated[int, typer.Option(metavar="N", help="The same seed gives the same table.")] = 1,
) -> None:
    """Compare confidence with truth on simulated people whose facts change: one reliability table a source."""
    settings = call.settings
    results = calibrate(people, seed, settings.confidence, settings.arbitration)
    call.out.show(document(results, people, seed), lines(results, people, seed))


def silence(
    call: Call,
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="By default the talks that jiyi ships.")] = None,
    half: Annotated[str, typer.Option(metavar="NAME", help=f"{', '.join(HALVES)} or all.")] = "all",
    misses: Annotated[
        int,
        typer.Option(metavar="N", min=0, help="Show N questions of each kind that went wrong, developer half only."),
    ] = 0,
    embedder: Annotated[
        str, typer.Option(metavar="NAME", help="Find by meaning as well: use, e5, both or all.")
    ] = "none",
) -> None:
    """Measure whether the context block says nothing when nothing relevant is known, as a Markdown table.

    Talks of invented people, in Chinese and English, are observed with default settings. Then questions are asked:
    answerable ones must find their evidence, and the block must stay silent on the others: off-topic, about somebody
    or something never mentioned, or about what was never said of somebody known.
    """
    if half not in (*HALVES, "all"):
        raise InputError(f"no half {half!r}: choose {', '.join(HALVES)} or all")
    if embedder not in EMBEDDERS:
        raise InputError(f"no embedder {embedder!r} here: choose one of {', '.join(EMBEDDERS)}")
    talks = load_people(file) if file else [*load_people(TALKS), *load_people(MORE)]
    people = [person for person in talks if half in (person.half, "all")]
    with call.out.progress("asking", len(people), "talk") as step:
        found = measure_silence(people, embedder=embedder, step=step)
    call.out.show(found.data(misses), [found.text(misses)])
