"""Health, metrics and debug views over HTTP, in a thread of their own.

The thread has its own event loop, so that it answers while the scheduling loop hangs: then above all.
It speaks plain HTTP. Until access control arrives, everybody may ask for health, and everything else
is answered to callers on this machine only, under a name of this machine: a page in a browser must
not read it by a name of its own that it points here.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import json
import logging
import os
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from http import HTTPStatus
from typing import Any

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST
from prometheus_client.exposition import generate_latest

from moorage.errors import MoorageError
from moorage.metrics import Metrics
from moorage.serving.debugging import Debugging
from moorage.serving.health import Answer, Health
from moorage.serving.pages import Pages, is_structured

__all__ = ["PATHS", "Serving"]

_logger = logging.getLogger(__name__)

PATHS = (
    *("/configz", "/debug/", "/flagz", "/healthz", "/livez", "/metrics", "/metrics/slis"),
    *("/readyz", "/statusz", "/version"),
)
"""What is served."""
_MOST_ATTEMPTS = 1000
_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1", "[::1]"})


class Serving:
    """The endpoints of a process; `start`, then `stop`.

    `port` 0 takes one that is free, and is that one afterwards. With `share_port`, others may
    listen on the same one (SO_REUSEPORT).
    """

    def __init__(
        self,
        *,
        host: str,
        port: int,
        health: Health,
        metrics: Metrics,
        pages: Pages,
        debugging: Debugging,
        share_port: bool = False,
    ) -> None:
        self.host = host
        self.port = port
        self._health = health
        self._metrics = metrics
        self._pages = pages
        self._debugging = debugging
        self._share_port = share_port
        self._listening: Future[int] = Future()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped = asyncio.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Listen; MoorageError, in one sentence, where the address cannot be had."""
        self._thread = threading.Thread(target=self._run, name="moorage-serving", daemon=True)
        self._thread.start()
        try:
            self.port = self._listening.result()
        except OSError as error:
            self._thread.join()
            raise MoorageError(
                f"cannot serve health and metrics on {self.host}:{self.port} "
                f"({os.strerror(error.errno or 0).lower()}); choose another --secure-port, or 0 "
                "to serve none"
            ) from error
        _logger.info("Serving health and metrics on %s:%d", self.host, self.port)

    def stop(self) -> None:
        """Listen no more."""
        if self._thread is None or self._loop is None:
            return
        with contextlib.suppress(RuntimeError):  # the loop has ended already
            self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except Exception as error:  # noqa: BLE001 - whoever started it is told
            if not self._listening.done():
                self._listening.set_exception(error)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        runner = web.AppRunner(self._application(), access_log=None, shutdown_timeout=0.5)
        await runner.setup()
        try:
            site = web.TCPSite(
                runner, self.host, self.port, reuse_port=True if self._share_port else None
            )
            await site.start()
            self._listening.set_result(runner.addresses[0][1])
            await self._stopped.wait()
        finally:
            await runner.cleanup()

    def _application(self) -> web.Application:
        application = web.Application(middlewares=[_checked])
        router = application.router
        for kind in self._health.kinds():
            router.add_get(f"/{kind}", self._all_checks(kind))
            router.add_get(f"/{kind}/{{name}}", self._one_check(kind))
        router.add_get("/metrics", self._metrics_text)
        router.add_get("/metrics/slis", self._slis)
        router.add_get("/configz", self._configz)
        router.add_get("/statusz", self._statusz)
        router.add_get("/flagz", self._flagz)
        router.add_get("/version", self._version)
        router.add_get("/debug/", self._debug_index)
        router.add_get("/debug/queue", self._answered(lambda _: self._debugging.queue()))
        router.add_get("/debug/cache", self._answered(lambda _: self._debugging.cache()))
        router.add_get("/debug/comparison", self._answered(lambda _: self._debugging.comparison()))
        router.add_get("/debug/attempts", self._answered(self._attempts))
        router.add_get("/debug/pods/{namespace}/{name}", self._answered(self._pod))
        return application

    # Health

    def _all_checks(self, kind: str) -> _Handler:
        async def handle(request: web.Request) -> web.StreamResponse:
            return _text(
                self._health.answer(
                    kind,
                    verbose="verbose" in request.query,
                    exclude=request.query.getall("exclude", []),
                )
            )

        return handle

    def _one_check(self, kind: str) -> _Handler:
        async def handle(request: web.Request) -> web.StreamResponse:
            answer = self._health.answer_one(kind, request.match_info["name"])
            return _text(answer or Answer(HTTPStatus.NOT_FOUND, "404 page not found\n"))

        return handle

    # Numbers

    async def _metrics_text(self, _: web.Request) -> web.StreamResponse:
        return _prometheus(self._metrics.text())

    async def _slis(self, _: web.Request) -> web.StreamResponse:
        return _prometheus(generate_latest(_Slis(self._health)))

    # Documents

    async def _configz(self, _: web.Request) -> web.StreamResponse:
        return _json(self._pages.configz())

    async def _statusz(self, request: web.Request) -> web.StreamResponse:
        return _page(request, "Statusz", self._pages.statusz, self._pages.statusz_text)

    async def _flagz(self, request: web.Request) -> web.StreamResponse:
        return _page(request, "Flagz", self._pages.flagz, self._pages.flagz_text)

    async def _version(self, _: web.Request) -> web.StreamResponse:
        status = self._pages.statusz()
        return _json({"moorage": status["binaryVersion"], "kubernetes": status["emulationVersion"]})

    # Debugging

    async def _debug_index(self, request: web.Request) -> web.StreamResponse:
        routes = (route.canonical for route in request.app.router.resources())
        return web.Response(text="\n".join(sorted(r for r in routes if "/debug/" in r)) + "\n")

    async def _attempts(self, request: web.Request) -> dict[str, Any]:
        limit = request.query.get("limit", "100")
        if not limit.isdecimal():
            raise web.HTTPBadRequest(text=f"limit={limit} is no number of attempts\n")
        return await self._debugging.attempts(min(int(limit), _MOST_ATTEMPTS))

    async def _pod(self, request: web.Request) -> dict[str, Any] | None:
        return await self._debugging.pod(**request.match_info)

    def _answered(
        self, answer: Callable[[web.Request], Awaitable[dict[str, Any] | None]]
    ) -> _Handler:
        async def handle(request: web.Request) -> web.StreamResponse:
            try:
                found = await answer(request)
            except MoorageError as error:
                return web.Response(text=f"{error}\n", status=HTTPStatus.SERVICE_UNAVAILABLE)
            if found is None:
                text = "neither the queue nor the last attempts know such a pod\n"
                return web.Response(text=text, status=HTTPStatus.NOT_FOUND)
            return _json(found)

        return handle


