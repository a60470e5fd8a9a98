"""Listening for HTTP, in a way that can be ended while clients connect."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aiohttp import web

__all__ = ["Listener"]


class Listener:
    """Gives the connections made to one address to an aiohttp `server`."""

    def __init__(self, server: web.Server) -> None:
        self._server = server
        self._listening: asyncio.Server | None = None

    async def open(self, host: str, port: int) -> int:
        """Listen, and return the port, a free one for 0; `OSError` if the address cannot be had."""
        loop = asyncio.get_running_loop()
        self._listening = await loop.create_server(self._server, host, port)
        bound: int = self._listening.sockets[0].getsockname()[1]
        return bound

    async def close(self, *, timeout: float) -> None:  # noqa: ASYNC109 - aiohttp's own word
        """Listen no more, and close every connection; each has `timeout` seconds for its answer.

        A connection that was accepted a moment ago is not known to the server until the loop has
        turned twice. Were the socket closed under it, its client would wait for ever: asyncio
        before Python 3.13 forgets it without closing it (python/cpython#109564), and aiohttp
        closes only those that it knows. So accepting ends first, and the rest after that.
        """
        if self._listening is None:
            return
        loop = asyncio.get_running_loop()
        for socket in self._listening.sockets:
            loop.remove_reader(socket.fileno())
        for _ in range(2):
            await asyncio.sleep(0)
        self._listening.close()
        self._listening = None
        self._server.pre_shutdown()
        await self._server.shutdown(timeout)
