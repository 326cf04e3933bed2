"""`jiyi eval retrieval`, `schemes`, `sweep` and `regress`: recall on labelled conversations (SPEC R12)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from jiyi.embedders import open_local
from jiyi.errors import InputError
from jiyi.evaluation.ablation import GRAPH_OFF, ablate, ablation_steps, ablation_table
from jiyi.evaluation.contenders import Contender, Jiyi, Via
from jiyi.evaluation.datasets.records import DataSet
from jiyi.evaluation.labelled import OWN, SETS, Choice, read_sets
from jiyi.evaluation.losses import Losses
from jiyi.evaluation.peers import OpenPeer, load_peer
from jiyi.evaluation.plot import bars
from jiyi.evaluation.regress import compare_runs, read_run
from jiyi.evaluation.retrieval import Opener, Result, Watch, measure, results_data, steps
from jiyi.evaluation.retrieval_report import retrieval_tables
from jiyi.evaluation.schemes.comparison import compare_schemes, open_schemes, schemes_table, situations, trials_of
from jiyi.evaluation.schemes.plain import WINDOW
from jiyi.evaluation.sweep import A2_TABLE, choices, parse_grid, sweep_settings, sweep_steps, sweep_table
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
Verb = Annotated[
    str,
    typer.Option(metavar="VERB", help="messages (history alone), recall (memories stand for their turns) or context."),
]
Save = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the run as JSON; `jiyi eval regress` compares two of them.")
]
MarkdownFile = Annotated[Path | None, typer.Option("--markdown", metavar="FILE", help="Write the tables.")]
"""Options that the comparing commands share."""

REGRESSED = 1
DEVELOPMENT = "dev"
KEPT = 1_000_000
"""Traces that are kept where every question is to be accounted for."""
SCHEMES_FIRST = 2
"""Conversations of a set (of each file of MemDaily) that the schemes are told by default: all of it is distilled for each."""


def retrieval(
    call: Call,
    data: Data = None,
    sets: Sets = None,
    half: Half = DEVELOPMENT,
    limit: Limit = None,
    noise: Annotated[
        int, typer.Option(metavar="N", min=0, help="Unrelated turns around each trajectory of MemDaily.")
    ] = 200,
    pictures: Annotated[bool, typer.Option(help="Keep captions of shared pictures in the text of a turn.")] = True,
    via: Verb = Via.MESSAGES.value,
    distil: Annotated[bool, typer.Option("--distil", help="Also distil, when only messages are asked for.")] = False,
    beside: Annotated[
        str,
        typer.Option(metavar="A,B", help="Others on the same data: a1, a2, chroma, chroma:e5, mem0 (in a checkout)."),
    ] = "",
    setting: Setting = None,
    save: Save = None,
    markdown_file: MarkdownFile = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw R@10 of every set as an SVG.")] = None,
    lost: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.jsonl",
            help="Write what became of every gold turn that is not among the first ten, and count it.",
        ),
    ] = None,
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

    losses = None if lost is None else Losses()
    if losses is not None:
        # All questions of a talk are asked at one instant, so "the latest fifty" would be any fifty.
        settings = {"traces.keep": KEPT, **settings}
    results = run_all(call, chosen, [ours, *others(beside)], losses)
    document = results_data(results, settings)
    text = retrieval_tables(results)
    if lost is not None and losses is not None:
        write_file(lost, "".join(f"{line}\n" for line in losses.lines()))
        document["lost"] = losses.data()
        text += f"\n\n{losses.text()}"
    if plot is not None:
        write_file(plot, bars(results))
    _publish(call, document, text, save, markdown_file)


def read_chosen(sets: Sequence[str] | None, data: Path | None, **options: Any) -> list[DataSet]:
    """The named sets, all of them by default; a folder of data is asked for only where one needs it."""
    names = sets or SETS
    own = all(name.endswith(OWN) for name in names)
    if own and options.get("half") != DEVELOPMENT:
        raise InputError("--half: a file of your own has no halves; measure one file for each")
    return read_sets(names, None if own else Choice(data_folder(data), **options))


def others(beside: str) -> list[Opener]:
    """Openers of the peers that `--beside` names."""
    names = [name.strip() for name in beside.split(",")]
    return [_opener(load_peer(name, Path.cwd())) for name in names if name]


def _opener(peer: OpenPeer) -> Opener:
    return lambda folder, _data: peer(folder)


def run_all(
    call: Call, chosen: Sequence[DataSet], openers: Sequence[Opener], watch: Watch | None = None
) -> list[Result]:
    results = []
    total = sum(map(steps, chosen)) * len(openers)
    with call.out.progress("telling and asking", total, "step") as step:
        for data_set in chosen:
            results += [measure(data_set, opener, step, watch) for opener in openers]
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


def schemes(
    call: Call,
    data: Data = None,
    sets: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME",
            help="a3 (needs no data), or sets of `eval retrieval`. By default a3, locomo, memdaily.",
        ),
    ] = None,
    half: Half = DEVELOPMENT,
    limit: Limit = None,
    embedder: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="For the schemes with vectors: use, e5, both, all, or none to leave them out."
        ),
    ] = "use",
    window: Annotated[
        int, typer.Option(metavar="TOKENS", min=0, help="Of the model that everything is stuffed into; 0: no bound.")
    ] = WINDOW,
    setting: Setting = None,
    save: Save = None,
    markdown_file: MarkdownFile = None,
) -> None:
    """Compare ways to remember by what they hand a model: does the context hold the evidence, at what cost?

    A3's five schemes, each written plainly, and jiyi with its context block: everything is observed and distilled.
    a3: a fact in round 1, asked for in round 15 in another session, in three ways.
    """
    names = sets or ["a3", "locomo", "memdaily"]
    trials = situations() if "a3" in names else []
    others = [name for name in names if name != "a3"]
    if others:
        first = SCHEMES_FIRST if limit is None else limit
        for data_set in read_chosen(others, data, half=half, limit=first):
            trials += trials_of(data_set)
    openers = open_schemes(settings_of(setting), None if embedder == "none" else open_local(embedder), window)
    with call.out.progress("telling and asking", len(trials) * len(openers), "talk") as step:
        tallies = compare_schemes(trials, openers, step)
    document = {test: {name: tally.data() for name, tally in found.items()} for test, found in tallies.items()}
    _publish(call, document, schemes_table(tallies), save, markdown_file)


def sweep(
    call: Call,
    data: Data = None,
    which: Annotated[str, typer.Option("--set", metavar="NAME", help="The set that is asked.")] = "locomo",
    half: Half = DEVELOPMENT,
    limit: Limit = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=V1,V2", help="A setting and its values; may be repeated. By default A2's table."),
    ] = None,
    crossed: Annotated[
        bool, typer.Option("--crossed", help="Every combination, instead of one setting at a time.")
    ] = False,
    via: Verb = Via.MESSAGES.value,
    setting: Setting = None,
    save: Save = None,
    markdown_file: MarkdownFile = None,
) -> None:
    """Measure recall under other settings, one table row each, the defaults first."""
    [data_set] = read_chosen([which], data, half=half, limit=limit)
    grid = parse_grid(vary) if vary else A2_TABLE
    chosen = choices(grid, crossed=crossed)
    with call.out.progress("telling and asking", sweep_steps(data_set, chosen), "step") as step:
        points = list(sweep_settings(data_set, chosen, settings_of(setting), _via(via), step))
    _publish(call, {"run": "sweep", "points": [p.data() for p in points]}, sweep_table(points), save, markdown_file)


def ablation(
    call: Call,
    data: Data = None,
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME", help="As for `eval retrieval`. By default locomo and memdaily."),
    ] = None,
    half: Half = DEVELOPMENT,
    limit: Limit = None,
    off: Annotated[
        list[str] | None,
        typer.Option("--off", metavar="NAME=VALUE", help="What switches the part off; by default the graph's channel."),
    ] = None,
    via: Annotated[
        list[str] | None,
        typer.Option(metavar="VERB", help="messages, recall or context; may be repeated. By default the last two."),
    ] = None,
    setting: Setting = None,
    save: Save = None,
    markdown_file: MarkdownFile = None,
) -> None:
    """Show what a part of recall adds, by category: the same memories are asked with it and without."""
    chosen = read_chosen(sets or ["locomo", "memdaily"], data, half=half, limit=limit)
    switched, base = settings_of(off or [GRAPH_OFF]), settings_of(setting)
    vias = [_via(name) for name in via or (Via.RECALL.value, Via.CONTEXT.value)]
    total = sum(ablation_steps(one, switched, vias) for one in chosen)
    with call.out.progress("telling and asking", total, "step") as step:
        found = [ablated for one in chosen for ablated in ablate(one, switched, base, vias, step)]
    told = ", ".join(f"{name} = {value}" for name, value in switched.items())
    document = {"run": "ablation", "off": switched, "found": [one.data() for one in found]}
    _publish(call, document, ablation_table(found, told), save, markdown_file)


def regress(
    call: Call,
    before: Annotated[
        Path, typer.Argument(metavar="BEFORE", help="The earlier run, written by `eval retrieval --save`.")
    ],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="The run to be judged.")],
    tolerance: Annotated[
        float, typer.Option(metavar="SHARE", min=0.0, max=1.0, help="How far a share may fall.")
    ] = 0.005,
    contender: Annotated[
        str | None, typer.Option(metavar="NAME", help="Whose numbers; jiyi's by default, as the earlier run asked it.")
    ] = None,
) -> int | None:
    """Hold a run against an earlier one over the same questions. Exit code 1 when something got worse.

    R@10, MRR and nDCG@10 of a set may not fall by more than the tolerance, nor R@10 of a category, of which one question
    may always be lost.
    """
    found = compare_runs(read_run(before), read_run(after), tolerance, contender)
    call.out.show(found.data(), [found.text()])
    return None if found.ok else REGRESSED


def _publish(call: Call, document: dict[str, Any], text: str, save: Path | None, markdown_file: Path | None) -> None:
    if save is not None:
        write_file(save, json.dumps(document, ensure_ascii=False, indent=1) + "\n")
    if markdown_file is not None:
        write_file(markdown_file, text + "\n")
    call.out.show(document, [text])
