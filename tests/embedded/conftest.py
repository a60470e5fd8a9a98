"""What the tests of the embedded API server share: a server, a client, objects to send."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from moorage.embedded import EmbeddedApiServer, ManualClock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

# kubectl is no dependency: where it is missing, there is nothing to test with it.
collect_ignore = [] if shutil.which("kubectl") else ["test_kubectl.py"]


@pytest.fixture
def clock() -> ManualClock:
    """Return a clock that the test moves."""
    return ManualClock()


@pytest.fixture
async def server(clock: ManualClock) -> AsyncIterator[EmbeddedApiServer]:
    """Run a server without the kubelet stand-in, so that nothing changes by itself."""
    async with EmbeddedApiServer(kubelet=False, clock=clock) as running:
        yield running


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    """Open a client session."""
    async with aiohttp.ClientSession() as opened:
        yield opened


@pytest.fixture
def api(
    server: EmbeddedApiServer, session: aiohttp.ClientSession
) -> Callable[..., Awaitable[tuple[int, Any]]]:
    """Return a call of method, path, body and content type that gives status and JSON."""

    async def call(
        method: str, path: str, body: object = None, content_type: str = "application/json"
    ) -> tuple[int, Any]:
        data = body if isinstance(body, str) or body is None else json.dumps(body)
        headers = {"Content-Type": content_type} if data is not None else {}
        url = server.url + path
        async with session.request(method, url, data=data, headers=headers) as response:
            text = await response.text()
            if "watch=" in path:
                return response.status, [json.loads(line) for line in text.splitlines()]
            return response.status, json.loads(text)

    return call


@pytest.fixture
def make_pod() -> Callable[..., dict[str, Any]]:
    """Return a maker of pods with one small container, by name, labels and fields of the spec."""

    def make(name: str, *, labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:  # noqa: ANN401 - any field of a pod's spec
        container = {
            "name": "c",
            "image": "registry.example/app:v1",
            "resources": {"requests": {"cpu": "100m"}},
        }
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "labels": labels or {}},
            "spec": {"containers": [container], **spec},
        }

    return make
