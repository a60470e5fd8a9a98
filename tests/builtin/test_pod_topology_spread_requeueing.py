"""Which events bring back a pod that PodTopologySpread refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from tests.builtin.spreading import (
    NAME,
    ended,
    framework_of,
    listed,
    service,
    spread,
    web,
)
from tests.objects import make_node, make_pod, taint, toleration

import moorage
from moorage import ActionType, ClusterEvent, EventResource, PodInfo, QueueingHint
from moorage.cache import ClusterCache
from moorage.framework.hints import EventHint
from moorage.model import LabelSelector, Node
from moorage.model.events import describes
from moorage_builtin.pod_topology_spread import PodTopologySpread


def helps(
    waiting: PodInfo,
    resource: EventResource,
    action: ActionType,
    before: object,
    after: object,
    args: Mapping[str, Any] | None = None,
) -> bool:
    """Say whether an event brings a waiting pod back."""
    plugin = framework_of(ClusterCache(), args).plugin(NAME)
    assert isinstance(plugin, PodTopologySpread)
    happened = ClusterEvent(resource, action)
    return any(
        _asks(hint, waiting, before, after)
        for hint in plugin.events_to_register()
        if describes(hint.event, happened)
    )


def _asks(hint: EventHint, waiting: PodInfo, before: object, after: object) -> bool:
    assert hint.hint is not None
    return hint.hint(waiting.pod, before, after) is QueueingHint.QUEUE


def bound(labels: Mapping[str, str], namespace: str = "ns") -> moorage.Pod:
    """Make a pod on a node."""
    pod = make_pod("bound", node="n1", labels=labels).pod
    metadata = msgspec.structs.replace(pod.metadata, namespace=namespace, uid="bound")
    return msgspec.structs.replace(pod, metadata=metadata)


POD, NODE = EventResource.ASSIGNED_POD, EventResource.NODE


@pytest.mark.parametrize(
    ("action", "before", "after", "expected"),
    [
        pytest.param(ActionType.ADD, None, bound({"app": "web"}), True, id="added"),
        pytest.param(ActionType.ADD, None, bound({"app": "db"}), False, id="other-added"),
        pytest.param(
            ActionType.ADD, None, bound({"app": "web"}, "other"), False, id="elsewhere-added"
        ),
        pytest.param(ActionType.DELETE, bound({"app": "web"}), None, True, id="deleted"),
        pytest.param(ActionType.DELETE, bound({"app": "db"}), None, False, id="other-deleted"),
        pytest.param(
            ActionType.UPDATE_POD_LABEL,
            bound({"app": "web"}),
            bound({"app": "db"}),
            True,
            id="relabelled",
        ),
        pytest.param(
            ActionType.UPDATE_POD_LABEL,
            bound({"app": "web"}),
            bound({"app": "web", "x": "y"}),
            False,
            id="relabelled-in-vain",
        ),
    ],
)
def test_pods_that_are_counted_or_no_longer_counted_help(
    action: ActionType, before: moorage.Pod | None, after: moorage.Pod | None, *, expected: bool
) -> None:
    """Only pods of the namespace that the selector matches change any count."""
    assert helps(web(spread()), POD, action, before, after) is expected


def test_a_pod_that_begins_to_end_helps() -> None:
    """It is counted no more from then on, long before it is gone."""
    running = bound({"app": "web"})
    ending = ended(PodInfo(running)).pod

    assert helps(web(spread()), POD, ActionType.UPDATE_OTHER, running, ending)
    assert not helps(web(spread()), POD, ActionType.UPDATE_OTHER, ending, ending)


def test_a_pod_that_was_asked_to_end_helps_when_it_is_gone() -> None:
    """No count changes any more, but this is when 1.36 tries again."""
    ending = ended(PodInfo(bound({"app": "web"}))).pod
    other = ended(PodInfo(bound({"app": "db"}))).pod

    assert helps(web(spread()), POD, ActionType.DELETE, ending, None)
    assert not helps(web(spread()), POD, ActionType.DELETE, other, None)


def test_any_pod_of_the_namespace_helps_against_an_empty_selector() -> None:
    """It selects all of them, though 1.36 counts none that is there."""
    waiting = web(spread(selector=LabelSelector()))

    assert helps(waiting, POD, ActionType.ADD, None, bound({"app": "db"}))
    assert not helps(waiting, POD, ActionType.ADD, None, bound({"app": "db"}, "other"))
    assert not helps(web(spread(selector=None)), POD, ActionType.ADD, None, bound({"app": "db"}))


def zone(value: str | None, *, tainted: bool = False, **labels: str) -> Node:
    """Make a node in a zone."""
    own = labels if value is None else labels | {"zone": value}
    return make_node("n", labels=own, taints=[taint("x")] if tainted else [])


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(None, zone("a"), True, id="added"),
        pytest.param(None, zone(None), False, id="added-without-key"),
        pytest.param(zone("a"), None, True, id="deleted"),
        pytest.param(zone(None), None, False, id="deleted-without-key"),
        pytest.param(zone(None), zone("a"), True, id="gets-key"),
        pytest.param(zone("a"), zone(None), True, id="loses-key"),
        pytest.param(zone("a"), zone("b"), True, id="moves"),
        pytest.param(zone("a"), zone("a", other="x"), False, id="other-label"),
        pytest.param(zone("a", tainted=True), zone("a"), True, id="loses-taint"),
        pytest.param(zone("a"), zone("a", tainted=True), True, id="gets-taint"),
        pytest.param(zone(None, tainted=True), zone(None), False, id="loses-taint-without-key"),
    ],
)
def test_nodes_that_come_to_another_domain_help(
    before: Node | None, after: Node | None, *, expected: bool
) -> None:
    """What counts is which domain a node is in, if any; and its taints, as in 1.36."""
    action = ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_TAINT
    if before is None:
        action = ActionType.ADD
    elif after is None:
        action = ActionType.DELETE

    assert helps(web(spread()), NODE, action, before, after) is expected


def test_nodes_that_begin_or_cease_to_count_help() -> None:
    """A node counts by the pod's node affinity, and by taints where they are honored."""
    honors = web(spread(node_taints_policy="Honor"))
    choosy = web(spread(), node_selector={"disk": "ssd"})
    taints, labels = ActionType.UPDATE_NODE_TAINT, ActionType.UPDATE_NODE_LABEL

    assert helps(honors, NODE, taints, zone("a", tainted=True), zone("a"))
    assert helps(choosy, NODE, labels, zone("a", disk="hdd"), zone("a", disk="ssd"))


