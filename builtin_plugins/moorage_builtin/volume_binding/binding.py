"""From what was promised to a pod to claims that are bound: write, then wait for the volume controller."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import moorage
from moorage.model import PersistentVolumeClaim
from moorage_builtin.volume_binding.ledger import (
    SELECTED_NODE,
    Ledger,
    claim_key,
    reference_to,
    version_of,
)
from moorage_builtin.volumes.claims import is_bound, is_reserved_for
from moorage_builtin.volumes.reach import reaches

__all__ = ["BindingFailedError", "PromisedVolumes", "bind_volumes", "promise_volumes"]

_LOOK_AGAIN_SECONDS = 1.0
"""How often it is looked whether the pod is still there, of which storage says nothing."""


class BindingFailedError(Exception):
    """A claim that will not be bound as promised; the text names it, and says why."""


class PromisedVolumes(NamedTuple):
    """What a pod's claims get on its node, by name: volumes that are there, or new ones."""

    static: tuple[tuple[str, PersistentVolumeClaim], ...] = ()
    dynamic: tuple[PersistentVolumeClaim, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.static or self.dynamic)


def promise_volumes(
    ledger: Ledger,
    bindings: Iterable[tuple[str, PersistentVolumeClaim]],
    provisions: Iterable[PersistentVolumeClaim],
    *,
    node_name: str,
    holder: str,
) -> PromisedVolumes:
    """Promise volumes and nodes to claims, for the pod of a uid; ValueError: one is taken.

    Then what was promised before it is the caller's to release.
    """
    promised = PromisedVolumes(tuple(bindings), tuple(provisions))
    for volume, claim in promised.static:
        ledger.hold_volume(volume, claim, holder)
    for claim in promised.dynamic:
        ledger.hold_node(claim, node_name, holder)
    return promised


async def bind_volumes(
    handle: moorage.Handle,
    ledger: Ledger,
    promised: PromisedVolumes,
    *,
    pod: moorage.Pod,
    node_name: str,
    seconds: float,
) -> None:
    """Write what was promised, and return when all claims are bound.

    Raises BindingFailedError, also where they are not `seconds` after it was written; ApiError and
    UnreachableError where it cannot be written.
    """
    waiting = _Waiting(handle, ledger, promised, pod, node_name)
    changed = asyncio.Event()
    # Each request has a limit of its own; with no patience at all the next attempt finds them bound.
    await waiting.write()
    try:
        async with asyncio.timeout(seconds):
            with ledger.storage.telling(changed.set):
                while not waiting.is_done():
                    changed.clear()
                    await _either(changed, _LOOK_AGAIN_SECONDS)
    except TimeoutError:
        names = ", ".join("/".join(key) for key in waiting.unbound())
        raise BindingFailedError(
            f"binding volumes: not bound within {seconds:g} seconds: {names}"
        ) from None


