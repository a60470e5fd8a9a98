"""An in-memory Kubernetes API server over real HTTP, for running without a cluster.

In: the part of the API that a scheduler, kubectl and tests use, equal to what a real kube-apiserver
answers; stand-ins for kubelets, the volume controller, CSI provisioners and the resource claim controller; loading manifests, with a
stand-in for the workload controllers.
Out: authorization, field owners (``managedFields``), protobuf, admission webhooks, other
controllers, persistence. It may import `moorage.model`, `moorage.volume_controller` and
`moorage.errors` alone: to the rest of Moorage it is a cluster like any other, reached through `moorage.api`.

A request's way: `server` (listens, tells who asks) → `paths` (what the URL is about) → `verbs` and
`queries` (what is asked) → `registry` (the rules of writing: `defaults`, `admission`, `revisions`,
`rules/`) or `listing` → `shelf` (one resource's versions and history) → `watching` and
`watch_stream` (who is told). `served` is the table of resources; `kubelet`, `node_stand_in`, `volumes` (with
`ephemeral_claims`), `device_claims` and `workloads` stand in for what else runs in a cluster.
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
