"""Fields of manifests that the API does not know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from moorage.embedded import QUICKSTART, EmbeddedApiServer, apply_manifests, load_manifests
from moorage.embedded.unknown_fields import unknown_fields

if TYPE_CHECKING:
    from pathlib import Path

CONTAINER = {"name": "c", "image": "i"}


@pytest.mark.parametrize(
    ("kind", "spec", "field"),
    [
        ("Pod", {"nodeSelectr": {}}, "spec.nodeSelectr (did you mean nodeSelector?)"),
        ("Pod", {"zzz": 1}, "spec.zzz"),
        (
            "Pod",
            {"containers": [CONTAINER, {**CONTAINER, "resources": {"request": {"cpu": "1"}}}]},
            "spec.containers[1].resources.request (did you mean requests?)",
        ),
        (
            "Pod",
            {"affinity": {"nodeAfinity": {}}},
            "spec.affinity.nodeAfinity (did you mean nodeAffinity?)",
        ),
        (
            "Deployment",
            {"template": {"spec": {"toleration": []}}},
            "spec.template.spec.toleration (did you mean tolerations?)",
        ),
        (
            "Node",
            {"taints": [{"key": "a", "efect": "NoSchedule"}]},
            "spec.taints[0].efect (did you mean effect?)",
        ),
    ],
)
def test_an_unknown_field_is_named(kind: str, spec: dict[str, Any], field: str) -> None:
    """By its path, with the name that was most likely meant."""
    assert list(unknown_fields({"kind": kind, "spec": spec})) == [field]


@pytest.mark.parametrize("spec", [None, "text", {"containers": "text"}, {"containers": [1]}])
def test_wrong_types_are_left_to_the_server(spec: object) -> None:
    """It says more about them."""
    assert list(unknown_fields({"kind": "Pod", "spec": spec})) == []


def test_the_quickstart_has_none() -> None:
    """Nor do other kinds."""
    assert [field for item in load_manifests([QUICKSTART]) for field in unknown_fields(item)] == []
    assert list(unknown_fields({"kind": "ConfigMap", "spec": {"a": 1}})) == []


async def test_a_manifest_with_an_unknown_field_is_warned_of(
    server: EmbeddedApiServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """With the file; what it holds is created all the same, as by a real server."""
    file = tmp_path / "a.yaml"
    file.write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
        "spec: {nodeSelectr: {a: b}, containers: [{name: c, image: i}]}\n"
    )
    await apply_manifests(server.store, load_manifests([file]))
    assert len(server.store.list("pods")) == 1
    assert caplog.messages == [
        f"{file}: document 1: Pod p: unknown field spec.nodeSelectr (did you mean nodeSelector?)"
    ]
