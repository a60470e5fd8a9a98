"""The command, called as `main` with arguments, and plugins that are there for one test."""

from __future__ import annotations

import logging
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from moorage.cli import main

# (exit code, stdout, stderr); each test file has a name of its own for it, as it has for Installer.
Command = Callable[..., tuple[int, str, str]]
Installer = Callable[..., Path]


@pytest.fixture(autouse=True)
def _no_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Hide whatever cluster the machine that runs the tests knows."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)


@pytest.fixture(autouse=True)
def _logging() -> Iterator[None]:
    """Set logging back to what it was: the command sets up its own."""
    loggers = [logging.getLogger(), logging.getLogger("moorage")]
    before = [(logger, logger.level, list(logger.handlers)) for logger in loggers]
    yield
    for logger, level, handlers in before:
        logger.setLevel(level)
        logger.handlers[:] = handlers


@pytest.fixture
def moorage(capsys: pytest.CaptureFixture[str]) -> Command:
    """Call the command in this process."""

    def call(*argv: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main([str(argument) for argument in argv])
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installer:
    """Put a distribution of one module where Python finds it; return its folder."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))

    def put(distribution: str, code: str, *, plugins: str, requires: str = "") -> Path:
        module = distribution.replace("-", "_")
        (site / f"{module}.py").write_text(textwrap.dedent(code), encoding="utf-8")
        info = site / f"{module}-1.2.dist-info"
        info.mkdir()
        metadata = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.2\n"
        if requires:
            metadata += f"Requires-Dist: {requires}\n"
        (info / "METADATA").write_text(metadata, encoding="utf-8")
        lines = [f"{name} = {module}:{name}" for name in plugins.split()]
        entry_points = "\n".join(["[moorage.plugins]", *lines, ""])
        (info / "entry_points.txt").write_text(entry_points, encoding="utf-8")
        return site

    return put
