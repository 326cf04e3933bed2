"""Routes that leave memory as it is."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi import Path as InPath

from jiyi.domain.memory import Category, Language, Status, Tier
from jiyi.pipelines.observe import instant
from jiyi.surfaces import changed, pattern_shapes, shapes
from jiyi.surfaces.http import bodies
from jiyi.surfaces.http.calls import Auditing, Own, Reading
from jiyi.surfaces.http.paging import Cursor, PageLimit, cursor_of, number_in, page, place_in

router = APIRouter()

AsOf = Annotated[str | None, Query(max_length=64, description="ISO 8601 with a zone.")]
OfSession = Annotated[str | None, Query(min_length=1, max_length=200, description="Only this session.")]
MemoryPath = Annotated[str, InPath(max_length=200, examples=["m42"])]
MARKDOWN = "text/markdown; charset=utf-8"


@router.get("/whoami", tags=["Service"])
async def whoami(call: Own) -> changed.Caller:
    """Who calls, and whose memory that reaches."""
    identity = call.identity
    return changed.Caller(
        proof=identity.proof.value, who=identity.who, tenant=call.scope.tenant, user=call.scope.user,
        roles=sorted(identity.roles), rights=sorted(identity.rights),
        shared={grant.name: grant.access for grant in identity.shared},
    )  # fmt: skip


# ------------------------------------------------------------------ asking


@router.post("/recall", tags=["Ask"])
async def recall(body: bodies.Recall, call: Reading) -> shapes.Recollection:
    """What is known about a question, best first, each with the reason it was found."""
    wanted = body.model_dump(exclude={"user", "tenant", "query"})
    found = await call.read(lambda: call.reading.recall(body.query, **wanted))
    call.service.metrics.recalled(found.took)
    return shapes.Recollection.of(found, call.zone)


@router.post("/context", tags=["Ask"])
async def context(body: bodies.AskContext, call: Reading) -> shapes.Context:
    """The block for the system role: what an agent should know before it answers this, under a budget."""
    block = await call.read(
        lambda: call.reading.context(body.query, budget=body.budget, session=body.session, language=body.language)
    )
    call.service.metrics.recalled(block.recollection.took)
    return shapes.Context.of(block, body.query, call.zone)


@router.get("/traces", tags=["Ask"])
async def traces(call: Reading, limit: Annotated[int, Query(ge=1, le=50)] = 10) -> shapes.Traces:
    """The latest recalls, newest first."""
    found = await call.write(lambda: call.me.traces(limit))
    return shapes.Traces(traces=[shapes.Trace.of(t, call.zone) for t in found])


@router.get("/traces/{trace}", tags=["Ask"])
async def explain(
    call: Reading,
    trace: Annotated[str, InPath(max_length=200, examples=["t1a2b3c4d"])],
    why: Annotated[str | None, Query(max_length=200, description="What became of this one: m42, h17 or s3.")] = None,
) -> shapes.Explanation:
    """What a recall looked at, and what became of each."""
    return shapes.Explanation.of(await call.write(lambda: call.me.explain(trace, why=why)), call.zone)


@router.get("/patterns", tags=["Ask"])
async def patterns(call: Reading) -> pattern_shapes.Patterns:
    """What repeats over sessions, as it is counted now, with its cases; what is a pattern first."""
    return pattern_shapes.Patterns.of(await call.write(call.me.patterns), call.zone)


# ------------------------------------------------------------------ what was said


@router.get("/messages", tags=["History"])
async def history(
    call: Reading,
    session: OfSession = None,
    around: Annotated[
        str | None, Query(max_length=200, description="The turns around this one (h17), or those of a summary (s3).")
    ] = None,
    since: AsOf = None,
    until: AsOf = None,
    limit: PageLimit = 50,
    cursor: Cursor = None,
) -> shapes.MessagePage:
    """What was said, in order: the latest turns first page, earlier ones on the pages that follow."""
    before = place_in("messages", cursor)
    # Around a turn there are no pages; else one more than is shown says whether there is another.
    many = limit if around is not None else limit + 1
    found = await call.read(
        lambda: call.me.history(session=session, around=around, before=before, since=since, until=until, limit=many)
    )
    turns = shapes.messages(found.messages, call.zone)
    more = len(turns) > limit
    turns = turns[1:] if more else turns
    return shapes.MessagePage(messages=turns, cursor=cursor_of("messages", turns[0].id) if more else None)


@router.post("/messages/search", tags=["History"])
async def search(body: bodies.Search, call: Reading) -> shapes.Messages:
    """The turns that hold these words, best first."""
    found = await call.read(
        lambda: call.me.history(body.query, session=body.session, since=body.since, until=body.until, limit=body.limit)
    )
    return shapes.Messages(messages=shapes.messages(found.messages, call.zone))


@router.get("/sessions", tags=["History"])
async def sessions(call: Reading, limit: PageLimit = 50, cursor: Cursor = None) -> shapes.SessionPage:
    """Sessions, the latest first."""
    after = place_in("sessions", cursor)
    found = await call.read(lambda: call.me.sessions(limit + 1, after=after))
    shown = [shapes.Session.of(info, call.zone) for info in found[:limit]]
    more = len(found) > limit
    return shapes.SessionPage(sessions=shown, cursor=cursor_of("sessions", shown[-1].session) if more else None)


@router.get("/summaries", tags=["History"])
async def summaries(
    call: Reading, session: OfSession = None, limit: PageLimit = 50, cursor: Cursor = None
) -> shapes.SummaryPage:
    """What sessions came to."""
    found = await call.read(lambda: call.me.summaries(session))
    shown, following = page("summaries", found, lambda s: s.seq, cursor, limit)
    return shapes.SummaryPage(summaries=[shapes.Summary.of(s, call.zone) for s in shown], cursor=following)


# ------------------------------------------------------------------ memories


@router.get("/memories", tags=["Memories"])
async def memories(
    call: Reading,
    status: Annotated[Status | None, Query(description="live by default; see `every`.")] = None,
    every: Annotated[bool, Query(description="Whatever became of them.")] = False,
    category: Annotated[list[Category] | None, Query()] = None,
    tier: Annotated[list[Tier] | None, Query()] = None,
    valid_at: AsOf = None,
    known_at: AsOf = None,
    limit: PageLimit = 50,
    cursor: Cursor = None,
) -> shapes.MemoryPage:
    """Memories by number; with `valid_at` those that were true then, with `known_at` as they were known then."""
    wanted = None if every else status or Status.LIVE

    def find() -> shapes.MemoryPage:
        found = call.me.memories(
            status=wanted, categories=category or (), tiers=tier, valid_at=valid_at, known_at=known_at
        )  # fmt: skip
        shown, following = page("memories", found, lambda m: m.seq, cursor, limit)
        at = None if known_at is None else instant(known_at)
        return shapes.MemoryPage(memories=shapes.memories(call.me, shown, call.zone, at), cursor=following)

    return await call.read(find)


@router.get("/memories/{memory}", tags=["Memories"])
async def one_memory(
    call: Reading,
    request: Request,
    response: Response,
    memory: MemoryPath,
    at: Annotated[
        str | None, Query(max_length=64, description="How sure we are at this instant; now by default.")
    ] = None,
) -> shapes.Memory:
    """One memory, whatever became of it. Its `ETag` is what a correction takes as `If-Match`."""

    def find() -> shapes.Memory:
        found = call.me.memory(memory)
        return shapes.memories(call.me, [found], call.zone, None if at is None else instant(at))[0]

    found = await call.read(find)
    response.headers["ETag"] = f'"{found.version}"'
    return found


@router.get("/memories/{memory}/evidence", tags=["Memories"])
async def evidence(call: Reading, memory: MemoryPath) -> shapes.Messages:
    """The messages that a memory rests on."""
    found = await call.read(lambda: call.me.evidence(memory))
    return shapes.Messages(messages=shapes.messages(found, call.zone))


@router.get("/versions", tags=["Memories"])
async def versions(
    call: Reading,
    of: Annotated[
        str, Query(min_length=1, max_length=200, description="A memory (m42) or the name of a fact (数据库).")
    ],
    valid_at: AsOf = None,
    known_at: AsOf = None,
) -> shapes.Memories:
    """All values that a fact has had, oldest first."""
    found = await call.read(lambda: call.me.versions(of, valid_at=valid_at, known_at=known_at))
    return shapes.Memories(memories=shapes.memories(call.me, found, call.zone))


@router.get("/profile", tags=["The user"])
async def profile(
    call: Reading,
    valid_at: AsOf = None,
    known_at: AsOf = None,
    max_chars: Annotated[int | None, Query(ge=1, le=100_000)] = None,
) -> shapes.Profile:
    """The user in a few lines, each citing its memory."""
    found = await call.read(
        lambda: call.reading.profile(valid_at=valid_at, known_at=known_at, max_chars=max_chars)
    )  # fmt: skip
    return shapes.Profile.of(found)


@router.get(
    "/profile/file",
    tags=["The user"],
    response_class=Response,
    responses={200: {"description": "USER.md", "content": {"text/markdown": {"schema": {"type": "string"}}}}},
)
async def write_profile(call: Reading, language: Language | None = None) -> Response:
    """The whole profile as a Markdown file, which the user may edit and send back with PUT."""

    def write() -> str:
        with TemporaryDirectory(prefix="jiyi-") as folder:
            return call.me.write_profile(Path(folder) / "USER.md", language=language).text

    return Response(await call.write(write), media_type=MARKDOWN)


@router.get("/questions", tags=["The user"])
async def questions(call: Reading) -> shapes.Questions:
    """What only the user can settle, the oldest first."""
    found = await call.read(call.me.questions)
    return shapes.Questions(questions=[shapes.Question.of(q, call.zone) for q in found])


@router.get("/retention", tags=["What is kept"])
async def retention(call: Reading) -> shapes.Retention:
    """How much of talk is kept, whether memory is paused, and what was consented to."""
    return shapes.Retention.of(await call.read(lambda: call.me.retention()), call.zone)


@router.get("/forgotten", tags=["What is kept"])
async def receipts(call: Auditing) -> changed.Proofs:
    """What was forgotten so far: that, when and how much, never what."""
    found = await call.read(call.me.receipts)
    return changed.Proofs(receipts=[changed.Proof.of(r, call.zone) for r in found])


@router.get("/ledger", tags=["Audit"])
async def ledger(call: Auditing, limit: PageLimit = 50, cursor: Cursor = None) -> changed.LedgerPage:
    """Every change that was made, oldest first: who, when, from which surface, what and why."""
    after = number_in("ledger", cursor)
    found = await call.read(lambda: call.me.ledger(after=after, limit=limit + 1))
    shown = found[:limit]
    following = cursor_of("ledger", str(shown[-1].seq)) if len(found) > limit else None
    return changed.LedgerPage(plans=[changed.Entry.of(e, call.zone) for e in shown], cursor=following)


@router.get("/lag", tags=["Service"])
async def lag(call: Reading) -> changed.Lag:
    """What of this user's is still to be learnt from."""
    return changed.Lag.of(await call.read(call.me.lag), call.zone)
