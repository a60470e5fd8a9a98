"""`moorage run`: schedule the pods of a cluster, or of the embedded one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import numpy as np
import yaml

from moorage.cli import event_loop
from moorage.cli.cluster_run import run_on_cluster
from moorage.cli.embedded_run import run_embedded
from moorage.cli.flag_options import FlagCommand, given_flags, without_effect
from moorage.cli.logs import FORMATS, set_up_logging
from moorage.cli.observing import plan_serving
from moorage.cli.options import Port, Session, output_option, verbosity_option
from moorage.cli.output import notice
from moorage.cli.plugin_options import chosen, disable_option, trace_option, traced, unseen
from moorage.cli.scheduling import Job
from moorage.config import (
    KubeSchedulerConfiguration,
    default_configuration,
    load_configuration,
    to_document,
)
from moorage.config.flags import with_flags
from moorage.config.producers import Assembly, assemble, plugin_arguments
from moorage.errors import ConfigurationError
from moorage.framework.handle import Services

if TYPE_CHECKING:
    from collections.abc import Mapping

    from moorage.framework.profile import Framework

__all__ = ["command"]

_EMBEDDED_NAMES: Final = ("default-scheduler", "moorage")
_UNSCHEDULABLE: Final = "pod-max-in-unschedulable-pods-duration"
_EXAMPLES: Final = """\
\b
Without a cluster, the pods and nodes that come along or your own:
  moorage run --embedded --until-idle
  moorage run --embedded --until-idle -f nodes.yaml -f pods/

\b
With one, for the pods whose schedulerName is moorage:
  moorage run --kubeconfig ~/.kube/config
"""


def _show_the_rest(ctx: click.Context, _param: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click's signature
    if value and isinstance(ctx.command, FlagCommand):
        click.echo(ctx.command.help_about_the_rest(ctx))
        ctx.exit()


@click.command(cls=FlagCommand, epilog=_EXAMPLES)
@click.option("--embedded", is_flag=True, help="Run without a cluster, on an API server in memory.")
@click.option(
    "-f",
    "--filename",
    "filenames",
    multiple=True,
    metavar="PATH",
    help="With --embedded: a manifest, YAML or JSON, or a folder of them; may be repeated."
    " Without it, the quickstart's.",
)
@click.option(
    "--until-idle",
    is_flag=True,
    help="End when nothing more can happen, and print what went where.",
)
@output_option("wide", "json", "yaml")
@click.option("--context", metavar="NAME", help="The kubeconfig's context, if not the current one.")
@click.option(
    "--port",
    type=Port(),
    metavar="PORT",
    help="With --embedded: the port to listen on; 0, the default, is any that is free.",
)
@click.option(
    "--kubeconfig-out",
    metavar="FILE",
    help="With --embedded: where to write the kubeconfig for it, if not to a temporary file.",
)
@disable_option
@trace_option
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="N",
    help="Break ties between nodes the same way again.",
)
@click.option(
    "--help-all",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_the_rest,
    help="Show the flags of kube-scheduler that change nothing here, and why.",
)
@verbosity_option
@click.pass_context
def command(ctx: click.Context, /, seed: int | None, **options: Any) -> None:  # noqa: ANN401 - of many types
    """Schedule pods, of a cluster or of the embedded one.

    Pods are served whose schedulerName names one of the profiles: those of --config, or else
    "moorage", and with --embedded "default-scheduler" as well. A cluster is found as kubectl finds
    it: by --kubeconfig, $KUBECONFIG or ~/.kube/config; or inside of one, by the service account.
    """
    flags = given_flags(ctx)
    _check_combination(options, flags)
    configuration = _configuration(flags, embedded=options["embedded"])
    services = Services(generator=np.random.default_rng(seed))
    configuration, registry = chosen(configuration, options["disabled"])
    ctx.with_resource(traced(services, options["trace"]))
    assembly = assemble(configuration, registry, services=services)
    tracing = unseen(services, assembly.frameworks.values())
    for sentence in (*assembly.notices, *tracing, *without_effect(list(flags))):
        notice(sentence)
    if flags.get("write-config-to"):
        _write(configuration, assembly.frameworks, path=flags["write-config-to"])
        return
    set_up_logging(ctx.ensure_object(Session).verbosity, _logging_format(flags))
    job = _job(options, flags, configuration, assembly, services)
    if options["embedded"]:
        running = run_embedded(
            job,
            paths=options["filenames"],
            port=options["port"] or 0,
            kubeconfig_out=options["kubeconfig_out"],
        )
    else:
        master = flags.get("master") or None
        running = run_on_cluster(job, context=options["context"], master=master)
    event_loop.run(running)


def _job(
    options: Mapping[str, Any],
    flags: Mapping[str, Any],
    configuration: KubeSchedulerConfiguration,
    assembly: Assembly,
    services: Services,
) -> Job:
    embedded, until_idle = options["embedded"], options["until_idle"]
    document = to_document(configuration, plugin_args=plugin_arguments(assembly.frameworks))
    elects = not embedded and configuration.leader_election.leader_elect
    return Job(
        frameworks=assembly.frameworks,
        services=services,
        configuration=configuration,
        unschedulable_seconds=flags.get(_UNSCHEDULABLE, Job.unschedulable_seconds),
        until_idle=until_idle,
        output=options["output"],
        elect=flags.get("leader-elect", elects),
        serving=plan_serving(flags, document, by_default=not (embedded or until_idle)),
    )


def _check_combination(options: Mapping[str, Any], flags: Mapping[str, Any]) -> None:
    """Refuse what would be ignored without a word. Raises UsageError."""
    elsewhere = {"-f": "filenames", "--port": "port", "--kubeconfig-out": "kubeconfig_out"}
    given = [flag for flag, name in elsewhere.items() if options[name] not in {None, ()}]
    if given and not options["embedded"]:
        raise click.UsageError(f"{given[0]} is for --embedded; without it, a cluster is served")
    named = [f"--{name}" for name in ("kubeconfig", "master") if flags.get(name)]
    named += ["--context"] if options["context"] else []
    if named and options["embedded"]:
        raise click.UsageError(f"{named[0]} names a cluster, and --embedded runs without one")
    if options["output"] != "table" and not options["until_idle"]:
        raise click.UsageError("-o is for --until-idle; without it, there is no end to print at")


def _logging_format(flags: Mapping[str, Any]) -> str:
    form: str = flags.get("logging-format", FORMATS[0])
    if form not in FORMATS:
        raise ConfigurationError(f"--logging-format: {form!r} is none of {', '.join(FORMATS)}")
    return form


def _configuration(flags: Mapping[str, Any], *, embedded: bool) -> KubeSchedulerConfiguration:
    if flags.get("config"):  # empty, as of a template that had no value for it, means none
        return with_flags(load_configuration(flags["config"]), flags)
    names = _EMBEDDED_NAMES if embedded else ("moorage",)
    return with_flags(default_configuration(names), flags)


def _write(
    configuration: KubeSchedulerConfiguration, frameworks: Mapping[str, Framework], *, path: str
) -> None:
    document = to_document(configuration, plugin_args=plugin_arguments(frameworks))
    try:
        Path(path).write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(
            f"--write-config-to {path}: cannot be written: {error.strerror}"
        ) from error
    click.echo(f"Wrote {path}")
