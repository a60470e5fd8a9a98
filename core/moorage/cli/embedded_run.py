"""`moorage run --embedded`: an API server in memory, filled with manifests, and a scheduler to it."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from moorage.api.connection import Connection
from moorage.cli.scheduling import Job, schedule_for_ever, schedule_until_idle
from moorage.cli.settling import rest_of
from moorage.embedded import (
    QUICKSTART,
    EmbeddedApiServer,
    apply_manifests,
    load_manifests,
)
from moorage.errors import KubeconfigError

if TYPE_CHECKING:
    from moorage.embedded import Manifest

__all__ = ["run_embedded"]


async def run_embedded(
    job: Job, *, paths: Sequence[str], port: int, kubeconfig_out: str | None
) -> None:
    """Serve the objects of `paths`, or the quickstart's, and schedule them over HTTP.

    Raises ManifestError, KubeconfigError, MoorageError for what the user can put right.
    """
    manifests = load_manifests(paths or [QUICKSTART])
    async with EmbeddedApiServer(port=port) as server:
        await apply_manifests(server.store, manifests)

        def connect() -> Connection:
            return Connection.to_url(server.url)

        if job.until_idle and kubeconfig_out is None:  # nobody is told of a temporary one
            await _until_idle(job, connect, server)
            return
        with _kubeconfig_file(server, kubeconfig_out) as kubeconfig:
            if job.until_idle:
                await _until_idle(job, connect, server)
                return
            _tell(server, manifests, job=job, kubeconfig=kubeconfig, quickstart=not paths)
            await schedule_for_ever(job, connect)


async def _until_idle(
    job: Job, connect: Callable[[], Connection], server: EmbeddedApiServer
) -> None:
    await schedule_until_idle(job, connect, rest=partial(rest_of, server.store))


@contextlib.contextmanager
def _kubeconfig_file(server: EmbeddedApiServer, path: str | None) -> Iterator[Path]:
    """Write the kubeconfig; without `path`, to a temporary file that only this user can read."""
    with contextlib.ExitStack() as stack:
        if path is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="moorage-"))
            file = Path(folder) / "kubeconfig"
        else:
            file = Path(path).absolute()
        try:
            file.write_text(server.kubeconfig(), encoding="utf-8")
            file.chmod(0o600)
        except OSError as error:
            raise KubeconfigError(
                f"--kubeconfig-out {file}: cannot be written: {error.strerror}"
            ) from error
        yield file


def _tell(
    server: EmbeddedApiServer,
    manifests: Sequence[Manifest],
    *,
    job: Job,
    kubeconfig: Path,
    quickstart: bool,
) -> None:
    origin = " of the quickstart" if quickstart else ""
    click.echo(
        f"The embedded API server listens on {server.url}, with {len(manifests)} objects{origin}."
    )
    click.echo(f"Pods are scheduled whose schedulerName is {' or '.join(sorted(job.frameworks))}.")
    click.echo("To see and change what is in it, in another terminal:")
    click.echo()
    click.echo(f"  export KUBECONFIG={kubeconfig}")
    click.echo("  kubectl get pods -A -o wide")
    click.echo()
    click.echo("Ctrl-C ends it, and all that is in it.")
