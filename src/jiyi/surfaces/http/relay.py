"""An upstream's answer on its way to the client: byte for byte as it comes, and heard on the way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import httpx2
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from jiyi.surfaces.chats.heard import Heard

PASSED = frozenset(
    {
        "content-type",
        "content-length",
        "content-encoding",
        "retry-after",
        "retry-after-ms",
        "x-should-retry",
        "request-id",
    }
)
PASSED_PREFIXES = ("openai-", "anthropic-", "x-ratelimit-")
"""What of an upstream's headers a client gets; cookies and the like are between us and the upstream."""


class Relayed(Response):
    """Sends what comes at once, and calls `heard_out` when it ends, whoever ended it."""

    def __init__(
        self, answer: httpx2.Response, headers: Mapping[str, str], heard: Heard, heard_out: Callable[[], None]
    ) -> None:
        super().__init__(status_code=answer.status_code)
        self._answer, self._heard, self._heard_out, self._over = answer, heard, heard_out, False
        del self.headers["content-length"]
        # As they came: what a header says need not be text.
        self.raw_headers += [
            (name.lower(), value) for name, value in answer.headers.raw if _passes(name.decode("latin-1"))
        ]
        self.headers.update(headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        passing = asyncio.create_task(self._pass(send))
        leaving = asyncio.create_task(_gone(receive))
        try:
            await asyncio.wait({passing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            passing.cancel()
            leaving.cancel()
            # First, since nothing that is awaited here is sure to come to an end when the process stops.
            self._hear_out()
            await asyncio.gather(passing, leaving, return_exceptions=True)
            await self._answer.aclose()

    async def _pass(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        try:
            async for piece in self._answer.aiter_raw():
                self._heard.feed(piece)
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        except httpx2.HTTPError:
            return  # the upstream broke off: without an end to the body the client sees that, too
        self._hear_out()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _hear_out(self) -> None:
        if not self._over:
            self._over = True
            self._heard_out()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def passed(headers: Mapping[str, str]) -> dict[str, str]:
    """Those of an upstream's headers that a client gets."""
    return {name.lower(): value for name, value in headers.items() if _passes(name)}


def _passes(name: str) -> bool:
    return name.lower() in PASSED or name.lower().startswith(PASSED_PREFIXES)
