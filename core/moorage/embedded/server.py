"""The embedded API server itself: HTTP in front of the store."""

from __future__ import annotations

import hmac
import logging
import os
from typing import TYPE_CHECKING, Any, Protocol, Self

import yaml
from aiohttp import web

from moorage.embedded.absent import refusal_of
from moorage.embedded.admission import INITIAL_NAMESPACES, INITIAL_PRIORITY_CLASSES
from moorage.embedded.clock import Clock, SystemClock
from moorage.embedded.device_claims import DeviceClaimStandIn
from moorage.embedded.discovery import AGGREGATED, SERVER_VERSION, Discovery
from moorage.embedded.disruption import DisruptionStandIn
from moorage.embedded.kubelet import Kubelet
from moorage.embedded.listener import Listener
from moorage.embedded.node_stand_in import NodeStandIn
from moorage.embedded.openapi import openapi_document, openapi_index
from moorage.embedded.paths import read_path
from moorage.embedded.registry import Registry
from moorage.embedded.resources import Catalogue, Resource
from moorage.embedded.served import served_resources
from moorage.embedded.status import StatusError
from moorage.embedded.store import Store
from moorage.embedded.verbs import Verbs, json_response
from moorage.embedded.volumes import VolumeStandIn
from moorage.embedded.watch_stream import WatchStreams
from moorage.errors import MoorageError

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["EmbeddedApiServer"]

_log = logging.getLogger(__name__)

_HEALTH = frozenset({"healthz", "livez", "readyz"})
_LARGEST_BODY = 3 * 1024 * 1024  # a real API server's bound
_SHUTDOWN_SECONDS = 1.0  # for requests in flight; watches are told to end first


class _StandIn(Protocol):
    """What does in memory the work of a part of a cluster that is not there."""

    def __init__(self, store: Store, /) -> None: ...

    def start(self) -> None: ...

    async def stop(self) -> None: ...


