"""Hooks that keep everything else waiting: said once they are over, whoever watches or not."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moorage.framework.profile import Framework

__all__ = ["SLOW_SECONDS", "begin", "tell", "tell_if_slow"]

_logger = logging.getLogger(__name__)

SLOW_SECONDS = 1.0
"""From how long on a hook that nothing runs beside is spoken of; real time, not that of a clock."""

begin = time.perf_counter
"""Read the time at which a call begins, for `tell_if_slow`."""


def tell_if_slow(framework: Framework, plugin: str, hook: str, pod: str, *, begun: float) -> None:
    """Log a warning where a call that began at `begun` took long; `pod` is ``namespace/name``."""
    seconds = time.perf_counter() - begun
    if seconds >= SLOW_SECONDS:
        tell(framework, plugin, hook, seconds, pod=pod)


def tell(framework: Framework, plugin: str, hook: str, seconds: float, *, pod: str = "") -> None:
    """Log that a call took so long."""
    _logger.warning(
        "plugin %r (%s) took %.1f s in %s%s; nothing else is scheduled meanwhile",
        plugin,
        framework.origin(plugin),
        seconds,
        hook,
        f" for pod {pod}" if pod else "",
    )
