"""Every node-level plugin's array form equals the scalar form, over generated clusters and pods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import strategies as draw
from tests.builtin import scalar
from tests.builtin.asking_plugins import ask
from tests.cache.plain_cluster import PlainRow

from moorage import PodInfo, Verdict
from moorage.model import Node, NodeAffinity, Pod

Cluster = tuple[list[Node], list[PodInfo]]
clusters = draw.clusters()
new_pods = draw.pods(st.just("new"))
resized = draw.pods(st.just("new"), statuses=draw.pod_statuses())
few = settings(max_examples=12)
RESOURCES = ("cpu", "memory", "ephemeral-storage", *draw.EXTENDED)

FILTERS: dict[str, Callable[[Pod, PlainRow], Verdict | None]] = {
    "NodeUnschedulable": scalar.node_unschedulable,
    "TaintToleration": scalar.taint_toleration,
    "NodeAffinity": scalar.node_affinity,
    "NodeDeclaredFeatures": scalar.node_declared_features,
    "NodeResourcesFit": scalar.node_resources_fit,
}


def _sorted(verdict: Verdict | None) -> Verdict | None:
    """Put reasons in one order: kube-scheduler's is that of a Go map."""
    return None if verdict is None else verdict._replace(reasons=tuple(sorted(verdict.reasons)))


@pytest.mark.parametrize("name", FILTERS)
@few
@given(cluster=clusters, info=new_pods)
def test_filters_refuse_as_the_scalar_form_does(name: str, cluster: Cluster, info: PodInfo) -> None:
    """The same nodes, with the same code and reasons."""
    nodes, pods = cluster

    asked = ask(name, nodes, info, pods=pods)

    expected = [_sorted(FILTERS[name](info.pod, row)) for row in asked.rows]
    found = [
        _sorted(refusal)
        if asked.names is None or row.node.metadata.name in asked.names
        else expected[index]
        for index, (row, refusal) in enumerate(zip(asked.rows, asked.refusals, strict=True))
    ]
    if asked.names is not None:  # whoever is not named is refused without being asked
        assert all(
            refusal is not None or row.node.metadata.name in asked.names
            for row, refusal in zip(asked.rows, expected, strict=True)
        )
    if asked.pre_filter is not None and asked.pre_filter.is_rejection:
        assert all(refusal is not None for refusal in expected)
    else:
        assert found == expected


@few
@given(cluster=clusters, info=draw.pods(st.just("new"), node_name=st.sampled_from(["", "n1"])))
def test_node_name(cluster: Cluster, info: PodInfo) -> None:
    """A pod that names its node goes there or nowhere."""
    asked = ask("NodeName", cluster[0], info)

    assert asked.refusals == [scalar.node_name(info.pod, row) for row in asked.rows]


@few
@given(cluster=clusters, info=new_pods)
def test_ports(cluster: Cluster, info: PodInfo) -> None:
    """A node is refused where one of its pods, sidecars included, has a wanted port."""
    asked = ask("NodePorts", cluster[0], info, pods=cluster[1])

    taken = Verdict.unschedulable("node(s) didn't have free ports for the requested pod ports")
    assert asked.refusals == [
        taken if row.port_conflict(info.host_ports) else None for row in asked.rows
    ]


@few
@given(cluster=clusters, info=new_pods, added=draw.node_affinities())
def test_affinity_that_the_configuration_adds(
    cluster: Cluster, info: PodInfo, added: NodeAffinity
) -> None:
    """It holds beside the pod's own, is named first, and its preferences count as well."""
    args = {"addedAffinity": msgspec.to_builtins(added)}

    asked = ask("NodeAffinity", cluster[0], info, args=args)

    expected = [scalar.node_affinity(info.pod, row, added) for row in asked.rows]
    if asked.pre_filter is None and asked.names is None:
        assert asked.refusals == expected
    scores = [scalar.affinity_score(info.pod, row, added) for row in asked.rows]
    if asked.raw is None:
        assert not any(scores)
    else:
        assert asked.raw == scores
        assert asked.scores == scalar.share_of_highest(scores)


@few
@given(cluster=clusters, info=new_pods)
def test_scores_by_taints(cluster: Cluster, info: PodInfo) -> None:
    """The more PreferNoSchedule taints are not tolerated, the lower."""
    asked = ask("TaintToleration", cluster[0], info)

    counts = [scalar.taint_score(info.pod, row) for row in asked.rows]
    assert asked.raw == counts
    assert asked.scores == scalar.share_of_highest(counts, reverse=True)


