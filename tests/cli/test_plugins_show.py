"""`moorage plugins show`: all that somebody needs who is about to enable a plugin."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import yaml

Command = Callable[..., tuple[int, str, str]]
Installer = Callable[..., Path]

ZONE = '''
    from enum import StrEnum
    from typing import Literal

    import moorage
    from pydantic import Field


    class How(StrEnum):
        """How to."""

        FIRST = "First"
        LAST = "Last"


    class Part(moorage.PluginArgs):
        """A part."""

        weight: int = Field(1, description="How much it counts.")
        name: str


    class Zone(moorage.Plugin):
        """Likes zones.

        Some more than others.
        """

        class Args(moorage.PluginArgs):
            """Which."""

            best_zone: str = Field(description="The zone that is best.")
            costs: dict[str, float] = Field(default_factory=dict, description="Costs by zone.")
            how: How = Field(How.FIRST, description="How to choose.")
            mode: Literal["a", "b"] | None = None
            parts: tuple[Part, ...] = ()

        @moorage.hookimpl
        def score(self):
            return 1

        @moorage.hookimpl
        def start(self):
            return None
'''


def test_arguments_are_shown_with_types_defaults_and_documentation(
    moorage: Command, install: Installer
) -> None:
    """Those of nested models too."""
    install("zone-shown", ZONE, plugins="Zone", requires="moorage>=0.1,<9")

    code, out, _ = moorage("plugins", "show", "Zone", "-o", "json")

    assert code == 0
    shown = json.loads(out)
    assert shown["distribution"] == "zone-shown"
    assert shown["supports"] == "<9,>=0.1"
    assert shown["extensionPoints"] == ["score"]
    assert shown["hooks"] == ["score", "start"]
    assert shown["state"] == "available"
    arguments = {one.pop("name"): one for one in shown["arguments"]}
    assert arguments["bestZone"] == {
        "type": "string",
        "required": True,
        "description": "The zone that is best.",
    }
    assert arguments["costs"]["type"] == "mapping of string to number"
    assert arguments["costs"]["default"] == {}
    assert (arguments["how"]["type"], arguments["how"]["default"]) == ("First | Last", "First")
    assert (arguments["mode"]["type"], arguments["mode"]["default"]) == ("a | b", None)
    assert arguments["parts"]["type"] == "list of Part"
    assert arguments["parts[].weight"]["description"] == "How much it counts."
    assert arguments["parts[].name"]["required"]


def test_it_can_be_read_and_pasted(moorage: Command, install: Installer, tmp_path: Path) -> None:
    """Below its documentation and arguments stands a profile that enables it."""
    install("zone-pasted", ZONE, plugins="Zone")

    _, out, _ = moorage("plugins", "show", "Zone")

    assert out.startswith("Zone\n\n  Likes zones.\n\n  Some more than others.\n\n")
    assert "package   zone-pasted 1.2\n" in out
    assert "state     available\n" in out
    profile = yaml.safe_load(out.partition("To enable it in a profile:\n\n")[2])
    assert profile["plugins"] == {"multiPoint": {"enabled": [{"name": "Zone", "weight": 1}]}}
    (entry,) = profile["pluginConfig"]
    assert entry["args"].pop("bestZone") == "<required: string>"
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {**profile, "pluginConfig": [{**entry, "args": {**entry["args"], "bestZone": "a"}}]}
        ],
    }
    file = tmp_path / "c.yaml"
    file.write_text(yaml.safe_dump(config), encoding="utf-8")
    _, out, _ = moorage("plugins", "show", "Zone", "--config", file, "-o", "json")
    assert json.loads(out)["profiles"] == ["default-scheduler"]


def test_a_broken_plugin_is_shown_with_what_is_wrong(moorage: Command, install: Installer) -> None:
    """There is nothing to enable."""
    install("zone-broken", "import nowhere_to_be_found", plugins="Zone")

    code, out, _ = moorage("plugins", "show", "Zone")

    assert code == 0
    assert "state     broken: plugin 'Zone' of zone-broken 1.2 cannot be imported" in out
    assert "To enable it" not in out


def test_a_name_that_nobody_has_is_answered_with_a_near_one(moorage: Command) -> None:
    """Whatever its spelling."""
    code, _, err = moorage("plugins", "show", "nodename")

    assert code == 2
    assert err.endswith("Error: plugin 'nodename' is not installed; did you mean 'NodeName'?\n")
