"""Which events can help a pod that InterPodAffinity refused."""

from __future__ import annotations

from collections.abc import Mapping

import moorage
from moorage.model import AffinityTerm, AffinityTerms, Namespace, TermKind, affinity_terms

__all__ = ["Requeueing"]

_QUEUE = moorage.QueueingHint.QUEUE
_SKIP = moorage.QueueingHint.SKIP
_NO_TERMS = AffinityTerms()
_MOST_KEPT = 16384


class Requeueing:
    """The hints; the cluster has taken an event in before they are asked about it.

    Where 1.36 forgets namespace selectors (Q1) and the first pod of a series (Q2), these do not.
    """

    def __init__(self, handle: moorage.Handle) -> None:
        self._handle = handle
        # Of waiting pods, which are asked about once an event; by uid, good for one version.
        self._compiled: dict[str, tuple[moorage.Pod, AffinityTerms]] = {}

    def pod_changed(
        self, pod: moorage.Pod, before: moorage.Pod | None, after: moorage.Pod | None
    ) -> moorage.QueueingHint:
        """Ask whether a pod came near, went away, or no longer has a term against the waiting one."""
        if after is not None and after.metadata.uid == pod.metadata.uid:
            return _QUEUE  # its own labels changed
        terms = self._terms(pod)
        was = self._met(terms.affinity, before)
        now = self._met(terms.affinity, after)
        if terms.affinity:
            if all(now) and not all(was):
                return _QUEUE
            if all(was) and not all(now) and all(self._met(terms.affinity, pod)):
                return _QUEUE  # with the last one gone, the waiting pod may be the first
        if before is not None:
            was, now = (self._met(terms.anti_affinity, other) for other in (before, after))
            if any(one and not other for one, other in zip(was, now, strict=True)):
                return _QUEUE
            if self._repels(before, pod) and (after is None or not self._repels(after, pod)):
                return _QUEUE
        return _SKIP

    def node_changed(
        self, pod: moorage.Pod, before: moorage.Node | None, after: moorage.Node | None
    ) -> moorage.QueueingHint:
        """Ask whether a node is new, or is (or was) in a domain that matters to the waiting pod."""
        old = {} if before is None else before.metadata.labels
        new = {} if after is None else after.metadata.labels
        terms = self._terms(pod)
        near = {term.topology_key for term in terms.affinity}
        if any(key in new and new[key] != old.get(key) for key in near):
            return _QUEUE
        if _differs(near, old, new) and all(self._met(terms.affinity, pod)):
            return _QUEUE  # its pods left their domain: the waiting one may be the first
        away = {term.topology_key for term in terms.anti_affinity}
        away.update(
            found.topology_key
            for found in self._handle.nodes_view().terms_selecting(pod, TermKind.ANTI_AFFINITY)
        )
        if (before is None and away) or _differs(away, old, new):
            return _QUEUE
        return _SKIP

    def namespace_changed(
        self, pod: moorage.Pod, before: Namespace | None, after: Namespace | None
    ) -> moorage.QueueingHint:
        """Ask whether a namespace comes to be meant, or is no longer meant."""
        known = after or before
        if known is None:
            return _SKIP
        name = known.metadata.name
        old = None if before is None else before.metadata.labels
        new = None if after is None else after.metadata.labels
        if name == pod.metadata.namespace and old != new:
            return _QUEUE  # terms of pods on nodes may no longer mean the waiting pod
        terms = self._terms(pod)
        for term in terms.affinity:
            was, now = term.admits(name, old), term.admits(name, new)
            if now and not was:
                return _QUEUE
            if was and not now and all(self._met(terms.affinity, pod)):
                return _QUEUE
        if any(
            term.admits(name, old) and not term.admits(name, new) for term in terms.anti_affinity
        ):
            return _QUEUE
        return _SKIP

    def _met(self, terms: tuple[AffinityTerm, ...], pod: moorage.Pod | None) -> list[bool]:
        """Say of each term whether it selects a pod, which None never is."""
        if not terms or pod is None:
            return [False] * len(terms)
        labels = self._handle.nodes_view().namespace_labels(pod.metadata.namespace)
        return [term.selects(pod, labels) for term in terms]

    def _repels(self, other: moorage.Pod, pod: moorage.Pod) -> bool:
        """Say whether a pod's own required anti-affinity means the waiting pod."""
        if other.spec.affinity is None:
            return False
        return any(self._met(affinity_terms(other).anti_affinity, pod))

    def _terms(self, pod: moorage.Pod) -> AffinityTerms:
        """Compile the terms of a waiting pod, once for all events that it lives through."""
        if pod.spec.affinity is None:
            return _NO_TERMS
        kept = self._compiled.get(pod.metadata.uid)
        if kept is None or kept[0] is not pod:
            if len(self._compiled) >= _MOST_KEPT:
                self._compiled.clear()
            kept = self._compiled[pod.metadata.uid] = (pod, affinity_terms(pod))
        return kept[1]


def _differs(keys: set[str], old: Mapping[str, str], new: Mapping[str, str]) -> bool:
    """Say whether a node left a domain of one of the keys."""
    return any(key in old and new.get(key) != old[key] for key in keys)
