"""Tables, the form in which kubectl asks for what it prints."""

from __future__ import annotations

import math
from datetime import datetime
from typing import TYPE_CHECKING, Any

from moorage.embedded.columns import COLUMNS, cell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from moorage.embedded.resources import Resource

__all__ = ["TABLE_MARK", "Tabulator"]

TABLE_MARK = "as=Table"

_NONE = "<none>"
_UNKNOWN = "<unknown>"
_ROLE = "node-role.kubernetes.io/"


def _columns(shown: Sequence[str], wide: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return column definitions; those in `wide` are printed with ``-o wide`` alone."""
    return [
        {
            "name": name,
            "type": "string",
            "format": "name" if name == "Name" else "",
            "description": "",
            "priority": priority,
        }
        for priority, names in enumerate((shown, wide))
        for name in names
    ]


class Tabulator:
    """Turns objects into rows; `now` is the time that ages are counted up to, in seconds."""

    def __init__(self, resource: Resource, *, now: float) -> None:
        self._now = now
        self._cells: Callable[[dict[str, Any]], list[Any]]
        match resource.plural:
            case "pods":
                self._columns, self._cells = _POD_COLUMNS, self._pod
            case "nodes":
                self._columns, self._cells = _NODE_COLUMNS, self._node
            case "events" if not resource.stored_as:
                self._columns, self._cells = _EVENT_COLUMNS, self._event
            case _:
                self._own = COLUMNS.get(resource.qualified, ())
                names = [name for name, _ in self._own]
                self._columns, self._cells = _columns(["Name", *names, "Age"]), self._plain

    def table(
        self, items: Iterable[dict[str, Any]], metadata: dict[str, Any], include: str = "Metadata"
    ) -> dict[str, Any]:
        """Return a Table of whole objects; `include` is the ``includeObject`` of the query."""
        return {
            "kind": "Table",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": metadata,
            "columnDefinitions": self._columns,
            "rows": [self._row(item, include) for item in items],
        }

    def _row(self, item: dict[str, Any], include: str) -> dict[str, Any]:
        row: dict[str, Any] = {"cells": self._cells(item)}
        if include == "Object":
            row["object"] = item
        elif include != "None":
            head = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
            row["object"] = {**head, "metadata": item["metadata"]}
        return row

    def _age(self, since: str | None) -> str:
        if not since:
            return _UNKNOWN
        return age(self._now - datetime.fromisoformat(since).timestamp())

    def _plain(self, item: dict[str, Any]) -> list[Any]:
        metadata = item["metadata"]
        own = [cell(source, item) for _, source in self._own]
        return [metadata["name"], *own, self._age(metadata.get("creationTimestamp"))]

    def _pod(self, pod: dict[str, Any]) -> list[Any]:
        metadata, spec, status = pod["metadata"], pod["spec"], pod.get("status") or {}
        running = status.get("containerStatuses") or ()
        ready = sum(bool(one.get("ready")) for one in running)
        restarts = sum(int(one.get("restartCount") or 0) for one in running)
        return [
            metadata["name"],
            f"{ready}/{len(spec['containers'])}",
            _pod_status(pod),
            str(restarts),
            self._age(metadata.get("creationTimestamp")),
            status.get("podIP") or _NONE,
            spec.get("nodeName") or _NONE,
            status.get("nominatedNodeName") or _NONE,
            _NONE,
        ]

    def _node(self, node: dict[str, Any]) -> list[Any]:
        metadata, status = node["metadata"], node.get("status") or {}
        info = status.get("nodeInfo") or {}
        addresses = {one["type"]: one["address"] for one in status.get("addresses") or ()}
        roles = sorted(
            label.removeprefix(_ROLE)
            for label in metadata.get("labels") or {}
            if label.startswith(_ROLE)
        )
        return [
            metadata["name"],
            _node_status(node),
            ",".join(roles) or _NONE,
            self._age(metadata.get("creationTimestamp")),
            info.get("kubeletVersion") or "",
            addresses.get("InternalIP") or _NONE,
            addresses.get("ExternalIP") or _NONE,
            info.get("osImage") or _UNKNOWN,
            info.get("kernelVersion") or _UNKNOWN,
            info.get("containerRuntimeVersion") or _UNKNOWN,
        ]

    def _event(self, event: dict[str, Any]) -> list[Any]:
        series, about = event.get("series") or {}, event["involvedObject"]
        first = event.get("firstTimestamp") or event.get("eventTime")
        last = series.get("lastObservedTime") or event.get("lastTimestamp") or first
        source = event["source"].get("component") or event.get("reportingComponent") or ""
        return [
            self._age(last),
            event.get("type") or "",
            event.get("reason") or "",
            f"{about.get('kind', '').lower()}/{about.get('name', '')}",
            about.get("fieldPath") or "",
            source,
            event.get("message") or "",
            self._age(first),
            str(series.get("count") or event.get("count") or 1),
            event["metadata"]["name"],
        ]


_POD_COLUMNS = _columns(
    ["Name", "Ready", "Status", "Restarts", "Age"],
    ["IP", "Node", "Nominated Node", "Readiness Gates"],
)
_NODE_COLUMNS = _columns(
    ["Name", "Status", "Roles", "Age", "Version"],
    ["Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"],
)
_EVENT_COLUMNS = [
    {
        **column,
        "priority": int(column["name"] in {"Subobject", "Source", "First Seen", "Count", "Name"}),
    }
    for column in _columns(
        [
            "Last Seen",
            "Type",
            "Reason",
            "Object",
            "Subobject",
            "Source",
            "Message",
            "First Seen",
            "Count",
            "Name",
        ]
    )
]


def _pod_status(pod: dict[str, Any]) -> str:
    status = pod.get("status") or {}
    if pod["metadata"].get("deletionTimestamp"):
        return "Terminating"
    for condition in status.get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            return "SchedulingGated"
    phase = status.get("phase") or "Unknown"
    return "Completed" if phase == "Succeeded" else str(phase)


def _node_status(node: dict[str, Any]) -> str:
    conditions = (node.get("status") or {}).get("conditions") or ()
    ready = next((one["status"] for one in conditions if one["type"] == "Ready"), "")
    words = [{"True": "Ready", "False": "NotReady"}.get(ready, "Unknown")]
    if (node.get("spec") or {}).get("unschedulable"):
        words.append("SchedulingDisabled")
    return ",".join(words)


_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 365 * 86400
# Below each bound: the unit and, up to a smaller bound, a finer unit beside it.
_UNITS = (
    (2 * _MINUTE, 1, "s", 1, "", 0),
    (3 * _HOUR, _MINUTE, "m", 1, "s", 10 * _MINUTE),
    (2 * _DAY, _HOUR, "h", _MINUTE, "m", 8 * _HOUR),
    (2 * _YEAR, _DAY, "d", _HOUR, "h", 8 * _DAY),
    (math.inf, _YEAR, "y", _DAY, "d", 8 * _YEAR),
)


def age(seconds: float) -> str:
    """Write a duration as kubectl does: one or two units, the finer ones only while they matter."""
    whole = max(0, int(seconds))
    _bound, unit, letter, finer, finer_letter, until = next(row for row in _UNITS if whole < row[0])
    rest = whole % unit // finer if whole < until else 0
    return f"{whole // unit}{letter}" + (f"{rest}{finer_letter}" if rest else "")
