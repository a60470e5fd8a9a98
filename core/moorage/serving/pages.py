"""What the process is and how it was started: ``/configz``, ``/statusz``, ``/flagz``.

As Kubernetes 1.36 serves them: text for people, or JSON for who asks for exactly the right type.
"""

from __future__ import annotations

import importlib.metadata
import platform
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from moorage.metrics.process import KUBERNETES_MINOR

__all__ = ["COMPONENT", "Pages", "is_structured"]

COMPONENT: Final = "moorage"
_API_VERSION: Final = "config.k8s.io/v1beta1"
_WARNING: Final = (
    "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility "
    "guarantees and is for debugging purposes only."
)
_WANTED: Final = ("application/json", "v=v1beta1", "g=config.k8s.io")


def is_structured(accept: str, kind: str) -> bool | None:
    """Say whether a client asks for JSON of a kind, Statusz or Flagz; None: for what there is not."""
    accept = accept or "*/*"
    for part in accept.split(","):
        media, *parameters = (item.strip() for item in part.split(";"))
        if media in {"*/*", "text/*", "text/plain"}:
            return False
        if media == _WANTED[0] and {*_WANTED[1:], f"as={kind}"} <= set(parameters):
            return True
    return None


class Pages:
    """The documents; `configuration` is the one that is in effect, `flags` those that were given."""

    def __init__(
        self, *, configuration: Mapping[str, Any], flags: Mapping[str, str], paths: Sequence[str]
    ) -> None:
        self._configuration = configuration
        self._flags = dict(sorted(flags.items()))
        self._paths = list(paths)
        self._started = datetime.now(UTC)
        self._begun = time.monotonic()

    def configz(self) -> dict[str, Any]:
        """Return the configuration that is in effect, as ``--write-config-to`` writes it."""
        return {"componentconfig": self._configuration}

    def statusz(self) -> dict[str, Any]:
        """Return the structured form of ``/statusz``."""
        return {
            "kind": "Statusz",
            "apiVersion": _API_VERSION,
            "metadata": {"name": COMPONENT},
            "startTime": f"{self._started:%Y-%m-%dT%H:%M:%SZ}",
            "uptimeSeconds": int(time.monotonic() - self._begun),
            # The field is Go's; the interpreter is what stands in its place.
            "goVersion": f"{platform.python_implementation()} {platform.python_version()}",
            "binaryVersion": importlib.metadata.version("moorage"),
            "emulationVersion": f"1.{KUBERNETES_MINOR}",
            "paths": self._paths,
        }

    def statusz_text(self) -> str:
        """Return ``/statusz`` for people."""
        found = self.statusz()
        minutes, seconds = divmod(found["uptimeSeconds"], 60)
        hours, minutes = divmod(minutes, 60)
        lines = (
            f"{COMPONENT} statusz",
            _WARNING,
            "",
            f"Started: {self._started:%a %b %e %H:%M:%S UTC %Y}",
            f"Up: {hours} hr {minutes:02} min {seconds:02} sec",
            f"Python version: {platform.python_version()}",
            f"Binary version: {found['binaryVersion']}",
            f"Emulation version: {found['emulationVersion']}",
            f"Paths: {' '.join(self._paths)}",
        )
        return "\n".join(lines) + "\n"

    def flagz(self) -> dict[str, Any]:
        """Return the structured form of ``/flagz``."""
        return {
            "kind": "Flagz",
            "apiVersion": _API_VERSION,
            "metadata": {"name": COMPONENT},
            "flags": self._flags,
        }

    def flagz_text(self) -> str:
        """Return ``/flagz`` for people."""
        flags = (f"{name}={value}" for name, value in self._flags.items())
        return "\n".join((f"{COMPONENT} flags", _WARNING, "", *flags)) + "\n"
