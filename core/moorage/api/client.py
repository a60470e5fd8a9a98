"""One request to the API server: credentials, retries that the server asks for, errors."""

from __future__ import annotations

import asyncio
import importlib.metadata
import random
import socket
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

import aiohttp
import msgspec

from moorage.api import faults
from moorage.api.gate import GatedBody
from moorage.errors import ApiError, NotLeadingError, UnreachableError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
    from types import TracebackType
    from typing import Any

    from moorage.api.connection import Connection, Credentials
    from moorage.api.gate import WriteGate
    from moorage.api.pacing import TokenBucket
    from moorage.metrics import Metrics

__all__ = ["JSON", "MERGE_PATCH", "STRATEGIC_MERGE_PATCH", "ApiClient"]

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"

_RETRIES = 5
"""How often a request is repeated because the server said when to come back."""
_LONGEST_WAIT = 30.0
"""Seconds; a server that asks for more is asked again after this."""
_CONNECT_SECONDS = 10.0
_POOL = 128
"""Connections: HTTP/1.1 carries one request each, so this bounds the writes in flight."""
_IDLE_SECONDS = 60.0
"""A kube-apiserver closes idle connections after 90 s; be the first, or writes meet the close."""
_READ_BUFFER = 2**20
"""Bytes of a watch that may wait unread; some 200 pods, handled in one wake-up."""


@dataclass(frozen=True, slots=True)
class _Request:
    """What is sent, however often it takes."""

    method: str
    path: str
    params: Mapping[str, str] | None
    data: bytes | None
    content_type: str
    timeout: aiohttp.ClientTimeout


