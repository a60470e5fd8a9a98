"""How the arguments of a plugin are listed where models hold models."""

from __future__ import annotations

from pydantic import Field

from moorage import PluginArgs
from moorage.cli.plugin_arguments import arguments_of


class Limits(PluginArgs):
    """An inner model."""

    most: int = 1


class Zones(PluginArgs):
    """Models in a list, under names, and in lists under names."""

    rules: tuple[Limits, ...] = ()
    by_zone: dict[str, Limits] = Field(default_factory=dict)
    by_rack: dict[str, list[Limits]] | None = None
    own: Limits | None = None


class Branch(PluginArgs):
    """Holds leaves, which hold branches."""

    leaf: Leaf | None = None


class Leaf(PluginArgs):
    """Holds branches, which hold leaves."""

    branch: Branch | None = None


Branch.model_rebuild()


def test_where_an_inner_model_stands() -> None:
    """In a list, under any name, or both; or just once."""
    names = [argument.name for argument in arguments_of(Zones)]

    assert [name for name in names if name.endswith(".most")] == [
        "rules[].most",
        "byZone.*.most",
        "byRack.*[].most",
        "own.most",
    ]


def test_models_that_hold_each_other_are_listed_once() -> None:
    """However deep one may go on."""
    assert [argument.name for argument in arguments_of(Branch)] == ["leaf", "leaf.branch"]
