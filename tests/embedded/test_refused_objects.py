"""Nonsense is refused with a 400 or 422 that names the field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from moorage.embedded import EmbeddedApiServer, ManualClock
from moorage.errors import ApiError

if TYPE_CHECKING:
    from collections.abc import Callable


def container(**fields: Any) -> dict[str, Any]:  # noqa: ANN401 - any field of a container
    """Return a container with some fields."""
    return {"name": "c", "image": "i", **fields}


def requests(**amounts: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - any quantity
    """Return one container that requests amounts."""
    return [container(resources={"requests": amounts})]


def node_affinity(**needed: Any) -> dict[str, Any]:  # noqa: ANN401 - any field
    """Return an affinity with one required requirement."""
    terms = {"nodeSelectorTerms": [{"matchExpressions": [needed]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def preferred(kind: str, **term: Any) -> dict[str, Any]:  # noqa: ANN401 - any field
    """Return an affinity of a kind with one preferred term."""
    return {kind: {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}


def refusal_of(item: dict[str, Any]) -> ApiError:
    """Create an object that has to be refused."""
    server = EmbeddedApiServer(kubelet=False, clock=ManualClock())
    with pytest.raises(ApiError) as refusal:
        server.store.create(item)
    return refusal.value


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param({"containers": []}, "spec.containers: Required value", id="no containers"),
        pytest.param(
            {"containers": [{"image": "i"}]},
            "spec.containers[0].name: Required value",
            id="no name",
        ),
        pytest.param(
            {"containers": [{"name": "c"}]},
            "spec.containers[0].image: Required value",
            id="no image",
        ),
        pytest.param(
            {"containers": [container(), container()]},
            'spec.containers[1].name: Duplicate value: "c"',
            id="two of one name",
        ),
        pytest.param(
            {"containers": requests(cpu="-1")},
            'spec.containers[0].resources.requests[cpu]: Invalid value: "-1": must be greater than '
            "or equal to 0",
            id="negative request",
        ),
        pytest.param(
            {"containers": [container(resources={"requests": {"cpu": "2"}, "limits": {"cpu": 1}})]},
            'requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
            id="request above limit",
        ),
        pytest.param(
            {"containers": requests(gpu="1")}, "must be a standard resource", id="unknown resource"
        ),
        pytest.param(
            {"containers": requests(**{"example.com/gpu": "1"})},
            "Limit must be set for non overcommitable resources",
            id="extended resource without limit",
        ),
        pytest.param(
            {"containers": [container(resources={"limits": {"example.com/gpu": "500m"}})]},
            "must be an integer",
            id="half a device",
        ),
        pytest.param(
            {"restartPolicy": "Sometimes"},
            'spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", '
            '"OnFailure", "Never"',
            id="restart policy",
        ),
        pytest.param(
            {"containers": [container(ports=[{"containerPort": 70000}])]},
            "ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
            id="port",
        ),
        pytest.param(
            {"tolerations": [{"operator": "Equal", "value": "v"}]},
            "spec.tolerations[0].operator",
            id="toleration of everything by Equal",
        ),
        pytest.param(
            {"tolerations": [{"key": "k", "effect": "Never"}]},
            'spec.tolerations[0].effect: Unsupported value: "Never"',
            id="toleration effect",
        ),
        pytest.param(
            {"nodeSelector": {"a b": "c"}}, "spec.nodeSelector: Invalid value", id="node selector"
        ),
        pytest.param(
            {"affinity": node_affinity(key="k", operator="Near")},
            'matchExpressions[0].operator: Invalid value: "Near"',
            id="affinity operator",
        ),
        pytest.param(
            {"affinity": node_affinity(key="k", operator="In")},
            "values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
            id="affinity without values",
        ),
        pytest.param(
            {"affinity": node_affinity(key="k", operator="Exists", values=["v"])},
            "values: Forbidden: may not be specified when `operator` is 'Exists'",
            id="affinity with values too many",
        ),
        pytest.param(
            {"affinity": node_affinity(key="k", operator="Gt", values=["1", "2"])},
            "must be specified single value when `operator` is 'Lt' or 'Gt'",
            id="affinity by two numbers",
        ),
        pytest.param(
            {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}},
            "nodeSelectorTerms: Required value: must have at least one node selector term",
            id="affinity of no terms",
        ),
        pytest.param(
            {"affinity": preferred("nodeAffinity", weight=101, preference={})},
            "weight: Invalid value: 101: must be in the range 1-100",
            id="weight",
        ),
        pytest.param(
            {
                "affinity": preferred(
                    "nodeAffinity",
                    weight=1,
                    preference={"matchFields": [{"key": "spec.x", "operator": "In"}]},
                )
            },
            "not a valid field selector key",
            id="affinity by another field",
        ),
        pytest.param(
            {"affinity": preferred("podAffinity", weight=1, podAffinityTerm={})},
            "podAffinityTerm.topologyKey: Required value: can not be empty",
            id="pod affinity without topology",
        ),
        pytest.param(
            {
                "topologySpreadConstraints": [
                    {
                        "maxSkew": 1,
                        "topologyKey": "k",
                        "whenUnsatisfiable": "DoNotSchedule",
                        "labelSelector": {"matchExpressions": [{"key": "k", "operator": "Gt"}]},
                    }
                ]
            },
            "labelSelector.matchExpressions[0].operator: Invalid value",
            id="label selector's operator",
        ),
        pytest.param(
            {
                "affinity": {
                    "podAntiAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [
                            {
                                "topologyKey": "bad key",
                                "labelSelector": {
                                    "matchExpressions": [
                                        {"key": "k", "operator": "In", "values": ["not ok"]}
                                    ]
                                },
                            }
                        ]
                    }
                }
            },
            "labelSelector.matchExpressions[0].values[0]: Invalid value",
            id="label selector's value",
        ),
        pytest.param(
            {"tolerations": [{"key": "k", "operator": "Exists", "tolerationSeconds": 1}]},
            "effect must be 'NoExecute' when `tolerationSeconds` is set",
            id="toleration seconds",
        ),
        pytest.param(
            {"tolerations": [{"key": "k", "operator": "Exists", "value": "v"}]},
            "value must be empty when `operator` is 'Exists'",
            id="toleration's value",
        ),
        pytest.param(
            {"containers": [container(name="n" * 64)]},
            "must be no more than 63 characters",
            id="long name",
        ),
        pytest.param(
            {"containers": [container(resources={"limits": {"a/b": "2"}, "requests": {"a/b": 1}})]},
            "must be equal to a/b limit of 2",
            id="devices requested and limited differently",
        ),
        pytest.param(
            {"topologySpreadConstraints": [{"maxSkew": 0, "topologyKey": "k"}]},
            "topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero",
            id="skew",
        ),
        pytest.param(
            {"schedulingGates": [{"name": "g"}], "nodeName": "n"},
            "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared",
            id="gated and bound",
        ),
        pytest.param(
            {"terminationGracePeriodSeconds": -1},
            "spec.terminationGracePeriodSeconds: Invalid value: -1",
            id="negative grace",
        ),
        pytest.param(
            {"initContainers": [container(name="i", restartPolicy="Seldom")]},
            'spec.initContainers[0].restartPolicy: Unsupported value: "Seldom"',
            id="init container's restart policy",
        ),
        pytest.param(
            {"containers": [container(volumeMounts=[{"name": "v", "mountPath": "/v"}])]},
            'spec.containers[0].volumeMounts[0].name: Not found: "v"',
            id="mount of no volume",
        ),
        pytest.param(
            {"overhead": {"cpu": "-1"}}, "spec.overhead[cpu]: Invalid value", id="overhead"
        ),
    ],
)
def test_a_pod_that_breaks_a_rule_is_invalid(
    spec: dict[str, Any], message: str, make_pod: Callable[..., dict[str, Any]]
) -> None:
    """422, reason Invalid, and a message that names field and rule."""
    refusal = refusal_of(make_pod("a", **spec))
    assert (refusal.code, refusal.reason) == (422, "Invalid")
    assert str(refusal).startswith('Pod "a" is invalid: ')
    assert message in str(refusal)


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        pytest.param({"containers": "c"}, "spec.containers", id="containers"),
        pytest.param({"containers": [container(image=1)]}, "spec.containers[0].image", id="image"),
        pytest.param({"nodeSelector": {"a": True}}, "spec.nodeSelector[...]", id="label value"),
        pytest.param({"priority": "high"}, "spec.priority", id="priority"),
        pytest.param({"containers": requests(cpu="a lot")}, "requests[cpu]", id="no quantity"),
        pytest.param({"containers": requests(cpu={})}, "requests[...]", id="quantity object"),
        pytest.param({"containers": [None]}, "spec.containers[0]", id="null container"),
    ],
)
def test_a_pod_of_the_wrong_types_is_a_bad_request(
    spec: dict[str, Any], field: str, make_pod: Callable[..., dict[str, Any]]
) -> None:
    """400, and a message that names the field."""
    refusal = refusal_of(make_pod("a", **spec))
    assert (refusal.code, refusal.reason) == (400, "BadRequest")
    assert str(refusal).startswith('Pod in version "v1" cannot be handled as a Pod: ')
    assert field in str(refusal)


def test_all_broken_rules_are_told_at_once(make_pod: Callable[..., dict[str, Any]]) -> None:
    """A user mends a manifest in one go."""
    refusal = refusal_of(make_pod("A_b", restartPolicy="x", dnsPolicy="y"))
    for field in ("metadata.name", "spec.restartPolicy", "spec.dnsPolicy"):
        assert f"{field}: " in str(refusal)


@pytest.mark.parametrize(
    ("metadata", "code"),
    [
        pytest.param({"name": "Bad"}, 422, id="name"),
        pytest.param({"name": "a", "labels": {"k": "not ok"}}, 422, id="label value"),
        pytest.param({"name": "a", "labels": {"/k": "v"}}, 422, id="label key"),
        pytest.param({"name": "a", "annotations": {"a b": "v"}}, 422, id="annotation key"),
        pytest.param({"name": "a", "labels": {"k": 1}}, 400, id="label type"),
        pytest.param({"name": 1}, 400, id="name type"),
        pytest.param({}, 422, id="no name"),
        pytest.param(None, 400, id="no metadata"),
    ],
)
def test_metadata_has_rules_too(metadata: object, code: int) -> None:
    """Of every kind."""
    refusal = refusal_of({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    assert refusal.code == code
    assert "metadata" in str(refusal)


@pytest.mark.parametrize(
    ("node", "code", "message"),
    [
        pytest.param(
            {"status": {"capacity": {"cpu": "-1"}}},
            422,
            "status.capacity[cpu]",
            id="negative capacity",
        ),
        pytest.param(
            {"status": {"capacity": {"cpu": "many"}}}, 400, "status.capacity[cpu]", id="no quantity"
        ),
        pytest.param(
            {"spec": {"taints": [{"key": "k"}]}},
            422,
            "spec.taints[0].effect: Required",
            id="no effect",
        ),
        pytest.param(
            {"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}] * 2}},
            422,
            'spec.taints[1]: Duplicate value: "k:NoSchedule"',
            id="one taint twice",
        ),
        pytest.param(
            {"spec": {"unschedulable": "yes"}}, 400, "spec.unschedulable", id="wrong type"
        ),
    ],
)
def test_a_node_that_breaks_a_rule_is_refused(
    node: dict[str, Any], code: int, message: str
) -> None:
    """Quantities, taints, types."""
    item = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, **node}
    refusal = refusal_of(item)
    assert refusal.code == code
    assert message in str(refusal)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param({}, "spec.selector: Required value", id="nothing given"),
        pytest.param({"replicas": -1}, "spec.replicas: Invalid value: -1", id="negative replicas"),
        pytest.param(
            {
                "selector": {"matchLabels": {"a": "b"}},
                "template": {"spec": {"containers": [container()]}},
            },
            "`selector` does not match template `labels`",
            id="selector of others",
        ),
        pytest.param(
            {"template": {"spec": {"containers": [container(image="")]}}},
            "spec.template.spec.containers[0].image: Required value",
            id="bad template",
        ),
    ],
)
def test_a_workload_that_breaks_a_rule_is_invalid(spec: dict[str, Any], message: str) -> None:
    """Its template is held to the rules of pods."""
    item = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}
    refusal = refusal_of(item)
    assert refusal.code == 422
    assert message in str(refusal)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        pytest.param({"eventTime": None}, "eventTime", id="time"),
        pytest.param({"reportingController": ""}, "reportingController", id="controller"),
        pytest.param({"reportingController": "a b"}, "reportingController", id="odd controller"),
        pytest.param({"reason": "r" * 129}, "reason", id="long reason"),
        pytest.param({"note": "n" * 1025}, "note", id="long note"),
        pytest.param({"type": "Odd"}, "type", id="type"),
        pytest.param({"regarding": {"namespace": "b"}}, "involvedObject.namespace", id="namespace"),
    ],
)
def test_an_event_that_breaks_a_rule_is_invalid(fields: dict[str, Any], field: str) -> None:
    """Of ``events.k8s.io/v1``; those of ``v1`` are taken nearly as they come."""
    event = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "default"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "default-scheduler",
        "reportingInstance": "here",
        "action": "Binding",
        "reason": "Scheduled",
        "regarding": {"kind": "Pod", "namespace": "default", "name": "p"},
        "type": "Normal",
    }
    refusal = refusal_of({**event, **fields})
    assert refusal.code == 422
    assert f"{field}: " in str(refusal)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("high", 2_000_000_000, "maximum allowed value of a user defined priority is 1000000000"),
        ("high", "7", "must be an integer"),
    ],
)
def test_a_priority_class_has_bounds(name: str, value: object, message: str) -> None:
    """What is above is the system's own."""
    item = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
    }
    assert message in str(refusal_of(item))


def test_an_unserved_kind_is_not_found() -> None:
    """The message names kind and version."""
    refusal = refusal_of(
        {"apiVersion": "example.com/v1", "kind": "Boat", "metadata": {"name": "b"}}
    )
    assert refusal.code == 404
    assert 'kind "Boat" in version "example.com/v1"' in str(refusal)
