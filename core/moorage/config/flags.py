"""kube-scheduler's command line: Go's spelling of flags, and what they set.

A command line that starts kube-scheduler starts Moorage. Go's flag syntax is not that of Python's
command-line libraries: ``--leader-elect`` and ``--leader-elect=T`` but never ``--leader-elect T``,
``-v2``, ``--leader_elect``. `normalise_arguments` rewrites it to one form that all of them take,
``--name=value``. The flags themselves are data, in `moorage.config.flag_table`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from moorage.config.checks import problems
from moorage.config.flag_table import FLAGS, FlagSpec
from moorage.config.flag_values import (
    PARSERS,
    parse_bool,
    parse_feature_gates,
    parse_map,
    parse_strings,
)
from moorage.config.sentences import refusal
from moorage.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from moorage.config.schema import KubeSchedulerConfiguration

__all__ = [
    "FLAGS",
    "FlagSpec",
    "normalise_arguments",
    "parse_bool",
    "parse_feature_gates",
    "parse_flag",
    "parse_map",
    "parse_strings",
    "with_flags",
]

_ELECTION: Final = {
    "leader-elect": "leader_elect",
    "leader-elect-lease-duration": "lease_duration",
    "leader-elect-renew-deadline": "renew_deadline",
    "leader-elect-resource-lock": "resource_lock",
    "leader-elect-resource-name": "resource_name",
    "leader-elect-resource-namespace": "resource_namespace",
    "leader-elect-retry-period": "retry_period",
}
_CONNECTION: Final = {
    "kube-api-burst": "burst",
    "kube-api-content-type": "content_type",
    "kube-api-qps": "qps",
    "kubeconfig": "kubeconfig",
}
_PROFILING: Final = {
    "contention-profiling": "enable_contention_profiling",
    "profiling": "enable_profiling",
}


def normalise_arguments(argv: Sequence[str]) -> list[str]:
    """Rewrite kube-scheduler's flags in `argv` to ``--name=value``, values checked.

    A boolean flag always gets its value (``--leader-elect=true``), so it is to be declared as an
    option that takes one; ``--help`` stays as it is. Arguments that are no flag of
    kube-scheduler's keep their place and text, but for underscores in the name of a long flag.

    Raises ConfigurationError, naming the flag, for a value of the wrong type and for a flag
    without the value that it needs.
    """
    by_name = {spec.name: spec for spec in FLAGS}
    by_short = {spec.short: spec for spec in FLAGS if spec.short}
    normalised: list[str] = []
    remaining = iter(argv)
    for argument in remaining:
        if argument == "--":
            return [*normalised, argument, *remaining]
        if argument.startswith("--"):
            written, equals, value = argument[2:].partition("=")
            name = written.replace("_", "-")
            spec, rest = by_name.get(name), value if equals else None
            unknown = f"--{name}{equals}{value}"
        else:
            spec = by_short.get(argument[1:2]) if argument.startswith("-") else None
            rest, unknown = argument[2:].removeprefix("=") or None, argument
        normalised.append(_normalised(spec, rest, remaining) if spec else unknown)
    return normalised


def _normalised(spec: FlagSpec, value: str | None, remaining: Iterable[str]) -> str:
    """One flag with its value, taken from `remaining` where it is not written with the flag."""
    if value is None:
        value = "true" if spec.type == "bool" else next(iter(remaining), None)
    if value is None:
        raise ConfigurationError(f"--{spec.name}: needs a value, a {spec.type}; none follows")
    parsed = parse_flag(spec, value)
    if spec.type != "bool":
        return f"--{spec.name}={value}"
    if spec.name == "help" and parsed:
        return "--help"
    return f"--{spec.name}={str(parsed).lower()}"


def parse_flag(spec: FlagSpec, text: str) -> object:
    """Read a flag's value: bool, int, float (durations: seconds), str, list or dict, by its type.

    Raises ConfigurationError that names the flag.
    """
    try:
        return PARSERS[spec.type](text)
    except ValueError as error:
        raise ConfigurationError(f"--{spec.name}: {error}") from None


def with_flags(
    configuration: KubeSchedulerConfiguration, flags: Mapping[str, Any]
) -> KubeSchedulerConfiguration:
    """Apply flags that were given, by name and parsed, to a configuration with its defaults.

    As in kube-scheduler, those of leader election win over a configuration file, and the
    deprecated ones count only where there is none. ``--kubeconfig`` counts also where the file
    names no kubeconfig: that it should be ignored then would surprise everybody.

    Raises ConfigurationError where the result does not hold together.
    """
    from_file = bool(configuration.file)
    named = configuration.client_connection.kubeconfig
    connection = {
        field: flags[flag]
        for flag, field in _CONNECTION.items()
        if flag in flags and (not from_file or (flag == "kubeconfig" and not named))
    }
    election = _given(flags, _ELECTION)
    changed = configuration.model_copy(
        update={
            "leader_election": configuration.leader_election.model_copy(update=election),
            "client_connection": configuration.client_connection.model_copy(update=connection),
            **({} if from_file else _given(flags, _PROFILING)),
        }
    )
    if found := problems(changed):
        raise refusal(found, file=configuration.file)
    return changed


def _given(flags: Mapping[str, Any], fields: Mapping[str, str]) -> dict[str, Any]:
    return {field: flags[flag] for flag, field in fields.items() if flag in flags}
