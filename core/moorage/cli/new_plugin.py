"""`moorage new-plugin`: a package of a plugin of one's own, from the template that comes along."""

from __future__ import annotations

import difflib
import importlib.resources
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click
import yaml

import moorage
from moorage.cli.installing import pip_command
from moorage.cli.options import verbosity_option
from moorage.errors import MoorageError

__all__ = ["command", "template_folder"]

_LISTS: Final = ("points",)
_TRUTHS: Final = {"true": True, "yes": True, "false": False, "no": False}


@click.command("new-plugin")
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@click.option("--defaults", is_flag=True, help="Ask nothing: take the defaults, and --data.")
@click.option(
    "--data",
    "given",
    multiple=True,
    metavar="NAME=VALUE",
    help="Answer a question beforehand, such as plugin_name=ZoneCost or points=filter,score;"
    " may be repeated.",
)
@verbosity_option
def command(folder: Path | None, given: tuple[str, ...], *, defaults: bool) -> None:
    """Write a package with a plugin, its tests, and a profile that enables it.

    DIR is a new or an empty folder; without it, one that is called like the package. The package
    installs, and its tests pass, as it stands.
    """
    template = template_folder()
    answers = _answers(given, template)
    if folder is not None:
        _require_free(folder)
    with _beside(folder) as temporary:
        made = Path(temporary) / "package"
        chosen = _render(template, made, answers, defaults=defaults)
        target = folder if folder is not None else Path(str(chosen["distribution"]))
        _require_free(target)
        if target.exists():
            target.rmdir()
        shutil.move(made, target)
    _tell(target, chosen)


def template_folder() -> Path:
    """Return the folder of the template: that of the wheel, or that of the checkout."""
    carried = Path(str(importlib.resources.files(moorage))) / "_template"
    checkout = Path(moorage.__file__).parents[2] / "plugin_template"
    for folder in (carried, checkout):
        if (folder / "copier.yml").is_file():
            return folder
    raise MoorageError(f"the template is missing from this installation: no {carried}")


def _answers(given: Sequence[str], template: Path) -> dict[str, Any]:
    """Read ``--data``. Raises UsageError for what is no answer to a question of the template."""
    document = yaml.safe_load((template / "copier.yml").read_text(encoding="utf-8"))
    questions = [
        name
        for name, question in document.items()
        if not name.startswith("_") and question.get("when") is not False
    ]
    answers: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or name not in questions:
            near = difflib.get_close_matches(name, questions, n=1)
            advice = f"did you mean {near[0]}?" if near else f"there are {', '.join(questions)}"
            raise click.UsageError(f"--data {text}: not NAME=VALUE of a question; {advice}")
        if name in _LISTS:
            parts = value.strip("[]").split(",")
            answers[name] = [part.strip() for part in parts if part.strip()]
        elif document[name]["type"] == "bool":
            if value not in _TRUTHS:
                raise click.UsageError(f"--data {text}: write {name}=true or {name}=false")
            answers[name] = _TRUTHS[value]
        else:
            answers[name] = value
    return answers


def _render(
    template: Path, target: Path, answers: Mapping[str, Any], *, defaults: bool
) -> Mapping[str, Any]:
    """Have copier write the package; return all answers. Raises MoorageError, UsageError."""
    try:
        import copier  # noqa: PLC0415 - an extra, and slow to import
        from copier.errors import (  # noqa: PLC0415
            CopierAnswersInterrupt,
            CopierError,
            InteractiveSessionError,
        )
    except ModuleNotFoundError as error:
        wanted = pip_command("install", "moorage[template]")
        raise MoorageError(f"moorage new-plugin needs copier; type: {wanted}") from error
    try:
        copier.run_copy(
            str(template), target, data=dict(answers), defaults=defaults, quiet=True, overwrite=True
        )
    except CopierAnswersInterrupt as error:
        raise click.Abort from error
    except InteractiveSessionError as error:
        raise click.UsageError(
            "there is no terminal to ask questions on; give --defaults, and answers as --data"
        ) from error
    except (CopierError, ValueError) as error:
        raise click.UsageError(_sentence(error)) from error
    text = (target / ".copier-answers.yml").read_text(encoding="utf-8")
    chosen: Mapping[str, Any] = yaml.safe_load(text)
    return chosen


def _sentence(error: Exception) -> str:
    """Take copier's words for a refused answer apart: ``Validation error for question 'x': y``."""
    text = " ".join(str(error).split())
    head, found, reason = text.partition("Validation error for question '")
    if not found:
        return text or type(error).__name__
    name, _, said = reason.partition("': ")
    return f"{head}{name}: {said}"


def _beside(folder: Path | None) -> tempfile.TemporaryDirectory[str]:
    """Make a folder beside the place where the package goes: there is all of it or nothing.

    Raises MoorageError where nothing can be written.
    """
    parent = Path.cwd() if folder is None else folder.absolute().parent
    try:
        parent.mkdir(parents=True, exist_ok=True)
        return tempfile.TemporaryDirectory(prefix=".moorage-new-", dir=parent)
    except OSError as error:
        raise MoorageError(
            f"no package can be written into {parent}: {error.strerror}; name another DIR"
        ) from error


def _require_free(folder: Path) -> None:
    if folder.is_dir() and not any(folder.iterdir()):
        return
    if folder.exists():
        raise MoorageError(f"{folder} exists already and is not empty; name a new folder")


def _tell(target: Path, chosen: Mapping[str, Any]) -> None:
    click.echo(f"Wrote plugin {chosen['plugin_name']} to {target}{'/' if target.name else ''}")
    click.echo("What comes next:")
    click.echo()
    click.echo(f"  cd {target}")
    click.echo("  moorage install -e '.[test]'")
    click.echo("  pytest")
    click.echo(f"  moorage plugins show {chosen['plugin_name']}")
    click.echo()
    click.echo("README.md has a profile that enables it.")
