"""`moorage plugins`: what is installed, who uses it, whether it works."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import yaml

Command = Callable[..., tuple[int, str, str]]
Installer = Callable[..., Path]

GOOD = '''
    import moorage

    class Zone(moorage.Plugin):
        """Likes every node the same."""

        @moorage.hookimpl
        def filter(self, pod):
            return None

        @moorage.hookimpl
        def score(self, pod):
            return 1
'''
CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: first
- schedulerName: second
  plugins: {multiPoint: {enabled: [{name: %s}]}}
"""


def listed(moorage: Command, *argv: object) -> dict[str, dict[str, Any]]:
    """Return what ``-o json`` lists, by name."""
    code, out, _ = moorage("plugins", "-o", "json", *argv)
    assert code == 0
    return {plugin["name"]: plugin for plugin in json.loads(out)}


def written(tmp_path: Path, plugin: str) -> Path:
    """Write a configuration whose second profile enables a plugin."""
    file = tmp_path / "c.yaml"
    file.write_text(CONFIGURATION % plugin, encoding="utf-8")
    return file


def test_built_in_plugins_are_listed_with_all_that_is_known_of_them(moorage: Command) -> None:
    """They come by the same entry points as anybody's."""
    plugin = listed(moorage)["NodeName"]

    assert plugin.pop("summary")
    assert plugin == {
        "name": "NodeName",
        "distribution": "moorage",
        "version": metadata.version("moorage"),
        "supports": "",
        "extensionPoints": ["filter"],
        "hooks": ["events_to_register", "explain", "filter_nodes", "sign"],
        "arguments": [],
        "profiles": ["moorage"],
        "state": "enabled",
        "reason": "",
    }


def test_list_is_what_it_does_by_itself(moorage: Command) -> None:
    """Two spellings of one command."""
    assert moorage("plugins", "list") == moorage("plugins")


def test_a_plugin_that_no_profile_uses_is_available(moorage: Command, install: Installer) -> None:
    """Installed is not enabled."""
    install("zone-available", GOOD, plugins="Zone", requires="moorage>=0.1,<9")

    plugin = listed(moorage)["Zone"]

    assert plugin["state"] == "available"
    assert plugin["profiles"] == []
    assert (plugin["distribution"], plugin["version"]) == ("zone-available", "1.2")
    assert plugin["supports"] == "<9,>=0.1"
    assert plugin["extensionPoints"] == ["filter", "score"]
    assert plugin["summary"] == "Likes every node the same."


def test_the_profiles_that_use_a_plugin_are_named(
    moorage: Command, install: Installer, tmp_path: Path
) -> None:
    """Of two profiles, here the second has enabled it."""
    install("zone-enabled", GOOD, plugins="Zone")

    plugins = listed(moorage, "--config", written(tmp_path, "Zone"))

    assert (plugins["Zone"]["state"], plugins["Zone"]["profiles"]) == ("enabled", ["second"])
    assert plugins["NodeName"]["profiles"] == ["first", "second"]


@pytest.mark.parametrize(
    ("code", "requires", "reason"),
    [
        pytest.param(
            "import nowhere_to_be_found",
            "",
            "plugin 'Zone' of {name} 1.2 cannot be imported from {module}:Zone:"
            " ModuleNotFoundError: No module named 'nowhere_to_be_found'",
            id="import",
        ),
        pytest.param(
            "Zone = 3",
            "",
            "plugin 'Zone' of {name} 1.2: {module}:Zone is not a subclass of moorage.Plugin",
            id="no-plugin",
        ),
        pytest.param(
            GOOD.replace("def filter", "def fliter"),
            "",
            "plugin 'Zone' of {name} 1.2 implements hook 'fliter', which does not exist;"
            " did you mean 'filter'?",
            id="hook",
        ),
        pytest.param(
            GOOD,
            "moorage>=7",
            "plugin 'Zone' of {name} 1.2 was built for moorage>=7, and this is moorage {version};"
            " install a version of {name} that supports it",
            id="version",
        ),
    ],
)
def test_a_broken_plugin_breaks_nothing_but_itself(
    moorage: Command,
    install: Installer,
    request: pytest.FixtureRequest,
    code: str,
    requires: str,
    reason: str,
) -> None:
    """It is listed with what is wrong; all others are listed as ever."""
    name = f"zone-broken-{request.node.callspec.id}"
    install(name, code, plugins="Zone", requires=requires)

    plugins = listed(moorage)

    assert plugins["Zone"]["state"] == "broken"
    assert plugins["Zone"]["reason"] == reason.format(
        name=name, module=name.replace("-", "_"), version=metadata.version("moorage")
    )
    assert plugins["NodeName"]["state"] == "enabled"


