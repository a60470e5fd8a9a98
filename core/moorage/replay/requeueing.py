"""Which event makes a refused pod be tried again, replayed in virtual time.

The pod is tried and refused, its backoff passes, the event happens, and whatever the scheduler does
in the four seconds after it counts: through the same feeds, queue, hints and cycle as live.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from moorage.binding.reservation import Reservation
from moorage.framework.handle import Services
from moorage.model.pods import Pod
from moorage.replay.comparing import Difference, refused_only_by_plugins
from moorage.replay.replaying import Assemble, Report, StepReport
from moorage.replay.requeue_recording import RequeueCase, RequeueEvent, read_cases
from moorage.session import Failure, Session
from moorage.volume_controller import VolumeController, Write, WriteKind

__all__ = ["replay_requeueing"]

_CONTROLLED = {
    "storageclasses": "StorageClass",
    "persistentvolumes": "PersistentVolume",
    "persistentvolumeclaims": "PersistentVolumeClaim",
}
"""What the volume controller looks after, which ran while these were recorded: kinds by plural."""

_PAST_BACKOFF = 20.0
_WATCHED = 4.0
_MOST_ATTEMPTS = 50


def replay_requeueing(path: Path, assemble: Assemble, missing: frozenset[str]) -> Report:
    """Replay all cases of a file; `missing` are the plugins that are not installed here."""
    report = Report("requeue")
    for case in read_cases(path):
        report.scenarios += 1
        run = _Replay(case, assemble)
        # Where what refused the pod is not installed, it may well be placed at once.
        is_apart = bool(missing) and (
            run.is_placed_at_once or refused_only_by_plugins(case.message_before or "", missing)
        )
        found = () if is_apart else tuple(run.differences())
        pod = f"{case.pod['metadata'].get('namespace', 'default')}/{case.pod['metadata']['name']}"
        report.steps.append(StepReport(case.name, 1, pod, found, is_apart))
    return report


class _Replay:
    """One case, on a cluster of its own, up to its event."""

    def __init__(self, case: RequeueCase, assemble: Assemble) -> None:
        self._case = case
        self._now = 1000.0
        services = Services(clock=lambda: self._now)
        frameworks = assemble(
            services, {case.pod["spec"].get("schedulerName", "default-scheduler")}
        )
        for framework in frameworks.values():
            asyncio.run(framework.start())
        self._session = Session(frameworks, services)
        self._objects: dict[tuple[str, str, str], dict[str, Any]] = {}
        self._tried: list[str] = []
        self._controller = VolumeController(self._known)
        for resource, items in case.objects.items():
            for item in items:
                self._put(resource, item)
        self._put("pods", case.pod)
        self.is_placed_at_once = self._schedule() is not None

    def differences(self) -> Iterator[Difference]:
        """Let the event happen and list what differs from the recording."""
        case = self._case
        # Past the first backoff, so that only the event can be the reason.
        self._pass(_PAST_BACKOFF)
        self._tried.clear()
        self._happen(case.event)
        bound = self._schedule() or self._pass(_WATCHED)
        retried = case.pod["metadata"]["name"] in self._tried
        if _was_wrong(case) and retried and bound is not None:
            return
        if retried != case.retried:
            yield Difference("retried", case.retried, retried)
        if bound != case.bound_to:
            yield Difference("boundTo", case.bound_to, bound)

    def _happen(self, event: RequeueEvent) -> None:
        if event.op == "create" and event.object is not None:
            self._put(event.resource, event.object)
        elif event.op == "delete":
            self._drop(event.resource, event.namespace or "", event.name)
        else:
            key = (event.resource, event.namespace or "", event.name)
            patched = _merge(self._objects[key], event.patch or {})
            self._put(event.resource, patched)

    def _put(self, resource: str, item: Mapping[str, Any]) -> None:
        kept = copy.deepcopy(dict(item))
        metadata = kept["metadata"]
        namespace = metadata.get("namespace", "")
        metadata.setdefault("uid", f"{resource}/{namespace}/{metadata['name']}")
        self._objects[resource, namespace, metadata["name"]] = kept
        watched = self._session.watched(resource)
        if watched is not None:
            watched.feed.put(msgspec.convert(kept, watched.record))
        if resource in _CONTROLLED:
            for write in self._controller.put({**kept, "kind": _CONTROLLED[resource]}):
                self._write(write)

    def _known(self, kind: str, namespace: str, name: str) -> dict[str, Any] | None:
        """Find an object for the volume controller, as it is now."""
        plural = next((one for one, other in _CONTROLLED.items() if other == kind), kind)
        item = self._objects.get((plural, namespace, name))
        return None if item is None else {**item, "kind": kind}

    def _write(self, write: Write) -> None:
        """Do what the volume controller wants done."""
        plural = next(one for one, kind in _CONTROLLED.items() if kind == write.object["kind"])
        metadata = write.object["metadata"]
        if write.kind is WriteKind.DELETE:
            self._drop(plural, metadata.get("namespace", ""), metadata["name"])
        else:
            self._put(plural, write.object)

    def _drop(self, resource: str, namespace: str, name: str) -> None:
        item = self._objects.pop((resource, namespace, name))
        watched = self._session.watched(resource)
        if watched is not None:
            watched.feed.drop(watched.feed.identity(msgspec.convert(item, watched.record)))
        if resource in _CONTROLLED:
            for write in self._controller.drop({**item, "kind": _CONTROLLED[resource]}):
                self._write(write)

    def _pass(self, seconds: float) -> str | None:
        """Let time pass, second by second; return where the pod was bound, if it was."""
        bound = None
        until = self._now + seconds
        while self._now < until and bound is None:
            self._now += 0.5
            self._session.tick()
            bound = self._schedule()
        return bound

    def _schedule(self) -> str | None:
        """Try whatever is ready; return where the case's pod was bound, if it was."""
        for _ in range(_MOST_ATTEMPTS):
            outcome = self._session.attempt()
            if outcome is None:
                return None
            self._tried.append(outcome.info.pod.metadata.name)
            if isinstance(outcome, Failure):
                continue
            self._bind(outcome)
            if outcome.info.pod.metadata.name == self._case.pod["metadata"]["name"]:
                return outcome.node_name
        return None

    def _bind(self, reservation: Reservation) -> None:
        self._session.permitted(reservation)
        self._session.bound(reservation)
        metadata = reservation.info.pod.metadata
        item = self._objects["pods", metadata.namespace, metadata.name]
        item["spec"]["nodeName"] = reservation.node_name
        self._session.pods.put(msgspec.convert(item, Pod))


def _was_wrong(case: RequeueCase) -> bool:
    """Say whether 1.36 is known to be wrong here: it does not unroll namespace selectors."""
    terms = msgspec.json.encode(case.pod["spec"].get("affinity", {}))
    reaches = case.event.resource in {"namespaces", "pods"}
    return not case.retried and reaches and b"namespaceSelector" in terms


def _merge(item: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Apply a merge patch (RFC 7396)."""
    merged = dict(item)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, Mapping):
            before = merged.get(key)
            merged[key] = _merge(before if isinstance(before, Mapping) else {}, value)
        else:
            merged[key] = value
    return merged
