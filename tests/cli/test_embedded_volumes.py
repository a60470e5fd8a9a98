"""`moorage run --embedded` with claims: unbound ones end bound, and their pods run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., tuple[int, str, str]]

CLUSTER = """
apiVersion: v1
kind: Node
metadata: {name: a, labels: {zone: z-a}}
status: {allocatable: {cpu: "2", memory: 4Gi, pods: "10"}}
---
apiVersion: v1
kind: Node
metadata: {name: b, labels: {zone: z-b}}
status: {allocatable: {cpu: "2", memory: 4Gi, pods: "10"}}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: wait}
provisioner: csi.example.com
volumeBindingMode: WaitForFirstConsumer
allowedTopologies: [{matchLabelExpressions: [{key: zone, values: [z-b]}]}]
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: now}
provisioner: csi.example.com
---
"""
CLAIM = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: %s}
spec: {accessModes: [ReadWriteOnce], storageClassName: %s, resources: {requests: {storage: 1Gi}}}
---
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  containers: [{name: main, image: web}]
  volumes: [{name: data, %s}]
---
"""
EPHEMERAL = (
    "ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], "
    "storageClassName: wait, resources: {requests: {storage: 1Gi}}}}}"
)


@pytest.fixture
def outcome(moorage: Command, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Return a function that runs manifests until idle and returns what became of the one pod."""

    def run(*documents: str) -> dict[str, Any]:
        file = tmp_path / "objects.yaml"
        file.write_text(CLUSTER + "".join(documents), encoding="utf-8")
        code, out, _ = moorage("run", "--embedded", "--until-idle", "-o", "json", "-f", file)
        assert code == 0
        (pod,) = json.loads(out)
        return dict(pod)

    return run


def uses(claim: str) -> str:
    """Write the volume that is a claim."""
    return f"persistentVolumeClaim: {{claimName: {claim}}}"


def test_a_pod_with_a_claim_that_waits_for_it_ends_running(
    outcome: Callable[..., dict[str, Any]],
) -> None:
    """Where the class of the claim has its volumes made."""
    pod = outcome(CLAIM % ("data", "wait"), POD % ("p", uses("data")))

    assert (pod["node"], pod["phase"]) == ("b", "Running")


def test_a_claim_that_is_bound_at_once_lets_its_pod_run(
    outcome: Callable[..., dict[str, Any]],
) -> None:
    """Also where the pod came first."""
    pod = outcome(POD % ("p", uses("data")), CLAIM % ("data", "now"))

    assert pod["phase"] == "Running"


def test_an_ephemeral_volume_gets_its_claim(outcome: Callable[..., dict[str, Any]]) -> None:
    """And the claim its volume."""
    pod = outcome(POD % ("p", EPHEMERAL))

    assert (pod["node"], pod["phase"]) == ("b", "Running")


def test_a_pod_says_which_claim_it_lacks(outcome: Callable[..., dict[str, Any]]) -> None:
    """And waits for it."""
    pod = outcome(POD % ("p", uses("gone")))

    assert pod["reason"] == "Unschedulable"
    assert 'persistentvolumeclaim "gone" not found' in pod["message"]
