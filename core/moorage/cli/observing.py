"""What `moorage run` serves to operators, and whether it takes part in leader election."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from moorage.api.connection import Connection
from moorage.config import KubeSchedulerConfiguration
from moorage.config.durations import format_duration
from moorage.config.feature_gates import known_feature_gates
from moorage.config.flags import FLAGS
from moorage.framework.handle import Services
from moorage.runner import Oversight, Runner
from moorage.serving import (
    PATHS,
    Check,
    Debugging,
    Health,
    Heartbeat,
    Leadership,
    Pages,
    Serving,
    Terms,
    Watchdog,
)

__all__ = ["ServingPlan", "new_oversight", "plan_serving", "served"]

_PORT: Final = "secure-port"


@dataclass(frozen=True, kw_only=True)
class ServingPlan:
    """Where to serve health, metrics and debug views, and the documents about this process."""

    host: str
    port: int
    share_port: bool
    flags: Mapping[str, str]
    configuration: Mapping[str, Any]


def plan_serving(
    flags: Mapping[str, Any], configuration: Mapping[str, Any], *, by_default: bool
) -> ServingPlan | None:
    """Say what the flags ask for; None: nothing is served.

    `flags` are those given; `configuration` is the document in effect.
    """
    defaults = {spec.name: spec.default for spec in FLAGS}
    if _PORT not in flags and not by_default:
        return None
    port = int(flags.get(_PORT, defaults[_PORT]))
    if not port:
        return None
    return ServingPlan(
        host=flags.get("bind-address", defaults["bind-address"]),
        port=port,
        share_port=flags.get("permit-port-sharing", False),
        flags={spec.name: _spelt(spec.type, flags, spec) for spec in FLAGS},
        configuration=configuration,
    )


def _spelt(kind: str, flags: Mapping[str, Any], spec: Any) -> str:  # noqa: ANN401 - a FlagSpec
    """Write a flag's value as Go prints it."""
    if spec.name not in flags:
        return str(spec.default)
    value = flags[spec.name]
    if kind == "bool":
        return str(value).lower()
    if kind == "duration":
        return format_duration(value)
    if isinstance(value, list):
        return f"[{','.join(map(str, value))}]"
    if isinstance(value, dict):
        return ",".join(f"{key}={_lower(item)}" for key, item in value.items())
    return str(value)


def _lower(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def new_oversight(
    configuration: KubeSchedulerConfiguration,
    services: Services,
    connect: Callable[[], Connection],
    *,
    elect: bool,
) -> Oversight:
    """Make what watches the loop and, with `elect`, what holds the Lease for it."""
    heartbeat = Heartbeat()
    if not elect:
        return Oversight(heartbeat=heartbeat)
    election = configuration.leader_election
    leadership = Leadership(
        connect,
        Terms(
            lease_duration=election.lease_duration,
            renew_deadline=election.renew_deadline,
            retry_period=election.retry_period,
            namespace=election.resource_namespace,
            name=election.resource_name,
        ),
        component=configuration.profiles[0].scheduler_name,
        metrics=services.metrics,
        is_alive=lambda: heartbeat.silence < election.renew_deadline,
    )
    return Oversight(
        leadership=leadership,
        delay_cache=configuration.delay_cache_until_active,
        heartbeat=heartbeat,
    )


@contextlib.contextmanager
def served(
    plan: ServingPlan | None,
    runner: Runner,
    services: Services,
    oversight: Oversight,
    connect: Callable[[], Connection],
) -> Iterator[None]:
    """Serve while the block lasts; MoorageError where the address cannot be had.

    Without a `plan` nothing is served, but a plugin that holds everything up is named in the log.
    """
    watchdog = Watchdog(oversight.heartbeat, services.activity)
    if plan is None:
        with _watching(watchdog):
            yield
        return
    services.metrics.process.set_features(known_feature_gates())
    serving = Serving(
        host=plan.host,
        port=plan.port,
        share_port=plan.share_port,
        health=_health(runner, oversight, watchdog),
        metrics=services.metrics,
        pages=Pages(configuration=plan.configuration, flags=plan.flags, paths=PATHS),
        debugging=Debugging(lambda: runner.inspected, connect),
    )
    serving.start()
    try:
        with _watching(watchdog):
            yield
    finally:
        serving.stop()


@contextlib.contextmanager
def _watching(watchdog: Watchdog) -> Iterator[None]:
    watchdog.start()
    try:
        yield
    finally:
        watchdog.stop()


def _health(runner: Runner, oversight: Oversight, watchdog: Watchdog) -> Health:
    """Name the checks as kube-scheduler does, and add that of the scheduling loop."""
    leadership = oversight.leadership
    election = [] if leadership is None else [Check("leaderElection", leadership.fault)]

    def synced() -> str:
        return "" if runner.is_synced else "handlers are not fully synchronized"

    def stopping() -> str:
        return "process is shutting down" if runner.is_stopping else ""

    return Health(
        livez=[*election, Check("scheduling-loop", watchdog.fault)],
        readyz=[*election, Check("shutdown", stopping), Check("sched-handler-sync", synced)],
    )
