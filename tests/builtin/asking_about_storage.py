"""A plugin about volumes, asked about one pod on some nodes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.builtin.asking_plugins import assemble
from tests.objects import make_node, requirement, term
from tests.volumes_kit import ZONE

from moorage import Code, CycleState, PodInfo, QueueingHint, Services, Verdict
from moorage.model import ClusterEvent, Node, StorageObject

__all__ = ["Asked", "node", "on_host"]


class Asked:
    """One plugin, asked about a pod on nodes with these objects."""

    def __init__(
        self,
        name: str,
        info: PodInfo,
        nodes: Iterable[Node],
        *objects: StorageObject,
        pods: Iterable[PodInfo] = (),
        args: dict[str, Any] | None = None,
    ) -> None:
        services = Services()
        for node in nodes:
            services.cluster.set_node(node)
        for item in objects:
            services.cluster.storage.put(item)
        for pod in pods:
            services.cluster.add_pod(pod)
        services.cluster.check_invariants()
        self.name, self.info = name, info
        self.framework = assemble(name, args, services)
        self.framework.register_events()
        self.view, self.state = services.cluster.view(), CycleState()

    def call(self, hook: str, *arguments: object) -> Any:  # noqa: ANN401 - what the hook answers
        """Call one hook."""
        found = self.framework.hook(self.name, hook)
        assert found is not None
        return found.call(*arguments)

    def pre_filter(self) -> Verdict | None:
        """Ask before nodes are looked at."""
        answer: Verdict | None = self.call(
            "pre_filter", self.state, self.info.pod, self.info, self.view
        )
        return answer

    def reasons(self) -> list[tuple[str, ...]]:
        """Return the reasons of each node; none where it passes."""
        answer = self.pre_filter()
        if answer is not None:
            return [() if answer.code is Code.SKIP else answer.reasons] * len(self.view)
        codes = self.call("filter_nodes", self.state, self.info.pod, self.info, self.view)
        if codes.dtype == bool:
            codes = ~codes
        return [
            self.call("explain", self.state, self.info.pod, code).reasons if code else ()
            for code in codes.tolist()
        ]

    def hint(self, event: ClusterEvent, old: object, new: object) -> list[QueueingHint]:
        """Ask the hints that are registered for an event."""
        return [
            QueueingHint.QUEUE if hint is None else hint(self.info.pod, old, new)
            for registered, hint in self.framework.hints[self.name]
            if registered.resource == event.resource and registered.action & event.action
        ]


def node(name: str = "n0", **labels: str) -> Node:
    """Make a node; a label ``zone`` is the usual one."""
    zone = {ZONE: labels.pop("zone")} if "zone" in labels else {}
    return make_node(name, labels={"kubernetes.io/hostname": name, **zone, **labels})


def on_host(*names: str) -> list[Any]:
    """Make the affinity of a local volume."""
    return [term(requirement("kubernetes.io/hostname", "In", *names))]
