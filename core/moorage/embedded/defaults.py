"""What a real API server fills into an object on create: defaults and the initial status."""

from __future__ import annotations

from typing import Any

from moorage.embedded.quality import qos_class

__all__ = [
    "fill_event",
    "fill_namespace",
    "fill_node",
    "fill_pod",
    "fill_pod_spec",
    "fill_priority_class",
    "fill_storage_class",
    "fill_workload",
    "forget_status",
    "gated_condition",
    "reset_pending",
    "reset_pod_status",
]

_CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")
_NODE_INFO = (
    "machineID",
    "systemUUID",
    "bootID",
    "kernelVersion",
    "osImage",
    "containerRuntimeVersion",
    "kubeletVersion",
    "kubeProxyVersion",
    "operatingSystem",
    "architecture",
)


def fill_pod(pod: dict[str, Any]) -> None:
    """Fill in a pod's defaults, in its containers too; status conditions get their null times."""
    fill_pod_spec(pod["spec"])
    for condition in (pod.get("status") or {}).get("conditions") or ():
        condition.setdefault("lastProbeTime", None)
        condition.setdefault("lastTransitionTime", None)


def fill_pod_spec(spec: dict[str, Any]) -> None:
    """Fill in the defaults of a pod's or a pod template's spec; a null counts as not given."""
    _drop_nulls(spec)
    for name in _CONTAINER_LISTS:
        for container in spec.get(name) or ():
            _fill_container(container, host_network=spec.get("hostNetwork", False))
    for name, value in (
        ("restartPolicy", "Always"),
        ("terminationGracePeriodSeconds", 30),
        ("dnsPolicy", "ClusterFirst"),
        ("schedulerName", "default-scheduler"),
        ("enableServiceLinks", True),
    ):
        if spec.get(name) in {None, ""}:
            spec[name] = value
    if spec.get("securityContext") is None:
        spec["securityContext"] = {}
    if not spec.get("schedulingGates"):
        spec.pop("schedulingGates", None)
    for volume in spec.get("volumes") or ():
        if len(volume) == 1:  # a volume of no kind is an emptyDir
            volume["emptyDir"] = {}
    _fill_requests(spec.get("resources"))
    for constraint in spec.get("topologySpreadConstraints") or ():
        constraint.setdefault("nodeAffinityPolicy", "Honor")
        constraint.setdefault("nodeTaintsPolicy", "Ignore")


def _drop_nulls(value: object) -> None:
    if isinstance(value, dict):
        for name in [name for name, inner in value.items() if inner is None]:
            del value[name]
        for inner in value.values():
            _drop_nulls(inner)
    elif isinstance(value, list):
        for inner in value:
            _drop_nulls(inner)


def _fill_container(container: dict[str, Any], *, host_network: bool) -> None:
    container.setdefault("resources", {})
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    container.setdefault("imagePullPolicy", _pull_policy(container.get("image", "")))
    _fill_requests(container["resources"])
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if host_network and not port.get("hostPort"):
            port["hostPort"] = port.get("containerPort")


def _pull_policy(image: str) -> str:
    name = image.rpartition("/")[2]
    latest = name.endswith(":latest") or (":" not in name and "@" not in name)
    return "Always" if latest else "IfNotPresent"


def _fill_requests(resources: dict[str, Any] | None) -> None:
    """Take a limit without a request as a request of as much."""
    if not resources or not resources.get("limits"):
        return
    requests = resources.get("requests") or {}
    resources["requests"] = {**resources["limits"], **requests}


def reset_pod_status(pod: dict[str, Any]) -> None:
    """Give a pod being created the status it starts with, whatever the client sent."""
    pod["status"] = {"phase": "Pending", "qosClass": qos_class(pod["spec"])}


def gated_condition(moment: str) -> dict[str, Any]:
    """Return the condition of a pod that is created with scheduling gates."""
    return {
        "type": "PodScheduled",
        "status": "False",
        "lastProbeTime": None,
        "lastTransitionTime": moment,
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
    }


def fill_node(node: dict[str, Any]) -> None:
    """Fill in a node's defaults: allocatable is the capacity unless it is given."""
    node.setdefault("spec", {})
    status = node.setdefault("status", {})
    if status.get("capacity") and not status.get("allocatable"):
        status["allocatable"] = dict(status["capacity"])
    status.setdefault("daemonEndpoints", {"kubeletEndpoint": {"Port": 0}})
    info = status.setdefault("nodeInfo", {})
    for name in _NODE_INFO:
        info.setdefault(name, "")
    for condition in status.get("conditions") or ():
        condition.setdefault("lastHeartbeatTime", None)
        condition.setdefault("lastTransitionTime", None)


def fill_namespace(namespace: dict[str, Any]) -> None:
    """Label a namespace with its name and give it the finalizer that every namespace has."""
    metadata = namespace["metadata"]
    labels = metadata.get("labels") or {}
    metadata["labels"] = {**labels, "kubernetes.io/metadata.name": metadata["name"]}
    namespace.setdefault("spec", {}).setdefault("finalizers", ["kubernetes"])
    namespace.setdefault("status", {}).setdefault("phase", "Active")


def fill_event(event: dict[str, Any]) -> None:
    """Give a core/v1 event the fields that the API always writes."""
    event.setdefault("involvedObject", {})
    for name in ("firstTimestamp", "lastTimestamp", "eventTime"):
        event.setdefault(name, None)
    event.setdefault("source", {})
    event.setdefault("reportingComponent", "")
    event.setdefault("reportingInstance", "")


def fill_priority_class(priority_class: dict[str, Any]) -> None:
    """Preemption is allowed unless a priority class says otherwise."""
    priority_class.setdefault("preemptionPolicy", "PreemptLowerPriority")


def fill_storage_class(storage_class: dict[str, Any]) -> None:
    """Volumes are deleted with their claims and bound at once unless a class says otherwise."""
    storage_class.setdefault("reclaimPolicy", "Delete")
    storage_class.setdefault("volumeBindingMode", "Immediate")


def fill_workload(workload: dict[str, Any]) -> None:
    """Fill in the replicas and the pod template of a Deployment, StatefulSet and their like."""
    spec = workload["spec"]
    if workload.get("kind") not in {"DaemonSet", "Job"}:
        spec.setdefault("replicas", 1)
    template = spec.get("template") or {}
    if isinstance(template.get("spec"), dict):
        fill_pod_spec(template["spec"])


def forget_status(item: dict[str, Any]) -> None:
    """Drop what a client says about the status of an object that it creates."""
    item["status"] = {}


def reset_pending(item: dict[str, Any]) -> None:
    """Volumes and claims start as Pending."""
    item["status"] = {"phase": "Pending"}
