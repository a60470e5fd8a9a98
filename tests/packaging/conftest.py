"""Real pip, real wheels, real environments: made once for all tests of this folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ROOT / "tests" / "packages"


def run(*command: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command and keep what it prints; the caller looks at its exit code."""
    return subprocess.run(
        [str(part) for part in command], check=False, capture_output=True, text=True, cwd=cwd
    )


def pip(python: object, *arguments: object) -> None:
    """Run pip in an environment, and show what it says where it fails."""
    done = run(python, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build Moorage's wheel from the checkout, as ``pip install .`` does."""
    folder = tmp_path_factory.mktemp("wheel")
    pip(sys.executable, "wheel", "--no-deps", "--wheel-dir", folder, ROOT)
    (built,) = folder.glob("moorage-*.whl")
    return built


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Path:
    """Make an environment with the wheel and both packages; returns its folder of commands."""
    folder = tmp_path_factory.mktemp("environment")
    done = run(sys.executable, "-m", "venv", folder)
    assert done.returncode == 0, done.stderr
    packages = sorted(path for path in PACKAGES.iterdir() if (path / "pyproject.toml").exists())
    pip(folder / "bin" / "python", "install", wheel, *packages)
    return folder / "bin"
