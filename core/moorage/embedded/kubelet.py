"""A stand-in for the kubelets of all nodes: it runs nothing and reports that everything went well.

A pod's way::

    Pending --bound--> Running --after moorage.dev/run-seconds, if annotated--> Succeeded
       any of these --deleted--> (marked) --after a second, or its grace period if shorter--> gone

In: the status of bound pods, and the end of deleted ones. Out: nodes (`node_stand_in`), leases,
images, probes.
"""

from __future__ import annotations

import itertools
import logging
from typing import TYPE_CHECKING, Any

from moorage.embedded.clock import timestamp
from moorage.embedded.status import StatusError
from moorage.embedded.tasks import Tasks

if TYPE_CHECKING:
    from moorage.embedded.shelf import Version
    from moorage.embedded.store import Store

__all__ = ["RUN_SECONDS", "Kubelet"]

_log = logging.getLogger(__name__)

RUN_SECONDS = "moorage.dev/run-seconds"
_LONGEST_ENDING_SECONDS = 1.0
"""Nothing runs that would need its whole grace period; so long a pod is seen to be terminating."""
_ENDED = frozenset({"Succeeded", "Failed"})


class Kubelet:
    """Follows the pods of a store and moves those that are bound along."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._registry = store.registry
        self._pods = store.registry.catalogue.named("pods")
        self._addresses = itertools.count(1)
        self._tasks = Tasks()

    def start(self) -> None:
        """Begin on the running event loop, with the pods that are there already."""
        self._tasks.begin(self._follow())

    async def stop(self) -> None:
        """Stop; pods stay as they are."""
        await self._tasks.stop()

    async def _follow(self) -> None:
        while True:
            # Starting anew is right at any time: what has been done already is seen and left alone.
            watch = self._store.watch("pods", start=self._registry.version)
            for version in self._registry.shelf(self._pods).versions():
                self._observe(version)
            try:
                async for events in watch.batches():
                    for event in events:
                        if event.type != "DELETED":
                            self._observe(event.version)
            except StatusError as error:
                _log.info("the kubelet stand-in fell behind and starts anew: %s", error)

    def _observe(self, version: Version) -> None:
        """Do what a pod in this state needs next; a state that is no longer the present one waits."""
        if not version.fields.get("spec.nodeName"):
            return
        if self._registry.shelf(self._pods).get(version.key) is not version:
            return
        pod = version.as_dict(self._pods)
        metadata, phase = pod["metadata"], version.fields.get("status.phase")
        if metadata.get("deletionTimestamp"):
            self._tasks.begin(self._end(version, float(metadata["deletionGracePeriodSeconds"])))
        elif phase == "Pending":
            self._run(version, pod)
        elif phase == "Running" and (seconds := _run_seconds(metadata)) is not None:
            self._tasks.begin(self._succeed(version, seconds))

    def _run(self, version: Version, pod: dict[str, Any]) -> None:
        moment = timestamp(self._registry.clock.now())
        number = next(self._addresses)
        address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
        status = {
            **pod["status"],
            "phase": "Running",
            "startTime": moment,
            "podIP": address,
            "podIPs": [{"ip": address}],
            "conditions": _conditions(pod["status"], moment, ready=True),
            "containerStatuses": [
                _container_status(one, ready=True, state={"running": {"startedAt": moment}})
                for one in pod["spec"]["containers"]
            ],
        }
        self._write(version, {**pod, "status": status})

    async def _succeed(self, version: Version, seconds: float) -> None:
        await self._registry.clock.sleep(seconds)
        present = self._registry.shelf(self._pods).get(version.key)
        if present is None or present.uid != version.uid:
            return
        pod = present.as_dict(self._pods)
        if pod["status"]["phase"] in _ENDED or pod["metadata"].get("deletionTimestamp"):
            return
        moment = timestamp(self._registry.clock.now())
        ended = {"terminated": {"exitCode": 0, "reason": "Completed", "finishedAt": moment}}
        status = {
            **pod["status"],
            "phase": "Succeeded",
            "conditions": _conditions(pod["status"], moment, ready=False),
            "containerStatuses": [
                _container_status(one, ready=False, state=ended)
                for one in pod["spec"]["containers"]
            ],
        }
        self._write(present, {**pod, "status": status})

    async def _end(self, version: Version, grace: float) -> None:
        await self._registry.clock.sleep(min(grace, _LONGEST_ENDING_SECONDS))
        try:
            self._registry.delete(self._pods, version.key, grace=0, uid=version.uid)
        except StatusError as error:
            _log.debug("pod %s was gone before it had ended: %s", version.key, error)

    def _write(self, version: Version, pod: dict[str, Any]) -> None:
        try:
            self._registry.replace(self._pods, version, pod, subresource="status")
        except StatusError as error:
            _log.warning("the kubelet stand-in cannot report on %s: %s", version.key, error)


def _run_seconds(metadata: dict[str, Any]) -> float | None:
    text = (metadata.get("annotations") or {}).get(RUN_SECONDS)
    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if seconds < 0:
        _log.warning(
            "pod %s: %s is %r, not a number of seconds", metadata["name"], RUN_SECONDS, text
        )
        return None
    return seconds


def _conditions(status: dict[str, Any], moment: str, *, ready: bool) -> list[dict[str, Any]]:
    """Return a pod's conditions with those that its kubelet owns set; the others are kept."""
    owned = {
        "PodReadyToStartContainers": ready,
        "Initialized": True,
        "Ready": ready,
        "ContainersReady": ready,
    }
    others = [one for one in status.get("conditions") or () if one["type"] not in owned]
    reported = [
        {
            "type": name,
            "status": "True" if value else "False",
            "lastProbeTime": None,
            "lastTransitionTime": moment,
            **({} if value else {"reason": "PodCompleted"}),
        }
        for name, value in owned.items()
    ]
    return reported + others


def _container_status(
    container: dict[str, Any], *, ready: bool, state: dict[str, Any]
) -> dict[str, Any]:
    return {
        "name": container["name"],
        "image": container["image"],
        "imageID": "",
        "ready": ready,
        "started": ready,
        "restartCount": 0,
        "state": state,
    }
