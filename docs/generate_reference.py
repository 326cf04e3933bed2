"""Writes docs/reference from the program itself: `python docs/generate_reference.py` (a test sees that it was done).

With `--check` nothing is written, and the exit code is 1 when a page is out of date.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import sys
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import typer.main

from jiyi import errors
from jiyi.assembly import open_memory, wall_clock
from jiyi.backends import REFERENCE
from jiyi.settings import Settings
from jiyi.surfaces.cli.app import EXIT_CODES, INTERRUPTED, USAGE, app
from jiyi.surfaces.cli.calls import COMMON
from jiyi.surfaces.cli.origins import plain, variable
from jiyi.surfaces.http.app import create_app
from jiyi.surfaces.http.problems import STATUSES, WHEN
from jiyi.surfaces.mcp.desk import configured
from jiyi.surfaces.mcp.server import MemoryServer
from jiyi.surfaces.mcp.tools import TOOLS

FOLDER = Path(__file__).with_name("reference")
NOTICE = "<!-- Written by docs/generate_reference.py: change the program, then run it again. -->"


def pages() -> dict[str, str]:
    """Every page, by file name."""
    return {
        name: "\n".join([NOTICE, "", *lines]).rstrip() + "\n"
        for name, lines in (
            ("commands.md", commands()),
            ("settings.md", settings()),
            ("errors.md", error_page()),
            ("mcp-tools.md", mcp_tools()),
            ("http.md", http()),
        )
    }


def row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def table(*head: str) -> list[str]:
    return [row(*head), "|" + "---|" * len(head)]


# ------------------------------------------------------------------ commands


def commands() -> Iterator[str]:
    group: Any = typer.main.get_command(app)
    yield from ("# Commands", "", paragraph(group.help), "")
    yield "Data goes to stdout, notes and progress to stderr. With `--json` stdout holds one JSON document, and an error is"
    yield 'one on stderr: `{"error": {"kind": "NotFound", "message": "…"}}`. `NO_COLOR` is honoured.'
    yield from ("", "## Common options", "", "Every command takes these, before or after its name.", "")
    yield from table("option", "what")
    yield from (row(spelled(p), p.help) for p in group.params if p.name in COMMON)
    yield from ("", "## Exit codes", "")
    yield from table("code", "when")
    yield from (row(str(code), when) for code, when in exit_codes())
    for name, command in walk(group):
        yield from one_command(name, command)


def exit_codes() -> list[tuple[int, str]]:
    return [
        (0, "done"),
        (1, "an error; `doctor` and `eval` also when a check or a case failed"),
        (USAGE, "the command line itself is wrong"),
        *((code, f"`{kind.__name__}`: {first_line(kind)}") for kind, code in EXIT_CODES if code > USAGE),
        (INTERRUPTED, "stopped with Ctrl-C"),
    ]


def walk(group: Any, prefix: str = "jiyi") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from walk(command, f"{prefix} {name}")
        else:
            yield f"{prefix} {name}", command


def one_command(name: str, command: Any) -> Iterator[str]:
    own = [p for p in command.params if not p.name.startswith("common_")]
    arguments = [p for p in own if p.param_type_name == "argument"]
    options = [p for p in own if p.param_type_name == "option"]
    called = "".join(f" {label(a)}" if a.required else f" [{label(a)}]" for a in arguments)
    yield from ("", f"## `{name}{called}`", "", paragraph(command.help))
    if arguments or options:
        yield from ("", *table("", "what", "default"))
        yield from (row(f"`{label(a)}`", a.help or "", default(a)) for a in arguments)
        yield from (row(spelled(o), o.help or "", default(o)) for o in options)


def label(argument: Any) -> str:
    return str(argument.metavar or argument.name.upper())


def spelled(option: Any) -> str:
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    return names if option.is_flag else f"{names} {option.metavar or 'VALUE'}"


def default(parameter: Any) -> str:
    value = parameter.default
    return "" if value in (None, False, ()) or value == [] else str(value)


def paragraph(text: str) -> str:
    """Help text as Markdown: lines that only wrapped are joined."""
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


# ------------------------------------------------------------------ settings


def settings() -> Iterator[str]:
    yield from ("# Settings", "")
    yield "A keyword of `open_memory` or a flag wins over the environment, that over `jiyi.toml` in the working directory, that"
    yield "over the default. In the file, `context.budget` is `budget` under `[context]`. Durations are in days. `jiyi config`"
    yield "lists what is in effect and where each value comes from. What has no variable is set in code, with `Settings(…)`."
    yield from section("", Settings())


def section(prefix: str, policy: Any) -> Iterator[str]:
    notes = comments(type(policy))
    fields = [(f.name, getattr(policy, f.name)) for f in dataclasses.fields(policy)]
    leaves = [(name, value) for name, value in fields if not dataclasses.is_dataclass(value)]
    if prefix:
        yield from ("", f"## {prefix.removesuffix('.')}")
        if doc := own_doc(type(policy)):
            yield from ("", doc)
    yield from ("", *table("setting", "default", "variable", "note"))
    for name, value in leaves:
        if isinstance(value, Mapping):
            yield from (row(*cells) for cells in nested(f"{prefix}{name}", value))
        else:
            in_code = isinstance(value, tuple)
            yield row(
                f"`{prefix}{name}`",
                shown(value),
                "" if in_code else f"`{variable(prefix + name)}`",
                notes.get(name, ""),
            )
    for name, value in fields:
        if dataclasses.is_dataclass(value):
            yield from section(f"{prefix}{name}.", value)


def nested(name: str, values: Mapping[Any, Any]) -> Iterator[tuple[str, str, str, str]]:
    for key, policy in values.items():
        for field in dataclasses.fields(policy):
            yield f"`{name}.{key}.{field.name}`", shown(getattr(policy, field.name)), "", ""


def shown(value: Any) -> str:
    if isinstance(value, timedelta) and value < timedelta(days=1):
        return f"`{plain(value):.6g}` ({value.total_seconds():g} seconds)"
    value = plain(value)
    if value is None:
        return ""
    if isinstance(value, float):
        return f"`{value:.6g}`"
    return f"`{', '.join(map(str, value)) if isinstance(value, list) else value}`"


def own_doc(kind: type) -> str:
    doc = inspect.getdoc(kind) or ""
    return "" if doc.startswith(f"{kind.__name__}(") else without_rows(paragraph(doc))


def comments(kind: type) -> dict[str, str]:
    """The comment behind a field, or the lines above it."""
    found: dict[str, str] = {}
    above: list[str] = []
    for line in inspect.getsource(kind).splitlines():
        text = line.strip()
        field = re.match(r"(\w+): [^#]*(?:# *(.*))?$", text)
        if text.startswith("#"):
            above.append(text.lstrip("# "))
        elif field:
            found[field[1]] = without_rows(field[2] or " ".join(above))
            above = []
        else:
            above = []
    return found


def without_rows(text: str) -> str:
    """Without the row of the specification: whoever tunes a setting has no use for it."""
    text = re.sub(r"\s*\(SPEC [^)]*\)|SPEC [A-Z]\d+: |article A\d: ", "", text)
    return text[:1].upper() + text[1:]


# ------------------------------------------------------------------ errors


def error_page() -> Iterator[str]:
    tree = (errors.__doc__ or "").split("\n\n")[1]
    yield from (
        "# Errors",
        "",
        "Everything that jiyi raises on purpose is a `JiyiError`; its message says what to do next.",
        "",
    )
    yield from ("```text", inspect.cleandoc(tree), "```", "")
    yield from table("error", "what it means", "exit code of `jiyi`", "status over HTTP")
    for kind in vars(errors).values():
        if isinstance(kind, type) and issubclass(kind, errors.JiyiError):
            code = next(code for base, code in EXIT_CODES if issubclass(kind, base))
            status = next(status for base, status in STATUSES if issubclass(kind, base))
            yield row(f"`{kind.__name__}`", first_line(kind), str(code), str(status))


# ------------------------------------------------------------------ HTTP


def http() -> Iterator[str]:
    with open_memory("reference", worker=False) as memory:
        document = create_app(memory).openapi()
    yield from (
        "# HTTP",
        "",
        "What `jiyi serve` answers; how to set it up is in [the guide](../service.md). The same as data:",
    )
    yield from ("`GET /v1/openapi.json`.", "", "## Problems", "")
    yield "What goes wrong is told as `application/problem+json` (RFC 9457): `type`, `title`, `status`, `detail`, and `errors` where"
    yield from ("single fields are at fault. `type` is `urn:jiyi:problem:` and the name of an [error](errors.md).", "")
    yield from table("status", "when")
    yield from (row(str(status), when) for status, when in WHEN.items())
    groups: dict[str, list[tuple[str, str, Any]]] = {}
    for path, item in document["paths"].items():
        for method, found in item.items():
            groups.setdefault(found["tags"][0], []).append((method.upper(), path, found))
    schemas = document["components"]["schemas"]
    for group, found in groups.items():
        yield from ("", f"## {group}")
        for method, path, operation in found:
            yield from one_route(method, path, operation, schemas)
    yield from (
        "",
        "## Shapes",
        "",
        "What is sent and what is given. A field that may be left out, or be null, is marked with ?.",
    )
    for name, schema in sorted(schemas.items()):
        if "properties" in schema:
            yield from one_shape(name, schema)
        elif "enum" in schema:
            yield from ("", f"### {name}", "", f"One of {', '.join(f'`{value}`' for value in schema['enum'])}.")


def one_shape(name: str, schema: Any) -> Iterator[str]:
    yield from ("", f"### {name}", "")
    if said := schema.get("description"):
        yield from (paragraph(said), "")
    required = schema.get("required", ())
    fields = schema["properties"].items()
    yield ", ".join(
        f"`{field}`{'' if field in required and not nullable(s) else '?'} {kind_of(s)}" for field, s in fields
    )


def nullable(schema: Any) -> bool:
    return any(s.get("type") == "null" for s in schema.get("anyOf", ()))


def one_route(method: str, path: str, operation: Any, schemas: Any) -> Iterator[str]:
    yield from ("", f"### `{method} {path}`", "", paragraph(operation["description"]))
    parameters = [p for p in operation.get("parameters", ()) if p["in"] != "path" and p["name"] not in EVERYWHERE]
    body = operation.get("requestBody", {}).get("content", {})
    fields = schemas[reference(body["application/json"]["schema"])]["properties"] if "application/json" in body else {}
    fields = {name: schema for name, schema in fields.items() if name not in ("user", "tenant")}
    if parameters or fields:
        yield from ("", *table("", "in", "type", "what"))
        for p in parameters:
            yield row(f"`{p['name']}`", p["in"], kind_of(p["schema"]), p.get("description") or "")
        for name, schema in fields.items():
            yield row(f"`{name}`", "body", kind_of(schema), schema.get("description") or "")
    if body and not fields:
        yield from ("", f"Takes `{next(iter(body))}`.") if "application/json" not in body else ()
    yield from ("", f"Gives {gives(operation)}.")


EVERYWHERE = ("X-Jiyi-User", "X-Jiyi-Timezone")


def reference(schema: Any) -> str:
    if schema.get("type") == "array":
        return f"list of {reference(schema['items'])}"
    return str((schema.get("$ref") or schema["anyOf"][0]["$ref"]).rpartition("/")[2])


def kind_of(schema: Any) -> str:
    """`text`, `a list of text`, `one of live, held`"""
    if "anyOf" in schema:
        return " or ".join(kind_of(s) for s in schema["anyOf"] if s.get("type") != "null")
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if schema.get("type") == "array":
        return f"a list of {kind_of(schema['items'])}"
    return {"string": "text", "boolean": "yes or no"}.get(schema.get("type"), str(schema.get("type", "")))


def gives(operation: Any) -> str:
    status, answer = next((s, a) for s, a in operation["responses"].items() if s.startswith("2"))
    content = answer.get("content", {})
    if len(content) > 1:
        return " or ".join(f"`{kind}`" for kind in content)
    if "application/json" in content:
        return f"`{reference(content['application/json']['schema'])}`"
    return f"`{next(iter(content))}`" if content else f"nothing ({status})"


# ------------------------------------------------------------------ MCP


def mcp_tools() -> Iterator[str]:
    with open_memory(REFERENCE, worker=False) as layer:
        server = MemoryServer(layer, lambda: configured("me", "default"), wall_clock)
        tools = anyio.run(server.list_tools)
        resources = anyio.run(server.list_resources)
        templates = anyio.run(server.list_resource_templates)
    yield from ("# MCP tools", "")
    yield "What a client of `jiyi mcp` sees: names, descriptions and arguments, as the model reads them. No tool takes a user."
    yield from ("", *table("tool", "what for", "reads only", "takes away", "twice is once"))
    for tool in tools:
        hints = tool.annotations
        marks = (hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint) if hints else ()
        yield row(f"`{tool.name}`", tool.title or "", *("yes" if mark else "" for mark in marks))
    yield from ("", "Resources:", "")
    yield from (f"- `{r.uri}`: {r.description}" for r in resources)
    yield from (f"- `{t.uri_template}`: {t.description}" for t in templates)
    examples = {spec.name: spec.example for spec in TOOLS}
    for tool in tools:
        yield from ("", f"## `{tool.name}`", "", tool.description or "")
        yield from ("", *table("argument", "what", "default"))
        yield from (
            schema_row(name, given, tool.input_schema) for name, given in tool.input_schema["properties"].items()
        )
        yield from ("", "```json", json.dumps(examples[tool.name], ensure_ascii=False), "```")


def schema_row(name: str, given: dict[str, Any], schema: dict[str, Any]) -> str:
    choices = given.get("enum") or given.get("items", {}).get("enum") or []
    what = [given.get("description", ""), f"One of {', '.join(choices)}." if choices else ""]
    if name == "messages":
        what.append(f"Each has {', '.join(schema['$defs']['Turn']['properties'])}.")
    value = "required" if name in schema.get("required", ()) else json.dumps(given.get("default"), ensure_ascii=False)
    return row(f"`{name}`", " ".join(filter(None, what)), "" if value in ('""', "[]") else value)


def first_line(kind: type) -> str:
    return without_rows((inspect.getdoc(kind) or "").splitlines()[0])


def main() -> int:
    stale = []
    for name, text in pages().items():
        path = FOLDER / name
        if not path.exists() or path.read_text("utf-8") != text:
            stale.append(name)
            if "--check" not in sys.argv:
                FOLDER.mkdir(exist_ok=True)
                path.write_text(text, "utf-8")
    sys.stdout.write(f"{'out of date' if '--check' in sys.argv else 'written'}: {', '.join(stale) or 'nothing'}\n")
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    raise SystemExit(main())
