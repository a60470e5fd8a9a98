"""kube-scheduler's flags as `moorage run` takes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
import pytest
from click.testing import CliRunner

from moorage.cli.flag_options import FlagCommand, given_flags, without_effect
from moorage.config.flags import FLAGS

Command = Callable[..., tuple[int, str, str]]


def given(*argv: str) -> dict[str, Any]:
    """Return what a command with these arguments sees."""
    seen: dict[str, Any] = {}

    @click.command(cls=FlagCommand)
    @click.option("--own", is_flag=True)
    @click.pass_context
    def command(ctx: click.Context, *, own: bool) -> None:
        seen.update(given_flags(ctx))

    result = CliRunner().invoke(command, argv, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return seen


def test_flags_come_as_values_in_gos_spelling_and_in_ours() -> None:
    """And our own options beside them."""
    flags = given(
        "--leader-elect", "--own", "--leader_elect_lease_duration=1m30s", "--config", "c.yaml"
    )  # fmt: skip

    assert flags == {
        "leader-elect": True,
        "leader-elect-lease-duration": 90.0,
        "config": "c.yaml",
    }


def test_what_is_not_given_is_not_there() -> None:
    """A default is no wish: it must not win over a configuration file."""
    assert given() == {}


def test_flags_that_may_be_repeated_add_up() -> None:
    """Lists one after the other, mappings key by key."""
    flags = given(
        "--tls-cipher-suites=a,b",
        "--tls-cipher-suites=c",
        "--allow-metric-labels=x=1",
        "--allow-metric-labels=y=2",
    )

    assert flags == {
        "tls-cipher-suites": ["a", "b", "c"],
        "allow-metric-labels": {"x": "1", "y": "2"},
    }


def test_of_a_flag_that_is_given_twice_the_last_counts() -> None:
    """As in Go."""
    assert given("--master=http://a", "--master=http://b") == {"master": "http://b"}


def test_flags_without_effect_are_told_once_a_reason() -> None:
    """Those with an effect are not."""
    assert without_effect(["master", "cert-dir", "tls-cert-file", "disabled-metrics"]) == [
        (
            "no effect: --cert-dir, --tls-cert-file"
            " (this version serves plain HTTP, and all but health on loopback only)"
        ),
        "no effect: --disabled-metrics (this version serves all of its metrics)",
    ]


def test_help_shows_what_does_something(moorage: Command) -> None:
    """Our options, then those of kube-scheduler's that change anything."""
    code, out, _ = moorage("run", "--help")

    assert code == 0
    assert "--until-idle" in out
    assert "--kube-api-qps" in out
    assert "--tls-cert-file" not in out


def test_help_all_shows_the_rest_with_the_reasons(moorage: Command) -> None:
    """Every flag of kube-scheduler is in one of the two."""
    _, short, _ = moorage("run", "-h")
    code, rest, _ = moorage("run", "--help-all")

    assert code == 0
    assert "Accepted without effect: this version serves plain HTTP, and all but" in rest
    words = f"{short} {rest}".replace(",", " ").split()
    assert [spec.name for spec in FLAGS if f"--{spec.name}" not in words] == []


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["--leader-elect=maybe"], "--leader-elect: 'maybe' is neither true nor false"),
        (["--config"], "--config: needs a value, a string; none follows"),
        (
            ["--feature-gates=Nonsense=true"],
            "--feature-gates: unknown feature gate Nonsense",
        ),
    ],
)
def test_a_wrong_value_is_one_sentence(moorage: Command, argv: list[str], sentence: str) -> None:
    """Exit code 2, also where the flag would change nothing."""
    code, out, err = moorage("run", *argv)

    assert (code, out) == (2, "")
    assert err == f"Error: {sentence}\n"
