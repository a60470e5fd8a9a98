"""Which services select a pod, and what controls it."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from tests import spread_strategies as draw
from tests.objects import make_pod

from moorage.cache import ClusterCache
from moorage.cache.workloads import identity_of
from moorage.model import (
    LabelSelector,
    ObjectMeta,
    Pod,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)
from moorage.model.meta import OwnerReference
from moorage.model.workloads import LabelSelectorSpec, MapSelectorSpec


def service(name: str, selector: dict[str, str] | None, namespace: str = "ns") -> Service:
    """Make a service."""
    return Service(
        metadata=ObjectMeta(name=name, namespace=namespace),
        spec=MapSelectorSpec(selector=selector),
    )


def pod(labels: dict[str, str] | None = None, owner: OwnerReference | None = None) -> Pod:
    """Make a pod in namespace ``ns``."""
    made = make_pod("p", labels=labels).pod
    owners = () if owner is None else (owner,)
    metadata = msgspec.structs.replace(made.metadata, owner_references=owners)
    return msgspec.structs.replace(made, metadata=metadata)


def test_services_select_pods_of_their_namespace() -> None:
    """One without a selector selects nothing, an empty one everything."""
    cluster = ClusterCache()
    for each in (
        service("web", {"app": "web"}),
        service("all", {}),
        service("none", None),
        service("strict", {"app": "web", "tier": "front"}),
        service("web", {"app": "web"}, "elsewhere"),
    ):
        cluster.set_workload(each)

    found = cluster.workloads.services_of(pod({"app": "web"}))

    assert [each.metadata.name for each in found] == ["all", "web"]
    assert {each.metadata.namespace for each in found} == {"ns"}


def test_a_controller_is_found_by_kind_and_name() -> None:
    """Only the owner that controls counts, and only kinds that are kept."""
    cluster = ClusterCache()
    metadata = ObjectMeta(name="own", namespace="ns")
    controllers = (
        ReplicationController(metadata=metadata),
        ReplicaSet(metadata=metadata, spec=LabelSelectorSpec(selector=LabelSelector())),
        StatefulSet(metadata=metadata),
    )
    for each in controllers:
        cluster.set_workload(each)

    def controller(kind: str, version: str, *, controls: bool = True) -> object:
        owner = OwnerReference(kind=kind, name="own", api_version=version, controller=controls)
        return cluster.workloads.controller_of(pod(owner=owner))

    assert controller("ReplicationController", "v1") == controllers[0]
    assert controller("ReplicaSet", "apps/v1") == controllers[1]
    assert controller("StatefulSet", "apps/v1") == controllers[2]
    assert controller("ReplicaSet", "apps/v1", controls=False) is None
    assert controller("ReplicaSet", "other/v1") is None
    assert controller("Job", "batch/v1") is None


def test_only_a_change_of_what_is_selected_counts_as_a_change() -> None:
    """The fact ``workloads`` moves with what spreading can see."""
    cluster = ClusterCache()
    web = service("web", {"app": "web"})
    cluster.set_workload(web)
    before = cluster.facts["workloads"]

    cluster.set_workload(
        msgspec.structs.replace(
            web, metadata=msgspec.structs.replace(web.metadata, resource_version="2")
        )
    )
    assert cluster.facts["workloads"] == before

    cluster.set_workload(service("web", {"app": "other"}))
    cluster.remove_workload(identity_of(web))
    cluster.remove_workload(identity_of(web))
    assert cluster.facts["workloads"] == before + 2
    assert not len(cluster.workloads)


@given(
    changes=st.lists(
        st.tuples(
            st.sampled_from(["s", "t", "u"]),
            st.sampled_from(["ns", "other"]),
            st.none() | draw.pod_labels(),
            st.booleans(),
        ),
        max_size=12,
    ),
    labels=draw.pod_labels(),
)
def test_services_are_found_as_by_looking_at_each(
    changes: list[tuple[str, str, dict[str, str] | None, bool]], labels: dict[str, str]
) -> None:
    """Whatever came and went, selectors are matched as they are now."""
    cluster = ClusterCache()
    services: dict[tuple[str, str], dict[str, str] | None] = {}
    for name, namespace, selector, goes in changes:
        if goes:
            cluster.remove_workload((Service, namespace, name))
            services.pop((namespace, name), None)
        else:
            cluster.set_workload(service(name, selector, namespace))
            services[namespace, name] = selector
        found = [one.metadata.name for one in cluster.workloads.services_of(pod(labels))]
        assert found == sorted(
            name
            for (namespace, name), selector in services.items()
            if namespace == "ns" and selector is not None and selector.items() <= labels.items()
        )
        cluster.check_invariants()
