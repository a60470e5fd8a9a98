"""A proxy in front of an API server in which everything goes wrong that can, by a seed.

A request is delayed, refused, dropped before it arrives, done without an answer, or answered in
part; a watch is late, repeats itself, is cut in the middle of a line, ends with a 410, or falls
silent and stays open. Each resource has its own connection, so that what happens to two of them
arrives in any order.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

import aiohttp
from aiohttp import web
from tests.api_proxy import Write

__all__ = ["Injector"]

_REFUSALS = (
    (429, "TooManyRequests", "0"),
    (429, "TooManyRequests", "1"),
    (500, "InternalError", None),
    (503, "ServiceUnavailable", None),
    (503, "ServiceUnavailable", "0"),
)
_GONE = {
    "type": "ERROR",
    "object": {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "too old resource version",
        "reason": "Expired",
        "code": 410,
    },
}


class Injector:
    """Forwards to `target`, with faults until `calm` is set; ``async with Injector(url, seed=1)``.

    `bindings` counts the Bindings that succeeded by uid, whether their answer arrived or not;
    `faults` counts what was done to whom.
    """

    def __init__(self, target: str, *, seed: int, rate: float = 0.1) -> None:
        self.url = ""
        self.calm = False
        self.writes: list[Write] = []
        self.bindings: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self._target = target
        self._dice = random.Random(seed)
        self._rate = rate
        self._muted: set[asyncio.Task[Any]] = set()
        self._watching: set[asyncio.Task[Any]] = set()

    def silence_watches(self) -> None:
        """Let the watches that are open now say nothing more, and stay open."""
        self._muted |= self._watching

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

    def _hits(self, fault: str, share: float = 1.0) -> bool:
        """Throw the dice for a fault, and count it."""
        if self.calm or self._dice.random() >= self._rate * share:
            return False
        self.faults[fault] += 1
        return True

    # One request

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        data = await request.read()
        if request.method != "GET":
            self.writes.append(Write(request.method, request.path, json.loads(data)))
        if self._hits("delayed"):
            await asyncio.sleep(self._dice.choice((0.01, 0.05, 0.3)))
        if self._hits("refused"):
            return self._refusal()
        if self._hits("dropped", 0.5):
            return _broken(request)
        try:
            return await self._forward(request, data)
        except (aiohttp.ClientError, ConnectionError):
            return _broken(request)  # the server is being restarted

    async def _forward(self, request: web.BaseRequest, data: bytes) -> web.StreamResponse:
        headers = {
            name: request.headers[name]
            for name in ("Content-Type", "Accept")
            if name in request.headers
        }
        async with self._session.request(
            request.method, self._target + request.path_qs, data=data or None, headers=headers
        ) as answer:
            if request.query.get("watch") == "true" and answer.ok:
                return await self._watch(request, answer)
            body = await answer.read()
            if answer.ok and request.path.endswith("/binding"):
                self.bindings[json.loads(data)["metadata"]["uid"]] += 1
            if self._hits("answer lost", 0.5):
                return _broken(request)
            content_type = answer.headers["Content-Type"]
            if self._hits("cut mid-body", 0.5):
                return await _cut(request, body, content_type)
            return web.Response(
                body=body, status=answer.status, headers={"Content-Type": content_type}
            )

    def _refusal(self) -> web.Response:
        code, reason, retry_after = self._dice.choice(_REFUSALS)
        status = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": "refused by the injector",
            "reason": reason,
            "code": code,
        }
        headers = {} if retry_after is None else {"Retry-After": retry_after}
        return web.json_response(status, status=code, headers=headers)

    # One watch

    async def _watch(
        self, request: web.BaseRequest, answer: aiohttp.ClientResponse
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": answer.headers["Content-Type"]})
        response.enable_chunked_encoding()
        await response.prepare(request)
        told: list[bytes] = []
        task = asyncio.current_task()
        assert task is not None
        self._watching.add(task)
        task.add_done_callback(self._watching.discard)
        async for line in _lines(answer):
            if task in self._muted:
                continue
            if self._hits("watch delayed"):
                await asyncio.sleep(self._dice.choice((0.01, 0.1, 0.4)))
            if self._hits("watch cut", 0.2):
                await response.write(line[: self._dice.randrange(len(line))])
                return _broken(request)
            if self._hits("watch expired", 0.1):
                await response.write(json.dumps(_GONE).encode() + b"\n")
                break
            if self._hits("watch ended", 0.1):
                break
            if self._hits("watch silent", 0.05):
                await asyncio.sleep(3600)  # until the other side hangs up
            await response.write(line)
            told.append(line)
            if self._hits("watch repeated", 0.5):
                await response.write(b"".join(told[-self._dice.randint(1, 5) :]))
        with suppress(ConnectionError):
            await response.write_eof()
        return response


async def _lines(answer: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    tail = b""
    async for chunk in answer.content.iter_any():
        *whole, tail = (tail + chunk).split(b"\n")
        for line in whole:
            yield line + b"\n"


def _broken(request: web.BaseRequest) -> web.StreamResponse:
    """Break the connection off."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


async def _cut(request: web.BaseRequest, body: bytes, content_type: str) -> web.StreamResponse:
    """Announce the whole answer and send half of it."""
    response = web.StreamResponse(headers={"Content-Type": content_type})
    response.content_length = len(body)
    await response.prepare(request)
    await response.write(body[: len(body) // 2])
    return _broken(request)
