"""What a search found, as the API writes it."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from moorage.model import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from moorage.model.devices import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceConfiguration,
    DeviceResult,
    ResourceClaim,
)
from moorage_builtin.dynamic_resources.allocating import Found
from moorage_builtin.dynamic_resources.pools import PoolView, SeenDevice
from moorage_builtin.dynamic_resources.wanted import Wanted

__all__ = ["allocation_of"]


def allocation_of(
    claim: ResourceClaim,
    wanted: Sequence[tuple[Wanted, ...]],
    found: Sequence[Found],
    *,
    views: Sequence[PoolView],
    node_name: str,
    generator: np.random.Generator,
) -> AllocationResult:
    """Return the allocation of one claim on a node; `wanted` are the alternatives of its requests."""
    devices = [views[one.view].devices[one.device] for one in found]
    results = tuple(
        _result(wanted[one.request][max(one.alternative, 0)], one, views, generator)
        for one in found
    )
    chosen = [
        alternatives[next((one.alternative for one in found if one.request == index), 0)]
        if len(alternatives) > 1
        else alternatives[0]
        for index, alternatives in enumerate(wanted)
    ]
    return AllocationResult(
        devices=DeviceAllocationResult(
            results=results, config=tuple(_configurations(claim, chosen))
        ),
        node_selector=_node_selector(devices, node_name),
    )


def _result(
    wanted: Wanted, found: Found, views: Sequence[PoolView], generator: np.random.Generator
) -> DeviceResult:
    view = views[found.view]
    seen = view.devices[found.device]
    share_id, consumed = None, {}
    if found.taken is not None:
        share_id = str(uuid.UUID(bytes=generator.bytes(16), version=4))
        consumed = dict(found.taken.texts)
    return DeviceResult(
        request=wanted.name,
        driver=view.key[0],
        pool=view.key[1],
        device=seen.name,
        admin_access=True if wanted.is_admin else None,
        tolerations=wanted.request.tolerations,
        binding_conditions=seen.device.binding_conditions,
        binding_failure_conditions=seen.device.binding_failure_conditions,
        share_id=share_id,
        consumed_capacity=consumed,
    )


def _configurations(claim: ResourceClaim, chosen: Sequence[Wanted]) -> Iterable[dict[str, Any]]:
    """Return what drivers are to be told: first what the classes say, each once, then the claim."""
    by_class: dict[str, list[Wanted]] = {}
    for wanted in chosen:
        by_class.setdefault(wanted.device_class.metadata.name, []).append(wanted)
    for group in by_class.values():
        names = [wanted.name for wanted in group]
        for config in group[0].device_class.spec.config:
            yield _configuration("FromClass", names, config)
    names_of_all = {name for wanted in chosen for name in (wanted.name, _parent(wanted.name))}
    for config in claim.spec.devices.config:
        if not config.requests or names_of_all & set(config.requests):
            yield _configuration("FromClaim", config.requests, config)


def _configuration(
    source: str, requests: Sequence[str], config: DeviceConfiguration
) -> dict[str, Any]:
    named = {"requests": list(requests)} if requests else {}
    opaque = {} if config.opaque is None else {"opaque": config.opaque}
    return {"source": source, **named, **opaque}


def _parent(name: str) -> str:
    return name.partition("/")[0]


def _node_selector(devices: Iterable[SeenDevice], node_name: str) -> NodeSelector | None:
    """Return the nodes on which all devices can be used, None: all nodes."""
    fields: list[NodeSelectorRequirement] = []
    labels: list[NodeSelectorRequirement] = []
    for seen in devices:
        spec = seen.slice.spec
        at = seen.device if spec.per_device_node_selection else spec
        if at.node_name is not None or seen.device.binds_to_node:
            only = NodeSelectorRequirement(key="metadata.name", operator="In", values=(node_name,))
            return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(only,)),))
        if at.node_selector is not None:
            for term in at.node_selector.node_selector_terms[:1]:
                fields += [one for one in term.match_fields if one not in fields]
                labels += [one for one in term.match_expressions if one not in labels]
    if not fields and not labels:
        return None
    term = NodeSelectorTerm(match_fields=tuple(fields), match_expressions=tuple(labels))
    return NodeSelector(node_selector_terms=(term,))
