"""`moorage version`: what is installed, and which Kubernetes it equals."""

from __future__ import annotations

import importlib.metadata
import platform
from typing import Final

import click

from moorage.cli.options import output_option, verbosity_option
from moorage.cli.output import print_document

__all__ = ["KUBERNETES", "command"]

KUBERNETES: Final = "1.36"
"""The minor version of Kubernetes whose kube-scheduler Moorage equals."""


@click.command()
@output_option("json", "yaml", default="text")
@verbosity_option
def command(output: str) -> None:
    """Print the versions of Moorage and of what it stands on."""
    versions = {
        "moorage": importlib.metadata.version("moorage"),
        "kubernetes": KUBERNETES,
        "python": platform.python_version(),
        "numpy": importlib.metadata.version("numpy"),
    }
    if output != "text":
        print_document(versions, output)
        return
    click.echo(f"moorage {versions['moorage']}")
    click.echo(f"decides as kube-scheduler {KUBERNETES}")
    click.echo(f"runs on Python {versions['python']} with NumPy {versions['numpy']}")
