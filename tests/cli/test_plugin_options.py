"""What `moorage run` does about plugins beside a profile: leaving out, requiring, choosing, watching."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Command = Callable[..., tuple[int, str, str]]
Installer = Callable[..., Path]

OBJECTS = """
kind: Node
apiVersion: v1
metadata: {name: n1}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}
---
kind: Pod
apiVersion: v1
metadata: {name: a, namespace: default}
spec: {containers: [{name: c, image: app}]}
"""
CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins: {multiPoint: {enabled: [{name: Zone}]}}
"""
OWN = "---\napiVersion: moorage.dev/v1alpha1\nkind: MoorageConfiguration\n"
ZONE = """
    import moorage

    class Zone(moorage.Plugin):
        @moorage.hookimpl
        def score(self, pod, node):
            return 7
"""


@pytest.fixture
def run(moorage: Command, tmp_path: Path) -> Command:
    """Schedule one pod on one node, with a configuration."""
    objects = tmp_path / "objects.yaml"
    objects.write_text(OBJECTS, encoding="utf-8")

    def call(*argv: object, config: str = "") -> tuple[int, str, str]:
        if config:
            file = tmp_path / "c.yaml"
            file.write_text(config, encoding="utf-8")
            argv = ("--config", file, *argv)
        command = ("run", "--embedded", "--until-idle", "-f", objects, "-o", "json")
        return moorage(*command, *argv)

    return call


def placed(answer: tuple[int, str, str]) -> list[str]:
    """Return the nodes of the pods."""
    code, out, err = answer
    assert code == 0, err
    return [pod["node"] for pod in json.loads(out)]


def test_a_plugin_is_left_out_on_the_command_line(run: Command, install: Installer) -> None:
    """Whatever the profile says; it is told."""
    install("zone-out", ZONE.replace("return 7", "raise RuntimeError"), plugins="Zone")

    answer = run("--disable-plugin", "Zone", config=CONFIGURATION)

    assert placed(answer) == ["n1"]
    assert "Notice: disabled, and pods are placed without them: Zone\n" in answer[2]


def test_plugins_are_left_out_by_the_environment(
    run: Command, install: Installer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By name, or all of a package; a plugin that cannot even be imported too."""
    install("zone-environment", "import nowhere_to_be_found", plugins="Zone")

    for name in ("Zone", "zone-environment", "Nobody, Zone"):
        monkeypatch.setenv("MOORAGE_DISABLE_PLUGINS", name)
        assert placed(run(config=CONFIGURATION)) == ["n1"]


def test_a_name_that_means_nothing_is_told(run: Command) -> None:
    """It may be a mistake, and stops nothing."""
    answer = run("--disable-plugin", "NodePort")

    assert placed(answer) == ["n1"]
    assert "there is no plugin 'NodePort' to disable; did you mean NodePorts?" in answer[2]


@pytest.mark.parametrize(
    ("name", "what"), [("PrioritySort", "sorts the queue"), ("DefaultBinder", "binds pods")]
)
def test_no_profile_can_do_without_some_plugins(name: str, what: str, run: Command) -> None:
    """They refuse to be disabled, with the reason."""
    code, _, err = run("--disable-plugin", name)

    assert code == 2
    assert err == (
        f"Error: --disable-plugin: plugin {name!r} cannot be disabled: it is the only one that "
        f"{what} in profile 'default-scheduler', and no profile can do without\n"
    )


def test_a_file_may_disable_require_and_choose(run: Command, install: Installer) -> None:
    """In a document of its own, beside the one that kube-scheduler knows."""
    install("zone-first", ZONE, plugins="Zone")
    install("zone-second", ZONE, plugins="Zone")

    code, _, err = run(config=CONFIGURATION)
    assert code == 2
    assert "plugin 'Zone' is offered by zone-first 1.2 and zone-second 1.2; uninstall" in err
    assert "pluginDistributions: {Zone: zone-first}" in err

    own = f"{OWN}pluginDistributions: {{Zone: zone_second}}\ndisabledPlugins: [ImageLocality]\n"
    answer = run(config=f"{CONFIGURATION}{own}requiredPlugins: [Zone>=1, NodeName]\n")
    assert placed(answer) == ["n1"]
    assert "disabled, and pods are placed without them: ImageLocality" in answer[2]


@pytest.mark.parametrize(
    ("own", "sentence"),
    [
        (
            "requiredPlugins: [Zone>=2]",
            "required plugins are missing: Zone>=2 (there is zone-own 1.2)",
        ),
        ("requiredPlugins: [Gone, zone-own]", "missing: Gone (it is not installed); install them"),
        (
            "requiredPlugins: ['>=2']",
            "MoorageConfiguration: requiredPlugins[0]: '>=2' is no plugin",
        ),
        ("pluginDistributions: {Zone: other}", "pluginDistributions.Zone: other does not offer it"),
        ("disabledPlugin: [Zone]", "unknown field; did you mean disabledPlugins?"),
        ("disabledPlugins: Zone", "expected a list, got 'Zone'"),
    ],
)
def test_what_is_wrong_with_it_is_said_in_one_sentence(
    own: str, sentence: str, run: Command, install: Installer
) -> None:
    """With file and field."""
    install("zone-own", ZONE, plugins="Zone")

    code, _, err = run(config=f"{CONFIGURATION}{OWN}{own}\n")

    assert code == 2
    assert sentence in err
    assert "c.yaml: " in err
    assert err.count("\n") == 1


def test_plugins_are_required_by_the_environment(
    run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that are missing are named."""
    monkeypatch.setenv("MOORAGE_REQUIRED_PLUGINS", "NodeName>=0.1,<9 Gone>=2, moorage-lost")

    code, _, err = run()

    assert code == 2
    assert err == (
        "Error: MOORAGE_REQUIRED_PLUGINS: required plugins are missing: Gone>=2 (it is not "
        "installed), moorage-lost (it is not installed); install them with moorage install\n"
    )


def test_calls_of_a_plugin_can_be_watched(run: Command, install: Installer) -> None:
    """Each with arguments, answer and time, and the totals at the end."""
    install("zone-watched", ZONE, plugins="Zone")

    answer = run(
        "--trace-plugins", "DefaultBinder", "--trace-plugins", "Zone:score", config=CONFIGURATION
    )

    assert placed(answer) == ["n1"]
    assert (
        "trace: DefaultBinder.bind(state={}, pod=default/a, node_name='n1') -> None [" in answer[2]
    )
    assert "trace: total of DefaultBinder: " in answer[2]
    assert ": bind 1x " in answer[2]
    assert "NodeName" not in answer[2]


def test_the_environment_can_watch_as_well(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """By hook, of all plugins."""
    monkeypatch.setenv("MOORAGE_TRACE", "*:filter_nodes")

    answer = run()

    assert placed(answer) == ["n1"]
    assert "trace: NodeResourcesFit.filter_nodes(" in answer[2]
    assert ".bind(" not in answer[2]


def test_a_hook_that_is_none_is_refused(run: Command) -> None:
    """With the one that was meant."""
    code, _, err = run("--trace-plugins", "Zone:fliter")

    assert code == 2
    assert err.endswith("'fliter' is no hook; did you mean filter?\n")


def test_a_plugin_that_is_traced_and_not_run_is_told(run: Command) -> None:
    """A slip of the keyboard would look like a plugin that is never called."""
    answer = run("--trace-plugins", "Nope", "--trace-plugins", "DefaultBinder")

    assert placed(answer) == ["n1"]
    assert (
        "Notice: no profile runs these plugins, so there is nothing to trace of them: Nope\n"
        in answer[2]
    )
