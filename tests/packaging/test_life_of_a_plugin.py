"""From an empty environment to a plugin that decides, and out again, with the wheel alone."""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from tests.packaging.conftest import pip, run
from tests.packaging.tiny_wheels import write_wheel

pytestmark = pytest.mark.packaging

MANIFEST = Path(__file__).parent / "data" / "two_zones.yaml"
SECONDS = 120
UNUSED = 200
SLOWER = 1.10
_PLUGIN = """
import moorage

class Unused{number}(moorage.Plugin):
    @moorage.hookimpl
    def score(self):
        return 1
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Path:
    """Make an environment with the wheel, copier and the kit's extras; return its Python."""
    folder = tmp_path_factory.mktemp("life")
    assert run(sys.executable, "-m", "venv", folder).returncode == 0
    found = folder / "bin" / "python"
    pip(found, "install", f"{wheel}[template,testing]")
    return found


def files(*folders: Path) -> set[Path]:
    """Return all files below some folders, caches of compiled code apart."""

    def below(folder: Path) -> Iterator[Path]:
        for where, _, names in os.walk(folder):
            yield from (Path(where) / name for name in names)

    return {path for folder in folders for path in below(folder) if "__pycache__" not in path.parts}


def placed(python: Path, folder: Path, *argv: object, manifest: Path = MANIFEST) -> dict[str, str]:
    """Schedule the pods of two zones; return their nodes."""
    command = (python.parent / "moorage", "run", "--embedded", "--until-idle", "-o", "json")
    done = run(*command, "-f", manifest, *argv, cwd=folder)
    assert done.returncode == 0, done.stderr
    return {pod["name"]: pod["node"] for pod in json.loads(done.stdout)}


def test_a_plugin_from_scaffold_to_uninstall(python: Path, tmp_path: Path) -> None:
    """In less than two minutes; scaffolding touches nothing outside of its folder."""
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    moorage = python.parent / "moorage"
    environment = python.parent.parent
    begun = time.monotonic()
    before = files(environment, home, work)

    answers = ("plugin_name=ZoneRank", "points=filter,score")
    data = [part for answer in answers for part in ("--data", answer)]
    made = run("env", f"HOME={home}", moorage, "new-plugin", "rank", "--defaults", *data, cwd=work)

    assert made.returncode == 0, made.stderr
    new = files(environment, home, work) - before
    assert new
    assert all((work / "rank") in path.parents for path in new)

    installed = run(moorage, "install", work / "rank", cwd=work)
    assert installed.returncode == 0, installed.stderr
    assert "Now available: ZoneRank (moorage-zone-rank 0.1.0)." in installed.stdout
    listed = json.loads(run(moorage, "plugins", "list", "-o", "json").stdout)
    assert {one["name"]: one["state"] for one in listed}["ZoneRank"] == "available"
    tested = run(python, "-m", "pytest", "-q", cwd=work / "rank")
    assert tested.returncode == 0, tested.stdout

    profile = {
        "plugins": {"multiPoint": {"enabled": [{"name": "ZoneRank", "weight": 50}]}},
        "pluginConfig": [
            {"name": "ZoneRank", "args": {"label": "topology.kubernetes.io/zone"}},
        ],
    }
    config = work / "config.yaml"
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [profile],
    }
    config.write_text(yaml.safe_dump(document), encoding="utf-8")
    zones = MANIFEST.read_text("utf-8").replace("zone: expensive", "zone: '1'")
    ranked = work / "ranked.yaml"
    ranked.write_text(zones.replace("zone: cheap", "zone: '9'"), encoding="utf-8")
    without = placed(python, work, manifest=ranked)
    using = placed(python, work, "--config", config, manifest=ranked)
    assert set(without.values()) == {"large"}
    assert set(using.values()) == {"small"}

    gone = run(moorage, "uninstall", "--yes", "ZoneRank")
    assert gone.returncode == 0, gone.stderr
    assert "ZoneRank" not in run(moorage, "plugins", "-o", "name").stdout
    assert time.monotonic() - begun < SECONDS


def test_plugins_that_nobody_uses_slow_the_start_by_little(python: Path, tmp_path: Path) -> None:
    """Two hundred of them are found, and none is imported."""
    wheels = [
        write_wheel(
            tmp_path,
            f"unused-{number}",
            _PLUGIN.format(number=number),
            plugin=f"Unused{number}",
        )
        for number in range(UNUSED)
    ]
    moorage = python.parent / "moorage"
    beside = tmp_path / "beside"
    pip(python, "install", "--no-deps", "--no-index", "--target", beside, *wheels)

    def spent() -> float:
        """Return the user and system time of all processes that have ended."""
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    def start(*environ: str) -> float:
        before = spent()
        target = tmp_path / "written.yaml"
        done = run("env", *environ, moorage, "run", "--write-config-to", target)
        assert done.returncode == 0, done.stderr
        return spent() - before

    # In turns, and the least of each: a machine has slow moments, and no fast ones.
    turns = [(start(), start(f"PYTHONPATH={beside}")) for _ in range(9)]
    alone, among_many = map(min, zip(*turns, strict=True))
    names = run("env", f"PYTHONPATH={beside}", moorage, "plugins", "-o", "name").stdout.split()

    assert len([name for name in names if name.startswith("Unused")]) == UNUSED
    assert among_many < alone * SLOWER, f"{alone:.2f} s alone, {among_many:.2f} s among {UNUSED}"
