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


def test_an_unserved_kind_is_not_found() -> None:
    """The message names kind and version."""
    refusal = refusal_of(
        {"apiVersion": "example.com/v1", "kind": "Boat", "metadata": {"name": "b"}}
    )
    assert refusal.code == 404
    assert 'kind "Boat" in version "example.com/v1"' in str(refusal)
