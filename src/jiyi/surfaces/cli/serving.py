"""Commands of the service: serve, token, key, visitor."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from jiyi.assembly import open_memory, wall_clock
from jiyi.domain.access import Role
from jiyi.errors import MissingExtra
from jiyi.surfaces.chats.upstreams import read_upstreams
from jiyi.surfaces.cli.calls import SURFACE, Call
from jiyi.surfaces.cli.extras import load_surface
from jiyi.surfaces.cli.output import Line
from jiyi.surfaces.cli.serving_mcp import NEEDS as MCP_NEEDS
from jiyi.surfaces.cli.serving_mcp import PACKAGES as MCP_PACKAGES
from jiyi.surfaces.cli.wording import moment, receipt_document, receipt_lines

EXTRA = "the service (fastapi, uvicorn, joserfc, httpx2 and prometheus-client)"
PACKAGES = {"httpx2", "fastapi", "uvicorn", "joserfc", "prometheus_client", "starlette", "pydantic"}


Shared = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME[:write]",
        help="A shared memory of the tenant that it opens, to read or also to write to; may be repeated.",
        show_default=False,
    ),
]


def _part(name: str) -> Any:
    """A module of ours that stands on the `server` extra. It is loaded by the command that needs it: all others would start
    0.7 s later for it.

    Raises:
        MissingExtra: it is not installed.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name not in PACKAGES:
            raise
        raise MissingExtra(EXTRA, "server") from None


def serve(
    call: Call,
    host: Annotated[str | None, typer.Option(metavar="ADDRESS", help="Listen here. (service.host)")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, metavar="N", help="On this port. (service.port)")
    ] = None,
    worker: Annotated[
        bool,
        typer.Option("--worker/--no-worker", help="Run background jobs here, or leave them to `jiyi work --stay`."),
    ] = True,
    processes: Annotated[
        int | None,
        typer.Option(min=1, max=256, metavar="N", help="So many serve the address together. (service.processes)"),
    ] = None,
    upstream: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME|URL",
            help="The model behind the chat proxies: openai, anthropic, deepseek, ollama …, an address, or echo, which is "
            "built in and needs none; may be repeated. (proxy)",
        ),
    ] = None,
    mcp: Annotated[bool, typer.Option("--mcp", help="Also over MCP at /mcp, for the same callers.")] = False,
) -> None:
    """Serve memory over HTTP, under /v1, until it is stopped.

    Without identity settings it serves the one user of this machine, and nobody else can reach it. With
    identity.mode = jwt it takes tokens of your issuer: docs/service.md. With --upstream, clients of models chat through it
    and are remembered.
    """
    http = _part("jiyi.surfaces.http.server")
    tools = load_surface("mcp.http", MCP_NEEDS, "mcp,server", MCP_PACKAGES) if mcp else None
    given: dict[str, Any] = {} if processes is None else {"service": {"processes": processes}}
    if upstream:
        given["proxy"] = read_upstreams(upstream)
    settings = call.settings_for_service(worker=worker, **given)
    where, number = host or settings.service.host, settings.service.port if port is None else port
    with http.listening(settings.identity, where, number) as sockets:
        several = settings.service.processes
        sibling = _part("jiyi.surfaces.http.processes").multiply(several) if several > 1 else None
        with open_memory(settings=settings) as memory:
            at, also = http.address_of(where, sockets), "" if tools is None else " and /mcp"
            if sibling is None or sibling.number == 1:
                call.out.note(
                    f"serving {memory.info().place} on {at}/v1{also} ({settings.identity.mode} mode); Ctrl-C stops it"
                )
            url = f"{at}/mcp"
            beside = None if tools is None else partial(tools.mcp_beside, memory, clock=wall_clock, url=url)
            http.serve(memory, sockets, sibling, beside)


