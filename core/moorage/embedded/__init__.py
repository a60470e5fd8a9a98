"""An in-memory Kubernetes API server over real HTTP, for running without a cluster.

In: the part of the API that a scheduler, kubectl and tests use, equal to what a real kube-apiserver
answers; stand-ins for kubelets, the volume controller, CSI provisioners, the resource claim
controller and, as far as creating and deleting goes, the workload controllers; loading manifests.
Out: authorization, field owners (``managedFields``), protobuf, admission webhooks, other
controllers, persistence. It may import `moorage.model`, `moorage.volume_controller` and
`moorage.errors` alone: to the rest of Moorage it is a cluster like any other, reached through
`moorage.api`.

A request's way: `listener`, `server` (tells who asks) → `paths` (what the URL is about) → `verbs` and
`queries` (what is asked) → `registry` (the rules of writing: `defaults`, `admission`, `revisions`,
`rules/`) or `listing` → `shelf` (one resource's versions and history) → `watching` and
`watch_stream` (who is told). `served` is the table of resources, `absent` what else is asked for,
`tables` and `columns` what kubectl shows; `kubelet`, `node_stand_in`, `volumes` (with
`ephemeral_claims`), `device_claims`, `disruption` and `dependents` (with `workloads` and `daemons`)
stand in for what else runs in a cluster.
"""

from __future__ import annotations

from moorage.embedded.clock import Clock, ManualClock, SystemClock
from moorage.embedded.kubelet import RUN_SECONDS
from moorage.embedded.manifests import QUICKSTART, Manifest, apply_manifests, load_manifests
from moorage.embedded.server import EmbeddedApiServer
from moorage.embedded.store import Store

__all__ = [
    "QUICKSTART",
    "RUN_SECONDS",
    "Clock",
    "EmbeddedApiServer",
    "Manifest",
    "ManualClock",
    "Store",
    "SystemClock",
    "apply_manifests",
    "load_manifests",
]
