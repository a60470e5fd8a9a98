"""A proxy in front of an API server: notes what is written, and lets some of it go wrong."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import aiohttp
from aiohttp import web

Fault = Callable[[web.BaseRequest], Awaitable[web.StreamResponse | None]]


@dataclass(frozen=True)
class Write:
    """One request that was not a GET."""

    method: str
    path: str
    body: Any


class ApiProxy:
    """Forwards to `target`; use it as ``async with ApiProxy(url) as proxy``.

    `faults` are asked about each request, in order; the first answer of one is sent instead.
    """

    def __init__(self, target: str) -> None:
        self.url = ""
        self.writes: list[Write] = []
        self.faults: list[Fault] = []
        self._target = target

    def bodies(self, method: str, path_end: str) -> list[Any]:
        """Return the bodies of what was written to paths with an ending."""
        return [
            write.body
            for write in self.writes
            if write.method == method and write.path.endswith(path_end)
        ]

    def refuse(self, method: str, path_end: str, code: int, reason: str, *, times: int = 1) -> None:
        """Answer the next requests of a kind with a Status."""
        left = times

        async def fault(request: web.BaseRequest) -> web.StreamResponse | None:
            nonlocal left
            if left <= 0 or request.method != method or not request.path.endswith(path_end):
                return None
            left -= 1
            status = {
                "kind": "Status",
                "apiVersion": "v1",
                "status": "Failure",
                "message": f"{path_end} is refused by this test",
                "reason": reason,
                "code": code,
            }
            return web.json_response(status, status=code)

        self.faults.append(fault)

    def hold(self, method: str, path_end: str) -> asyncio.Event:
        """Keep requests of a kind waiting until the returned event is set."""
        release = asyncio.Event()

        async def fault(request: web.BaseRequest) -> web.StreamResponse | None:
            if request.method == method and request.path.endswith(path_end):
                await release.wait()
            return None

        self.faults.append(fault)
        return release

    async def __aenter__(self) -> Self:
        """Listen on a free port."""
        self._session = aiohttp.ClientSession(auto_decompress=False)
        self._runner = web.ServerRunner(
            web.Server(self._answer, handler_cancellation=True), shutdown_timeout=0.1
        )
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop."""
        await self._session.close()
        await self._runner.cleanup()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        data = await request.read()
        if request.method != "GET":
            self.writes.append(
                Write(request.method, request.path, json.loads(data) if data else None)
            )
        for fault in self.faults:
            instead = await fault(request)
            if instead is not None:
                return instead
        headers = {
            name: request.headers[name]
            for name in ("Content-Type", "Accept")
            if name in request.headers
        }
        async with self._session.request(
            request.method, self._target + request.path_qs, data=data or None, headers=headers
        ) as answer:
            response = web.StreamResponse(
                status=answer.status, headers={"Content-Type": answer.headers["Content-Type"]}
            )
            await response.prepare(request)
            async for chunk in answer.content.iter_any():
                await response.write(chunk)
            await response.write_eof()
            return response
