"""Leader election in a thread of its own, so that no pod's decision can delay a renewal."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import Future
from datetime import UTC, datetime

from moorage.api.client import ApiClient
from moorage.api.connection import Connection
from moorage.api.gate import WriteGate
from moorage.errors import MoorageError
from moorage.fault_log import log_fault
from moorage.metrics import Metrics
from moorage.serving.elector import Elector, Terms
from moorage.serving.lease import LeaseLock, ObservedLease

__all__ = ["Leadership", "new_identity"]

_logger = logging.getLogger(__name__)

_TOLERANCE_SECONDS = 20.0
"""How long after its Lease ran out a leader may still look healthy, as in kube-scheduler."""
_GOODBYE_SECONDS = 5.0
_POLL_SECONDS = 0.005


def new_identity() -> str:
    """Return the name that this process holds Leases under: its host's, and what makes it unique."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


class Leadership:
    """Holds the Lease for one process: ``await acquire()``, then ``await lost()``, then `release`.

    `connect` is called in the thread: connections belong to their event loop. `component` is the
    profile that Events come from. `is_alive` is as for `Elector`. `gate` is for all other clients.
    Used once; its methods are called in the scheduling loop's thread.
    """

    def __init__(
        self,
        connect: Callable[[], Connection],
        terms: Terms,
        *,
        component: str,
        identity: str | None = None,
        metrics: Metrics | None = None,
        is_alive: Callable[[], bool] = lambda: True,
    ) -> None:
        self.identity = identity or new_identity()
        self.gate = WriteGate()
        self._connect = connect
        self._terms = terms
        self._component = component
        self._metrics = metrics
        self._is_alive = is_alive
        self._elector: Elector | None = None
        self._acquired: Future[None] = Future()
        self._lost: Future[str] = Future()
        self._over: Future[None] = Future()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()
        self._events: set[asyncio.Task[None]] = set()

    async def acquire(self) -> None:
        """Stand by until this process leads; may be cancelled."""
        self.start()
        await asyncio.shield(asyncio.wrap_future(self._acquired))

    async def lost(self) -> str:
        """Return, when leadership is lost, why."""
        return await asyncio.shield(asyncio.wrap_future(self._lost))

    async def release(self) -> None:
        """Give the Lease back, if we have it, and end the thread; nothing is written from now on."""
        self.gate.shut()
        if self._thread is None:
            return
        while self._loop is None and not self._over.done():  # noqa: ASYNC110 - milliseconds, once
            await asyncio.sleep(_POLL_SECONDS)
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the thread has ended by itself
                self._loop.call_soon_threadsafe(self._stop.set)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_GOODBYE_SECONDS):
                await asyncio.shield(asyncio.wrap_future(self._over))

    def start(self) -> None:
        """Begin to stand by, if that has not begun yet."""
        if self._thread is None:
            self._set_metric(0)
            self._thread = threading.Thread(target=self._run, name="moorage-lease", daemon=True)
            self._thread.start()

    # What others see

    @property
    def leads(self) -> bool:
        """Whether this process leads."""
        return self._elector is not None and self._elector.leads

    @property
    def holder(self) -> str:
        """Who held the Lease when it was seen last; empty: nobody."""
        return "" if self._elector is None else self._elector.holder

    def fault(self) -> str:
        """Say what is wrong with a leader; empty: nothing. Standing by is in order."""
        if self._lost.done():
            return f"leader election lost: {self._lost.result()}"
        if self._elector is None or not self._elector.leads:
            return ""
        silence = self._elector.seconds_since_renewal
        if silence > self._terms.lease_duration + _TOLERANCE_SECONDS:
            return f"failed election to renew leadership on lease {self._terms.name}"
        return ""

    # The thread

    def _run(self) -> None:
        try:
            asyncio.run(self._elect())
        except Exception as error:  # noqa: BLE001 - the scheduling loop must hear of it
            if not self._acquired.done():
                self._acquired.set_exception(error)
            else:
                log_fault(_logger, error)
                self._end(f"{type(error).__name__}: {error}")
        finally:
            self.gate.shut()
            self._over.set_result(None)

    async def _elect(self) -> None:
        self._loop = asyncio.get_running_loop()
        async with ApiClient(self._connect(), metrics=self._metrics) as client:
            terms = self._terms
            lock = LeaseLock(
                client,
                namespace=terms.namespace,
                name=terms.name,
                timeout=terms.request_timeout,
            )
            self._elector = elector = Elector(
                lock,
                terms,
                identity=self.identity,
                gate=self.gate,
                is_alive=self._is_alive,
                on_event=lambda lease, what: self._tell(client, lease, what),
            )
            leading = asyncio.create_task(self._lead(elector))
            stopping = asyncio.create_task(self._stop.wait())
            await asyncio.wait({leading, stopping}, return_when=asyncio.FIRST_COMPLETED)
            stopping.cancel()
            if leading.done():
                leading.result()
            else:
                leading.cancel()
                await asyncio.wait({leading})
                await elector.release()
                self._set_metric(0)
            if self._events:
                await asyncio.wait(self._events, timeout=1.0)

    async def _lead(self, elector: Elector) -> None:
        await elector.acquire()
        self._set_metric(1)
        self._acquired.set_result(None)
        reason = await elector.keep()
        self._set_metric(0)
        self._end(reason)

    def _end(self, reason: str) -> None:
        if not self._lost.done():
            self._lost.set_result(reason)

    def _set_metric(self, value: float) -> None:
        if self._metrics is not None:
            self._metrics.process.leads.set(value, self._terms.name)

    def _tell(self, client: ApiClient, lease: ObservedLease, what: str) -> None:
        """Write an Event, beside everything else."""
        task = asyncio.create_task(self._write_event(client, lease, what))
        self._events.add(task)
        task.add_done_callback(self._events.discard)

    async def _write_event(self, client: ApiClient, lease: ObservedLease, what: str) -> None:
        terms = self._terms
        now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        body = {
            "kind": "Event",
            "apiVersion": "v1",
            "metadata": {
                "name": f"{terms.name}.{time.time_ns():x}",
                "namespace": terms.namespace,
            },
            "involvedObject": {
                "kind": "Lease",
                "namespace": terms.namespace,
                "name": terms.name,
                "uid": lease.metadata.get("uid", ""),
                "apiVersion": "coordination.k8s.io/v1",
                "resourceVersion": lease.metadata.get("resourceVersion", ""),
            },
            "reason": "LeaderElection",
            "message": what,
            "source": {"component": self._component},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "type": "Normal",
            "eventTime": None,
            "reportingComponent": self._component,
            "reportingInstance": "",
        }
        try:
            await client.request("POST", f"/api/v1/namespaces/{terms.namespace}/events", body=body)
        except MoorageError as error:
            _logger.debug("An event about the lease is lost: %s", error)
