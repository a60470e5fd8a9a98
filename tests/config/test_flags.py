"""kube-scheduler's command line, as Go spells it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from moorage.config.defaults import default_configuration
from moorage.config.feature_gates import known_feature_gates
from moorage.config.flags import FLAGS, FlagSpec, normalise_arguments, parse_flag, with_flags
from moorage.config.load import parse_configuration
from moorage.errors import ConfigurationError

DATA = Path(__file__).parent.parent / "data/configurations"
BY_NAME = {spec.name: spec for spec in FLAGS}
HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"

RECORDED_TYPES = {
    "Level": "int32",
    "colonSeparatedMultimapStringString": "feature_gates",
    "int32Slice": "int32_list",
    "namedCertKey": "string",
    "stringToString": "map",
}
UNREAD = {"vmodule"}
"""Flags whose type, ``pattern=N,...``, the reader of the recorded --help took for none."""
DIFFERENT_DEFAULTS = {
    "kube-api-content-type": "application/json",
    "kube-api-qps": "-1",
    "leader-elect-resource-name": "moorage",
    "v": "0",
}


def recorded(name: str) -> Any:  # noqa: ANN401 - JSON
    """Read one of the recordings."""
    return json.loads((DATA / name).read_text(encoding="utf-8"))


def refused(*argv: str) -> str:
    """Rewrite what must be refused, and return the sentence about it."""
    with pytest.raises(ConfigurationError) as caught:
        normalise_arguments(argv)
    return str(caught.value)


def test_every_flag_of_kube_scheduler_is_known_by_type_and_default() -> None:
    """The table says what kube-scheduler's own --help says, but for what differs on purpose."""
    theirs = {
        flag["flag"].removeprefix("--"): (
            flag["group"],
            RECORDED_TYPES.get(flag["type"], flag["type"]),
            flag.get("default", "").strip('"[]'),
            flag.get("short", "").removeprefix("-"),
            flag.get("deprecated", False),
        )
        for flag in recorded("flags-1.36.json")
    }
    ours = {
        spec.name: (
            spec.group,
            spec.type,
            spec.default if spec.name not in DIFFERENT_DEFAULTS else theirs[spec.name][2],
            spec.short,
            spec.deprecated,
        )
        for spec in FLAGS
        if spec.name not in UNREAD
    }

    assert ours == theirs
    assert {name: BY_NAME[name].default for name in DIFFERENT_DEFAULTS} == DIFFERENT_DEFAULTS


@pytest.mark.parametrize("spec", FLAGS, ids=lambda spec: spec.name)
def test_every_default_is_a_value_of_its_flag(spec: FlagSpec) -> None:
    """Whoever declares the options can parse the defaults like anything else."""
    assert spec.help
    if spec.default:
        parse_flag(spec, spec.default)


def test_every_feature_gate_of_kube_scheduler_is_known() -> None:
    """With its stage and its default."""
    assert {name: tuple(gate) for name, gate in known_feature_gates().items()} == {
        gate["gate"]: (gate["stage"], gate["default"])
        for gate in recorded("feature-gates-1.36.json")
    }


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["--leader-elect"], ["--leader-elect=true"]),
        (["--leader-elect=true"], ["--leader-elect=true"]),
        (["--leader-elect=T"], ["--leader-elect=true"]),
        (["--leader-elect=0"], ["--leader-elect=false"]),
        (["--leader_elect=f"], ["--leader-elect=false"]),
        (["--leader-elect", "false"], ["--leader-elect=true", "false"]),
        (["-v=2"], ["--v=2"]),
        (["-v2"], ["--v=2"]),
        (["-v", "2"], ["--v=2"]),
        (["--v", "2"], ["--v=2"]),
        (["-h"], ["--help"]),
        (["--help"], ["--help"]),
        (["--config", "-v"], ["--config=-v"]),
        (["--config="], ["--config="]),
        (
            ["--leader-elect-lease-duration", "15s"],
            ["--leader-elect-lease-duration=15s"],
        ),
        (["--feature-gates=AllBeta=true"], ["--feature-gates=AllBeta=true"]),
        (["run", "--embedded", "-f", "a.yaml"], ["run", "--embedded", "-f", "a.yaml"]),
        (["--until_idle", "-"], ["--until-idle", "-"]),
        (["--", "--leader-elect", "-v2"], ["--", "--leader-elect", "-v2"]),
    ],
)
def test_go_s_spelling_becomes_one_form(argv: list[str], expected: list[str]) -> None:
    """Each flag of kube-scheduler's with its value; all others as they were."""
    assert normalise_arguments(argv) == expected


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["--leader-elect=yes"], "--leader-elect: 'yes' is neither true nor false"),
        (["-v=much"], "--v: 'much' is not an integer"),
        (["--v=2147483648"], "--v: 2147483648 does not fit 32 bits"),
        (["--config"], "--config: needs a value, a string; none follows"),
        (["--bind-address=localhost"], "--bind-address: 'localhost' is not an IP address"),
        (["--kube-api-qps=nan"], "--kube-api-qps: 'nan' is not a number"),
        (
            ["--log-flush-frequency=5"],
            "--log-flush-frequency: '5' is not a duration; write it as 15s, 1m30s or 250ms",
        ),
        (
            ["--log-json-info-buffer-size=much"],
            "--log-json-info-buffer-size: 'much' is not a quantity; write it as 512Ki or 1M",
        ),
        (
            ["--allow-metric-labels=a"],
            "--allow-metric-labels: 'a' is no pair; write it as key=value",
        ),
        (
            ["--feature-gates=AllBeeta=true"],
            "--feature-gates: unknown feature gate AllBeeta; did you mean AllBeta?",
        ),
        (["--feature-gates=Zebra=true"], "--feature-gates: unknown feature gate Zebra"),
        (
            ["--feature-gates=AllBeta=on"],
            "--feature-gates: AllBeta: 'on' is neither true nor false",
        ),
        (
            ["--feature-gates=wardle:AllBeta=true"],
            "--feature-gates: 'wardle' is no component here; kube is the only one",
        ),
    ],
)
def test_a_wrong_value_is_refused_by_the_name_of_its_flag(argv: list[str], sentence: str) -> None:
    """Whether or not the flag has an effect: a typing error is worth knowing."""
    assert refused(*argv) == sentence


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("leader-elect", "TRUE", True),
        ("leader-elect-retry-period", "1m0s", 60.0),
        ("secure-port", "0", 0),
        ("tls-curve-preferences", "23,24", [23, 24]),
        ("requestheader-allowed-names", 'a,"b,c"', ["a", "b,c"]),
        ("requestheader-allowed-names", "", []),
        ("allow-metric-labels", "a=1,b=2=3", {"a": "1", "b": "2=3"}),
        ("feature-gates", "AllAlpha=false,kube:AllBeta=1", {"AllAlpha": False, "AllBeta": True}),
        ("bind-address", "::", "::"),
        ("kube-api-qps", "5.5", 5.5),
    ],
)
def test_values_are_read_by_type(name: str, text: str, value: object) -> None:
    """Durations are seconds, lists and maps are Python's."""
    assert parse_flag(BY_NAME[name], text) == value


