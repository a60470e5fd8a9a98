"""Ask one built-in plugin about all nodes of a small cluster, as the cycle would."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from tests.cache.plain_cluster import PlainCluster, PlainRow

from moorage import Code, CycleState, Plugin, PodInfo, Services, Verdict, discover
from moorage.framework.assembly import new_framework
from moorage.framework.profile import Framework
from moorage.model import Node

__all__ = ["Asked", "ask", "assemble", "plugin"]

REGISTRY = discover()


def assemble(
    name: str, args: Mapping[str, Any] | None = None, services: Services | None = None
) -> Framework:
    """Assemble a profile of one installed plugin."""
    return new_framework(REGISTRY, [name], {name: args or {}}, services=services)


def plugin(name: str, args: Mapping[str, Any] | None = None) -> Plugin:
    """Make one installed plugin."""
    return assemble(name, args).plugin(name)


class Asked:
    """What a plugin said of each row, in the order of the view.

    `refusals`: None where the row passes. `raw` and `scores`: before and after normalising, None
    where the plugin skipped. `names`: those that PreFilter named.
    """

    def __init__(
        self,
        name: str,
        nodes: Iterable[Node],
        pods: Iterable[PodInfo],
        info: PodInfo,
        args: Mapping[str, Any] | None = None,
    ) -> None:
        services = Services()
        plain = PlainCluster()
        for node in nodes:
            services.cluster.set_node(node)
            plain.nodes[node.metadata.name] = node
        for pod in pods:
            services.cluster.add_pod(pod)
            plain.put(pod, pod.pod.spec.node_name, assumed=False)
        self.framework = assemble(name, args, services)
        self.name = name
        self.info = info
        self.nodes = services.cluster.view()
        self.rows: list[PlainRow] = plain.rows(self.nodes.names())
        self.state = CycleState()
        self.pre_filter: Verdict | None = None
        self.names: frozenset[str] | None = None
        self.refusals = self._filter()
        self.raw, self.scores = self._score()

    def _call(self, hook: str, *arguments: object) -> Any:  # noqa: ANN401 - what the hook answers
        found = self.framework.hook(self.name, hook)
        return None if found is None else found.call(*arguments)

    def _filter(self) -> list[Verdict | None]:
        pod = self.info.pod
        answer = self._call("pre_filter", self.state, pod, self.info, self.nodes)
        if isinstance(answer, Verdict):
            self.pre_filter = answer
            return [None if answer.code is Code.SKIP else answer] * len(self.nodes)
        self.names = None if answer is None else frozenset(answer)
        codes = self._call("filter_nodes", self.state, pod, self.info, self.nodes)
        if codes is None:
            return [None] * len(self.nodes)
        assert codes.shape == (len(self.nodes),)
        if codes.dtype == np.bool_:
            codes = ~codes
        return [
            self._call("explain", self.state, pod, int(code)) if code else None
            for code in codes.tolist()
        ]

    def _score(self) -> tuple[list[Any] | None, list[int] | None]:
        pod = self.info.pod
        if self.framework.hook(self.name, "score_nodes") is None:
            return None, None
        answer = self._call("pre_score", self.state, pod, self.info, self.nodes)
        if answer is not None and answer.code is Code.SKIP:
            return None, None
        raw = self._call("score_nodes", self.state, pod, self.info, self.nodes)
        assert raw.shape == (len(self.nodes),)
        scores = self._call("normalize_scores", self.state, pod, raw, self.nodes)
        return raw.tolist(), raw.tolist() if scores is None else scores.tolist()


def ask(
    name: str,
    nodes: Sequence[Node],
    info: PodInfo,
    *,
    pods: Sequence[PodInfo] = (),
    args: Mapping[str, Any] | None = None,
) -> Asked:
    """Ask a plugin about a pod that is to be placed."""
    return Asked(name, nodes, pods, info, args)
