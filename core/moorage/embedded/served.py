"""The table of what is served. Adding a resource is adding a row; discovery and routing follow."""

from __future__ import annotations

from moorage.embedded import defaults
from moorage.embedded.custom_resources import check_definition
from moorage.embedded.device_claims import fill_claim, fill_template
from moorage.embedded.event_forms import from_core, to_core
from moorage.embedded.resources import VERBS, Resource
from moorage.embedded.rules.events import check_core_event, check_new_event
from moorage.embedded.rules.nodes import check_node, check_node_types
from moorage.embedded.rules.pod_changes import check_pod_change
from moorage.embedded.rules.pod_types import check_pod_types
from moorage.embedded.rules.pods import check_pod
from moorage.embedded.rules.workloads import (
    check_priority_class,
    check_workload,
    check_workload_types,
)

__all__ = ["served_resources"]

_ALL = ("all",)
_NO_COLLECTION = tuple(verb for verb in VERBS if verb != "deletecollection")

_POD_FIELDS = {
    "spec.nodeName": ("spec", "nodeName"),
    "spec.restartPolicy": ("spec", "restartPolicy"),
    "spec.schedulerName": ("spec", "schedulerName"),
    "spec.serviceAccountName": ("spec", "serviceAccountName"),
    "spec.hostNetwork": ("spec", "hostNetwork"),
    "status.phase": ("status", "phase"),
    "status.podIP": ("status", "podIP"),
    "status.nominatedNodeName": ("status", "nominatedNodeName"),
}
_EVENT_FIELDS = {
    **{
        f"involvedObject.{name}": ("involvedObject", name)
        for name in (
            "kind",
            "namespace",
            "name",
            "uid",
            "apiVersion",
            "resourceVersion",
            "fieldPath",
        )
    },
    "reason": ("reason",),
    "reportingComponent": ("reportingComponent",),
    "source": ("source", "component"),
    "type": ("type",),
}


def served_resources() -> tuple[Resource, ...]:
    """Return the rows, in the order in which discovery lists them."""
    return (
        *_core_rows(),
        *_workload_rows(),
        *_definition_rows(),
        *_scheduling_rows(),
        *_storage_rows(),
        *_plain_rows(),
    )


def _core_rows() -> tuple[Resource, ...]:
    return (
        Resource("", "v1", "configmaps", "ConfigMap", short_names=("cm",)),
        Resource("", "v1", "endpoints", "Endpoints", short_names=("ep",)),
        Resource(
            "",
            "v1",
            "events",
            "Event",
            short_names=("ev",),
            fields=_EVENT_FIELDS,
            fill=defaults.fill_event,
            check=check_core_event,
            name_rule="path",
        ),
        Resource("", "v1", "limitranges", "LimitRange", short_names=("limits",)),
        Resource(
            "",
            "v1",
            "namespaces",
            "Namespace",
            namespaced=False,
            short_names=("ns",),
            subresources=("finalize", "status"),
            verbs=_NO_COLLECTION,
            returns_deleted=True,
            fields={"status.phase": ("status", "phase")},
            fill=defaults.fill_namespace,
            name_rule="label",
        ),
        Resource(
            "",
            "v1",
            "nodes",
            "Node",
            namespaced=False,
            short_names=("no",),
            subresources=("status",),
            fields={"spec.unschedulable": ("spec", "unschedulable")},
            check_types=check_node_types,
            fill=defaults.fill_node,
            check=check_node,
        ),
        Resource(
            "",
            "v1",
            "persistentvolumeclaims",
            "PersistentVolumeClaim",
            short_names=("pvc",),
            subresources=("status",),
            returns_deleted=True,
            reset_status=defaults.reset_pending,
        ),
        Resource(
            "",
            "v1",
            "persistentvolumes",
            "PersistentVolume",
            namespaced=False,
            short_names=("pv",),
            subresources=("status",),
            returns_deleted=True,
            reset_status=defaults.reset_pending,
        ),
        Resource(
            "",
            "v1",
            "pods",
            "Pod",
            short_names=("po",),
            categories=_ALL,
            subresources=("binding", "eviction", "resize", "status"),
            generation=True,
            returns_deleted=True,
            fields=_POD_FIELDS,
            check_types=check_pod_types,
            fill=defaults.fill_pod,
            reset_status=defaults.reset_pod_status,
            check=check_pod,
            check_change=check_pod_change,
        ),
        Resource("", "v1", "podtemplates", "PodTemplate", returns_deleted=True),
        _workload("", "v1", "replicationcontrollers", "ReplicationController", "rc"),
        Resource(
            "",
            "v1",
            "resourcequotas",
            "ResourceQuota",
            short_names=("quota",),
            subresources=("status",),
            returns_deleted=True,
        ),
        Resource("", "v1", "secrets", "Secret"),
        Resource("", "v1", "serviceaccounts", "ServiceAccount", short_names=("sa",)),
        Resource(
            "",
            "v1",
            "services",
            "Service",
            short_names=("svc",),
            categories=_ALL,
            subresources=("status",),
            returns_deleted=True,
            name_rule="label",
        ),
    )


