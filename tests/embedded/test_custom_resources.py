"""Kinds of objects that a CustomResourceDefinition brings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from moorage.embedded import apply_manifests
from moorage.errors import MoorageError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from moorage.embedded import EmbeddedApiServer

    Api = Callable[..., Awaitable[tuple[int, Any]]]

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
RACKS = "/apis/example.com/v1/namespaces/default/racks"


def definition(**spec: Any) -> dict[str, Any]:  # noqa: ANN401 - fields of an object of the API
    """Make a definition of racks."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "racks.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "racks", "kind": "Rack", "shortNames": ["rk"]},
            "versions": [
                {"name": "v1beta1", "served": True, "storage": False},
                {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}},
            ],
            **spec,
        },
    }


RACK = {"apiVersion": "example.com/v1", "kind": "Rack", "metadata": {"name": "one"}}


async def test_a_definition_is_served_at_once(api: Api) -> None:
    """It says that it is established, and discovery knows the resource by all of its names."""
    status, made = await api("POST", DEFINITIONS, definition())
    assert status == 201
    established = {one["type"]: one["status"] for one in made["status"]["conditions"]}
    assert established == {"NamesAccepted": "True", "Established": "True"}

    assert (await api("POST", RACKS, {**RACK, "spec": {"size": 3}}))[0] == 201
    assert (await api("GET", f"{RACKS}/one"))[1]["spec"] == {"size": 3}
    served = (await api("GET", "/apis/example.com/v1"))[1]["resources"]
    assert [one["name"] for one in served] == ["racks", "racks/status"]
    assert served[0]["shortNames"] == ["rk"]


async def test_a_definition_takes_its_objects_along(server: EmbeddedApiServer, api: Api) -> None:
    """And may come back, without them."""
    await api("POST", DEFINITIONS, definition())
    await api("POST", RACKS, RACK)
    assert (await api("DELETE", f"{DEFINITIONS}/racks.example.com"))[0] == 200
    with pytest.raises(MoorageError, match=r"serves no 'racks\.example\.com'"):
        server.store.list("racks.example.com")

    assert (await api("POST", DEFINITIONS, definition(scope="Cluster")))[0] == 201
    assert (await api("GET", "/apis/example.com/v1/racks"))[1]["items"] == []


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        pytest.param({"group": ""}, "spec.group", id="no group"),
        pytest.param({"names": {"kind": "Rack"}}, "spec.names.plural", id="no plural"),
        pytest.param({"names": "racks"}, "spec.names.kind", id="names that are none"),
        pytest.param({"scope": "Everywhere"}, "spec.scope", id="another scope"),
        pytest.param({"versions": []}, "spec.versions", id="no version"),
        pytest.param({"versions": [3]}, "spec.versions", id="a version that is none"),
        pytest.param({"group": "other.org"}, "metadata.name", id="another name"),
    ],
)
async def test_a_definition_that_cannot_be_served_is_refused(
    spec: dict[str, Any], field: str, api: Api
) -> None:
    """By the field that is wrong, or the type that it should have."""
    status, refused = await api("POST", DEFINITIONS, definition(**spec))
    assert status in {400, 422}
    assert status == 400 or field in refused["message"]
    assert (await api("GET", DEFINITIONS))[1]["items"] == []


async def test_a_kind_is_defined_once(api: Api) -> None:
    """Not by another name, nor where it is served anyway."""
    await api("POST", DEFINITIONS, definition())
    again = {**definition(), "metadata": {"name": "racks.example.com"}}
    assert (await api("POST", DEFINITIONS, again))[0] == 409


async def test_manifests_may_hold_definitions_and_their_objects(server: EmbeddedApiServer) -> None:
    """In any order."""
    await apply_manifests(server.store, [RACK, definition()])
    [rack] = server.store.list("racks.example.com")
    assert rack["metadata"]["namespace"] == "default"
