"""What `kubectl get` shows of kinds whose columns are fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from moorage.embedded import EmbeddedApiServer

if TYPE_CHECKING:
    import aiohttp

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.mark.parametrize(
    ("path", "item", "cells"),
    [
        pytest.param(
            "/api/v1/persistentvolumeclaims",
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": "a"},
                "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"]},
            },
            {"Status": "Pending", "Volume": "", "Access Modes": "RWO", "StorageClass": "fast"},
            id="claim",
        ),
        pytest.param(
            "/api/v1/persistentvolumes",
            {
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": {"name": "a"},
                "spec": {
                    "capacity": {"storage": "1Gi"},
                    "claimRef": {"namespace": "ns", "name": "data"},
                },
            },
            {"Capacity": "1Gi", "Access Modes": "", "Claim": "ns/data"},
            id="volume",
        ),
        pytest.param(
            "/apis/coordination.k8s.io/v1/leases",
            {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": "a"},
                "spec": {"holderIdentity": "me"},
            },
            {"Holder": "me"},
            id="lease",
        ),
        pytest.param(
            "/apis/scheduling.k8s.io/v1/priorityclasses",
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": "a"},
                "value": 7,
                "globalDefault": True,
            },
            {"Value": "7", "Global-Default": "true"},
            id="priority",
        ),
        pytest.param(
            "/apis/resource.k8s.io/v1/resourceclaims",
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceClaim",
                "metadata": {"name": "a"},
                "spec": {},
            },
            {"State": "pending"},
            id="devices",
        ),
        pytest.param(
            "/api/v1/configmaps",
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}},
            {},
            id="other",
        ),
    ],
)
async def test_what_people_look_for_has_a_column(
    path: str,
    item: dict[str, Any],
    cells: dict[str, str],
    server: EmbeddedApiServer,
    session: aiohttp.ClientSession,
) -> None:
    """Between name and age; where the object says nothing, the cell is empty."""
    server.store.create(item)

    async with session.get(server.url + path, headers={"Accept": TABLE}) as answer:
        table = await answer.json()

    names = [column["name"] for column in table["columnDefinitions"]]
    rows = [dict(zip(names, row["cells"], strict=True)) for row in table["rows"]]
    [row] = [row for row in rows if row["Name"] == "a"]
    assert (names[0], names[-1]) == ("Name", "Age")
    assert cells.items() <= row.items()
    assert bool(cells) is (len(names) > 2)
