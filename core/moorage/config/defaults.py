"""What a configuration that leaves things out means.

The default plugins, their order and their weights are those of kube-scheduler 1.36, as are all
other defaults but three, changed on purpose: the Lease is called ``moorage``, the client does not
throttle itself, and it speaks JSON.
"""

from __future__ import annotations

from typing import Final, TypeVar

from moorage.config.merging import merge_plugins
from moorage.config.schema import (
    ClientConnection,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElection,
    PluginRef,
    PluginsConfig,
    PluginSet,
)

__all__ = [
    "DEFAULT_PLUGINS",
    "DEFAULT_SCHEDULER_NAME",
    "default_configuration",
    "default_plugins",
    "with_defaults",
]

_Record = TypeVar("_Record", LeaderElection, ClientConnection)

DEFAULT_SCHEDULER_NAME: Final = "default-scheduler"
"""The name that Kubernetes gives pods that ask for none, and that a sole unnamed profile serves."""

DEFAULT_PLUGINS: Final[tuple[tuple[str, int], ...]] = (
    ("SchedulingGates", 0),
    ("PrioritySort", 0),
    ("NodeUnschedulable", 0),
    ("NodeName", 0),
    ("TaintToleration", 3),
    ("NodeAffinity", 2),
    ("NodePorts", 0),
    ("NodeResourcesFit", 1),
    ("VolumeRestrictions", 0),
    ("NodeVolumeLimits", 0),
    ("VolumeBinding", 0),
    ("VolumeZone", 0),
    ("PodTopologySpread", 2),
    ("InterPodAffinity", 2),
    ("DynamicResources", 2),
    ("DefaultPreemption", 0),
    ("NodeResourcesBalancedAllocation", 1),
    ("ImageLocality", 1),
    ("DefaultBinder", 0),
    ("NodeDeclaredFeatures", 0),
)
"""Name and weight of each plugin that is enabled unless a profile says otherwise, in order."""

_LEASE: Final = {
    "lease_duration": 15.0,
    "renew_deadline": 10.0,
    "retry_period": 2.0,
    "resource_lock": "leases",
    # Not kube-scheduler's own name: Moorage may run beside it, and must not take its Lease.
    "resource_name": "moorage",
    "resource_namespace": "kube-system",
}
_CONNECTION: Final = {
    "content_type": "application/json",
    # As client-go reads it, a negative rate is no limit: API servers protect themselves by
    # priority and fairness, where kube-scheduler's 50 would cap it at about 50 pods a second.
    "qps": -1.0,
    "burst": 100,
}


def default_plugins() -> PluginsConfig:
    """Return the default plugin sets: everything through multiPoint."""
    enabled = tuple(PluginRef(name=name, weight=weight) for name, weight in DEFAULT_PLUGINS)
    return PluginsConfig(multi_point=PluginSet(enabled=enabled))


def default_configuration(
    scheduler_names: tuple[str, ...] = ("moorage",),
) -> KubeSchedulerConfiguration:
    """Return what runs without a file: one profile of default plugins for each name."""
    profiles = tuple(KubeSchedulerProfile(scheduler_name=name) for name in scheduler_names)
    return with_defaults(KubeSchedulerConfiguration(profiles=profiles))


def with_defaults(
    configuration: KubeSchedulerConfiguration, *, file: str = ""
) -> KubeSchedulerConfiguration:
    """Fill in all that a configuration leaves out, and tell it the `file` that errors name.

    As in kube-scheduler, an empty text, a zero duration and a zero rate count as left out, and
    only a profile that stands alone may do without a name. Each profile's plugin sets are merged
    with the default ones, so this is to be done once.
    """
    profiles = configuration.profiles or (KubeSchedulerProfile(),)
    if len(profiles) == 1 and "scheduler_name" not in profiles[0].model_fields_set:
        profiles = (profiles[0].model_copy(update={"scheduler_name": DEFAULT_SCHEDULER_NAME}),)
    contention = configuration.enable_contention_profiling
    if contention is None:
        contention = configuration.enable_profiling
    return configuration.model_copy(
        update={
            "profiles": tuple(_with_default_plugins(profile) for profile in profiles),
            "leader_election": _filled(configuration.leader_election, _LEASE),
            "client_connection": _filled(configuration.client_connection, _CONNECTION),
            "enable_contention_profiling": contention,
        }
    ).placed_in(file)


def _with_default_plugins(profile: KubeSchedulerProfile) -> KubeSchedulerProfile:
    merged = merge_plugins(profile.plugins, default_plugins())
    return profile.with_merged_plugins(merged)


def _filled(record: _Record, defaults: dict[str, object]) -> _Record:
    unset = {name: value for name, value in defaults.items() if not getattr(record, name)}
    return record.model_copy(update=unset)
