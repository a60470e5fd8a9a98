"""Broken plugins, each in a distribution of its own, installed for real: what is said, and that others go on."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
import yaml
from tests.packaging.broken import AT_START, AT_WORK, Broken, source
from tests.packaging.conftest import pip, run
from tests.packaging.tiny_wheels import write_wheel

pytestmark = pytest.mark.packaging

MANY = 25


def distribution(broken: Broken) -> str:
    """Return the name of the package of a broken plugin."""
    return f"broken-{broken.name.lower()}"


def said(broken: Broken) -> str:
    """Return the sentence that is wanted about a broken plugin."""
    package = distribution(broken)
    return broken.sentence.replace("{module}", package.replace("-", "_")).replace(
        "{where}", f"plugin {broken.name!r} of {package} 1.0"
    )


@pytest.fixture(scope="module")
def moorage(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Path:
    """Make an environment with the wheel and all broken packages; return its command."""
    folder = tmp_path_factory.mktemp("broken")
    wheels = folder / "wheels"
    wheels.mkdir()
    packages = [
        write_wheel(wheels, distribution(one), source(one), plugin=one.name, requires=one.requires)
        for one in (*AT_START, *AT_WORK)
    ]
    assert run(sys.executable, "-m", "venv", folder / "venv").returncode == 0
    python = folder / "venv" / "bin" / "python"
    pip(python, "install", wheel)
    # Without their dependencies: one asks for a Moorage that there is not.
    pip(python, "install", "--no-deps", "--no-index", *packages)
    return python.parent / "moorage"


def objects(folder: Path, schedulers: list[str]) -> Path:
    """Write three nodes, and for each scheduler a pod that is called like it."""
    nodes: list[dict[str, Any]] = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": f"n{number}"},
            "status": {"allocatable": {"cpu": "64", "memory": "64Gi", "pods": "110"}},
        }
        for number in (1, 2, 3)
    ]
    pods: list[dict[str, Any]] = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"schedulerName": name, "containers": [{"name": "c", "image": "app"}]},
        }
        for name in schedulers
    ]
    file = folder / "objects.yaml"
    file.write_text(yaml.safe_dump_all([*nodes, *pods]), encoding="utf-8")
    return file


def configuration(folder: Path, profiles: dict[str, Broken | None]) -> Path:
    """Write profiles by scheduler name, each with a broken plugin or none."""
    written = []
    for name, broken in profiles.items():
        plugins = {} if broken is None else {broken.point: {"enabled": [{"name": broken.name}]}}
        written.append({"schedulerName": name, "plugins": plugins})
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": written,
    }
    file = folder / "config.yaml"
    file.write_text(yaml.safe_dump(document), encoding="utf-8")
    return file


def scheduled(command: Path, folder: Path, *argv: object) -> CompletedProcess[str]:
    """Schedule what is in a folder."""
    where = ("--config", folder / "config.yaml", "-f", folder / "objects.yaml")
    return run(command, "run", "--embedded", "--until-idle", "-o", "json", *where, *argv)


def test_the_table_is_long_enough() -> None:
    """Twenty-five ways to be broken at least, each with a name of its own."""
    names = [broken.name for broken in (*AT_START, *AT_WORK)]

    assert len(set(names)) == len(names) >= MANY


@pytest.mark.parametrize("broken", AT_START, ids=lambda broken: broken.name)
def test_a_configuration_that_names_it_does_not_start(
    broken: Broken, moorage: Path, tmp_path: Path
) -> None:
    """One sentence says why; without the plugin the same configuration schedules."""
    objects(tmp_path, ["broken"])
    configuration(tmp_path, {"broken": broken})

    refused = scheduled(moorage, tmp_path)
    without = scheduled(moorage, tmp_path, "--disable-plugin", broken.name)

    assert refused.returncode == 2
    assert said(broken) in refused.stderr
    assert "Traceback" not in refused.stderr
    assert [pod["node"] != "" for pod in json.loads(without.stdout)] == [True]


@pytest.fixture(scope="module")
def outcome(moorage: Path, tmp_path_factory: pytest.TempPathFactory) -> CompletedProcess[str]:
    """Schedule a pod of each plugin that is broken at work, and one of a sound profile, at once."""
    folder = tmp_path_factory.mktemp("at-work")
    profiles: dict[str, Broken | None] = {"sound": None}
    profiles |= {broken.name.lower(): broken for broken in AT_WORK}
    objects(folder, list(profiles))
    configuration(folder, profiles)
    return scheduled(moorage, folder)


@pytest.mark.parametrize("broken", AT_WORK, ids=lambda broken: broken.name)
def test_its_own_pod_alone_suffers(broken: Broken, outcome: CompletedProcess[str]) -> None:
    """The pod's message, or the log where it is bound all the same, names plugin and package."""
    pods = {pod["name"]: pod for pod in json.loads(outcome.stdout)}
    pod = pods[broken.name.lower()]
    sentence = said(broken).replace(
        f" of {distribution(broken)} 1.0", f" ({distribution(broken)} 1.0)"
    )

    assert bool(pod["node"]) == broken.placed
    assert sentence in pod["message"] + outcome.stderr
    if broken.sentence:
        assert distribution(broken) in pod["message"] + outcome.stderr


