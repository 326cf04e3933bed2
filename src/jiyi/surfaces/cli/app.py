"""The command `jiyi`: which commands there are, and the outer edge where errors become messages and exit codes."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

import jiyi
from jiyi.errors import JiyiError, MemoryPaused, NotFound
from jiyi.surfaces.cli import (
    chatting,
    comparing,
    demo,
    doctor,
    explaining,
    exporting,
    forgetting,
    graph,
    importing,
    measuring,
    moving,
    patterns,
    reading,
    retaining,
    rules,
    serving,
    serving_mcp,
    upkeep,
    writing,
)
from jiyi.surfaces.cli.calls import Action, Common, Db, Json, Quiet, Tenant, Tz, User, with_common
from jiyi.surfaces.cli.mistakes import Commands, usage
from jiyi.surfaces.cli.output import harden_streams, harmless, silence_stdout

OK, ERROR, USAGE, NOT_FOUND, INTERRUPTED = 0, 1, 2, 3, 130

EXIT_CODES: Sequence[tuple[type[BaseException], int]] = (
    (NotFound, NOT_FOUND),
    (JiyiError, ERROR),
)
"""The first that fits counts. Wrong usage of the command line itself is 2."""
LISTED_BY: Mapping[str, str] = {
    "memory": "jiyi memories",
    "message": "jiyi history",
    "summary": "jiyi summaries",
    "session": "jiyi sessions",
    "question": "jiyi questions",
    "trace": "jiyi explain",
    "plan": "jiyi ledger",
    "entity": "jiyi graph entities",
    "rule": "jiyi rules explain",
    "key": "jiyi key list",
}
"""The command that shows what there is, by what was not found."""


def way_on(error: BaseException) -> str:
    """The command that helps, where an error cannot name it: what is below the surfaces knows no commands."""
    match error:
        case MemoryPaused():
            return ": run `jiyi resume`"
        case NotFound(what=what) if what in LISTED_BY:
            return f"; `{LISTED_BY[what]}` shows them"
    return ""


class Edge(Commands):
    """The group of all commands; what goes wrong in one ends here."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run, and end the process with an exit code."""
        harden_streams()
        given = list(sys.argv[1:] if args is None else args)
        as_json = "--json" in given
        try:
            code = super().main(
                given, prog_name, complete_var, standalone_mode=False, windows_expand_args=windows_expand_args, **extra
            )
            sys.stdout.flush()
        except BrokenPipeError:
            silence_stdout()
            code = ERROR
        except typer.Abort:
            _complain("Aborted", "nothing was changed", as_json)
            code = ERROR
        except typer.TyperException as error:
            _complain("Usage", usage(error), as_json)
            code = error.exit_code
        except (JiyiError, OSError) as error:
            _complain(type(error).__name__, f"{error}{way_on(error)}", as_json)
            code = next((code for kind, code in EXIT_CODES if isinstance(error, kind)), ERROR)
        except Exception as error:  # the edge of a command: a user gets a sentence, not a traceback
            if os.environ.get("JIYI_DEBUG"):
                raise
            _complain("Bug", f"this is a bug in jiyi ({type(error).__name__}): run it again with JIYI_DEBUG=1 to see "
                      "where, and report that", as_json)  # fmt: skip
            code = ERROR
        if code == INTERRUPTED:
            _complain("Interrupted", "stopped", as_json)
        raise SystemExit(code if isinstance(code, int) else OK)


def _complain(kind: str, message: str, as_json: bool) -> None:
    """One error on stderr; whoever reads stdout must not have to tell it from data."""
    message = harmless(message)
    if as_json:
        document = {"error": {"kind": kind, "message": message}}
        sys.stderr.write(f"{json.dumps(document, ensure_ascii=not _takes(message))}\n")
    else:
        sys.stderr.write(f"Error: {message}\n")


def _takes(text: str) -> bool:
    try:
        text.encode(sys.stderr.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"jiyi {jiyi.__version__}")
        raise typer.Exit


app = typer.Typer(
    name="jiyi",
    cls=Edge,
    pretty_exceptions_enable=False,
    invoke_without_command=True,
    context_settings={"help_option_names": ["--help", "-h"]},
)


