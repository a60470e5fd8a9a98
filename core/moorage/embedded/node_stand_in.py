"""What becomes of nodes, and of pods whose node goes: for kubelets, and for the pod garbage collector.

In: the condition Ready of nodes that come without one, and the end of pods on nodes that were
deleted. Out: leases, heartbeats, taints of nodes in trouble. Pods that name a node which never was
are left alone.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from moorage.embedded.clock import timestamp
from moorage.embedded.shelf import Key
from moorage.embedded.status import StatusError
from moorage.embedded.tasks import Tasks

if TYPE_CHECKING:
    from moorage.embedded.shelf import Version
    from moorage.embedded.store import Store

__all__ = ["NodeStandIn"]

_log = logging.getLogger(__name__)

_QUARANTINE_SECONDS: Final = 1.0
"""For how long a node has to be gone: one that is replaced keeps its pods. A real one waits 40 s."""
_ENDED: Final = frozenset({"Succeeded", "Failed"})


class NodeStandIn:
    """Follows the nodes of a store: says that they are ready, and ends the pods of those that go."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._registry = store.registry
        named = store.registry.catalogue.named
        self._nodes, self._pods = named("nodes"), named("pods")
        self._known: set[str] = set()
        self._tasks = Tasks()

    def start(self) -> None:
        """Begin on the running event loop, with the nodes that are there already."""
        self._tasks.begin(self._follow())

    async def stop(self) -> None:
        """Stop; everything stays as it is."""
        await self._tasks.stop()

    async def _follow(self) -> None:
        while True:
            watch = self._store.watch("nodes", start=self._registry.version)
            present = self._registry.shelf(self._nodes).versions()
            for name in self._known - {version.key.name for version in present}:
                self._lose(name)  # it went while the stand-in was behind
            for version in present:
                self._observe(version)
            try:
                async for events in watch.batches():
                    for event in events:
                        if event.type == "DELETED":
                            self._lose(event.version.key.name)
                        else:
                            self._observe(event.version)
            except StatusError as error:
                _log.info("the stand-in for nodes fell behind and starts anew: %s", error)

    def _observe(self, version: Version) -> None:
        self._known.add(version.key.name)
        if self._registry.shelf(self._nodes).get(version.key) is not version:
            return
        node = version.as_dict(self._nodes)
        conditions = node["status"].get("conditions") or []
        if any(one["type"] == "Ready" for one in conditions):
            return
        moment = timestamp(self._registry.clock.now())
        ready = {
            "type": "Ready",
            "status": "True",
            "lastHeartbeatTime": moment,
            "lastTransitionTime": moment,
            "reason": "KubeletReady",
            "message": "the stand-in for its kubelet is posting ready status",
        }
        node["status"]["conditions"] = [*conditions, ready]
        try:
            self._registry.replace(self._nodes, version, node, subresource="status")
        except StatusError as error:
            _log.warning("the stand-in cannot report on node %s: %s", version.key.name, error)

    def _lose(self, name: str) -> None:
        self._known.discard(name)
        self._tasks.begin(self._end_pods(name))

    async def _end_pods(self, node: str) -> None:
        await self._registry.clock.sleep(_QUARANTINE_SECONDS)
        if self._registry.shelf(self._nodes).get(Key("", node)) is not None:
            return
        for version in self._registry.shelf(self._pods).versions():
            if version.fields.get("spec.nodeName") == node:
                self._end_pod(version)

    def _end_pod(self, version: Version) -> None:
        """Fail a pod and delete it without a grace period, as nobody is there to end it."""
        pod = version.as_dict(self._pods)
        moment = timestamp(self._registry.clock.now())
        target = {
            "type": "DisruptionTarget",
            "status": "True",
            "lastTransitionTime": moment,
            "reason": "DeletionByPodGC",
            "message": "PodGC: node no longer exists",
        }
        others = pod["status"].get("conditions") or ()
        conditions = [*(one for one in others if one["type"] != target["type"]), target]
        status = {**pod["status"], "phase": "Failed", "conditions": conditions}
        try:
            if pod["status"].get("phase") not in _ENDED:
                pod["status"] = status
                self._registry.replace(self._pods, version, pod, subresource="status")
            self._registry.delete(self._pods, version.key, grace=0, uid=version.uid)
        except StatusError as error:
            _log.warning("the stand-in cannot end pod %s: %s", version.key, error)
