"""Conditions between the fields of a configuration, as kube-scheduler checks them.

What a single field may hold is in `moorage.config.schema`; what a plugin's arguments may hold is
the plugin's business.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pydantic.alias_generators import to_camel

from moorage.config.defaults import DEFAULT_PLUGINS
from moorage.config.durations import format_duration
from moorage.config.schema import API_VERSION, EXTENSION_POINTS
from moorage.config.sentences import Problem
from moorage.model.selectors import is_label_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from moorage.config.schema import (
        Extender,
        KubeSchedulerConfiguration,
        KubeSchedulerProfile,
        LeaderElection,
    )

__all__ = ["problems"]

_RENEWAL_JITTER: Final = 1.2
"""Retries are spread over 1 to 1.2 retry periods, so a deadline must leave room for one."""


_REMOVED: Final = frozenset({"AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"})
"""Plugins of earlier versions; kube-scheduler refuses them, though not others it does not know."""


def problems(configuration: KubeSchedulerConfiguration) -> list[Problem]:
    """All that is wrong with a configuration whose defaults are filled in; empty: nothing."""
    return [
        *_of_leader_election(configuration.leader_election),
        *_of_backoff(configuration),
        *_of_scheduler_names(configuration.profiles),
        *(each for profile in configuration.profiles for each in _of_removed_plugins(profile)),
        *(each for profile in configuration.profiles for each in _of_plugin_config(profile)),
        *_of_queue_sort(configuration.profiles),
        *_of_extenders(configuration.extenders),
    ]


def _of_leader_election(election: LeaderElection) -> Iterator[Problem]:
    if not election.leader_elect:
        return
    if election.resource_lock != "leases":
        yield Problem(
            "leaderElection.resourceLock",
            f"must be 'leases', the only lock there is, got {election.resource_lock!r}",
        )
    for name, text in (
        ("resourceName", election.resource_name),
        ("resourceNamespace", election.resource_namespace),
    ):
        if not text:
            yield Problem(f"leaderElection.{name}", "must not be empty")
    times = {
        "leaseDuration": election.lease_duration,
        "renewDeadline": election.renew_deadline,
        "retryPeriod": election.retry_period,
    }
    for name, seconds in times.items():
        if seconds <= 0:
            yield Problem(
                f"leaderElection.{name}", f"must be above 0s, got {format_duration(seconds)}"
            )
    if election.lease_duration <= election.renew_deadline:
        yield Problem(
            "leaderElection.leaseDuration",
            f"{format_duration(election.lease_duration)} must be longer than renewDeadline,"
            f" {format_duration(election.renew_deadline)}",
        )
    if election.renew_deadline <= election.retry_period * _RENEWAL_JITTER:
        yield Problem(
            "leaderElection.renewDeadline",
            f"{format_duration(election.renew_deadline)} must be longer than {_RENEWAL_JITTER}"
            f" times retryPeriod, {format_duration(election.retry_period)}",
        )


def _of_backoff(configuration: KubeSchedulerConfiguration) -> Iterator[Problem]:
    initial = configuration.pod_initial_backoff_seconds
    longest = configuration.pod_max_backoff_seconds
    if longest < initial:
        yield Problem(
            "podMaxBackoffSeconds",
            f"must be at least podInitialBackoffSeconds, {initial}, got {longest}",
        )


def _of_scheduler_names(profiles: Sequence[KubeSchedulerProfile]) -> Iterator[Problem]:
    first_with: dict[str, str] = {}
    for profile in profiles:
        field = f"{profile.field}.schedulerName"
        if not profile.scheduler_name:
            sentence = "must not be empty"
            if len(profiles) > 1:
                sentence = "required where there are several profiles; pods choose by it"
            yield Problem(field, sentence)
        elif (first := first_with.setdefault(profile.scheduler_name, field)) != field:
            yield Problem(field, f"{profile.scheduler_name!r} is the name in {first} already")


def _of_removed_plugins(profile: KubeSchedulerProfile) -> Iterator[Problem]:
    places = [
        (f"plugins.{to_camel(point)}.enabled[{index}].name", plugin.name)
        for point in EXTENSION_POINTS
        for index, plugin in enumerate(profile.plugins.at(point).enabled)
    ]
    # Without an index: the default plugins stand before them by now.
    places += [
        ("plugins.multiPoint.enabled", plugin.name)
        for plugin in profile.plugins.multi_point.enabled
    ]
    places += [
        (f"pluginConfig[{index}].name", entry.name)
        for index, entry in enumerate(profile.plugin_config)
    ]
    for place, name in places:
        if name in _REMOVED:
            yield Problem(
                f"{profile.field}.{place}",
                f"{name} was removed from Kubernetes; NodeVolumeLimits does its work",
            )


def _of_plugin_config(profile: KubeSchedulerProfile) -> Iterator[Problem]:
    """Twice the same plugin; arguments of another plugin's type, which only built-ins declare."""
    first_for: dict[str, str] = {}
    built_in = {name for name, _ in DEFAULT_PLUGINS}
    for index, entry in enumerate(profile.plugin_config):
        field = f"{profile.field}.pluginConfig[{index}]"
        if (first := first_for.setdefault(entry.name, field)) != field:
            yield Problem(f"{field}.name", f"{entry.name} has its args in {first} already")
        if entry.name not in built_in:
            continue
        for key, expected in (("apiVersion", API_VERSION), ("kind", f"{entry.name}Args")):
            if entry.args.get(key, expected) != expected:
                yield Problem(
                    f"{field}.args.{key}",
                    f"args of {entry.name} are of {key} {expected}, got {entry.args[key]!r}",
                )


