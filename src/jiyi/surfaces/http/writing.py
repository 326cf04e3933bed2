"""Routes that change one user's memory. Every change is a plan in the ledger, and can be sent again under a key."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi import Path as InPath
from fastapi.responses import FileResponse
from starlette.background import BackgroundTask

from jiyi.errors import InputError
from jiyi.pipelines.gateway import Receipt
from jiyi.surfaces import changed, shapes
from jiyi.surfaces.http import bodies
from jiyi.surfaces.http.calls import SURFACE, Call, Changing, Deciding, Linking, Opening, Reading, Restoring, Writing
from jiyi.surfaces.http.reading import MemoryPath
from jiyi.surfaces.http.service import Service
from jiyi.surfaces.shapes import moment

router = APIRouter()

DryRun = Annotated[bool, Query(description="Only say what would change.")]
IfMatch = Annotated[
    str | None, Header(max_length=1000, description="The `ETag` of the memory that is meant: another is not changed.")
]


async def receipt_of(call: Call, work: Callable[[], Receipt], *, dry_run: bool = False) -> changed.Receipt:
    """Do what changes memory, and tell what it did, or would do."""
    return await call.write(lambda: changed.Receipt.of(work(), call.me, call.zone, dry_run=dry_run))


# ------------------------------------------------------------------ in


@router.post("/messages", tags=["Put in"])
async def observe(body: bodies.Observe, call: Changing) -> shapes.Observed:
    """Store turns of a conversation. They are durable when this answers, and are learnt from in the background."""
    turns = [m.model_dump(mode="json", exclude_none=True) for m in body.messages]
    return shapes.Observed.of(await call.write(lambda: call.me.observe(turns, session=body.session)))


@router.post("/memories", tags=["Put in"])
async def remember(body: bodies.Remember, call: Changing) -> changed.Receipt:
    """Remember one statement, as declared by the user, at once."""
    return await receipt_of(
        call,
        lambda: call.me.remember(
            body.text, category=body.category, importance=body.importance, session=body.session, source=body.source
        ),
    )


@router.post("/sessions/end", tags=["Put in"])
async def end(body: bodies.End, call: Writing) -> shapes.Ended:
    """A session is over: what was said in it is learnt and summarised before this answers."""
    found = await call.write(lambda: call.me.end(body.session))
    summary = None if found is None else shapes.Summary.of(found, call.zone)
    return shapes.Ended(session=body.session, summary=summary)


# ------------------------------------------------------------------ changes


@router.patch("/memories/{memory}", tags=["Change"])
async def correct(
    body: bodies.Correct, call: Changing, memory: MemoryPath, if_match: IfMatch = None
) -> changed.Receipt:
    """This memory is wrong; `text` is right. The old one is kept as history."""

    def work() -> Receipt:
        return call.me.correct(memory, body.text, version=_version(if_match))

    return await receipt_of(call, work)


def _version(if_match: str | None) -> str | None:
    """The version that an If-Match names. `*` is any; a weak one, or one of several, is none that we gave."""
    if if_match is None or if_match.strip() == "*":
        return None
    return if_match.strip().strip('"')


@router.post("/memories/{memory}/feedback", tags=["Change"])
async def feedback(body: bodies.Judge, call: Changing, memory: MemoryPath) -> changed.Receipt:
    """Whether it was good that this memory came up."""
    return await receipt_of(call, lambda: call.me.feedback(memory, body.verdict, trace=body.trace))


@router.post("/questions/{question}/answer", tags=["Change"])
async def answer(
    body: bodies.Answer, call: Changing, question: Annotated[str, InPath(max_length=200, examples=["q3"])]
) -> changed.Receipt:
    """Settle an open question: by the id of an option, yes or no, neither, skip, or in words."""
    return await receipt_of(call, lambda: call.me.answer(question, body.text))


@router.post("/ledger/{plan}/undo", tags=["Change"])
async def undo(call: Changing, plan: Annotated[str, InPath(max_length=200, examples=["p7"])]) -> changed.Receipt:
    """Take a plan back: every memory that it touched is again as it was."""
    return await receipt_of(call, lambda: call.me.undo(plan))


@router.delete("/memories/{memory}", tags=["Forget"])
async def forget_memory(call: Changing, memory: MemoryPath, dry_run: DryRun = False) -> changed.Forgotten:
    """Forget one memory for good, and the words it rests on."""
    return await _forget(call, {"memory": memory}, dry_run=dry_run)


@router.post("/forget", tags=["Forget"])
async def forget(body: bodies.Forget, call: Changing) -> changed.Forgotten:
    """Forget for good: a memory, a topic, a session, a span of time, or everything. `dry_run` shows it first."""
    wanted = body.model_dump(exclude={"user", "tenant", "dry_run"})
    return await _forget(call, wanted, dry_run=body.dry_run)


async def _forget(call: Call, wanted: dict[str, Any], *, dry_run: bool) -> changed.Forgotten:
    def work() -> changed.Forgotten:
        done = call.me.forget(**wanted, dry_run=dry_run)
        return changed.Forgotten.of_erasure(done, call.me, call.zone, dry_run=dry_run)

    return await call.write(work)


@router.post("/forgotten/verify", tags=["Forget"])
async def verify_forgotten(call: Writing) -> changed.Proofs:
    """Hold all that is kept against what was forgotten; `returned` says how much came back."""
    found = await call.write(call.me.verify_forgotten)
    return changed.Proofs(receipts=[changed.Proof.of(r, call.zone) for r in found])


@router.put(
    "/profile/file",
    tags=["The user"],
    openapi_extra={"requestBody": {"required": True, "content": {"text/markdown": {"schema": {"type": "string"}}}}},
)
async def read_profile(request: Request, call: Writing, dry_run: DryRun = False) -> changed.Receipt:
    """Take over what the user changed in the Markdown file, as their own declarations, in one plan."""
    text = await request.body()

    def work() -> Receipt:
        with TemporaryDirectory(prefix="jiyi-") as folder:
            path = Path(folder) / "USER.md"
            path.write_bytes(text)
            with _sent(path):
                return call.me.read_profile(path, dry_run=dry_run).receipt

    return await receipt_of(call, work, dry_run=dry_run)


@contextmanager
def _sent(path: Path) -> Iterator[None]:
    """What is wrong with a file is said of its name: where we put it is nobody's business."""
    try:
        yield
    except InputError as error:
        error.args = (str(error).replace(str(path), path.name),)
        raise


