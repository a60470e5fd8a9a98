"""An API server that answers from a script and records what it was asked."""

from __future__ import annotations

import asyncio
import json
import random
import ssl
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web

from moorage.api.client import ApiClient
from moorage.api.connection import Connection

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    Responder = Callable[[web.Request], Awaitable[web.StreamResponse]]

DATA = Path(__file__).parent.parent / "data"


@dataclass
class Asked:
    """One recorded request."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


@dataclass
class FakeServer:
    """Answers each (method, path) from its own script; the last answer repeats.

    The method of a watch is WATCH. What is not scripted gets the 404 of a kube-apiserver.
    """

    url: str = ""
    asked: list[Asked] = field(default_factory=list)
    scripts: dict[tuple[str, str], list[Responder]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def on(self, method: str, path: str, *responders: Responder) -> None:
        """Append to the script of a method and path."""
        self.scripts[method, path] += responders

    def requests(self, method: str, path: str | None = None) -> list[Asked]:
        """Return what was asked with a method, in order."""
        return [one for one in self.asked if one.method == method and path in {None, one.path}]

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Record a request and follow the script."""
        text = await request.text()
        method = "WATCH" if request.query.get("watch") else request.method
        self.asked.append(
            Asked(
                method,
                request.path,
                dict(request.query),
                dict(request.headers),
                json.loads(text) if text.startswith(("{", "[")) else text or None,
            )
        )
        script = self.scripts[method, request.path]
        if not script:
            return web.Response(status=404, text="404 page not found\n")
        responder = script.pop(0) if len(script) > 1 else script[0]
        return await responder(request)

    @staticmethod
    def json(
        body: object, *, status: int = 200, headers: dict[str, str] | None = None
    ) -> Responder:
        """Answer with a JSON body."""

        async def respond(request: web.Request) -> web.StreamResponse:
            return web.json_response(body, status=status, headers=headers)

        return respond

    def refuse(
        self,
        code: int,
        reason: str = "",
        message: str = "refused",
        *,
        retry_after: int | None = None,
    ) -> Responder:
        """Answer with a Status."""
        status = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
            "reason": reason,
            "code": code,
        }
        headers = {"Retry-After": str(retry_after)} if retry_after is not None else None
        return self.json(status, status=code, headers=headers)

    @staticmethod
    def break_off() -> Responder:
        """Drop the connection without an answer."""

        async def respond(request: web.Request) -> web.StreamResponse:
            assert request.transport is not None
            request.transport.abort()
            return web.Response()

        return respond

    @staticmethod
    def lines(*lines: object, cut: bytes = b"", hold: bool = False) -> Responder:
        """Stream lines; then end, or break off in the middle of the line `cut`, or stay open."""

        async def respond(request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse(headers={"Content-Type": "application/json"})
            await response.prepare(request)
            for line in lines:
                data = line if isinstance(line, bytes) else json.dumps(line).encode()
                await response.write(data + b"\n")
            if cut:
                await response.write(cut)
                await asyncio.sleep(0.02)  # let the client read it before the reset
                assert request.transport is not None
                request.transport.abort()
            if hold:
                await asyncio.Event().wait()
            return response

        return respond

    @staticmethod
    def pieces(data: bytes, *, size: int) -> Responder:
        """Stream data in pieces that arrive one by one, and stay open."""

        async def respond(request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse(headers={"Content-Type": "application/json"})
            await response.prepare(request)
            for start in range(0, len(data), size):
                await response.write(data[start : start + size])
                await asyncio.sleep(0.001)
            await asyncio.Event().wait()
            return response

        return respond


@dataclass
class Naps:
    """Stands in for asyncio.sleep: takes no time and remembers what was asked for."""

    taken: list[float] = field(default_factory=list)

    async def __call__(self, seconds: float) -> None:
        """Return at once, after the others had their turn."""
        self.taken.append(seconds)
        await asyncio.sleep(0)


async def serve(
    server: FakeServer, *, tls: ssl.SSLContext | None = None
) -> AsyncIterator[FakeServer]:
    """Run a fake server on a free port of the loopback."""
    application = web.Application()
    application.router.add_route("*", "/{tail:.*}", server.handle)
    runner = web.AppRunner(application, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    port = runner.addresses[0][1]
    server.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}"
    try:
        yield server
    finally:
        await runner.cleanup()


@pytest.fixture
async def server() -> AsyncIterator[FakeServer]:
    """Give a running fake server."""
    async for running in serve(FakeServer()):
        yield running


@pytest.fixture
def data() -> Path:
    """Give the folder of recorded and generated data."""
    return DATA


@pytest.fixture
async def tls_server() -> AsyncIterator[FakeServer]:
    """Give a running fake server that speaks TLS and wants a client certificate."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=DATA / "tls" / "ca.pem")
    context.load_cert_chain(DATA / "tls" / "server.pem", DATA / "tls" / "server.key")
    context.verify_mode = ssl.CERT_REQUIRED
    async for running in serve(FakeServer(), tls=context):
        yield running


@pytest.fixture
def naps() -> Naps:
    """Give a sleep that takes no time."""
    return Naps()


@pytest.fixture
async def client(server: FakeServer, naps: Naps) -> AsyncIterator[ApiClient]:
    """Give a client of the fake server, which sleeps without taking time."""
    connection = Connection.to_url(server.url)
    async with ApiClient(connection, rng=random.Random(1), sleep=naps) as opened:
        yield opened


@pytest.fixture
def wire() -> list[dict[str, Any]]:
    """Give what a kube-scheduler 1.36 wrote."""
    recorded: list[dict[str, Any]] = json.loads(
        (DATA / "wire" / "kube-scheduler-writes-1.36.json").read_text()
    )
    return recorded


@pytest.fixture
def answers() -> dict[str, dict[str, Any]]:
    """Give what a kube-apiserver 1.36 answered, by the note on each exchange and by its path."""
    recorded = json.loads((DATA / "wire" / "kube-apiserver-1.36.json").read_text())
    by_path = {exchange["path"]: exchange for exchange in reversed(recorded)}
    return by_path | {exchange["note"]: exchange for exchange in recorded}
