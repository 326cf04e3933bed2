"""Routes about the service itself, and those of an administrator of a tenant (SPEC S2, O5).

What sees all tenants at once (backup, reindex, keys, doctor) is not here: whoever may do that has the machine, and its
command line.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi import Path as InPath

from jiyi.domain.plans import ADMIN
from jiyi.errors import StoreError
from jiyi.surfaces import changed
from jiyi.surfaces.http import bodies
from jiyi.surfaces.http.calls import SURFACE, Administering
from jiyi.surfaces.http.metrics import MEDIA_TYPE
from jiyi.surfaces.http.paging import Cursor, PageLimit, cursor_of, place_in
from jiyi.surfaces.http.problems import problem
from jiyi.surfaces.http.service import Service

public, router = APIRouter(), APIRouter(prefix="/admin", tags=["Administer"])

TEXT: dict[int | str, dict[str, Any]] = {
    200: {"description": "Text.", "content": {"text/plain": {"schema": {"type": "string"}}}}
}


@public.get("/health", tags=["Service"], response_class=Response, responses=TEXT)
async def health() -> Response:
    """This process runs."""
    return Response("ok\n", media_type="text/plain")


@public.get("/ready", tags=["Service"], response_class=Response, responses=TEXT)
async def ready(request: Request) -> Response:
    """This process can serve: the memory answers, and no stop was asked for."""
    service: Service = request.app.state.service
    if service.stopping:
        return problem("Stopping", 503, "this process is about to stop")
    try:
        await service.in_thread(service.memory.lag)
    except StoreError as error:
        return problem(type(error).__name__, 503, "the memory does not answer; the log says why")
    return Response("ok\n", media_type="text/plain")


@public.get("/metrics", tags=["Service"], response_class=Response, responses=TEXT)
async def metrics(request: Request) -> Response:
    """Numbers for Prometheus."""
    service: Service = request.app.state.service
    if not service.policy.metrics:
        return problem("NotFound", 404, "metrics are switched off (service.metrics)")
    return Response(await service.in_thread(service.metrics.text), media_type=MEDIA_TYPE)


# ------------------------------------------------------------------ one tenant


@router.get("/users")
async def users(call: Administering, limit: PageLimit = 50, cursor: Cursor = None) -> changed.Users:
    """The users of the tenant, by name."""
    after = place_in("users", cursor) or ""
    tenant = call.scope.tenant
    found = await call.write(lambda: sorted(s.user for s in call.service.memory.scopes() if s.tenant == tenant))
    rest = [user for user in found if user > after]
    more = len(rest) > limit
    return changed.Users(users=rest[:limit], cursor=cursor_of("users", rest[limit - 1]) if more else None)


@router.post("/forget-user")
async def forget_user(call: Administering, body: bodies.DryRun | None = None) -> changed.Proof:
    """Forget everything of the user that this call is for."""
    dry, scope = body is not None and body.dry_run, call.scope
    done = await call.write(
        lambda: call.service.memory.forget_user(
            scope.user, tenant=scope.tenant, role=ADMIN, dry_run=dry, surface=SURFACE
        )
    )
    return changed.Proof.of(done, call.zone)


@router.post("/forget-tenant")
async def forget_tenant(body: bodies.ForgetTenant, call: Administering) -> changed.ForgottenUsers:
    """Forget everything of every user of the tenant, which is named outright."""
    done = await call.write(
        lambda: call.service.memory.forget_tenant(call.scope.tenant, role=ADMIN, dry_run=body.dry_run, surface=SURFACE)
    )
    return changed.ForgottenUsers.of({s.user: r for s, r in done.items()}, call.zone, dry_run=body.dry_run)


@router.get("/jobs/dead")
async def dead_jobs(call: Administering, limit: PageLimit = 50) -> changed.DeadJobs:
    """Background jobs of the tenant that were given up, oldest first."""
    found = await call.write(lambda: call.service.memory.dead_jobs(limit, tenant=call.scope.tenant))
    return changed.DeadJobs(jobs=[changed.DeadJob.of(job, call.zone) for job in found])


@router.post("/jobs/{job}/retry", status_code=204)
async def retry_job(
    call: Administering,
    job: Annotated[int, InPath(ge=1, le=(1 << 53) - 1)],
    approve: Annotated[bool, Query(description="Let it pass the limit of the gateway; the ledger names you.")] = False,
) -> None:
    """Queue a job again that was given up."""
    role, tenant = ADMIN if approve else None, call.scope.tenant
    await call.write(lambda: call.service.memory.retry_job(job, role=role, tenant=tenant))
