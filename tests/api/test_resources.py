"""Paths of what a server serves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from moorage.api import resources
from moorage.api.resources import LEASES, NODES, PODS, Resource

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (PODS.path(), "/api/v1/pods"),
        (PODS.path("ns"), "/api/v1/namespaces/ns/pods"),
        (PODS.path("ns", "p", "binding"), "/api/v1/namespaces/ns/pods/p/binding"),
        (NODES.path(name="n"), "/api/v1/nodes/n"),
        (LEASES.path("ns", "l"), "/apis/coordination.k8s.io/v1/namespaces/ns/leases/l"),
        (NODES.path(name="a/b"), "/api/v1/nodes/a%2Fb"),
    ],
)
def test_paths(path: str, expected: str) -> None:
    """Collections, objects, subresources; core and other groups."""
    assert path == expected


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(lambda: NODES.path("ns"), id="namespace of a node"),
        pytest.param(lambda: PODS.path(name="p"), id="pod of no namespace"),
        pytest.param(lambda: PODS.path("ns", subresource="status"), id="status of no pod"),
    ],
)
def test_paths_that_name_nothing_are_refused(wrong: Callable[[], str]) -> None:
    """A mistake in code is found here, not by the server."""
    with pytest.raises(ValueError, match=r"nodes/v1|pods/v1"):
        wrong()


def test_every_resource_is_served_by_a_recorded_server(
    answers: dict[str, dict[str, Any]],
) -> None:
    """Group, version, plural, kind and scope are what aggregated discovery of 1.36 says."""
    core = answers["aggregated discovery, as kubectl asks first"]["response"]
    served = {
        resource["resource"]: (
            resource["responseKind"]["kind"],
            resource["scope"] == "Namespaced",
        )
        for resource in core["items"][0]["versions"][0]["resources"]
    }
    ours = [one for one in vars(resources).values() if isinstance(one, Resource) and not one.group]
    assert len(ours) == 7
    for one in ours:
        assert served[one.plural] == (one.kind, one.namespaced)
