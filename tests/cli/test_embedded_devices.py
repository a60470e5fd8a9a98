"""`moorage run --embedded` with devices: from manifests to pods that have them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

Command = Callable[..., tuple[int, str, str]]

MANIFESTS = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "2", memory: 4Gi, pods: "10"}}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec:
  selectors: [{cel: {expression: "device.attributes['gpu.example.com'].model == 'a100'"}}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: slice}
spec:
  driver: gpu.example.com
  nodeName: n1
  pool: {name: n1, generation: 1, resourceSliceCount: 1}
  devices: [{name: g0, attributes: {model: {string: a100}}}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one, namespace: default}
spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: POD}
spec:
  containers: [{name: c, image: web, resources: {claims: [{name: gpu}]}}]
  resourceClaims: [{name: gpu, resourceClaimTemplateName: one}]
"""


def test_pods_get_devices_by_claims_from_templates(moorage: Command, tmp_path: Path) -> None:
    """One gets the only device, the other waits and says why."""
    first, second = tmp_path / "first.yaml", tmp_path / "second.yaml"
    first.write_text(MANIFESTS.replace("POD", "p1"), encoding="utf-8")
    pod = MANIFESTS[MANIFESTS.rindex("---") :].replace("POD", "p2")
    second.write_text(pod, encoding="utf-8")

    code, out, _ = moorage(
        "run", "--embedded", "--until-idle", "-o", "json", "-f", first, "-f", second
    )

    pods = {pod["name"]: pod for pod in json.loads(out)}
    assert code == 0
    assert sorted(pod["phase"] for pod in pods.values()) == ["Pending", "Running"]
    [waiting] = [pod for pod in pods.values() if pod["phase"] == "Pending"]
    assert waiting["message"].startswith("0/1 nodes are available: 1 cannot allocate all claims. ")
