"""The plugin: what it is asked, in the order in which it is asked."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

import moorage
from moorage_builtin.utilization import scores_by_percent
from moorage_builtin.volume_binding.arguments import VolumeBindingArgs
from moorage_builtin.volume_binding.binding import (
    BindingFailedError,
    PromisedVolumes,
    bind_volumes,
    promise_volumes,
)
from moorage_builtin.volume_binding.finding import find_volumes, reasons_of
from moorage_builtin.volume_binding.ledger import Ledger
from moorage_builtin.volume_binding.pod_claims import PodClaims, RefusedClaimError, pod_claims
from moorage_builtin.volume_binding.requeueing import Requeueing
from moorage_builtin.volume_binding.scoring import rate_volumes
from moorage_builtin.volumes.claims import claim_uses

__all__ = ["VolumeBinding"]

_NOTHING = PodClaims()
_NONE_PROMISED = PromisedVolumes()


class VolumeBinding(moorage.Plugin):
    """Filters by where the volumes of claims are or can be made, and binds claims before pods.

    With `shape` it scores by how full volumes would be.
    """

    Args = VolumeBindingArgs
    # Of pods without claims nothing is asked; of all others the plugin is asked anew.
    filter_depends = moorage.Depends()
    score_depends = moorage.Depends()
    watches = (
        "csidrivers",
        "csinodes",
        "csistoragecapacities",
        "persistentvolumeclaims",
        "persistentvolumes",
        "storageclasses",
    )

    def __init__(self, args: VolumeBindingArgs, handle: moorage.Handle) -> None:
        super().__init__(args, handle)
        self._ledger = handle.shared("VolumeBinding", lambda: Ledger(handle.storage))
        self._by_percent = scores_by_percent(args.shape) if args.shape else None

    @moorage.hookimpl
    def sign(self, pod: moorage.Pod) -> Hashable | None:
        """Pods without claims look the same."""
        return None if claim_uses(pod) else ()

    @moorage.hookimpl
    def pre_filter(self, state: moorage.CycleState, pod: moorage.Pod) -> moorage.Verdict | None:
        """Sort the pod's claims; refuse it where one needs help first; skip pods without any."""
        try:
            claims = pod_claims(pod, self._ledger)
        except RefusedClaimError as error:
            return moorage.Verdict.unresolvable(str(error))
        if claims == _NOTHING:
            return moorage.SKIP
        state["claims"] = claims
        return None

    @moorage.hookimpl
    def filter_nodes(self, state: moorage.CycleState, nodes: moorage.NodesView) -> NDArray[np.int8]:
        """Return (n,) codes, each the sum of the reasons that speak against a node."""
        with self._counting("predicate"):
            return find_volumes(state["claims"], nodes, self._ledger).codes

    @moorage.hookimpl
    def explain(self, code: int) -> moorage.Verdict:
        """Preempting pods does not move a volume."""
        return moorage.Verdict.unresolvable(*reasons_of(code))

    @moorage.hookimpl
    def pre_score(self, state: moorage.CycleState) -> moorage.Verdict | None:
        """Skip where there is no shape, and pods all of whose claims are bound."""
        claims: PodClaims = state.get("claims", _NOTHING)
        return None if self._by_percent is not None and claims.unbound else moorage.SKIP

    @moorage.hookimpl
    def score_nodes(self, state: moorage.CycleState, nodes: moorage.NodesView) -> NDArray[np.int64]:
        """Rate how full the volumes would be; (n,) int64, 0 to 100."""
        found = find_volumes(state["claims"], nodes, self._ledger)
        assert self._by_percent is not None  # noqa: S101 - else scoring was skipped
        return rate_volumes(found, self._by_percent)

    @moorage.hookimpl
    def reserve(
        self, state: moorage.CycleState, pod: moorage.Pod, node_name: str
    ) -> moorage.Verdict | None:
        """Promise the volumes to the pod's claims, before the next pod is looked at."""
        claims: PodClaims = state.get("claims", _NOTHING)
        if not claims.unbound:
            return None
        everywhere = self.handle.nodes_view()
        nodes = everywhere.take(everywhere.positions((node_name,)))
        found = find_volumes(claims, nodes, self._ledger) if len(nodes) else None
        if found is None or found.codes[0]:
            # Nothing comes between filter and reserve but what an extender took its time for.
            reasons = () if found is None else reasons_of(int(found.codes[0]))
            return moorage.Verdict.unschedulable(*reasons)
        try:
            with self._counting("assume"):
                state["promised"] = promise_volumes(
                    self._ledger,
                    [(volume.metadata.name, claim) for volume, claim in found.bindings(0)],
                    found.to_provision(0),
                    node_name=node_name,
                    holder=pod.metadata.uid,
                )
        except ValueError as error:
            return moorage.Verdict.error(str(error))
        return None

    @moorage.hookimpl
    def unreserve(self, pod: moorage.Pod) -> None:
        """Let others have what was promised."""
        self._ledger.release(pod.metadata.uid)

    @moorage.hookimpl
    async def pre_bind_pre_flight(self, state: moorage.CycleState) -> moorage.Verdict | None:
        """Skip pods whose claims are all bound."""
        # Async, though nothing is awaited: a plain hook would cost every pod a thread.
        return None if state.get("promised", _NONE_PROMISED) else moorage.SKIP

    @moorage.hookimpl
    async def pre_bind(
        self, state: moorage.CycleState, pod: moorage.Pod, node_name: str
    ) -> moorage.Verdict | None:
        """Write what was promised, and wait until the volume controller has bound all claims."""
        try:
            with self._counting("bind"):
                await bind_volumes(
                    self.handle,
                    self._ledger,
                    state["promised"],
                    pod=pod,
                    node_name=node_name,
                    seconds=self.args.bind_timeout_seconds,
                )
        except BindingFailedError as error:
            return moorage.Verdict.error(str(error))
        # From here on the claims themselves say what they have.
        self._ledger.release(pod.metadata.uid)
        return None

    @moorage.hookimpl
    def events_to_register(self) -> list[moorage.EventHint]:
        """Come back when claims, volumes, classes, room or nodes change."""
        return Requeueing(self.handle.storage).hints()

    @contextmanager
    def _counting(self, operation: str) -> Iterator[None]:
        """Count what goes wrong in an operation."""
        try:
            yield
        except Exception:
            self.handle.metrics.scheduling.volume_errors.inc(operation)
            raise
