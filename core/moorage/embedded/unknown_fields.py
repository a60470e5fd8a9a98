"""Fields of manifests that the API does not know: a misspelt one would be without effect, unnoticed.

In: what decides where pods go: a pod's spec (a workload's template too) with its containers,
affinity, tolerations and spread constraints, and a node's spec. Out: all the rest.
Source of the names: the API reference of Kubernetes 1.36.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["unknown_fields"]


class _Shape(NamedTuple):
    """The fields of an object; `inner` are those whose own fields are known, alone or in a list."""

    names: frozenset[str]
    inner: Mapping[str, _Shape]


def _shape(names: str, **inner: _Shape) -> _Shape:
    return _Shape(frozenset(names.split()) | inner.keys(), inner)


_RULES: Final = _shape(
    "preferredDuringSchedulingIgnoredDuringExecution requiredDuringSchedulingIgnoredDuringExecution"
)
_CONTAINER: Final = _shape(
    "args command env envFrom image imagePullPolicy lifecycle livenessProbe name ports "
    "readinessProbe resizePolicy restartPolicy restartPolicyRules securityContext startupProbe "
    "stdin stdinOnce targetContainerName terminationMessagePath terminationMessagePolicy tty "
    "volumeDevices volumeMounts workingDir",
    resources=_shape("claims limits requests"),
)
_POD_SPEC: Final = _shape(
    "activeDeadlineSeconds automountServiceAccountToken dnsConfig dnsPolicy enableServiceLinks "
    "hostAliases hostIPC hostNetwork hostPID hostUsers hostname hostnameOverride imagePullSecrets "
    "nodeName nodeSelector os overhead preemptionPolicy priority priorityClassName readinessGates "
    "resourceClaims restartPolicy runtimeClassName schedulerName schedulingGates schedulingGroup "
    "securityContext serviceAccount serviceAccountName setHostnameAsFQDN shareProcessNamespace "
    "subdomain terminationGracePeriodSeconds volumes workloadRef",
    affinity=_shape("", nodeAffinity=_RULES, podAffinity=_RULES, podAntiAffinity=_RULES),
    containers=_CONTAINER,
    ephemeralContainers=_CONTAINER,
    initContainers=_CONTAINER,
    resources=_shape("claims limits requests"),
    tolerations=_shape("effect key operator tolerationSeconds value"),
    topologySpreadConstraints=_shape(
        "labelSelector matchLabelKeys maxSkew minDomains nodeAffinityPolicy nodeTaintsPolicy "
        "topologyKey whenUnsatisfiable"
    ),
)
_NODE_SPEC: Final = _shape(
    "configSource externalID podCIDR podCIDRs providerID unschedulable",
    taints=_shape("effect key timeAdded value"),
)
_WORKLOADS: Final = frozenset(
    {"DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet"}
)


def unknown_fields(item: Mapping[str, Any]) -> Iterator[str]:
    """Yield each unknown field of an object by its path, with the known one that is most like it.

    What has another JSON type than it should is passed over: the server refuses that.
    """
    kind, spec = item.get("kind"), item.get("spec")
    if kind == "Pod":
        yield from _unknown(spec, _POD_SPEC, "spec")
    elif kind == "Node":
        yield from _unknown(spec, _NODE_SPEC, "spec")
    elif kind in _WORKLOADS and isinstance(spec, dict) and isinstance(spec.get("template"), dict):
        yield from _unknown(spec["template"].get("spec"), _POD_SPEC, "spec.template.spec")


def _unknown(value: object, shape: _Shape, path: str) -> Iterator[str]:
    if isinstance(value, list):
        for number, one in enumerate(value):
            if isinstance(one, dict):
                yield from _unknown(one, shape, f"{path}[{number}]")
    elif isinstance(value, dict):
        for name, content in value.items():
            if name not in shape.names:
                near = difflib.get_close_matches(str(name), sorted(shape.names), n=1)
                yield f"{path}.{name}" + (f" (did you mean {near[0]}?)" if near else "")
            elif name in shape.inner:
                yield from _unknown(content, shape.inner[name], f"{path}.{name}")
