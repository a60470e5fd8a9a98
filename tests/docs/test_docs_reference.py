"""The reference pages say what the code does."""

from __future__ import annotations

import re

import click
import pytest
from pydantic.alias_generators import to_camel
from tests.docs.doc_pages import DOCS, headings

import moorage
import moorage.model
from moorage.cli.entry import cli
from moorage.framework.points import HOOK_ARGUMENTS, POINTS

REFERENCE = DOCS / "reference"


def text(page: str) -> str:
    """Read a reference page."""
    return (REFERENCE / page).read_text(encoding="utf-8")


def commands() -> dict[str, click.Command]:
    """Return all commands, by what one types."""
    context = click.Context(cli)
    assert isinstance(cli, click.Group)
    found = {}
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        listed = command.commands.get("list") if isinstance(command, click.Group) else command
        assert listed is not None
        found[f"moorage {name}"] = listed
    return found


def section(page: str, heading: str) -> str:
    """Return what stands under a heading of the second level."""
    _, _, rest = text(page).partition(f"\n## {heading}\n")
    return rest.partition("\n## ")[0]


def test_every_hook_is_documented_with_exactly_its_arguments() -> None:
    """In code order of the page; nothing more, nothing less."""
    found = dict(
        re.findall(r"^`(\w+)\((.*)\)`$", "\n".join(headings(REFERENCE / "hooks.md")), re.MULTILINE)
    )

    assert found == {hook: ", ".join(offered) for hook, offered in HOOK_ARGUMENTS.items()}


@pytest.mark.parametrize("hook", sorted(HOOK_ARGUMENTS))
def test_every_hook_says_when_it_is_called_and_what_its_answers_do(hook: str) -> None:
    """A contract has these three parts."""
    _, _, rest = text("hooks.md").partition(f"\n### `{hook}(")
    contract = rest.partition("\n### ")[0]

    for part in ("When: ", "Returns: ", "Raises: "):
        assert contract.count(f"\n- {part}") == 1


def test_every_extension_point_is_named() -> None:
    """In the spelling of configurations."""
    page = text("hooks.md")

    assert [point for point in POINTS if f"`{to_camel(point)}`" not in page] == []


@pytest.mark.parametrize("module", [moorage, moorage.model], ids=lambda module: module.__name__)
def test_every_public_name_has_its_line(module: object) -> None:
    """Once under its module, and no name that is gone."""
    name = getattr(module, "__name__", "")
    listed = re.findall(
        r"^\| `(\w+)` \| .{8,} \|$", section("public-names.md", f"`{name}`"), re.MULTILINE
    )

    assert sorted(listed) == sorted(getattr(module, "__all__", ()))


@pytest.mark.parametrize("command", sorted(commands()))
def test_every_command_has_its_section_with_every_option(command: str) -> None:
    """Options that change nothing are not repeated here; all others are."""
    shared = section("command-line.md", "What all commands share")
    own = section("command-line.md", f"`{command}`")

    assert own
    shown = commands()[command].get_help(click.Context(commands()[command], info_name=command))
    for option in re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", shown, re.MULTILINE):
        assert f"`{option}" in f"{own} {shared}" or f" {option}" in f"{own} {shared}", option
        assert re.search(rf"`(?:-\w`, `)?{option}\b", f"{own} {shared}"), option


def test_no_option_is_made_up() -> None:
    """Each that the page names stands in some command's help, or in that of ``moorage`` itself."""
    shown = cli.get_help(click.Context(cli)) + "".join(
        command.get_help(click.Context(command)) for command in commands().values()
    )

    named = set(re.findall(r"`(--[a-z-]+)", text("command-line.md")))
    assert {option for option in named if option not in shown} == set()
