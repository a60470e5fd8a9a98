"""Wheels of one module, written by hand: pip installs dozens of them in one go, without building."""

from __future__ import annotations

import base64
import hashlib
import textwrap
import zipfile
from pathlib import Path

__all__ = ["write_wheel"]


def write_wheel(
    folder: Path,
    distribution: str,
    code: str,
    *,
    plugin: str,
    attribute: str = "",
    version: str = "1.0",
    requires: str = "moorage>=0.1,<9",
) -> Path:
    """Write the wheel of a distribution whose module has `code` and offers `plugin`."""
    module = distribution.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    files = {
        f"{module}.py": textwrap.dedent(code),
        f"{info}/METADATA": (
            f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n"
            f"Requires-Dist: {requires}\n"
        ),
        f"{info}/WHEEL": (
            "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        ),
        f"{info}/entry_points.txt": (
            f"[moorage.plugins]\n{plugin} = {module}:{attribute or plugin}\n"
        ),
    }
    record = "".join(
        f"{name},sha256={_digest(text)},{len(text.encode())}\n" for name, text in files.items()
    )
    wheel = folder / f"{module}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in {**files, f"{info}/RECORD": f"{record}{info}/RECORD,,\n"}.items():
            archive.writestr(name, text)
    return wheel


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
