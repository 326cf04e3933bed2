"""What every command has in common: its options, and the memory that it opens."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from jiyi.assembly import load_settings, open_memory, wall_clock
from jiyi.backends import REFERENCE, database_file, is_server
from jiyi.domain.memory import Category
from jiyi.memory_layer import MemoryLayer
from jiyi.scoped_memory import ScopedMemory
from jiyi.settings import Settings, zone
from jiyi.surfaces.cli.output import Output, counted
from jiyi.surfaces.instants import read_instant
from jiyi.together import Together

SURFACE = "cli"
CATEGORIES = ", ".join(Category)
JOBS_AT_ONCE = 16
"""Jobs between two steps of a progress bar."""


@dataclass(frozen=True, slots=True)
class Common:
    """The options that every command takes, as given; None where they were not."""

    db: str | None = None
    user: str | None = None
    tenant: str | None = None
    tz: str | None = None
    json: bool = False
    quiet: bool = False

    def over(self, before: Common) -> Common:
        """These, and where they are silent those given before the command."""
        given = {name: value for name in self.__slots__ if (value := getattr(self, name)) not in (None, False)}
        return replace(before, **given)


_PANEL = "Common options"
Db: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--db",
        metavar="PATH",
        rich_help_panel=_PANEL,
        help="The database: a file, or postgresql://… (JIYI_PATH, else ~/.jiyi/memory.db)",
    ),
]
User: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--user",
        metavar="NAME",
        rich_help_panel=_PANEL,
        help="Whose memory; shared:NAME is one that several share. (JIYI_USER, else me)",
    ),
]
Tenant: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--tenant", metavar="NAME", rich_help_panel=_PANEL, help="The user's tenant. (JIYI_TENANT, else default)"
    ),
]
Tz: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--tz",
        metavar="ZONE",
        rich_help_panel=_PANEL,
        help="Time zone of dates, such as Asia/Shanghai. (JIYI_TIMEZONE, else UTC)",
    ),
]
Json: TypeAlias = Annotated[
    bool, typer.Option("--json", rich_help_panel=_PANEL, help="Print one JSON document; errors too, on stderr.")
]
Quiet: TypeAlias = Annotated[
    bool, typer.Option("--quiet", "-q", rich_help_panel=_PANEL, help="No notes and no progress on stderr.")
]
COMMON: Mapping[str, Any] = {"db": Db, "user": User, "tenant": Tenant, "tz": Tz, "json": Json, "quiet": Quiet}


class Call:
    """One run of one command."""

    def __init__(self, common: Common) -> None:
        self.common = common
        self.out = Output(json=common.json, quiet=common.quiet)
        # An empty name is a mistake, and no way to say the usual one: where it is used it is refused.
        self.user = (os.environ.get("JIYI_USER") or "me") if common.user is None else common.user
        self.tenant = (os.environ.get("JIYI_TENANT") or "default") if common.tenant is None else common.tenant
        self.now = wall_clock()

    @cached_property
    def settings(self) -> Settings:
        return self.settings_with()

    def settings_with(self, **overrides: Any) -> Settings:
        """The settings of this call. A command runs due jobs itself, so there is no worker thread."""
        return load_settings(self.common.db, timezone=self.common.tz, worker=False, **overrides)

    def settings_for_service(self, *, worker: bool, **overrides: Any) -> Settings:
        """The settings of a process that stays: its jobs run in threads of its own, or in another process."""
        return load_settings(self.common.db, timezone=self.common.tz, worker=worker, **overrides)

    @cached_property
    def zone(self) -> tzinfo:
        return zone(self.settings.timezone)

    @property
    def database(self) -> Path | None:
        """The file, or None for an in-memory store and for a server."""
        return None if self.settings.path == REFERENCE or self.server else database_file(self.settings)

    @property
    def server(self) -> bool:
        """Whether the database is a server's."""
        return is_server(self.settings.path)

    @contextmanager
    def layer(self) -> Iterator[MemoryLayer]:
        """The memory, open; a file that had to be made is named, so that a mistyped path is seen."""
        fresh = self.database is not None and not self.database.exists()
        with open_memory(settings=self.settings) as layer:
            if fresh:
                self.out.note(f"made a new memory in {self.database}")
            yield layer

    @contextmanager
    def memory(self) -> Iterator[ScopedMemory]:
        """The user's memory, open."""
        with self.layer() as layer:
            yield self.of(layer)

    @contextmanager
    def reading(self, shared: Collection[str] | None) -> Iterator[ScopedMemory | Together]:
        """The user's memory and shared ones beside it, open to be read (SPEC S6)."""
        with self.layer() as layer:
            yield layer.together(self.user, shared, tenant=self.tenant, surface=SURFACE) if shared else self.of(layer)

    def of(self, layer: MemoryLayer, user: str | None = None) -> ScopedMemory:
        return layer.scope(user or self.user, tenant=self.tenant, surface=SURFACE)

    def work(self, layer: MemoryLayer) -> int:
        """Run what is due, so that the next command sees it; says so when something is left over."""
        waiting, done = layer.lag().waiting, 0
        with self.out.progress("distilling and indexing", waiting, "job") as step:
            while (ran := layer.work(JOBS_AT_ONCE)) > 0:
                done += ran
                step(ran)
        left = layer.lag()
        if left.waiting:
            self.out.note(f"{counted(left.waiting, 'job')} left, to be tried again later: `jiyi work`")
        if left.dead:
            self.out.note(f"{counted(left.dead, 'job')} given up: `jiyi work` lists them")
        return done

    def instant(self, text: str | None, what: str, *, end: bool = False) -> datetime | None:
        """A date or date-time as typed; without a zone it is meant in `--tz`.

        Args:
            end: a bare date stands for the end of that day instead of its beginning.

        Raises:
            InputError: it is neither.
        """
        return None if text is None else read_instant(text, what, self.zone, end=end)

    def as_of(self, text: str | None, what: str) -> datetime | None:
        """The instant from which to look; a bare date is its last moment, since the day as a whole is meant.

        Raises:
            InputError: neither a date nor a date-time.
        """
        at = self.instant(text, what, end=True)
        return at - timedelta(microseconds=1) if at is not None and at != self.instant(text, what) else at


Action: TypeAlias = Callable[..., int | None]


def with_common(action: Action) -> Callable[..., int | None]:
    """`action(call, …)` as a function that typer can read: `call` is made from the common options."""
    signature = inspect.signature(action, eval_str=True)
    _, *own = signature.parameters.values()
    keyword = inspect.Parameter.KEYWORD_ONLY
    shared = [
        inspect.Parameter(f"common_{name}", keyword, default=False if name in ("json", "quiet") else None, annotation=a)
        for name, a in COMMON.items()
    ]
    context = inspect.Parameter("context", keyword, annotation=typer.Context)
    parameters = [context, *(p.replace(kind=keyword) for p in own), *shared]

    def command(**values: Any) -> int | None:
        given = Common(**{name: values.pop(f"common_{name}") for name in COMMON})
        before = values.pop("context").obj or Common()
        return action(Call(given.over(before)), **values)

    command.__name__, command.__doc__ = action.__name__, action.__doc__
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    return command
