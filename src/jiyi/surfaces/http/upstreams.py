"""The models behind the proxies, as this process reaches them."""

from __future__ import annotations

from collections.abc import Mapping
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx2

from jiyi.models.presets import Endpoint
from jiyi.settings import ProxyPolicy
from jiyi.surfaces.chats.echo import Echo
from jiyi.surfaces.chats.upstreams import ECHO, find_upstreams, headers_of
from jiyi.surfaces.chats.wires import Wire


class Upstream:
    """One model's address. Nothing that a client sends chooses where a request goes."""

    def __init__(self, endpoint: Endpoint, policy: ProxyPolicy) -> None:
        self._endpoint = endpoint
        # A redirect could carry the key, and what was said, elsewhere; none is followed.
        self._client = httpx2.AsyncClient(
            transport=Echo() if endpoint.provider == ECHO else None,
            timeout=httpx2.Timeout(policy.timeout_seconds, connect=policy.connect_seconds, pool=None),
            limits=httpx2.Limits(max_connections=None),
            follow_redirects=False,
            # A cookie of one user's answer would go along with what another says.
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
        )

    @property
    def echoes(self) -> bool:
        return self._endpoint.provider == ECHO

    async def send(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        *,
        content: bytes | None = None,
        query: Mapping[str, str] | None = None,
    ) -> httpx2.Response:
        """The answer, of which only the head was read yet; whoever gets it closes it.

        Args:
            path: below the upstream's address. headers: of the client, those that may pass; ours go before them.

        Raises:
            httpx2.HTTPError, httpx2.InvalidURL: there is no answer.
        """
        own = {**{k.lower(): v for k, v in headers_of(self._endpoint).items()}}
        # A version that the client asks for counts, and a key of its own where such may pass.
        told = {**own, **{k.lower(): v for k, v in headers.items()}, "accept-encoding": "identity"}
        url = f"{self._endpoint.base_url}{path}"
        request = self._client.build_request(method, url, headers=told, content=content, params=query or None)
        return await self._client.send(request, stream=True)

    async def close(self) -> None:
        await self._client.aclose()


class Upstreams:
    """What stands behind each wire."""

    def __init__(self, policy: ProxyPolicy, environment: Mapping[str, str]) -> None:
        found = find_upstreams(policy, environment)
        self._by_wire = {name: Upstream(endpoint, policy) for name, endpoint in found.items()}

    def of(self, *wires: Wire) -> tuple[Wire, Upstream] | None:
        """The first of these wires behind which there is one."""
        return next(((w, self._by_wire[w.name]) for w in wires if w.name in self._by_wire), None)

    async def close(self) -> None:
        for upstream in self._by_wire.values():
            await upstream.close()
