"""The cluster as two dictionaries, and every array of a view recounted from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from moorage.model import HostPort, Node, PodInfo, amounts_of

__all__ = ["PlainCluster", "PlainRow"]

_EVERY_ADDRESS = "0.0.0.0"  # noqa: S104 - the API's word for every address


class PlainRow:
    """A node with its pods, real or hypothetical."""

    def __init__(self, node: Node, pods: Iterable[PodInfo]) -> None:
        self.node = node
        self.pods = {info.uid: info for info in pods}

    def changed(self, *, added: Iterable[PodInfo] = (), removed: Iterable[str] = ()) -> PlainRow:
        """Return the same node with pods added, then others removed."""
        row = PlainRow(self.node, (*self.pods.values(), *added))
        for uid in removed:
            del row.pods[uid]
        return row

    def allocatable(self, resource: str) -> int:
        """Return what the node has."""
        return amounts_of(self.node.status.allocatable).get(resource, 0)

    def requested(self, resource: str) -> int:
        """Return what the pods ask for."""
        if resource == "pods":
            return len(self.pods)
        return sum(info.requests.get(resource) for info in self.pods.values())

    def nonzero(self) -> tuple[int, int]:
        """Return milli-CPU and bytes with defaults."""
        requests = [info.requests for info in self.pods.values()]
        return (
            sum(one.nonzero_cpu for one in requests),
            sum(one.nonzero_memory for one in requests),
        )

    def port_conflict(self, wanted: Iterable[HostPort]) -> bool:
        """Say whether a pod has one of these ports."""
        used = [port for info in self.pods.values() for port in info.host_ports]
        return any(
            one.port == other.port
            and one.protocol == other.protocol
            and (one.ip == other.ip or _EVERY_ADDRESS in {one.ip, other.ip})
            for one in wanted
            for other in used
        )

    def has_image(self, name: str) -> bool:
        """Say whether the node has an image by this name."""
        return any(name in (image.names or ()) for image in self.node.status.images)


class PlainCluster:
    """Nodes by name, pods by uid, and on which node each pod is."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, PodInfo] = {}
        self.place: dict[str, str] = {}
        self.assumed: set[str] = set()

    def put(self, info: PodInfo, node: str, *, assumed: bool) -> None:
        """Have a pod on a node."""
        self.pods[info.uid] = info
        self.place[info.uid] = node
        self.assumed.discard(info.uid)
        if assumed:
            self.assumed.add(info.uid)

    def drop(self, uid: str) -> None:
        """Have a pod no longer."""
        self.pods.pop(uid, None)
        self.place.pop(uid, None)
        self.assumed.discard(uid)

    def row(self, name: str) -> PlainRow:
        """Return a node with its pods."""
        return PlainRow(
            self.nodes[name],
            [info for uid, info in self.pods.items() if self.place[uid] == name],
        )

    def rows(self, names: Sequence[str]) -> list[PlainRow]:
        """Return nodes with their pods."""
        return [self.row(name) for name in names]

    def copy(self) -> Mapping[str, object]:
        """Return what a rollback must restore."""
        return {"pods": dict(self.pods), "place": dict(self.place), "assumed": set(self.assumed)}
