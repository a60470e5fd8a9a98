"""`moorage verify`: recorded decisions of a real kube-scheduler, replayed through our core."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from moorage.cli.options import output_option, verbosity_option
from moorage.cli.output import notice, print_document, print_renderable, table
from moorage.config import (
    KubeSchedulerConfiguration,
    default_configuration,
    load_configuration,
)
from moorage.config.leaving_out import leave_out, named_plugins
from moorage.config.producers import assemble
from moorage.errors import ConfigurationError
from moorage.framework.handle import Services
from moorage.framework.host import Registry, discover
from moorage.framework.profile import Framework
from moorage.replay import (
    Assemble,
    Report,
    is_requeue_recording,
    read_recording,
    replay,
    replay_requeueing,
)

__all__ = ["command"]

_DIFFERS = 1
_SUMMARY = ("FAMILY", "SCENARIOS", "STEPS", "EQUAL", "DIFFERING", "APART")
_DIFFERENCES = ("SCENARIO", "STEP", "POD", "WHAT", "NODE", "PLUGIN", "EXPECTED", "GOT")


@click.command("verify")
@click.argument(
    "recordings", metavar="RECORDING...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    help="The configuration the decisions were made with. [default: config.yaml beside each]",
)
@output_option("json", "yaml", "wide")
@verbosity_option
def command(recordings: Sequence[Path], config: Path | None, output: str) -> int:
    """Replay recorded decisions and print, per family, how many steps are equal.

    A RECORDING is one JSON scenario a line, plain or .gz; or one JSON list of cases that say which
    event makes a refused pod be tried again. Plugins that are not installed are named once and left
    out of the comparison. Exit code 0 when all steps are equal, 1 when any differs.
    """
    registry = discover()
    missing: set[str] = set()
    reports = []
    console = Console(stderr=True)
    with console.status("reading") if console.is_terminal else nullcontext() as progress:
        for path in recordings:
            recording = read_recording(path)
            about_requeueing = is_requeue_recording(path)
            configuration = _configuration(path, config, optional=about_requeueing)
            names = named_plugins(configuration)
            if not about_requeueing:
                names |= recording.plugins()
            absent = frozenset(names.difference(registry.names()))
            missing |= absent
            if progress is not None:
                progress.update(f"{recording.family}: replaying")
            assembler = _assembler(configuration, registry, absent)
            if about_requeueing:
                reports.append(replay_requeueing(path, assembler, absent))
            else:
                reports.append(replay(recording, assembler, absent))
    if missing:
        notice(
            f"these plugins are not installed and left out of the comparison: "
            f"{', '.join(sorted(missing))}"
        )
    _print(reports, output)
    return _DIFFERS if any(report.differing for report in reports) else 0


def _configuration(
    recording: Path, config: Path | None, *, optional: bool
) -> KubeSchedulerConfiguration:
    path = config or recording.parent / "config.yaml"
    if config is None and not path.is_file():
        if optional:
            return default_configuration(("default-scheduler",))
        raise ConfigurationError(
            f"{path}: no such file; name the configuration that {recording.name} was made with: "
            "--config FILE"
        )
    return load_configuration(path)


def _assembler(
    configuration: KubeSchedulerConfiguration, registry: Registry, absent: frozenset[str]
) -> Assemble:
    reduced = leave_out(configuration, absent)

    def make(services: Services, names: Collection[str]) -> Mapping[str, Framework]:
        profiles = tuple(p for p in reduced.profiles if p.scheduler_name in names)
        some = reduced.model_copy(update={"profiles": profiles})
        return assemble(some, registry, services=services).frameworks

    return make


def _print(reports: Sequence[Report], output: str) -> None:
    if output in {"json", "yaml"}:
        print_document([_document(report) for report in reports], output)
        return
    rows = [
        (
            report.family,
            str(report.scenarios),
            str(len(report.steps)),
            str(report.equal),
            str(len(report.differing)),
            str(report.apart),
        )
        for report in reports
    ]
    print_renderable(table(_SUMMARY, rows))
    found = [
        (
            f"{report.family}/{step.scenario}",
            str(step.step),
            step.pod,
            difference.what,
            difference.node,
            difference.plugin,
            str(difference.expected),
            str(difference.got),
        )
        for report in reports
        for step in report.differing
        for difference in step.differences
    ]
    if found:
        click.echo()
        print_renderable(table(_DIFFERENCES, found))
    apart = sum(report.apart for report in reports)
    if apart:
        click.echo(f"\n{apart} pods apart: only plugins that are not installed refused them.")


def _document(report: Report) -> dict[str, Any]:
    return {
        "family": report.family,
        "scenarios": report.scenarios,
        "steps": len(report.steps),
        "equal": report.equal,
        "differing": len(report.differing),
        "apart": report.apart,
        "differences": [
            {"scenario": step.scenario, "step": step.step, "pod": step.pod} | difference._asdict()
            for step in report.differing
            for difference in step.differences
        ],
    }