def _of_queue_sort(profiles: Sequence[KubeSchedulerProfile]) -> Iterator[Problem]:
    first, *others = profiles
    sorting = {plugin.name for plugin in first.plugins.queue_sort.enabled}
    wanted = {entry.name: entry.args for entry in first.plugin_config}
    for profile in others:
        if profile.plugins.queue_sort != first.plugins.queue_sort:
            yield Problem(
                f"{profile.field}.plugins.queueSort",
                f"must be the same as in {first.field}: there is one queue for all profiles",
            )
        for index, entry in enumerate(profile.plugin_config):
            if entry.name in sorting and entry.args != wanted.get(entry.name, {}):
                yield Problem(
                    f"{profile.field}.pluginConfig[{index}].args",
                    f"{entry.name} sorts the one queue of all profiles, and must have the same"
                    f" args as in {first.field}",
                )


def _of_extenders(extenders: Sequence[Extender]) -> Iterator[Problem]:
    first_with: dict[str, str] = {}
    for index, extender in enumerate(extenders):
        field = f"extenders[{index}]"
        if extender.prioritize_verb and extender.weight <= 0:
            yield Problem(
                f"{field}.weight",
                f"must be above 0 for an extender with a prioritizeVerb, got {extender.weight}",
            )
        for place, resource in enumerate(extender.managed_resources):
            name_field = f"{field}.managedResources[{place}].name"
            if not _is_extended_resource(resource.name):
                yield Problem(
                    name_field,
                    f"{resource.name!r} is no extended resource, such as example.com/gpu",
                )
            if (first := first_with.setdefault(resource.name, name_field)) != name_field:
                yield Problem(name_field, f"{resource.name!r} is managed in {first} already")
    binding = [str(index) for index, extender in enumerate(extenders) if extender.bind_verb]
    if len(binding) > 1:
        yield Problem(
            "extenders", f"only one extender can bind, but {' and '.join(binding)} have a bindVerb"
        )


def _is_extended_resource(name: str) -> bool:
    """Whether a name is ``domain/name`` of somebody other than Kubernetes itself."""
    return (
        "/" in name
        and "kubernetes.io/" not in name
        and not name.startswith("requests.")
        and is_label_key(name)
    )