@few
@given(cluster=clusters, info=new_pods)
def test_scores_by_images(cluster: Cluster, info: PodInfo) -> None:
    """By bytes, scaled by how many nodes have the image."""
    nodes, _ = cluster
    sizes: dict[str, int] = {}
    for node in nodes:
        for image in node.status.images:
            for name in image.names or ():
                sizes.setdefault(name, image.size_bytes)

    asked = ask("ImageLocality", nodes, info)

    assert asked.scores == [scalar.image_score(info.pod, row, sizes, nodes) for row in asked.rows]


weights = st.dictionaries(
    st.sampled_from([*RESOURCES, "pods"]), st.sampled_from([1, 1, 2, 100]), min_size=1, max_size=4
)
shapes = st.lists(
    st.tuples(st.integers(0, 100), st.integers(0, 10)),
    min_size=1,
    max_size=4,
    unique_by=lambda point: point[0],
).map(sorted)


def _strategy(kind: str, amounts: Mapping[str, int], **more: object) -> dict[str, Any]:
    resources = [{"name": name, "weight": weight} for name, weight in amounts.items()]
    return {"scoringStrategy": {"type": kind, "resources": resources, **more}}


@pytest.mark.parametrize(
    ("kind", "rate"), [("LeastAllocated", scalar.least), ("MostAllocated", scalar.most)]
)
@few
@given(cluster=clusters, info=new_pods, amounts=weights)
def test_scores_by_what_is_allocated(
    kind: str,
    rate: Callable[[int, int], int],
    cluster: Cluster,
    info: PodInfo,
    amounts: dict[str, int],
) -> None:
    """Resources that a node lacks, or that are scalar and not asked for, do not count."""
    asked = ask(
        "NodeResourcesFit", cluster[0], info, pods=cluster[1], args=_strategy(kind, amounts)
    )

    assert asked.scores == [scalar.fit_score(info.pod, row, amounts, rate) for row in asked.rows]


@few
@given(cluster=clusters, info=new_pods, amounts=weights, shape=shapes)
def test_scores_by_shape(
    cluster: Cluster, info: PodInfo, amounts: dict[str, int], shape: list[tuple[int, int]]
) -> None:
    """By a broken line over utilisation, rounded half up."""
    param = {"shape": [{"utilization": x, "score": y} for x, y in shape]}
    args = _strategy("RequestedToCapacityRatio", amounts, requestedToCapacityRatio=param)

    asked = ask("NodeResourcesFit", cluster[0], info, pods=cluster[1], args=args)

    rate = scalar.by_shape(shape)
    assert asked.scores == [
        scalar.fit_score(info.pod, row, amounts, rate, rounds=True) for row in asked.rows
    ]


@few
@given(
    cluster=clusters,
    info=new_pods,
    resources=st.lists(st.sampled_from([*RESOURCES, "pods"]), min_size=1, max_size=4, unique=True),
)
def test_scores_by_balance(cluster: Cluster, info: PodInfo, resources: list[str]) -> None:
    """By how the pod changes the deviation of the utilisations that a node has."""
    args = {"resources": [{"name": name, "weight": 1} for name in resources]}

    asked = ask("NodeResourcesBalancedAllocation", cluster[0], info, pods=cluster[1], args=args)

    expected = [scalar.balance_score(info.pod, row, resources) for row in asked.rows]
    assert asked.scores == (None if None in expected else expected) or not expected


@few
@given(cluster=clusters, info=new_pods, data=st.data())
def test_ignored_resources(cluster: Cluster, info: PodInfo, data: st.DataObject) -> None:
    """Extended resources, by name or by group, and no others."""
    ignored = data.draw(st.lists(st.sampled_from([*RESOURCES]), max_size=2))
    groups = data.draw(st.lists(st.sampled_from(["example.com", "other.org"]), max_size=1))

    asked = ask(
        "NodeResourcesFit",
        cluster[0],
        info,
        pods=cluster[1],
        args={"ignoredResources": ignored, "ignoredResourceGroups": groups},
    )

    assert [_sorted(refusal) for refusal in asked.refusals] == [
        _sorted(scalar.node_resources_fit(info.pod, row, ignored=ignored, groups=groups))
        for row in asked.rows
    ]


@few
@given(info=resized)
def test_requests(info: PodInfo) -> None:
    """Init containers, sidecars, overhead, requests of the pod as a whole, and resizes."""
    pod, requests = info.pod, info.requests
    assert dict(requests.amounts).keys() <= {*scalar.resources_of(pod)}
    for resource in RESOURCES:
        assert requests.get(resource) == scalar.request(pod, resource), resource
        expected = scalar.request_to_place(pod, resource)
        assert dict(requests.scoring).get(resource, 0) == expected, resource
    assert requests.nonzero_cpu == scalar.request_with_default(pod, "cpu")
    assert requests.nonzero_memory == scalar.request_with_default(pod, "memory")