def test_pods_of_other_profiles_are_scheduled(outcome: CompletedProcess[str]) -> None:
    """While all of these go wrong around them."""
    pods = {pod["name"]: pod for pod in json.loads(outcome.stdout)}

    assert outcome.returncode == 0
    assert pods["sound"]["node"]
    assert "Traceback" not in outcome.stderr


def test_installed_and_broken_is_no_trouble_for_who_uses_none(
    moorage: Path, tmp_path: Path
) -> None:
    """They are listed with what is wrong with them, and nothing else happens."""
    objects(tmp_path, ["sound"])
    configuration(tmp_path, {"sound": None})

    done = scheduled(moorage, tmp_path)
    listed = json.loads(run(moorage, "plugins", "-o", "json").stdout)

    assert [pod["node"] != "" for pod in json.loads(done.stdout)] == [True]
    states = {plugin["name"]: plugin["state"] for plugin in listed}
    assert states["ImportsNothing"] == states["IsTooNew"] == "broken"
    assert states["RaisesInFilter"] == "available"


def test_two_packages_of_one_name_are_refused_and_one_can_be_chosen(
    wheel: Path, tmp_path: Path
) -> None:
    """Both are named; a MoorageConfiguration says which is meant."""
    twin = Broken("Twin", "", code="@moorage.hookimpl\ndef score(self):\n    return {score}\n")
    wheels = [
        write_wheel(tmp_path, f"twin-{name}", source(twin).format(score=score), plugin="Twin")
        for name, score in (("one", 1), ("two", 2))
    ]
    assert run(sys.executable, "-m", "venv", tmp_path / "venv").returncode == 0
    python = tmp_path / "venv" / "bin" / "python"
    pip(python, "install", wheel)
    pip(python, "install", "--no-deps", "--no-index", *wheels)
    objects(tmp_path, ["broken"])
    file = configuration(tmp_path, {"broken": twin})

    refused = scheduled(python.parent / "moorage", tmp_path)
    own = {
        "apiVersion": "moorage.dev/v1alpha1",
        "kind": "MoorageConfiguration",
        "pluginDistributions": {"Twin": "twin-two"},
    }
    file.write_text(f"{file.read_text('utf-8')}---\n{yaml.safe_dump(own)}", encoding="utf-8")
    chosen = scheduled(python.parent / "moorage", tmp_path, "--trace-plugins", "Twin:score")

    assert refused.returncode == 2
    assert "plugin 'Twin' is offered by twin-one 1.0 and twin-two 1.0" in refused.stderr
    assert [pod["node"] != "" for pod in json.loads(chosen.stdout)] == [True]
    assert "-> 2 [" in chosen.stderr
