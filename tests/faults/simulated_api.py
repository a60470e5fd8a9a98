"""An API server in virtual time: the truth, what is written to it, and what watches tell of it.

Nothing happens by itself. Whoever drives it decides when a write arrives, whether its answer does,
and what each watch has been told so far: late, twice, or only by a new list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

import msgspec

from moorage.api.decoding import Added, Change, Deleted, Modified
from moorage.api.watching import Changes, Replace
from moorage.errors import ApiError
from moorage.model.meta import ObjectMeta
from moorage.model.nodes import Node, NodeSpec, NodeStatus
from moorage.model.pods import (
    Container,
    Pod,
    PodCondition,
    PodSchedulingGate,
    PodSpec,
    PodStatus,
    ResourceRequirements,
    is_finished,
)

__all__ = ["SimulatedApi", "Stream"]


class SimulatedApi:
    """Pods by uid and nodes by name, the log of their changes, and the Bindings that succeeded.

    A pod's uid is its name. `bindings` counts by uid, `bound_by_others` has those that a neighbour
    bound, `shrunk` the nodes that lost room which was in use.
    """

    def __init__(self) -> None:
        self.pods: dict[str, Pod] = {}
        self.nodes: dict[str, Node] = {}
        self.logs: dict[str, list[Change[Any]]] = {"pods": [], "nodes": []}
        self.bindings: Counter[str] = Counter()
        self.bound_by_others: set[str] = set()
        self.version = 0

    # Objects

    def create_pod(
        self,
        name: str,
        *,
        cpu: str = "1",
        gates: tuple[str, ...] = (),
        selector: Mapping[str, str] | None = None,
        priority: int = 0,
    ) -> None:
        """Create a pod that waits."""
        container = Container(name="c", resources=ResourceRequirements(requests={"cpu": cpu}))
        self._put_pod(
            Pod(
                metadata=ObjectMeta(name=name, namespace="ns", uid=name),
                spec=PodSpec(
                    priority=priority,
                    containers=(container,),
                    node_selector=dict(selector or {}),
                    scheduling_gates=tuple(PodSchedulingGate(name=gate) for gate in gates),
                ),
                status=PodStatus(phase="Pending"),
            )
        )

    def create_node(
        self, name: str, *, cpu: str = "4", labels: Mapping[str, str] | None = None
    ) -> None:
        """Create a node."""
        self._put_node(
            Node(
                metadata=ObjectMeta(name=name, labels=dict(labels or {})),
                status=NodeStatus(allocatable={"cpu": cpu, "pods": "110"}),
            )
        )

    def change_pod(
        self,
        uid: str,
        *,
        metadata: Mapping[str, Any] | None = None,
        spec: Mapping[str, Any] | None = None,
        status: Mapping[str, Any] | None = None,
    ) -> None:
        """Replace fields of a pod; one that ends leaves the watch, which selects by phase."""
        pod = self.pods[uid]
        replace = msgspec.structs.replace
        changed = replace(
            pod,
            metadata=replace(pod.metadata, **(metadata or {})),
            spec=replace(pod.spec, **(spec or {})),
            status=replace(pod.status, **(status or {})),
        )
        self._put_pod(changed)

    def change_node(self, name: str, **fields: Any) -> None:  # noqa: ANN401 - record fields
        """Replace `labels`, `unschedulable` or `allocatable` of a node."""
        node = self.nodes[name]
        labels = fields.get("labels", node.metadata.labels)
        self._put_node(
            msgspec.structs.replace(
                node,
                metadata=msgspec.structs.replace(node.metadata, labels=labels),
                spec=NodeSpec(
                    unschedulable=fields.get("unschedulable", node.spec.unschedulable),
                    taints=node.spec.taints,
                ),
                status=NodeStatus(allocatable=fields.get("allocatable", node.status.allocatable)),
            )
        )

    def delete_pod(self, uid: str) -> None:
        """Take a pod away."""
        pod = self._versioned(self.pods.pop(uid))
        self.logs["pods"].append(Deleted(pod))

    def finish_pod(self, uid: str) -> None:
        """Let a pod end, which takes it out of the watch."""
        self.change_pod(uid, status={"phase": "Succeeded"})
        self.logs["pods"][-1] = Deleted(self.pods.pop(uid))

    def delete_node(self, name: str) -> None:
        """Take a node away; its pods stay."""
        self.logs["nodes"].append(Deleted(self._versioned(self.nodes.pop(name))))

    def bind(self, uid: str, node: str, *, by_us: bool = True) -> None:
        """Bind a pod as the API server does. Raises ApiError: it is gone, gated, or bound."""
        pod = self.pods.get(uid)
        if pod is None:
            raise ApiError(f"pods {uid} not found", code=HTTPStatus.NOT_FOUND, reason="NotFound")
        if pod.spec.node_name:
            raise ApiError(
                f"pod {uid} is already assigned to node {pod.spec.node_name}",
                code=HTTPStatus.CONFLICT,
                reason="Conflict",
            )
        if pod.spec.scheduling_gates:
            raise ApiError(
                f"pod {uid} has non-empty .spec.schedulingGates",
                code=HTTPStatus.CONFLICT,
                reason="Conflict",
            )
        scheduled = PodCondition(type="PodScheduled", status="True")
        self.change_pod(
            uid,
            spec={"node_name": node},
            status={"nominated_node_name": "", "conditions": (scheduled,)},
        )
        if by_us:
            self.bindings[uid] += 1
        else:
            self.bound_by_others.add(uid)

    # Requests, as `ApiClient.request` makes them

    def answer(self, method: str, path: str, body: Any) -> bytes:  # noqa: ANN401 - JSON
        """Do what a request asks. Raises ApiError."""
        name = path.split("/pods/")[1].partition("/")[0]
        if method == "POST" and path.endswith("/binding"):
            if body["metadata"]["uid"] != name:
                raise AssertionError(f"a Binding of {body} was sent to {path}")
            self.bind(name, body["target"]["name"])
            return b"{}"
        if name not in self.pods:
            raise ApiError(f"pods {name} not found", code=HTTPStatus.NOT_FOUND, reason="NotFound")
        if method == "PATCH":
            self._patch_status(name, body["status"])
        pod = self.pods[name]
        return msgspec.json.encode(
            {"metadata": {"uid": pod.metadata.uid}, "spec": {"nodeName": pod.spec.node_name}}
        )

    def _patch_status(self, uid: str, patch: Mapping[str, Any]) -> None:
        status = self.pods[uid].status
        fields: dict[str, Any] = {}
        if "nominatedNodeName" in patch:
            fields["nominated_node_name"] = patch["nominatedNodeName"] or ""
        if "conditions" in patch:
            before = {one.type: msgspec.to_builtins(one) for one in status.conditions}
            for condition in patch["conditions"]:
                merged = before.setdefault(condition["type"], {})
                merged |= {key: value for key, value in condition.items() if value is not None}
            fields["conditions"] = tuple(
                msgspec.convert(one, PodCondition) for one in before.values()
            )
        self.change_pod(uid, status=fields)

    # Inside

    def _put_pod(self, pod: Pod) -> None:
        self._put("pods", self.pods, pod.metadata.uid, pod)

    def _put_node(self, node: Node) -> None:
        self._put("nodes", self.nodes, node.metadata.name, node)

    def _put(self, resource: str, held: dict[str, Any], key: str, item: Any) -> None:  # noqa: ANN401 - a record
        kind: Callable[[Any], Change[Any]] = Modified if key in held else Added
        held[key] = self._versioned(item)
        self.logs[resource].append(kind(held[key]))

    def _versioned(self, item: Any) -> Any:  # noqa: ANN401 - a record
        self.version += 1
        metadata = msgspec.structs.replace(item.metadata, resource_version=str(self.version))
        return msgspec.structs.replace(item, metadata=metadata)


class Stream:
    """One watch: what it has told so far is `position` changes of the log."""

    def __init__(self, api: SimulatedApi, resource: str) -> None:
        self._api = api
        self._resource = resource
        self._log = api.logs[resource]
        self.position = 0

    @property
    def backlog(self) -> int:
        """How many changes have not been told yet."""
        return len(self._log) - self.position

    def next(self, count: int) -> Changes[Any]:
        """Tell up to `count` changes."""
        told = self._log[self.position : self.position + count]
        self.position += len(told)
        return Changes(told)

    def rewind(self, count: int) -> None:
        """Tell the last `count` changes once more when asked for the next ones."""
        self.position = max(0, self.position - count)

    def relist(self) -> Replace[Any]:
        """Tell what there is now; what happened in between is never told."""
        self.position = len(self._log)
        held: Mapping[str, Any] = getattr(self._api, self._resource)
        items = [
            item for item in held.values() if not (isinstance(item, Pod) and is_finished(item))
        ]
        return Replace(items, str(self._api.version))
