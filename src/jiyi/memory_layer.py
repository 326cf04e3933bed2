"""The façade over all scopes of one memory: opening is in assembly, one user's verbs are in `scoped_memory` (DESIGN §3)."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta, tzinfo
from pathlib import Path
from types import TracebackType

from jiyi.domain.access import KEY_ROLES, Role, ServiceKey, Visitor, digest_of, key_text, parse_grant
from jiyi.domain.forgetting import ForgettingReceipt
from jiyi.domain.plans import ADMIN, Actor, Plan, Verb
from jiyi.domain.scope import Scope, check_name, shared_scope
from jiyi.engine import Engine, Parts
from jiyi.errors import InputError, NotFound, PlanRefused, SettingsError
from jiyi.jobs import Clock
from jiyi.memory_reader import ALL
from jiyi.pipelines.arguments import read_role
from jiyi.pipelines.forgetting import Request
from jiyi.pipelines.gateway import Receipt
from jiyi.pipelines.graph.following import GraphStatus
from jiyi.pipelines.modelling.probing import probe
from jiyi.pipelines.modelling.spending import Usage, read_usage
from jiyi.pipelines.retention import survey
from jiyi.pipelines.verifying import forgotten_check
from jiyi.pipelines.visiting import find_visitor, link, open_visitor
from jiyi.ports import Check, DeadJob, JobCounts, Store, StoreInfo, Unit
from jiyi.scoped_memory import ScopedMemory
from jiyi.settings import Settings, zone
from jiyi.together import Together

SEGMENTER = "segmenter"
DICTIONARY = "dictionary"
"""Names of what a database stores of its segmenter: the identity it was indexed with, and its own words, one a line."""
UNFINISHED = "(a rebuild that did not finish)"
"""Stands for the segmenter of an index while it is rebuilt."""


class MemoryLayer:
    """One open memory: all scopes of one database. Make it with `jiyi.open_memory`.

    Use it as a context manager, or call `close()`. Methods here are operator calls: they see all scopes and
    return no memory text; `scope(...)` gives one user's memory.
    """

    def __init__(self, store: Store, parts: Parts, clock: Clock) -> None:
        self._store, self._parts, self._clock = store, parts, clock
        self._engine = Engine(store, parts, clock)

    def scope(
        self,
        user: str,
        *,
        tenant: str = "default",
        tz: str | None = None,
        surface: str = "library",
        who: str = "user",
    ) -> ScopedMemory:
        """The memory of one user.

        Args:
            tz: the user's time zone, e.g. Asia/Shanghai; dates are written in it. From the settings by default.
            surface, who: through which surface it is used and by whom, for the ledger (SPEC W4).

        Raises:
            InputError: a name that cannot be one. SettingsError: no such time zone.
        """
        return ScopedMemory(self._engine, Scope(user, tenant), self._zone(tz), Actor(who, surface))

    def shared(
        self,
        name: str,
        *,
        tenant: str = "default",
        tz: str | None = None,
        surface: str = "library",
        who: str = "user",
        traced: bool = True,
    ) -> ScopedMemory:
        """The memory that several users of a tenant share: a team's, a household's (SPEC S6). It is a scope of its own, with
        all the verbs of one; who may use it is for the caller to say.

        Args:
            traced: whether a question leaves a trace, which everybody who reads here can see.

        Raises:
            InputError: a name that cannot be one. SettingsError: no such time zone.
        """
        scope, actor = shared_scope(name, tenant), Actor(who, surface)
        return ScopedMemory(self._engine, scope, self._zone(tz), actor, traced=traced)

    def together(
        self,
        user: str,
        shared: Collection[str],
        *,
        tenant: str = "default",
        tz: str | None = None,
        surface: str = "library",
        who: str = "user",
    ) -> Together:
        """The memory of one user and shared ones beside it, to read: `recall`, `context` and `profile`, each piece labelled
        with its scope (SPEC S6). Takes and raises what `scope` and `shared` do."""
        own = self.scope(user, tenant=tenant, tz=tz, surface=surface, who=who)
        beside = [
            self.shared(name, tenant=tenant, tz=tz, surface=surface, who=who, traced=False)
            for name in sorted(set(shared))
        ]
        return Together(self._engine, own, beside, self._zone(tz))

    def is_there(self, scope: Scope) -> bool:
        """Whether anything was ever written to it."""
        return self._store.view(lambda unit: unit.messages.last_seq(scope) > 0 or unit.ledger.last_seq(scope) > 0)

    def _zone(self, name: str | None) -> tzinfo:
        return zone(name or self._parts.settings.timezone)

    def work(self, limit: int | None = None, *, slow: bool = True) -> int:
        """Run due background jobs until none is left (or `limit`); returns how many ran. Reads are written too.

        Args:
            slow: also those that wait for a language model or an embedder.
        """
        return self._engine.work(limit, slow=slow)

    @property
    def settings(self) -> Settings:
        """What this memory was opened with."""
        return self._parts.settings

    def lag(self) -> JobCounts:
        """Waiting, running and dead jobs of all scopes: how far behind distilling is (SPEC O5)."""
        return self._store.view(lambda unit: unit.jobs.counts(None, self._clock()))

    def dead_jobs(self, limit: int = 100, *, tenant: str | None = None) -> list[DeadJob]:
        """Jobs that were given up, oldest first; of all tenants, or of one."""
        dead = self._store.view(lambda unit: unit.jobs.dead(limit if tenant is None else ALL))
        return dead if tenant is None else [job for job in dead if job.scope.tenant == tenant][: max(limit, 0)]

    def retry_job(self, job_id: int, *, role: str | None = None, tenant: str | None = None) -> None:
        """Queue a dead job again.

        Args:
            tenant: only if the job is of this tenant.
            role: "admin" lets what it says pass the limit of the gateway; the ledger names the administrator (SPEC W1).

        Raises:
            NotFound: no such job. PlanRefused: a role that may not do that.
        """
        if role is not None:
            _check_admin(role, "let a plan pass the limit")

        def revive(unit: Unit) -> bool:
            known = tenant is None or any(j.id == job_id and j.scope.tenant == tenant for j in unit.jobs.dead(ALL))
            return known and unit.jobs.revive(job_id, self._clock(), approved=role == ADMIN)

        if not self._store.write(revive):
            raise NotFound(f"no dead job {job_id} here: it was queued again already, or never died")
        self._engine.wake()

    def make_service_key(
        self,
        name: str,
        *,
        tenant: str = "default",
        roles: Collection[Role | str] = (Role.AGENT,),
        shared: Collection[str] = (),
    ) -> tuple[ServiceKey, str]:
        """A new key with which a service acts for the users of a tenant (SPEC S2).

        Args:
            roles: user, agent (the default), auditor and admin.
            shared: the shared memories that it opens beside theirs, as `team` (to read) and `team:write` (SPEC S6).

        Returns:
            What is kept of it, and the key itself, which is told here and nowhere else.

        Raises:
            InputError: a name, tenant, role or shared memory that cannot be one.
        """
        granted, grants = frozenset(map(read_role, roles)), {grant.name: grant for grant in map(parse_grant, shared)}
        if not granted or not granted <= set(KEY_ROLES):
            raise InputError(
                f"a service key has roles of these: {', '.join(KEY_ROLES)}. Visitors have tokens of their own"
            )
        secret = secrets.token_urlsafe(32)
        key = ServiceKey(
            secrets.token_hex(4), check_name("the name of a key", name), check_name("tenant", tenant), granted,
            digest_of(secret), self._clock(), shared=tuple(sorted(grants.values())),
        )  # fmt: skip
        self._store.write(lambda unit: unit.service_keys.add(key))
        return key, key_text(key.id, secret)

    def service_keys(self) -> list[ServiceKey]:
        """All keys of services, the oldest first, also those that were revoked."""
        return self._store.view(lambda unit: unit.service_keys.all())

    def service_key(self, key_id: str) -> ServiceKey | None:
        """The key of that id, also one that was revoked."""
        return self._store.view(lambda unit: unit.service_keys.get(key_id))

    def revoke_service_key(self, key_id: str) -> None:
        """From now on it opens nothing. Raises: NotFound: there is none, or it was revoked before."""
        if not self._store.write(lambda unit: unit.service_keys.revoke(key_id, self._clock())):
            raise NotFound(f"no service key {key_id} that is still good", "key")

    def open_visitor(self, *, tenant: str = "default", fingerprint: str | None = None) -> Visitor:
        """A temporary identity for somebody whom the host does not know (SPEC S3): `visitor.scope` is whose memory it is,
        `.token` what the service lets in until `.until`. Then all of it is forgotten.

        Args:
            fingerprint: what the host tells devices by. The same one gives the same visitor while it lives; it is not stored.

        Raises:
            InputError: a tenant or fingerprint that cannot be one.
        """
        life = timedelta(hours=self._parts.settings.identity.visitor_hours)

        def work(unit: Unit) -> Visitor:
            return open_visitor(unit, self._store.secret, tenant, fingerprint, self._clock(), life)

        return self._store.write(work)

    def visitor(self, token: str) -> Scope | None:
        """Whose token it is, while that visitor lives; None when it opens nothing."""
        return self._store.view(lambda unit: find_visitor(unit, self._store.secret, token, self._clock()))

    def link(
        self,
        token: str,
        user: str,
        *,
        tenant: str = "default",
        dry_run: bool = False,
        surface: str = "library",
        who: str = "user",
    ) -> Receipt:
        """A visitor turned out to be this user: what it is believed to have said is judged in the user's memory (SPEC S3).

        It overwrites nothing: what contradicts it stays, and the user is asked. Linking again brings what was said since; it
        can be undone like any plan, and the visitor's own memory goes when its time is over.

        Args:
            dry_run: only say what would change.

        Raises:
            NotFound: the token opens nothing, or is of another tenant. MemoryPaused: the user's memory is paused.
        """
        scope, now, parts = Scope(user, tenant), self._clock(), self._parts
        visitor = self.visitor(token)
        if visitor is None or visitor.tenant != tenant:
            raise NotFound("no such visitor here: its time is over, or the token is not its own")
        self._engine.work()  # so that all that it said is known

        def plan(unit: Unit) -> Plan:
            parts.gateway.check_awake(unit, scope, Verb.LINK)
            return link(
                unit, scope, visitor, parts.judging, parts.gateway, Actor(who, surface), parts.settings.confidence, now,
                dry_run=dry_run,
            )  # fmt: skip

        if dry_run:
            return self._store.view(lambda unit: parts.gateway.preview(plan(unit)))
        return self._store.write(lambda unit: parts.gateway.apply(unit, scope, plan(unit)))

    def usage(self, limit: int = 20) -> Usage:
        """What the language model was asked of late, and what it came to (SPEC U8)."""
        model = self._parts.model
        name = None if model is None else model.spending.model.name
        return read_usage(self._store, self._parts.settings, name, self._clock(), limit)

    def scopes(self) -> list[Scope]:
        """Every scope that was ever written to."""
        return self._store.view(lambda unit: list(unit.scopes()))

    def forget_user(
        self, user: str, *, role: str, tenant: str = "default", dry_run: bool = False, surface: str = "library"
    ) -> ForgettingReceipt:
        """Forget everything of one user, on an administrator's word (SPEC F6).

        Args:
            role: "admin"; stated with the call, since it goes into the audit trail.

        Raises:
            PlanRefused: another role. NotFound: no such user.
        """
        return self._forget_all([Scope(user, tenant)], role, surface, dry_run=dry_run)[0]

    def forget_tenant(
        self, tenant: str, *, role: str, dry_run: bool = False, surface: str = "library"
    ) -> dict[Scope, ForgettingReceipt]:
        """Forget everything of every user of a tenant. Takes and raises what `forget_user` does."""
        scopes = [s for s in self.scopes() if s.tenant == tenant]
        if not scopes:
            raise NotFound(f"no tenant {tenant!r} here")
        return dict(zip(scopes, self._forget_all(scopes, role, surface, dry_run=dry_run), strict=True))

    def _forget_all(
        self, scopes: Sequence[Scope], role: str, surface: str, *, dry_run: bool
    ) -> list[ForgettingReceipt]:
        _check_admin(role, "forget for others")
        if unknown := set(scopes) - set(self.scopes()):
            raise NotFound(f"no user {', '.join(map(str, unknown))} here")
        request, actor = Request(everything=True), Actor(ADMIN, surface)
        found = [self._engine.forget(s, request, actor, dry_run=dry_run, purge=False).proof for s in scopes]
        if not dry_run:
            self._engine.purge()  # one for all: it writes the whole file
        return found

    def carry_forward(self) -> list[Scope]:
        """After an old backup was put in the place of the database: forget again what was forgotten since. Opening does it."""
        return self._engine.carry_forward()

    def forget_again(self) -> list[Scope]:
        """Forget what has come back of what was forgotten; gives the scopes in which something had (`jiyi doctor --fix`)."""
        return self._engine.forget_again()

    def reindex(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Build the text index of every scope anew, and the other views, one transaction a scope; returns the entries made.

        Args:
            progress: called with (scopes done, scopes in all).
        """
        scopes, done = self.scopes(), 0
        self._store.set_meta(SEGMENTER, UNFINISHED)
        for number, scope in enumerate(scopes, 1):
            done += self._store.write(lambda unit, s=scope: self._parts.gateway.rebuild_views(unit, s))  # type: ignore[misc]
            if progress is not None:
                progress(number, len(scopes))
        self._store.set_meta(DICTIONARY, "\n".join(self._parts.dictionary))
        self._store.set_meta(SEGMENTER, self._parts.indexing.segmenter.identity)
        return done

    def graph_engine(self) -> GraphStatus | None:
        """The engine that follows the graph, whether it answers, and how far behind it is (SPEC G4); None without one."""
        follower = self._engine.follower
        return None if follower is None else follower.status()

    def repair(self) -> list[str]:
        """Hold all that a graph engine has against the database, and make it right; gives what was done, one line each.

        Raises:
            SettingsError: no such engine is set. EngineUnavailable: it does not answer.
        """
        if self._engine.follower is None:
            raise SettingsError('no engine follows the graph: set graph_engine = "bolt://HOST:7687" in jiyi.toml')
        return self._engine.follower.repair()

    def redistil(self) -> int:
        """Queue the distilling of all that every scope said, by the rules of now (SPEC C13); returns how many scopes.
        `work()` does it; `scope(...).redistil(dry_run=True)` tells what it would do for one. Paused scopes are left out."""
        now = self._clock()
        awake = self._store.view(lambda unit: [s for s in unit.scopes() if not unit.standings.get(s).paused])
        for scope in awake:
            self._store.write(lambda unit, s=scope: self._parts.redistiller.begin(unit, s, now))  # type: ignore[misc]
        self._engine.wake()
        return len(awake)

    def check(self) -> Iterator[Check]:
        """Go through the health of the database and its views, a line at a time."""
        yield from self._store.check(lambda _kind, item: self._parts.indexing.any(item))
        yield from self._parts.redaction.keys.check()
        yield from self._store.view(
            lambda unit: (
                forgotten_check(unit, self._parts.indexing.folding),
                survey(unit, self._parts.settings.retention, self._clock()),
                self._parts.graphing.view.check(unit),
            )
        )
        if self._engine.follower is not None:
            yield self._engine.follower.check()
        yield from self._parts.carried.check()
        yield self._check_distilling()
        yield self._check_vectors()
        erased = self._store.erased()
        yield Check(
            "erased bytes",
            not erased,
            "some may still be in the files" if erased else "none left in the files",
            "`jiyi work`",
        )

    def _check_distilling(self) -> Check:
        identity = self._parts.redistiller.identity
        read_by = self._store.view(
            lambda unit: [unit.memories.distilled_by(s) for s in unit.scopes() if unit.messages.last_seq(s)]
        )
        detail = f"rules {identity}, which read all messages"
        if older := sum(other != identity for other in read_by):
            detail = (
                f"rules {identity}; {older} of {len(read_by)} users have messages that others read: "
                "`jiyi redistil --dry-run` shows what reading them again would change"
            )
        return Check("distilling", True, detail)

    def check_model(self) -> Iterator[Check]:
        """Ask the language model a small question, and the embedder for a vector, where there is one: do they answer?"""
        if self._parts.model is not None:
            yield probe(self._store, self._parts.model, self._clock())
        if self._parts.embedding is not None:
            yield self._parts.embedding.probe()

    def _check_vectors(self) -> Check:
        if self._parts.embedding is None:
            return Check("vectors", True, "no embedder: texts are found by their words (`embedder` in the settings)")
        return self._store.view(self._parts.embedding.check)

    def info(self) -> StoreInfo:
        info = self._store.info()
        return replace(info, details={**info.details, "retention": self._parts.settings.retention.detail})

    def backup(self, path: str) -> None:
        """Copy the database to a new file while it is in use. Raises: StoreError when the file exists."""
        self._engine.note_copy(None, "backup", Path(path))
        self._store.backup(path)
        self._parts.redaction.keys.copy_to(path)
        self._parts.carried.copy_to(path)

    def rotate_key(self) -> str:
        """Hash redacted values with a new key from now on; returns its id. Older keys stay for comparing (SPEC C11)."""
        return self._parts.redaction.keys.rotate().id

    def close(self) -> None:
        """Finish the work at hand and close. Waiting jobs stay queued, durably. Closing twice is fine."""
        self._engine.close()

    def __enter__(self) -> MemoryLayer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _check_admin(role: str, what: str) -> None:
    """SPEC S2, W1."""
    if role != ADMIN:
        raise PlanRefused(f"role {role!r} may not {what}: this needs an administrator, role='{ADMIN}'")