class ApiClient:
    """Talks to one API server; use it as ``async with ApiClient(connection) as client``.

    `limit`: client-side throttling, off by default: API servers protect themselves by priority
    and fairness. `gate`: what writes must pass, but Events. `metrics` is told of all requests.
    `rng` gives the jitter of retries, `sleep` waits for them.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        limit: TokenBucket | None = None,
        gate: WriteGate | None = None,
        metrics: Metrics | None = None,
        rng: random.Random | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._connection = connection
        self._limit = limit
        self._gate = gate
        self.metrics = metrics
        """What is told of all requests; None: nobody."""
        self._rng = rng or random.Random()  # noqa: S311 - jitter, not cryptography
        self._sleep = sleep
        self._session: aiohttp.ClientSession | None = None

    @property
    def connection(self) -> Connection:
        """The server that this client talks to."""
        return self._connection

    async def __aenter__(self) -> Self:
        """Open the pool of connections; nothing is sent yet."""
        # Not trust_env: it reads ~/.netrc for each request, and `Credentials` knows the proxy.
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=_POOL, keepalive_timeout=_IDLE_SECONDS, socket_factory=_probed_socket
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": f"moorage/{importlib.metadata.version('moorage')}"},
            read_bufsize=_READ_BUFFER,
        )
        if self.metrics is not None:
            self.metrics.client.opened()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close all connections; a request from now on cannot arrive."""
        if self._session is not None:
            await self._session.close()
            if self.metrics is not None:
                self.metrics.client.closed()

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: object = None,
        content_type: str = JSON,
        timeout: float = 30.0,  # noqa: ASYNC109 - per attempt, so the caller's block cannot do it
    ) -> bytes:
        """Send one request and return the body of its answer.

        `path` is absolute, without query; `body` is sent as it is when it is bytes and as JSON
        otherwise; `timeout` is in seconds and holds for each attempt. An answer that says when to
        come back (429, or 5xx with Retry-After) is obeyed a few times.

        Raises `ApiError` where the server refuses, `UnreachableError` where the request cannot
        have arrived (`NotLeadingError`: since the gate is closed), `LostAnswerError` where it may
        have.
        """
        data = body if body is None or isinstance(body, bytes) else msgspec.json.encode(body)
        limits = aiohttp.ClientTimeout(total=timeout, sock_connect=min(timeout, _CONNECT_SECONDS))
        request = _Request(method, path, params, data, content_type, limits)
        for _ in range(_RETRIES):
            try:
                return await self._read(request)
            except ApiError as error:
                if error.retry_after is None:
                    raise
                await self._sleep(self._stretched(error.retry_after))
        return await self._read(request)

    @asynccontextmanager
    async def stream(
        self, path: str, *, params: Mapping[str, str], silence_limit: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a watch; each chunk is all that was received since the last one was taken.

        A stream that is silent for `silence_limit` seconds raises `LostAnswerError`. Raises as
        `request` does, but repeats nothing.
        """
        limits = aiohttp.ClientTimeout(
            total=None, sock_connect=_CONNECT_SECONDS, sock_read=silence_limit
        )
        async with self._answer(_Request("GET", path, params, None, JSON, limits)) as response:
            yield response.content.iter_any()

    def _stretched(self, seconds: float) -> float:
        """Bound what the server asked for, and spread clients that were sent away together."""
        return min(seconds, _LONGEST_WAIT) * (1 + 0.2 * self._rng.random())

    async def _read(self, request: _Request) -> bytes:
        async with self._answer(request) as response:
            body = await response.read()
        if self.metrics is not None:
            host = response.url.authority
            self.metrics.client.response_bytes.observe(len(body), request.method, host)
        return body

    @asynccontextmanager
    async def _answer(self, request: _Request) -> AsyncIterator[aiohttp.ClientResponse]:
        """Give the answer, after one renewal of the credentials where it was a 401."""
        begun = time.perf_counter()
        if self._limit is not None:
            await self._limit.acquire()
        credentials = await self._connection.credentials()
        if self._limit is not None and self.metrics is not None:
            host = urlsplit(credentials.server).netloc
            throttled = time.perf_counter() - begun
            self.metrics.client.throttled_seconds.observe(throttled, request.method, host)
        url = f"{request.method} {credentials.server}{request.path}"
        with faults.translated(url, self._connection.source):
            response = await self._measured(request, credentials)
            if response.status == HTTPStatus.UNAUTHORIZED:
                response.release()
                credentials = await self._connection.renewed(credentials)
                response = await self._measured(request, credentials)
            async with response:
                if response.status >= HTTPStatus.MULTIPLE_CHOICES:
                    refused = faults.refusal(
                        response.status,
                        await response.read(),
                        source=self._connection.source,
                        retry_after=response.headers.get("Retry-After"),
                    )
                    server, source = credentials.server, self._connection.source
                    raise faults.stranger(server, request.path, refused, source=source)
                yield response

    async def _measured(
        self, request: _Request, credentials: Credentials
    ) -> aiohttp.ClientResponse:
        """Send, and tell the metrics when an answer began, or that there was none."""
        if self.metrics is None:
            return await self._send(request, credentials)
        families, method = self.metrics.client, request.method
        host = urlsplit(credentials.server).netloc
        if request.data is not None:
            families.request_bytes.observe(len(request.data), method, host)
        begun, code = time.perf_counter(), "<error>"
        try:
            response = await self._send(request, credentials)
            code = str(response.status)
        finally:
            families.answered(method, host, code=code, seconds=time.perf_counter() - begun)
        return response

    async def _send(self, request: _Request, credentials: Credentials) -> aiohttp.ClientResponse:
        if self._session is None:
            raise RuntimeError("an ApiClient is used inside `async with`")
        if self._session.closed:
            raise UnreachableError(f"{credentials.server}: the connection was closed meanwhile")
        headers = {"Accept": JSON}
        if request.data is not None:
            headers["Content-Type"] = request.content_type
        if credentials.authorization:
            headers["Authorization"] = credentials.authorization
        data: GatedBody | bytes | None = request.data
        if self._gate is not None:
            self._gate.check(request.method, request.path)
            if request.data is not None:
                data = GatedBody(self._gate, request.method, request.path, request.data)
        try:
            return await self._request(request, credentials, headers, data)
        except aiohttp.ClientConnectionError as error:
            if isinstance(error.__cause__, NotLeadingError):
                raise error.__cause__ from None
            raise

    async def _request(
        self,
        request: _Request,
        credentials: Credentials,
        headers: Mapping[str, str],
        data: GatedBody | bytes | None,
    ) -> aiohttp.ClientResponse:
        assert self._session is not None  # noqa: S101 - the caller has looked
        return await self._session.request(
            request.method,
            credentials.server + request.path,
            params=request.params,
            data=data,
            headers=headers,
            timeout=request.timeout,
            # The API redirects nowhere; following a redirect would carry the token along.
            allow_redirects=False,
            ssl=credentials.tls,
            server_hostname=credentials.tls_server_name,
            proxy=credentials.proxy,
        )


def _probed_socket(address: tuple[Any, ...]) -> socket.socket:
    """Make a socket that notices within about a minute that the other side is gone.

    Without probes, a server that lost power leaves a watch silent and open for ever.
    """
    family, kind, protocol = address[:3]
    made = socket.socket(family=family, type=kind, proto=protocol)
    made.setblocking(False)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):  # macOS names the first one otherwise and has a default
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return made
