"""`jiyi eval retrieval`: recall on labelled conversations, beside others (SPEC R12)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from jiyi.errors import InputError
from jiyi.evaluation.contenders import Contender, Jiyi, Via
from jiyi.evaluation.datasets.records import DataSet
from jiyi.evaluation.labelled import OWN, SETS, Choice, read_sets
from jiyi.evaluation.retrieval import Opener, Result, measure, results_data
from jiyi.evaluation.retrieval_report import markdown
from jiyi.surfaces.cli.calls import Call
from jiyi.surfaces.cli.measuring import Data, data_folder

Half = Annotated[str, typer.Option(metavar="NAME", help="Which half of the data: dev or heldout.")]
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME",
        help=f"{', '.join(SETS)}, or a FILE.jsonl of your own; may be repeated. All by default.",
    ),
]
Limit = Annotated[int | None, typer.Option(metavar="N", min=0, help="Only the first N conversations of a set; 0: all.")]
Setting = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE", help="A setting other than its default, such as ranking.recency=0; may be repeated."
    ),
]
"""Options that the comparing commands share."""


def retrieval(
    call: Call,
    data: Data = None,
    sets: Sets = None,
    half: Half = "dev",
    limit: Limit = None,
    noise: Annotated[
        int, typer.Option(metavar="N", min=0, help="Unrelated turns around each trajectory of MemDaily.")
    ] = 200,
    pictures: Annotated[bool, typer.Option(help="Keep captions of shared pictures in the text of a turn.")] = True,
    via: Annotated[
        str,
        typer.Option(
            metavar="VERB", help="messages (history alone), recall (memories stand for their turns) or context."
        ),
    ] = Via.MESSAGES.value,
    distil: Annotated[bool, typer.Option("--distil", help="Also distil, when only messages are asked for.")] = False,
    setting: Setting = None,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the run as JSON, for `jiyi eval regress`.")
    ] = None,
    markdown_file: Annotated[Path | None, typer.Option("--markdown", metavar="FILE", help="Write the tables.")] = None,
) -> None:
    """Measure recall on labelled conversations: R@k, MRR, nDCG, time and tokens, beside what is wanted.

    Every conversation is told to a fresh memory in a real file, one scope each, and its questions are asked through
    `recall`. Passages of history need no memories: unless --distil or another --via asks for them, nothing is distilled.
    """
    chosen = read_chosen(sets, data, half=half, limit=limit, noise=noise, pictures=pictures)
    settings = settings_of(setting)
    how = _via(via)

    def ours(folder: Path, data_set: DataSet) -> Contender:
        return Jiyi(folder, via=how, distil=distil or data_set.is_streamed, settings=settings)

    results = run_all(call, chosen, [ours])
    document = results_data(results, settings)
    text = markdown(results)
    if save is not None:
        write_file(save, json.dumps(document, ensure_ascii=False, indent=1) + "\n")
    if markdown_file is not None:
        write_file(markdown_file, text + "\n")
    call.out.show(document, [text])


def read_chosen(sets: Sequence[str] | None, data: Path | None, **options: Any) -> list[DataSet]:
    """The named sets, all of them by default; a folder of data is asked for only where one needs it."""
    names = sets or SETS
    own = all(name.endswith(OWN) for name in names)
    return read_sets(names, None if own else Choice(data_folder(data), **options))


def run_all(call: Call, chosen: Sequence[DataSet], openers: Sequence[Opener]) -> list[Result]:
    results = []
    total = sum(d.questions for d in chosen) * len(openers)
    with call.out.progress("asking", total, "question") as step:
        for data_set in chosen:
            results += [measure(data_set, opener, step) for opener in openers]
    return results


def settings_of(given: Sequence[str] | None) -> dict[str, Any]:
    """`NAME=VALUE` pairs. Raises: InputError."""
    found = {}
    for pair in given or ():
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise InputError(f"--setting {pair!r}: write NAME=VALUE, such as ranking.recency=0")
        found[name] = value
    return found


def _via(given: str) -> Via:
    if given not in set(Via):
        raise InputError(f"--via {given!r}: use one of {', '.join(Via)}")
    return Via(given)


def write_file(path: Path, text: str) -> None:
    """Raises: InputError: it cannot be written."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}: name another file") from error