def test_the_pods_own_labels_and_tolerations_help_where_they_matter() -> None:
    """Its labels decide whether it counts itself, its tolerations which nodes count."""
    waiting = EventResource.UNSCHEDULED_POD
    before = web(spread(node_taints_policy="Honor"))
    metadata = msgspec.structs.replace(before.pod.metadata, labels={})
    relabelled = msgspec.structs.replace(before.pod, metadata=metadata)
    spec = msgspec.structs.replace(before.pod.spec, tolerations=(toleration("x", "Exists"),))
    tolerant = msgspec.structs.replace(before.pod, spec=spec)
    labels, tolerations = ActionType.UPDATE_POD_LABEL, ActionType.UPDATE_POD_TOLERATION

    assert helps(before, waiting, labels, before.pod, relabelled)
    assert helps(before, waiting, tolerations, before.pod, tolerant)
    assert not helps(before, waiting, labels, before.pod, before.pod)


def test_services_help_where_default_constraints_filter() -> None:
    """A pod that nothing selects any more has no constraints left."""
    deleted = (EventResource.SERVICE, ActionType.DELETE, service({"app": "web"}), None)

    assert helps(web(), *deleted, listed())
    assert not helps(web(spread()), *deleted, listed())
    assert not helps(web(), *deleted)


def test_nothing_helps_a_pod_whose_constraint_is_wrong() -> None:
    """It would only be refused again."""
    wrong = web(spread(max_skew=0))

    assert not helps(wrong, NODE, ActionType.ADD, None, zone("a"))
    assert not helps(wrong, POD, ActionType.ADD, None, bound({"app": "web"}))