# ------------------------------------------------------------------ visitors


@router.post("/visitors", tags=["Visitors"])
async def open_visitor(body: bodies.OpenVisitor, request: Request, identity: Opening) -> changed.Visitor:
    """A temporary identity for somebody who is not known yet, for the tenant of a service key. It dies by itself."""
    service: Service = request.app.state.service
    made = await service.in_thread(
        lambda: service.memory.open_visitor(tenant=identity.tenant, fingerprint=body.fingerprint)
    )
    return changed.Visitor(user=made.scope.user, token=made.token, until=moment(made.until, UTC))


@router.post("/visitors/link", tags=["Visitors"])
async def link(body: bodies.Link, call: Linking) -> changed.Receipt:
    """A visitor turned out to be this user: what it said is judged in the user's memory and overwrites nothing there."""

    def work() -> Receipt:
        scope = call.scope
        return call.service.memory.link(
            body.token, scope.user, tenant=scope.tenant, dry_run=body.dry_run, surface=SURFACE, who=call.identity.who
        )

    return await receipt_of(call, work, dry_run=body.dry_run)


# ------------------------------------------------------------------ what is kept


@router.put("/retention", tags=["What is kept"])
async def set_retention(body: bodies.Keep, call: Deciding) -> changed.Receipt:
    """Choose how much of talk is kept from now on; with `past` also of what is stored."""
    return await receipt_of(
        call, lambda: call.me.retention(body.detail, past=body.past, dry_run=body.dry_run), dry_run=body.dry_run
    )


@router.post("/pause", tags=["What is kept"])
async def pause(call: Deciding, body: bodies.DryRun | None = None) -> changed.Receipt:
    """Write nothing at all until `/v1/resume`. Recall goes on."""
    dry = body is not None and body.dry_run
    return await receipt_of(call, lambda: call.me.pause(dry_run=dry), dry_run=dry)


@router.post("/resume", tags=["What is kept"])
async def resume(call: Deciding, body: bodies.DryRun | None = None) -> changed.Receipt:
    """Go on after a pause."""
    dry = body is not None and body.dry_run
    return await receipt_of(call, lambda: call.me.resume(dry_run=dry), dry_run=dry)


@router.put("/consent", tags=["What is kept"])
async def consent(body: bodies.GiveConsent, call: Deciding) -> changed.Receipt:
    """Record the user's answer to a data-use notice."""
    return await receipt_of(
        call,
        lambda: call.me.consent(given=body.given, notice=body.notice, dry_run=body.dry_run),
        dry_run=body.dry_run,
    )


# ------------------------------------------------------------------ care


@router.post("/upkeep", tags=["Care"])
async def upkeep(call: Writing, body: bodies.DryRun | None = None) -> changed.Upkept:
    """Do now what is done every night: move what was not used, archive what is over, erase what lay there its time."""
    dry = body is not None and body.dry_run
    return changed.Upkept.of(await call.write(lambda: call.me.upkeep(dry_run=dry)))


@router.post("/redistil", tags=["Care"])
async def redistil(call: Writing, body: bodies.DryRun | None = None) -> changed.Redistilled:
    """Learn again from all that was said, by the rules of now."""
    dry = body is not None and body.dry_run
    return changed.Redistilled.of(await call.write(lambda: call.me.redistil(dry_run=dry)), dry_run=dry)


@router.post(
    "/export",
    tags=["Care"],
    response_class=Response,
    responses={200: {"description": "A zip.", "content": {"application/zip": {"schema": {"type": "string"}}}}},
)
async def export(call: Reading) -> Response:
    """Everything that is known, as one zip: JSON lines, and Markdown to read."""
    folder = Path(mkdtemp(prefix="jiyi-"))
    try:
        await call.write(lambda: call.me.export(folder / "memory.zip"))
    except BaseException:
        _remove(folder)
        raise
    return FileResponse(
        folder / "memory.zip",
        media_type="application/zip",
        filename="memory.zip",
        background=BackgroundTask(_remove, folder),
    )


def _remove(folder: Path) -> None:
    (folder / "memory.zip").unlink(missing_ok=True)
    folder.rmdir()


@router.post(
    "/import",
    tags=["Care"],
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
async def import_(request: Request, call: Restoring, dry_run: DryRun = False) -> changed.Archive:
    """Bring an export back exactly as it was, into a memory that holds nothing."""
    with TemporaryDirectory(prefix="jiyi-") as folder:
        path = Path(folder) / "memory.zip"
        with path.open("wb") as file:
            async for piece in request.stream():
                file.write(piece)
        with _sent(path):
            found = await call.write(lambda: call.me.import_(path, dry_run=dry_run))
    return changed.Archive.of(found, call.zone, dry_run=dry_run)