def token(
    call: Call,
    key: Annotated[
        Path, typer.Option(metavar="FILE", help="The private key; made, with FILE.pub beside it, if missing.")
    ],
    role: Annotated[list[Role] | None, typer.Option(metavar="ROLE", help="user by default; may be repeated.")] = None,
    minutes: Annotated[float, typer.Option(min=0.1, metavar="N", help="How long it is good.")] = 60,
    shared: Shared = None,
) -> None:
    """Issue a token of --user and --tenant for trying things out: you are the issuer, with a key of your own.

    Point identity.key_file at FILE.pub. In production your login service issues tokens, and its key never comes here.
    """
    testing = _part("jiyi.surfaces.auth.testing")
    testing.check_issuing(call.settings.identity)
    if testing.make_key_pair(key):
        call.out.note(f"made a new key in {key}, and its public half in {key}.pub")
    text = testing.issue(
        key, call.settings.identity, call.user, call.tenant, role or [Role.USER], call.now, minutes * 60, shared or []
    )  # fmt: skip
    document = {"token": text, "user": call.user, "tenant": call.tenant, "public_key": f"{key}.pub"}
    call.out.verbatim(document, text)


def add_key(
    call: Call,
    name: Annotated[str, typer.Argument(help="What it is for.")],
    role: Annotated[
        list[Role] | None, typer.Option(metavar="ROLE", help="agent by default; user, auditor, admin; may be repeated.")
    ] = None,
    shared: Shared = None,
) -> None:
    """Make a key with which a service acts for the users of --tenant. It is shown once, and kept only as a hash."""
    with call.layer() as layer:
        key, text = layer.make_service_key(name, tenant=call.tenant, roles=role or [Role.AGENT], shared=shared or [])
    call.out.note(f"key {key.id} of tenant {key.tenant}: keep it, it is not shown again")
    call.out.verbatim({"key": text, **_document(key, call)}, text)


def list_keys(call: Call) -> None:
    """List the keys of services."""
    with call.layer() as layer:
        keys = layer.service_keys()

    def line(key: Any) -> Line:
        gone = "" if key.revoked_at is None else f"  revoked {moment(key.revoked_at, call.zone)}"
        may = ", ".join([*sorted(key.roles), *map(str, key.shared)])
        return f"{key.id}  {key.tenant}  {may}  {key.name}{gone}"

    call.out.show({"keys": [_document(key, call) for key in keys]}, [line(key) for key in keys] or ["no keys"])


def revoke_key(
    call: Call, key: Annotated[str, typer.Argument(metavar="ID", help="Its id, as `jiyi key list` shows it.")]
) -> None:
    """Revoke a key: from now on it opens nothing."""
    with call.layer() as layer:
        layer.revoke_service_key(key)
    call.out.show({"revoked": key}, [f"revoked {key}"])


def open_visitor(
    call: Call,
    fingerprint: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="What you tell devices by: the same is the same visitor. Not stored."),
    ] = None,
) -> None:
    """Open a visitor of --tenant: somebody whom nobody knows yet, all of whose memory goes after identity.visitor_hours."""
    with call.layer() as layer:
        made = layer.open_visitor(tenant=call.tenant, fingerprint=fingerprint)
    call.out.note(f"{made.scope.user} until {moment(made.until, call.zone)}; the token is what it calls with")
    call.out.verbatim(
        {"user": made.scope.user, "token": made.token, "until": moment(made.until, call.zone)}, made.token
    )  # fmt: skip


def link_visitor(
    call: Call,
    token: Annotated[str, typer.Argument(metavar="TOKEN", help="The visitor's.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would change.")] = False,
) -> None:
    """Say that a visitor was --user: what it said is judged in that memory, and ends nothing there."""
    with call.layer() as layer:
        done = layer.link(token, call.user, tenant=call.tenant, dry_run=dry_run, surface=SURFACE)
        document = receipt_document(done, call.of(layer), call.zone, dry_run=dry_run)
    call.out.show(document, receipt_lines(done, "would link" if dry_run else "linked"))


def _document(key: Any, call: Call) -> dict[str, Any]:
    return {
        "id": key.id,
        "name": key.name,
        "tenant": key.tenant,
        "roles": sorted(key.roles),
        "shared": {grant.name: grant.access.value for grant in key.shared},
        "made_at": moment(key.made_at, call.zone),
        "revoked_at": moment(key.revoked_at, call.zone),
    }