class _Waiting:
    """One pod's claims on their way to being bound."""

    def __init__(
        self,
        handle: moorage.Handle,
        ledger: Ledger,
        promised: PromisedVolumes,
        pod: moorage.Pod,
        node_name: str,
    ) -> None:
        self._handle = handle
        self._ledger = ledger
        self._storage = ledger.storage
        self._promised = promised
        self._pod = pod
        self._node_name = node_name
        self._written: dict[object, int] = {}

    async def write(self) -> None:
        """Name the claim in each volume, then the node in each claim that gets a new one."""
        for name, claim in self._promised.static:
            volume = self._storage.volume(name)
            if volume is None:
                raise BindingFailedError(f'persistentvolumes "{name}" not found')
            wanted = volume.spec.claim_ref
            if wanted is not None and wanted.uid == claim.metadata.uid:
                continue  # as an earlier attempt wrote it
            written = int(await self._handle.claim_volume(volume, reference_to(claim)))
            self._written[name] = written
            self._ledger.volume_written(name, written)
        for claim in self._promised.dynamic:
            known = self._known(claim)
            if known is None:
                name = claim.metadata.name
                raise BindingFailedError(f'persistentvolumeclaims "{name}" not found')
            if known.metadata.annotations.get(SELECTED_NODE) == self._node_name:
                continue
            annotations = {SELECTED_NODE: self._node_name}
            written = int(await self._handle.annotate_claim(known, annotations))
            self._written[claim_key(claim)] = written
            self._ledger.node_written(claim_key(claim), written)

    def is_done(self) -> bool:
        """Say whether all claims are bound; BindingFailedError where one will not be."""
        try:
            node = self._node()
            static = [self._is_static_done(*pair, node) for pair in self._promised.static]
            dynamic = [self._is_dynamic_done(claim, node) for claim in self._promised.dynamic]
        except BindingFailedError as error:
            raise BindingFailedError(f"binding volumes: {error}") from error
        return all(static) and all(dynamic)

    def unbound(self) -> Sequence[tuple[str, str]]:
        """Return the claims that are not bound, as namespace and name."""
        claims = (*(claim for _, claim in self._promised.static), *self._promised.dynamic)
        keys = map(claim_key, claims)
        return [
            key
            for key in keys
            if (known := self._storage.claim(*key)) is None or not is_bound(known)
        ]

    def _node(self) -> moorage.Node:
        """Return the node; pod and node have to be there still."""
        name = self._pod.metadata.name
        if not self._handle.is_there(self._pod):
            raise BindingFailedError(f'pod does not exist any more: pod "{name}" not found')
        node = self._handle.node(self._node_name)
        if node is None:
            missing = f'node "{self._node_name}"'
            raise BindingFailedError(f"failed to get {missing}: {missing} not found")
        return node

    def _is_static_done(self, name: str, claim: PersistentVolumeClaim, node: moorage.Node) -> bool:
        volume, known = self._storage.volume(name), self._known(claim)
        if volume is None:
            raise BindingFailedError(
                f'failed to check binding: could not find v1.PersistentVolume "{name}"'
            )
        if known is None:
            raise BindingFailedError(f"failed to check binding: {_not_there(claim)}")
        if version_of(volume) < self._written.get(name, 0):
            return False  # the watch has not told of it yet
        if not reaches(volume, node, self._storage):
            raise BindingFailedError(_out_of_reach(name, node))
        wanted = volume.spec.claim_ref
        # Without a uid it is kept for a claim of that name again, as before this was written.
        if wanted is None or not wanted.uid or not is_reserved_for(volume, claim):
            raise BindingFailedError(f'ClaimRef got reset for pv "{name}"')
        return is_bound(known)

    def _is_dynamic_done(self, claim: PersistentVolumeClaim, node: moorage.Node) -> bool:
        known = self._known(claim)
        if known is None:
            raise BindingFailedError(f"failed to check provisioning pvc: {_not_there(claim)}")
        if version_of(known) < self._written.get(claim_key(claim), 0):
            return False  # as above
        if not known.metadata.annotations:
            name = known.metadata.name
            raise BindingFailedError(f'selectedNode annotation reset for PVC "{name}"')
        if known.metadata.annotations.get(SELECTED_NODE) != self._node_name:
            # Who makes volumes takes it away to have the pod placed anew.
            raise BindingFailedError(f'provisioning failed for PVC "{known.metadata.name}"')
        name = known.spec.volume_name
        if name:
            volume = self._storage.volume(name)
            if volume is None:
                return False  # the watch of volumes may be behind
            if not reaches(volume, node, self._storage):
                raise BindingFailedError(_out_of_reach(name, node))
        return is_bound(known)

    def _known(self, claim: PersistentVolumeClaim) -> PersistentVolumeClaim | None:
        """Return the claim as it is now; one made anew under its name is another."""
        known = self._storage.claim(*claim_key(claim))
        return known if known is not None and known.metadata.uid == claim.metadata.uid else None


def _not_there(claim: PersistentVolumeClaim) -> str:
    return f'could not find v1.PersistentVolumeClaim "{"/".join(claim_key(claim))}"'


def _out_of_reach(name: str, node: moorage.Node) -> str:
    return (
        f'pv "{name}" node affinity doesn\'t match node "{node.metadata.name}": '
        "no matching NodeSelectorTerms"
    )


async def _either(event: asyncio.Event, seconds: float) -> None:
    """Wait for an event, but no longer than some seconds."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