@app.callback()
def start(
    context: typer.Context,
    db: Db = None,
    user: User = None,
    tenant: Tenant = None,
    tz: Tz = None,
    json: Json = False,
    quiet: Quiet = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Long-term memory for AI agents, in Chinese and English. 给 AI 智能体的长期记忆，中文英文都行。

    Start with `jiyi demo`. Every command takes the common options, before or after its name.
    """
    context.obj = Common(db, user, tenant, tz, json, quiet)
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


GROUPS: dict[str, dict[str, Action]] = {
    "Start here": {"demo": demo.demo, "chat": chatting.chat, "doctor": doctor.doctor},
    "Put in": {
        "remember": writing.remember,
        "observe": writing.observe,
        "end": writing.end,
        "import": importing.import_,
    },
    "Ask": {
        "recall": reading.recall,
        "context": reading.context,
        "explain": explaining.explain,
        "history": reading.history,
        "sessions": reading.sessions,
        "summaries": reading.summaries,
        "profile": reading.profile,
        "questions": reading.questions,
        "patterns": patterns.patterns,
        "memories": reading.memories,
        "versions": reading.versions,
    },
    "Change": {
        "correct": writing.correct,
        "feedback": writing.feedback,
        "forget": forgetting.forget,
        "undo": writing.undo,
        "answer": writing.answer,
        "upkeep": writing.upkeep,
        "ledger": reading.ledger,
    },
    "Decide what is kept": {
        "retention": retaining.retention,
        "pause": retaining.pause,
        "resume": retaining.resume,
        "consent": retaining.consent,
    },
    "Serve": {"serve": serving.serve, "mcp": serving_mcp.mcp, "token": serving.token},
    "Operate": {
        "work": upkeep.work,
        "usage": upkeep.usage,
        "export": exporting.export,
        "redistil": upkeep.redistil,
        "reindex": upkeep.reindex,
        "backup": upkeep.backup,
        "restore": upkeep.restore,
        "migrate": moving.migrate,
        "rotate-key": upkeep.rotate_key,
        "config": upkeep.config,
    },
}
"""Every command, under the heading that `jiyi --help` shows."""

for heading, commands in GROUPS.items():
    for name, action in commands.items():
        app.command(name, rich_help_panel=heading)(with_common(action))

GRAPH: dict[str, Action] = {
    "entities": graph.entities,
    "neighbours": graph.neighbours,
    "paths": graph.paths,
    "match": graph.match,
    "export": graph.export,
    "merge": graph.merge,
    "split": graph.split,
    "status": graph.status,
    "repair": graph.repair,
}
RULES: dict[str, Action] = {
    "check": rules.check,
    "dry-run": rules.dry_run,
    "explain": rules.explain,
    "show": rules.show,
}
graphs = typer.Typer(
    cls=Commands, help="What memories speak of, and what leads from one thing to another.", no_args_is_help=True
)
fusion = typer.Typer(cls=Commands, help="The rules by which triples that meet lead to more.", no_args_is_help=True)
for group, actions in ((graphs, GRAPH), (fusion, RULES)):
    for name, action in actions.items():
        group.command(name)(with_common(action))
app.add_typer(graphs, name="graph", rich_help_panel="Ask")
app.add_typer(fusion, name="rules", rich_help_panel="Operate")

evaluation = typer.Typer(
    cls=Commands, help="Measure what memory does, on labelled cases and on public data.", no_args_is_help=True
)
evaluation.command("cases")(with_common(measuring.cases))
evaluation.command("add-case")(with_common(measuring.add_regression))
evaluation.command("extract")(with_common(measuring.extract))
evaluation.command("sample")(with_common(measuring.sample))
evaluation.command("calibration")(with_common(measuring.calibration))
evaluation.command("retrieval")(with_common(comparing.retrieval))
evaluation.command("schemes")(with_common(comparing.schemes))
evaluation.command("sweep")(with_common(comparing.sweep))
evaluation.command("ablation")(with_common(comparing.ablation))
evaluation.command("regress")(with_common(comparing.regress))
evaluation.command("silence")(with_common(measuring.silence))
app.add_typer(evaluation, name="eval", rich_help_panel="Operate")

keys = typer.Typer(
    cls=Commands, help="The keys with which services act for the users of a tenant.", no_args_is_help=True
)
keys.command("add")(with_common(serving.add_key))
keys.command("list")(with_common(serving.list_keys))
keys.command("revoke")(with_common(serving.revoke_key))
app.add_typer(keys, name="key", rich_help_panel="Serve")

visitors = typer.Typer(
    cls=Commands, help="People whom nobody knows yet, whose memory dies by itself.", no_args_is_help=True
)
visitors.command("open")(with_common(serving.open_visitor))
visitors.command("link")(with_common(serving.link_visitor))
app.add_typer(visitors, name="visitor", rich_help_panel="Serve")
