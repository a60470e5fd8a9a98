"""What the wheel and the source distribution carry."""

from __future__ import annotations

import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from tests.packaging.conftest import ROOT, pip, run

pytestmark = pytest.mark.packaging


@pytest.fixture(scope="module")
def files(wheel: Path) -> set[str]:
    """Return the names of the files in the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_wheel_carries_host_built_ins_and_quickstart(files: set[str]) -> None:
    """With the marks that say that they are typed."""
    assert {
        "moorage/__init__.py",
        "moorage/py.typed",
        "moorage/framework/hookspecs.py",
        "moorage_builtin/__init__.py",
        "moorage_builtin/py.typed",
        "moorage_builtin/node_resources_fit.py",
    } <= files
    manifests = {name for name in files if "/quickstart/" in name}
    assert any(name.endswith("nodes.yaml") for name in manifests)
    assert any(name.endswith("pods.yaml") for name in manifests)


def test_the_wheel_carries_every_module_of_the_checkout(files: set[str]) -> None:
    """Whatever git knows of them."""
    known = run("git", "ls-files", "core", "builtin_plugins", cwd=ROOT).stdout.splitlines()
    expected = {
        name.split("/", 1)[1]
        for name in known
        if name.startswith(("core/moorage/", "builtin_plugins/moorage_builtin/"))
        and (ROOT / name).exists()
    }

    assert expected <= files


def test_the_wheel_carries_nothing_else(files: set[str]) -> None:
    """No tests but the template's, no caches, and only its own packages."""
    own = {name for name in files if not name.startswith("moorage/_template/")}
    assert {name.split("/")[0].split("-")[0] for name in files} <= {
        "moorage",
        "moorage_builtin",
        "moorage_command",
        "moorage_pytest",
    }
    assert not [name for name in own if "test_" in name or "/tests/" in name]
    assert not [name for name in files if ".pyc" in name]


def test_the_wheel_names_its_command_its_plugins_and_its_licence(wheel: Path) -> None:
    """Built-ins come through the door that everybody uses."""
    with zipfile.ZipFile(wheel) as archive:
        (entry_points,) = (n for n in archive.namelist() if n.endswith("entry_points.txt"))
        text = archive.read(entry_points).decode()
        assert any(name.endswith("licenses/LICENSE") for name in archive.namelist())

    assert "moorage = moorage_command:main" in text
    assert "NodeResourcesFit = moorage_builtin.node_resources_fit:NodeResourcesFit" in text


def test_the_source_distribution_builds_and_installs_as_the_checkout_does(tmp_path: Path) -> None:
    """With sources, README and licence, and without tests."""
    pip(sys.executable, "install", "--target", tmp_path / "tools", "hatchling")
    script = "import sys; sys.path.insert(0, sys.argv[1]); from hatchling.build import build_sdist; build_sdist(sys.argv[2])"
    done = run(sys.executable, "-c", script, tmp_path / "tools", tmp_path, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    (archive,) = tmp_path.glob("moorage-*.tar.gz")

    with tarfile.open(archive) as opened:
        names = {name.split("/", 1)[1] for name in opened.getnames() if "/" in name}
    assert {"pyproject.toml", "README.md", "LICENSE", "core/moorage/__init__.py"} <= names
    assert not [name for name in names if name.startswith("tests/")]
    pip(sys.executable, "wheel", "--no-deps", "--wheel-dir", tmp_path / "built", archive)
