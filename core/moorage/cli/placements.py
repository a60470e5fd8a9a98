"""What went where, and why what is pending is pending: read from the API server, and printed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec
from rich.console import RenderableType
from rich.text import Text

from moorage.api.resources import NODES, PODS
from moorage.cli.output import print_document, print_renderable, table
from moorage.model.nodes import Node
from moorage.model.pods import Pod, is_finished
from moorage.model.quantities import InvalidQuantityError
from moorage.model.requests import amounts_of, pod_requests

if TYPE_CHECKING:
    from moorage.api.client import ApiClient

__all__ = ["Outcome", "bound_pods", "count", "print_outcome", "read_outcome"]

_ZONE: Final = "topology.kubernetes.io/zone"
_ORDINARY: Final = frozenset({"cpu", "ephemeral-storage", "memory", "pods"})
_GIB: Final = 2**30
_MANY_NODES: Final = 100
"""Above this, only nodes that took pods are listed, unless all are asked for."""
_MANY: Final = 200
"""Above this, bound pods, and nodes, are not listed one by one, unless all are asked for."""


class _Pods(msgspec.Struct):
    items: list[Pod]


class _Nodes(msgspec.Struct):
    items: list[Node]


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """All that a run came to. `pods` are those to tell about, `everything` all that there are.

    `served` are the scheduler names of this process, `seconds` how long it scheduled.
    """

    nodes: list[Node]
    pods: list[Pod]
    everything: list[Pod]
    served: frozenset[str]
    seconds: float

    def placed(self) -> list[Pod]:
        """Return the pods that are on nodes, by namespace and name."""
        return [pod for pod in self.pods if pod.spec.node_name]

    def pending(self) -> list[Pod]:
        """Return the pods that are on no node and have not ended, by namespace and name."""
        return [pod for pod in self.pods if not pod.spec.node_name and not is_finished(pod)]

    def reason(self, pod: Pod) -> tuple[str, str]:
        """Say why a pod is pending: a reason in one word, and a sentence; empty if it is not."""
        name = pod.spec.scheduler_name
        if pod.spec.node_name or is_finished(pod):
            return "", ""
        if name not in self.served:
            ours = " or ".join(sorted(self.served))
            return (
                "SchedulerNotServed",
                f"it asks for scheduler {name!r}, and the profiles here are named {ours}",
            )
        for condition in pod.status.conditions:
            if condition.type == "PodScheduled" and condition.status == "False":
                return condition.reason, condition.message
        return "NotTried", "no attempt to schedule it has ended yet"


async def bound_pods(client: ApiClient) -> frozenset[str]:
    """Return the UIDs of all pods that are on nodes."""
    pods = await _read_pods(client)
    return frozenset(pod.metadata.uid for pod in pods if pod.spec.node_name)


async def read_outcome(
    client: ApiClient,
    *,
    served: Iterable[str],
    seconds: float,
    before: frozenset[str] = frozenset(),
    foreign: bool = True,
) -> Outcome:
    """Ask the API server what became of the pods.

    Not told about are pods whose UIDs are in `before`, those already there, and unless `foreign`
    those that ask for a scheduler that is not `served`. Raises ApiError, UnreachableError.
    """
    everything = await _read_pods(client)
    nodes = msgspec.json.decode(await client.request("GET", NODES.path()), type=_Nodes).items
    ours = frozenset(served)
    return Outcome(
        nodes=sorted(nodes, key=lambda node: node.metadata.name),
        pods=[
            pod
            for pod in everything
            if pod.metadata.uid not in before and (foreign or pod.spec.scheduler_name in ours)
        ],
        everything=everything,
        served=ours,
        seconds=seconds,
    )


async def _read_pods(client: ApiClient) -> list[Pod]:
    pods = msgspec.json.decode(await client.request("GET", PODS.path()), type=_Pods).items
    return sorted(pods, key=lambda pod: (pod.metadata.namespace, pod.metadata.name))


def print_outcome(outcome: Outcome, output: str) -> None:
    """Print to stdout, as ``table``, ``wide``, ``json`` or ``yaml``."""
    if output in {"json", "yaml"}:
        print_document([_document(pod, outcome) for pod in outcome.pods], output)
        return
    parts: list[RenderableType] = []
    for heading, content in (
        ("What went where", _placed_part(outcome, wide=output == "wide")),
        ("Nodes", _nodes_part(outcome, wide=output == "wide")),
        ("Pending, and why", _pending_table(outcome, wide=output == "wide")),
    ):
        if content is not None:
            parts += [Text(heading, style="bold underline"), content, ""]
    print_renderable(*parts, _summary(outcome))


def _document(pod: Pod, outcome: Outcome) -> dict[str, Any]:
    reason, message = outcome.reason(pod)
    return {
        "namespace": pod.metadata.namespace,
        "name": pod.metadata.name,
        "node": pod.spec.node_name,
        "phase": pod.status.phase,
        "reason": reason,
        "message": message,
    }


def _placed_part(outcome: Outcome, *, wide: bool) -> RenderableType | None:
    """List the bound pods; only their number where nobody would read the list."""
    number = len(outcome.placed())
    if number <= _MANY or wide:
        return _pods_table(outcome, wide=wide)
    return Text(f"{count(number, 'pod')}; -o wide or -o json lists them all.")


def _pods_table(outcome: Outcome, *, wide: bool) -> RenderableType | None:
    rows: list[list[RenderableType]] = [
        [
            pod.metadata.namespace,
            pod.metadata.name,
            Text(pod.spec.node_name, style="cyan"),
            *(_wide_cells(pod) if wide else []),
        ]
        for pod in outcome.placed()
    ]
    columns = ["NAMESPACE", "POD", "NODE"]
    if wide:
        columns += ["PHASE", "SCHEDULER", "PRIORITY", "CPU", "MEMORY"]
    return table(columns, rows) if rows else None


def _wide_cells(pod: Pod) -> list[str]:
    amounts = _requests(pod)
    return [
        pod.status.phase,
        pod.spec.scheduler_name,
        str(pod.spec.priority or 0),
        _cpu(amounts.get("cpu", 0)),
        _memory(amounts.get("memory", 0)),
    ]


def _nodes_part(outcome: Outcome, *, wide: bool) -> RenderableType | None:
    """List the nodes; of many, those that took pods, and only their number if these are many."""
    nodes = outcome.nodes
    if len(nodes) > _MANY_NODES and not wide:
        touched = {pod.spec.node_name for pod in outcome.placed()}
        nodes = [node for node in nodes if node.metadata.name in touched]
        if len(nodes) > _MANY:
            return Text(f"{count(len(nodes), 'node')} took pods; -o wide lists them all.")
    return _nodes_table(outcome, nodes, wide=wide)


def _nodes_table(outcome: Outcome, nodes: Iterable[Node], *, wide: bool) -> RenderableType | None:
    """One row a node: how much of it is asked for by the pods on it."""
    used: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for pod in outcome.everything:
        if pod.spec.node_name and not is_finished(pod):
            for resource, amount in {**_requests(pod), "pods": 1}.items():
                used[pod.spec.node_name][resource] += amount
    rows: list[list[RenderableType]] = [
        [
            Text(node.metadata.name, style="cyan"),
            node.metadata.labels.get(_ZONE, "-"),
            *_node_cells(_allocatable(node), used[node.metadata.name], wide=wide),
        ]
        for node in nodes
    ]
    columns = ["NODE", "ZONE", "PODS", "CPU", "", "MEMORY", "", *(["OTHER"] if wide else [])]
    return table(columns, rows) if rows else None


def _node_cells(
    allocatable: Mapping[str, int], used: Mapping[str, int], *, wide: bool
) -> Iterator[str]:
    yield str(used.get("pods", 0))
    for resource, shown in (("cpu", _cpu), ("memory", _memory)):
        part, whole = used.get(resource, 0), allocatable.get(resource, 0)
        yield f"{shown(part)} of {shown(whole)}"
        yield f"{round(100 * part / whole) if whole else 0:3d}%"
    if wide:
        yield ", ".join(
            f"{resource} {used.get(resource, 0)} of {whole}"
            for resource, whole in sorted(allocatable.items())
            if resource not in _ORDINARY and whole
        )


def _pending_table(outcome: Outcome, *, wide: bool) -> RenderableType | None:
    rows = [list(_pending_cells(pod, outcome, wide=wide)) for pod in outcome.pending()]
    columns = ["NAMESPACE", "POD", *(["REASON"] if wide else []), "WHY"]
    return table(columns, rows) if rows else None


def _pending_cells(pod: Pod, outcome: Outcome, *, wide: bool) -> Iterator[RenderableType]:
    reason, message = outcome.reason(pod)
    yield pod.metadata.namespace
    yield Text(pod.metadata.name, style="yellow")
    if wide:
        yield reason
    yield message


def _summary(outcome: Outcome) -> Text:
    placed, pending = outcome.placed(), outcome.pending()
    present = {node.metadata.name for node in outcome.nodes}
    nodes = {pod.spec.node_name for pod in placed} & present
    lost = sum(pod.spec.node_name not in present for pod in placed)
    total = len(placed) + len(pending)
    if not total:
        return Text("There was no pod to schedule.")
    line = Text(
        f"{len(placed):,} of {count(total, 'pod')} bound on {count(len(nodes), 'node')}"
        f" in {outcome.seconds:.1f} s",
        style="bold",
    )
    if lost:
        line.append(f", {lost:,} of them by the name of a node that does not exist", style="yellow")
    return line.append(f", {len(pending)} pending", style="yellow") if pending else line


def count(number: int, noun: str) -> str:
    """Write a number with its noun: ``1 pod``, ``1,200 pods``."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _allocatable(node: Node) -> dict[str, int]:
    return _amounts(node.status.allocatable or node.status.capacity)


def _amounts(quantities: Mapping[str, str]) -> dict[str, int]:
    try:
        return amounts_of(quantities)
    except InvalidQuantityError:
        return {}  # a report is no place to stop at a text that the API server let pass


def _requests(pod: Pod) -> dict[str, int]:
    try:
        return dict(pod_requests(pod).amounts)
    except InvalidQuantityError:
        return {}


def _cpu(milli: int) -> str:
    return f"{milli / 1000:g}"


def _memory(size: int) -> str:
    return f"{round(size / _GIB, 2):g}Gi"
