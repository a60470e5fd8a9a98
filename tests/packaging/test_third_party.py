"""A plugin package that anybody could have written: installed with pip, enabled, and heard."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.packaging.conftest import run

pytestmark = pytest.mark.packaging

MANIFEST = Path(__file__).parent / "data" / "two_zones.yaml"
CONFIGURATION = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins: {{multiPoint: {{enabled: [{{name: {plugin}, weight: 50}}]}}}}
  pluginConfig:
  - name: {plugin}
    args: {{cost: {{expensive: 9.5, middling: 2, cheap: 0.25}}}}
"""
LARGE, SMALL = {"web": "large", "thrifty": "large"}, {"web": "small", "thrifty": "small"}


def _json(environment: Path, *arguments: object) -> Any:  # noqa: ANN401 - JSON
    done = run(environment / "moorage", *arguments, "-o", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _placed(environment: Path, *arguments: object) -> dict[str, str]:
    command = ("run", "--embedded", "--until-idle", "-f", MANIFEST, *arguments)
    return {pod["name"]: pod["node"] for pod in _json(environment, *command)}


def test_installed_plugins_are_listed_with_distribution_and_version(environment: Path) -> None:
    """Before any profile enables them."""
    plugins = {plugin["name"]: plugin for plugin in _json(environment, "plugins")}

    array, per_node = plugins["ZoneCost"], plugins["ZoneCostPerNode"]
    assert (array["distribution"], array["version"]) == ("moorage-zone-cost", "1.2.0")
    assert per_node["distribution"] == "moorage-zone-cost-per-node"
    assert set(array["extensionPoints"]) == {"filter", "score"}
    assert array["profiles"] == []
    assert plugins["NodeResourcesFit"]["distribution"] == "moorage"


def test_without_a_profile_that_enables_it_a_plugin_changes_nothing(environment: Path) -> None:
    """Pods go where there is most room."""
    assert _placed(environment) == LARGE


@pytest.mark.parametrize("plugin", ["ZoneCost", "ZoneCostPerNode"])
def test_a_profile_that_enables_it_decides_by_it(
    plugin: str, environment: Path, tmp_path: Path
) -> None:
    """Both forms place every pod on the same node, which is another one than without them."""
    config = tmp_path / "config.yaml"
    config.write_text(CONFIGURATION.format(plugin=plugin), encoding="utf-8")

    assert _placed(environment, "--config", config) == SMALL
    listed = {one["name"]: one for one in _json(environment, "plugins", "--config", config)}
    assert listed[plugin]["profiles"] == ["default-scheduler"]


def test_arguments_that_the_plugin_refuses_end_the_start(environment: Path, tmp_path: Path) -> None:
    """In one sentence that names file and field, with exit code 2."""
    config = tmp_path / "config.yaml"
    text = CONFIGURATION.format(plugin="ZoneCost").replace("9.5", "dear")
    config.write_text(text, encoding="utf-8")

    done = run(environment / "moorage", "run", "--embedded", "--until-idle", "--config", config)

    assert done.returncode == 2
    assert "profiles[0].pluginConfig[0].args.cost.expensive" in done.stderr
    assert "Traceback" not in done.stderr
