"""A stand-in for pip: puts the project in a folder into this environment, without a network.

It does what ``pip install -e FOLDER`` comes to for a project of pure Python without a build step: a
``.pth`` file and metadata with entry points. Run by the environment's Python, in place of pip.
"""

from __future__ import annotations

import sys
import sysconfig
import tomllib
from pathlib import Path


def install(folder: Path, site: Path) -> None:
    """Install the project in a folder."""
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    name = project["name"]
    if name == "moorage":
        return  # the environment has it already
    stem = name.replace("-", "_")
    info = site / f"{stem}-{project['version']}.dist-info"
    info.mkdir(exist_ok=True)
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {project['version']}"]
    lines += [f"Requires-Dist: {wanted}" for wanted in project.get("dependencies", ())]
    (info / "METADATA").write_text("\n".join(lines) + "\n", encoding="utf-8")
    groups = project.get("entry-points", {})
    sections = [
        "\n".join([f"[{group}]", *(f"{key} = {value}" for key, value in points.items())])
        for group, points in groups.items()
    ]
    (info / "entry_points.txt").write_text("\n\n".join(sections) + "\n", encoding="utf-8")
    code = folder / "src" if (folder / "src").is_dir() else folder
    (site / f"{stem}.pth").write_text(f"{code}\n", encoding="utf-8")


if __name__ == "__main__":
    *options, target = sys.argv[1:]
    if not set(options) <= {"install", "-q", "-e"}:
        sys.exit(f"the stand-in for pip does not know {' '.join(options)}")
    install(Path(target).resolve(), Path(sysconfig.get_path("purelib")))