class EmbeddedApiServer:
    """A Kubernetes API server in memory, on loopback: ``async with EmbeddedApiServer() as server``.

    `port` 0 takes a free one. With a `token` every request has to bear it. `kubelet` runs the
    stand-ins for kubelets and for the end of pods whose node is deleted, `volumes` that for the volume controller and CSI provisioners,
    `device_claims` that for the resource claim controller, `disruption` that for the status of
    PodDisruptionBudgets. `history` is the number of changes of each resource that a watch may
    start behind; older versions are answered with 410. A watch with bookmarks gets one after
    `bookmark_seconds` of quiet. `first_version` is the least
    resourceVersion to start from; watches cannot begin before the start.
    """

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        token: str | None = None,
        kubelet: bool = True,
        volumes: bool = True,
        device_claims: bool = True,
        disruption: bool = True,
        history: int = 50_000,
        bookmark_seconds: float = 60.0,
        first_version: int = 1,
        clock: Clock | None = None,
    ) -> None:
        self._host = host
        self._port = port
        self._token = token
        self._catalogue = Catalogue(served_resources())
        registry = Registry(
            self._catalogue,
            clock=clock or SystemClock(),
            history=history,
        )
        self.store = Store(registry)
        self._watches = WatchStreams(self.store, bookmark_seconds=bookmark_seconds)
        self._verbs = Verbs(self.store, self._watches)
        wanted: tuple[tuple[type[_StandIn], bool], ...] = (
            (Kubelet, kubelet),
            (NodeStandIn, kubelet),
            (VolumeStandIn, volumes),
            (DeviceClaimStandIn, device_claims),
            (DisruptionStandIn, disruption),
        )
        self._stand_ins = [kind(self.store) for kind, is_wanted in wanted if is_wanted]
        self._listener: Listener | None = None
        _fill(self.store)
        registry.open_shelves(first_version)

    @property
    def url(self) -> str:
        """Where the server listens, as ``http://127.0.0.1:PORT``."""
        return f"http://{self._host}:{self._port}"

    def kubeconfig(self) -> str:
        """Return the text of a kubeconfig, YAML, that points at this server."""
        user = {"token": self._token} if self._token is not None else {}
        name = "moorage-embedded"
        return yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": name, "cluster": {"server": self.url}}],
                "users": [{"name": name, "user": user}],
                "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
                "current-context": name,
            },
            sort_keys=False,
        )

    def add_resource(
        self, *, group: str, version: str, plural: str, kind: str, namespaced: bool = True
    ) -> None:
        """Serve a custom resource from now on, with a status subresource."""
        self._catalogue.add(
            Resource(
                group,
                version,
                plural,
                kind,
                namespaced=namespaced,
                subresources=("status",),
                generation=True,
            )
        )

    async def __aenter__(self) -> Self:
        """Listen; `MoorageError` if the address cannot be had."""
        server = web.Server(
            self._answer, request_factory=_request, handler_cancellation=True, access_log=None
        )
        self._listener = Listener(server)
        try:
            self._port = await self._listener.open(self._host, self._port)
        except OSError as error:
            raise MoorageError(
                f"the embedded API server cannot listen on {self._host}:{self._port} "
                f"({os.strerror(error.errno or 0).lower()}); choose another port, or 0 for any "
                "that is free"
            ) from error
        for stand_in in self._stand_ins:
            stand_in.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End all watches and stop listening; what is stored stays readable through `store`."""
        for stand_in in self._stand_ins:
            await stand_in.stop()
        self._watches.close()
        if self._listener:
            await self._listener.close(timeout=_SHUTDOWN_SECONDS)

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            self._authenticate(request)
            target = read_path(self._catalogue, request.path)
            if target is not None:
                return await self._verbs.answer(request, target)
            if (refusal := refusal_of(request.path)) is not None:
                raise refusal  # noqa: TRY301 - answered like any other
            return self._describe(request)
        except StatusError as error:
            response = json_response(error.as_status(), status=error.code)
            if error.retry_after is not None:
                response.headers["Retry-After"] = str(int(error.retry_after))
            return response
        except ConnectionResetError:
            return web.Response()  # the client has left; nobody will read this
        except web.HTTPRequestEntityTooLarge:
            too_large = StatusError(
                f"Request entity too large: limit is {_LARGEST_BODY}",
                code=413,
                reason="RequestEntityTooLarge",
            )
            return json_response(too_large.as_status(), status=413)
        except Exception as error:  # noqa: BLE001 - a request that fails must not end the server
            _log.exception("the embedded API server failed on %s %s", request.method, request.path)
            failure = StatusError(
                f"Internal error occurred: {error}", code=500, reason="InternalError"
            )
            return json_response(failure.as_status(), status=500)

    def _authenticate(self, request: web.BaseRequest) -> None:
        if self._token is None:
            return
        scheme, _space, token = request.headers.get("Authorization", "").partition(" ")
        if scheme != "Bearer" or not hmac.compare_digest(token.encode(), self._token.encode()):
            raise StatusError("Unauthorized", code=401, reason="Unauthorized")

    def _describe(self, request: web.BaseRequest) -> web.Response:
        """Answer what is not about a resource: health, version, discovery."""
        found = self._description(request)
        if isinstance(found, str):
            return web.Response(text=found)
        if found is None:
            return web.Response(text="404 page not found\n", status=404)
        response = json_response(found)
        if found.get("kind") == "APIGroupDiscoveryList":
            response.headers["Content-Type"] = AGGREGATED
        return response

    def _description(  # noqa: PLR0911 - one line a document reads best
        self, request: web.BaseRequest
    ) -> dict[str, Any] | str | None:
        discovery = Discovery(self._catalogue, address=f"{self._host}:{self._port}")
        aggregated = AGGREGATED in request.headers.get("Accept", "").replace(" ", "")
        match request.path.strip("/").split("/"):
            case [name, *_] if name in _HEALTH:
                return "ok"
            case ["version"]:
                return SERVER_VERSION
            case ["api"]:
                return discovery.aggregated(core=True) if aggregated else discovery.core_versions()
            case ["apis"]:
                return discovery.aggregated(core=False) if aggregated else discovery.groups()
            case ["apis", group]:
                return discovery.group(group)
            case ["api", version]:
                return discovery.resources("", version)
            case ["apis", group, version]:
                return discovery.resources(group, version)
            case ["openapi", "v3"]:
                return openapi_index(self._catalogue)
            case ["openapi", "v3", *place]:
                return openapi_document(self._catalogue, "/".join(place))
        return None


def _request(*arguments: Any) -> web.BaseRequest:  # noqa: ANN401 - aiohttp's own arguments
    message, payload, protocol, writer, task = arguments
    return web.BaseRequest(
        message, payload, protocol, writer, task, task.get_loop(), client_max_size=_LARGEST_BODY
    )


def _fill(store: Store) -> None:
    """Create what a real server holds from its first moment on."""
    for name in INITIAL_NAMESPACES:
        store.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    for name, value in INITIAL_PRIORITY_CLASSES.items():
        store.create(
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": name},
                "value": value,
            }
        )
