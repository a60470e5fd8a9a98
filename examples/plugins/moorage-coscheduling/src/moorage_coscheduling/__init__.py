"""Binds the pods of a group together, or none of them: simple coscheduling by a label.

Pods name their group, and its size, in two labels. Each that has found a node waits in Permit until
as many have as the group needs; then all go on. When the time of one is over, or it fails, those
that wait with it give their nodes back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from pydantic import Field

import moorage
from moorage.model import LabelSelector, Selector, selector_of
from moorage.model.pods import pod_key

__all__ = ["Coscheduling"]


class Group(NamedTuple):
    """Pods that want to run together: `size` of them at least."""

    namespace: str
    name: str
    size: int


class Coscheduling(moorage.Plugin):
    """Binds the pods of a group together, or none of them."""

    class Args(moorage.PluginArgs):
        """Arguments, as a profile gives them in ``pluginConfig``."""

        group_label: str = Field(
            "scheduling.example.com/group", description="The label that names a pod's group."
        )
        size_label: str = Field(
            "scheduling.example.com/size",
            description="The label that says how many pods the group needs at least.",
        )
        wait_seconds: float = Field(
            60.0, gt=0.0, description="How long a pod waits for the others, at most."
        )

    def __init__(self, args: Any, handle: moorage.Handle) -> None:  # noqa: ANN401 - of type Args
        super().__init__(args, handle)
        self._known: dict[tuple[str, str], set[str]] = handle.shared("Coscheduling", dict)
        """By group, the pods (``namespace/name``) that were tried and are not bound."""

    @moorage.hookimpl
    def events_to_register(self) -> list[moorage.EventHint]:
        """Try pods that were refused here when one of their group is bound, by whomever."""
        event = moorage.ClusterEvent(moorage.EventResource.ASSIGNED_POD, moorage.ActionType.ADD)
        return [moorage.EventHint(event, self._same_group)]

    @moorage.hookimpl
    def pre_filter(self, pod: moorage.Pod) -> moorage.Verdict | None:
        """Refuse a pod that says no size: it would wait for nobody knows what."""
        labels = pod.metadata.labels
        if self.args.group_label in labels and self._group(pod) is None:
            return moorage.Verdict.unresolvable(
                f"the label {self.args.size_label} of the pod says no number of pods, but "
                f"{labels.get(self.args.size_label)!r}"
            )
        return None

    @moorage.hookimpl
    def permit(self, pod: moorage.Pod) -> moorage.Verdict | None:
        """Let a group go on once enough of it have nodes, this pod included."""
        group = self._group(pod)
        if group is None:
            return None
        known = self._known.setdefault(group[:2], set())
        if self._placed(group) < group.size:
            if pod_key(pod) not in known:
                # Those that waited in vain before may be just what is missing. Only one that is new
                # calls them, or two that wait in vain would call each other for ever.
                self.handle.activate(known)
                known.add(pod_key(pod))
            return moorage.Verdict.wait(self.args.wait_seconds)
        del self._known[group[:2]]
        for waiting in self._waiting(group):
            waiting.allow(self.name)
        return None

    @moorage.hookimpl
    def unreserve(self, pod: moorage.Pod) -> None:
        """Have the others give up, too, when one of a group that still waits is given up."""
        group = self._group(pod)
        if group is not None:
            for waiting in self._waiting(group):
                if waiting.info.uid != pod.metadata.uid:
                    waiting.reject(self.name, f"pod {pod.metadata.name} of its group was given up")

    def _group(self, pod: moorage.Pod) -> Group | None:
        labels = pod.metadata.labels
        name, size = labels.get(self.args.group_label), labels.get(self.args.size_label, "")
        if name is None or not size.isdecimal():
            return None
        return Group(pod.metadata.namespace, name, int(size))

    def _placed(self, group: Group) -> int:
        """Count the pods of a group that have a node; the cache keeps such counts."""
        labels = {self.args.group_label: group.name}
        selector: Selector = selector_of(LabelSelector(match_labels=labels))
        nodes = self.handle.nodes_view()
        return int(nodes.matching_pods(frozenset({group.namespace}), selector).sum())

    def _waiting(self, group: Group) -> Iterator[moorage.WaitingPod]:
        for waiting in self.handle.waiting_pods:
            other = self._group(waiting.info.pod)
            if other is not None and other[:2] == group[:2]:
                yield waiting

    def _same_group(
        self, pod: moorage.Pod, _: moorage.Pod | None, new: moorage.Pod | None
    ) -> moorage.QueueingHint:
        """Say whether a pod that was bound is of the group of one that was refused."""
        group, other = self._group(pod), None if new is None else self._group(new)
        same = group is not None and other is not None and other[:2] == group[:2]
        return moorage.QueueingHint.QUEUE if same else moorage.QueueingHint.SKIP