def test_click_understands_what_comes_out() -> None:
    """Every flag can be declared from the table, and a command line of Go's reaches it."""

    @click.command()
    def command(**flags: Any) -> None:  # noqa: ANN401 - whatever the options hold
        click.echo(json.dumps({name: value for name, value in flags.items() if value}))

    for spec in FLAGS:
        if spec.name != "help":
            names = [f"--{spec.name}"] + ([f"-{spec.short}"] if spec.short else [])
            command.params.append(click.Option(names, multiple=spec.repeatable))
    argv = [
        "-v2",
        "--leader_elect",
        "--config",
        "c.yaml",
        "--disabled-metrics=a",
        "--secure-port=0",
    ]

    result = CliRunner().invoke(command, normalise_arguments(argv))

    assert json.loads(result.output) == {
        "v": "2",
        "leader_elect": "true",
        "config": "c.yaml",
        "disabled_metrics": ["a"],
        "secure_port": "0",
    }


def test_flags_of_leader_election_win_over_a_file() -> None:
    """As in kube-scheduler; the deprecated ones count only without a file."""
    configuration = parse_configuration(
        f"{HEAD}leaderElection: {{leaseDuration: 30s}}\n", file="c.yaml"
    )
    flags = {"leader-elect-lease-duration": 20.0, "kube-api-qps": 5.0, "profiling": False}

    changed = with_flags(configuration, flags)

    assert changed.leader_election.lease_duration == 20.0
    assert changed.client_connection.qps == -1
    assert changed.enable_profiling is True


def test_deprecated_flags_count_without_a_file() -> None:
    """They are how kube-scheduler was configured before there were files."""
    flags = {"kube-api-qps": 5.0, "kube-api-burst": 6, "profiling": False, "kubeconfig": "k"}

    changed = with_flags(default_configuration(), flags)

    assert (changed.client_connection.qps, changed.client_connection.burst) == (5.0, 6)
    assert changed.client_connection.kubeconfig == "k"
    assert changed.enable_profiling is False


@pytest.mark.parametrize(("written", "expected"), [("", "flag"), ("file", "file")])
def test_a_kubeconfig_given_as_a_flag_fills_a_gap_in_the_file(written: str, expected: str) -> None:
    """The file's own kubeconfig wins; a file without one does not make the flag void."""
    configuration = parse_configuration(
        f"{HEAD}clientConnection: {{kubeconfig: '{written}'}}\n", file="c.yaml"
    )

    changed = with_flags(configuration, {"kubeconfig": "flag"})

    assert changed.client_connection.kubeconfig == expected


def test_flags_that_contradict_each_other_are_refused() -> None:
    """The result is checked as a file would be."""
    with pytest.raises(ConfigurationError, match="must be longer than renewDeadline"):
        with_flags(default_configuration(), {"leader-elect-lease-duration": 5.0})