_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class _Slis:
    """The results of health checks alone, as a registry."""

    def __init__(self, health: Health) -> None:
        self._health = health

    def collect(self) -> list[Any]:
        """Return them."""
        return [self._health.passed.collect(), self._health.results.collect()]


@web.middleware
async def _checked(request: web.Request, handler: _Handler) -> web.StreamResponse:
    """Let strangers ask for health only, and nobody read old answers."""
    kind = request.path.split("/")[1]
    if kind not in {"healthz", "livez", "readyz"} and not _is_local(request):
        text = "forbidden: answered on loopback only, such as http://127.0.0.1\n"
        return web.Response(text=text, status=HTTPStatus.FORBIDDEN)
    response = await handler(request)
    response.headers["Cache-Control"] = "no-cache, private"
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


def _is_local(request: web.Request) -> bool:
    peer = request.transport.get_extra_info("peername") if request.transport else None
    host = request.host.rpartition(":")[0] if not request.host.endswith("]") else request.host
    name = (host or request.host).lower()
    if name not in _LOCAL_NAMES:
        return False
    try:
        address = ipaddress.ip_address(str(peer[0]).partition("%")[0]) if peer else None
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return address is not None and (mapped or address).is_loopback


def _text(answer: Answer) -> web.Response:
    return web.Response(text=answer.text, status=answer.status)


def _prometheus(text: bytes) -> web.Response:
    return web.Response(body=text, headers={"Content-Type": CONTENT_TYPE_LATEST})


def _json(document: dict[str, Any]) -> web.Response:
    text = json.dumps(document, indent=1) + "\n"
    return web.Response(text=text, content_type="application/json")


def _page(
    request: web.Request,
    kind: str,
    document: Callable[[], dict[str, Any]],
    text: Callable[[], str],
) -> web.Response:
    structured = is_structured(request.headers.get("Accept", ""), kind)
    if structured is None:
        wanted = f"application/json;v=v1beta1;g=config.k8s.io;as={kind}"
        return web.Response(
            text=f"not acceptable: ask for text/plain or {wanted}\n",
            status=HTTPStatus.NOT_ACCEPTABLE,
        )
    return _json(document()) if structured else web.Response(text=text())