def test_a_broken_plugin_says_why_below_the_table(moorage: Command, install: Installer) -> None:
    """A whole sentence does not fit a column."""
    install("zone-told", "Zone = 3", plugins="Zone")

    _, out, _ = moorage("plugins")

    assert out.splitlines()[-1] == (
        "Zone: plugin 'Zone' of zone-told 1.2: zone_told:Zone is not a subclass of moorage.Plugin"
    )


def test_a_name_that_two_distributions_offer_is_broken_in_both(
    moorage: Command, install: Installer
) -> None:
    """Neither wins in silence."""
    install("zone-left", GOOD, plugins="Zone")
    install("zone-right", GOOD, plugins="Zone")

    _, out, _ = moorage("plugins", "-o", "json")

    both = [plugin for plugin in json.loads(out) if plugin["name"] == "Zone"]
    assert {plugin["distribution"] for plugin in both} == {"zone-left", "zone-right"}
    assert {plugin["state"] for plugin in both} == {"broken"}
    assert "is offered by zone-" in both[0]["reason"]


@pytest.mark.parametrize("point", ["preFilter", "pre_filter"])
def test_only_those_of_one_extension_point(moorage: Command, point: str) -> None:
    """In the spelling of configurations or in Python's."""
    code, out, _ = moorage("plugins", "--point", point, "-o", "name")

    assert code == 0
    assert "NodeAffinity\n" in out
    assert "NodeName\n" not in out


def test_an_unknown_extension_point_is_answered_with_those_there_are(moorage: Command) -> None:
    """Exit code 2."""
    code, _, err = moorage("plugins", "--point", "preFiltr")

    assert code == 2
    assert "'preFiltr' is no extension point; there are preEnqueue, queueSort, preFilter," in err


def test_no_plugin_of_a_point_is_a_sentence(moorage: Command) -> None:
    """Rather than a table without rows."""
    assert moorage("plugins", "--point", "postBind")[:2] == (
        0,
        "No plugin is installed that does this.\n",
    )


def test_a_configuration_that_would_not_run_is_no_reason_not_to_list(
    moorage: Command, tmp_path: Path
) -> None:
    """One lists plugins to find out what is wrong."""
    file = written(tmp_path, "Absent")

    code, out, err = moorage("plugins", "--config", file)

    assert code == 0
    assert err == (
        f"Notice: this configuration would not run: {file}: profiles[1].plugins.multiPoint.enabled:"
        " plugin 'Absent' is not installed; install the package that has it\n"
    )
    assert "NodeName" in out


def test_a_configuration_that_cannot_be_read_is_an_error(moorage: Command) -> None:
    """There is nothing to ask who uses what."""
    assert moorage("plugins", "--config", "nowhere.yaml") == (
        2,
        "",
        "Error: nowhere.yaml: cannot be read: No such file or directory\n",
    )


def test_tables_are_one_line_a_plugin_in_a_pipe(moorage: Command) -> None:
    """For grep; wide tells more."""
    _, out, _ = moorage("plugins")
    _, wide, _ = moorage("plugins", "-o", "wide")

    assert out.splitlines()[0].split() == [
        "NAME", "DISTRIBUTION", "VERSION", "STATE", "PROFILES", "EXTENSION", "POINTS",
    ]  # fmt: skip
    assert len(out.splitlines()) == len(wide.splitlines())
    assert "SUPPORTS" in wide


def test_as_yaml(moorage: Command) -> None:
    """The same document in another dress."""
    _, out, _ = moorage("plugins", "-o", "yaml")

    assert {plugin["name"]: plugin for plugin in yaml.safe_load(out)} == listed(moorage)


def test_a_module_that_prints_does_not_spoil_what_a_program_reads(
    moorage: Command, install: Installer
) -> None:
    """What it says when it is imported goes to stderr."""
    install("loud", f"print('hello')\n{dedent(GOOD)}", plugins="Zone")

    code, out, err = moorage("plugins", "-o", "json")

    assert (code, err) == (0, "hello\n")
    assert "Zone" in {plugin["name"] for plugin in json.loads(out)}


def test_a_plugin_without_a_docstring_has_no_summary(moorage: Command, install: Installer) -> None:
    """That of its base class is about something else."""
    install("terse", GOOD.replace('"""Likes every node the same."""', ""), plugins="Zone")

    assert listed(moorage)["Zone"]["summary"] == ""