def _workload(group: str, version: str, plural: str, kind: str, short_name: str) -> Resource:
    return Resource(
        group,
        version,
        plural,
        kind,
        short_names=(short_name,) if short_name else (),
        categories=_ALL,
        subresources=("status",),
        generation=True,
        check_types=check_workload_types,
        fill=defaults.fill_workload,
        reset_status=defaults.forget_status,
        check=check_workload,
    )


def _workload_rows() -> tuple[Resource, ...]:
    return (
        Resource("apps", "v1", "controllerrevisions", "ControllerRevision"),
        _workload("apps", "v1", "daemonsets", "DaemonSet", "ds"),
        _workload("apps", "v1", "deployments", "Deployment", "deploy"),
        _workload("apps", "v1", "replicasets", "ReplicaSet", "rs"),
        _workload("apps", "v1", "statefulsets", "StatefulSet", "sts"),
        _workload("batch", "v1", "jobs", "Job", ""),
        Resource("batch", "v1", "cronjobs", "CronJob", short_names=("cj",), categories=_ALL),
    )


def _definition_rows() -> tuple[Resource, ...]:
    return (
        Resource(
            "apiextensions.k8s.io",
            "v1",
            "customresourcedefinitions",
            "CustomResourceDefinition",
            namespaced=False,
            short_names=("crd", "crds"),
            subresources=("status",),
            generation=True,
            reset_status=defaults.forget_status,
            check=check_definition,
        ),
    )


def _scheduling_rows() -> tuple[Resource, ...]:
    return (
        Resource(
            "scheduling.k8s.io",
            "v1",
            "priorityclasses",
            "PriorityClass",
            namespaced=False,
            short_names=("pc",),
            generation=True,
            fill=defaults.fill_priority_class,
            check=check_priority_class,
        ),
        Resource(
            "policy",
            "v1",
            "poddisruptionbudgets",
            "PodDisruptionBudget",
            short_names=("pdb",),
            subresources=("status",),
            generation=True,
            reset_status=defaults.forget_status,
        ),
        Resource("coordination.k8s.io", "v1", "leases", "Lease"),
        Resource(
            "events.k8s.io",
            "v1",
            "events",
            "Event",
            short_names=("ev",),
            fields=_EVENT_FIELDS,
            check=check_new_event,
            stored_as="events",
            to_stored=to_core,
            from_stored=from_core,
        ),
        Resource(
            "resource.k8s.io",
            "v1",
            "deviceclasses",
            "DeviceClass",
            namespaced=False,
            generation=True,
        ),
        Resource(
            "resource.k8s.io",
            "v1",
            "resourceclaims",
            "ResourceClaim",
            subresources=("status",),
            returns_deleted=True,
            fill=fill_claim,
            reset_status=defaults.forget_status,
        ),
        Resource(
            "resource.k8s.io",
            "v1",
            "resourceclaimtemplates",
            "ResourceClaimTemplate",
            returns_deleted=True,
            fill=fill_template,
        ),
        Resource(
            "resource.k8s.io",
            "v1",
            "resourceslices",
            "ResourceSlice",
            namespaced=False,
            generation=True,
            fields={
                "spec.driver": ("spec", "driver"),
                "spec.nodeName": ("spec", "nodeName"),
            },
        ),
    )


def _storage_rows() -> tuple[Resource, ...]:
    group = "storage.k8s.io"
    return (
        Resource(group, "v1", "csidrivers", "CSIDriver", namespaced=False),
        Resource(group, "v1", "csinodes", "CSINode", namespaced=False),
        Resource(group, "v1", "csistoragecapacities", "CSIStorageCapacity"),
        Resource(
            group,
            "v1",
            "storageclasses",
            "StorageClass",
            namespaced=False,
            short_names=("sc",),
            fill=defaults.fill_storage_class,
        ),
        Resource(
            group,
            "v1",
            "volumeattachments",
            "VolumeAttachment",
            namespaced=False,
            subresources=("status",),
        ),
    )


def _plain_rows() -> tuple[Resource, ...]:
    """Kinds that no part of scheduling reads: kept, so that whole applications can be applied."""
    rbac = "rbac.authorization.k8s.io"
    return (
        Resource(
            "autoscaling",
            "v2",
            "horizontalpodautoscalers",
            "HorizontalPodAutoscaler",
            short_names=("hpa",),
            categories=_ALL,
            subresources=("status",),
        ),
        Resource("networking.k8s.io", "v1", "ingresses", "Ingress", short_names=("ing",)),
        Resource(
            "networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy", short_names=("netpol",)
        ),
        Resource(rbac, "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False),
        Resource(rbac, "v1", "clusterroles", "ClusterRole", namespaced=False),
        Resource(rbac, "v1", "rolebindings", "RoleBinding", name_rule="path"),
        Resource(rbac, "v1", "roles", "Role", name_rule="path"),
        Resource("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice"),
    )
