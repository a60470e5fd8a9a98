"""The bounds of kube-scheduler's histograms, in seconds where they are of durations."""

from __future__ import annotations

from itertools import accumulate, repeat
from operator import mul
from typing import Final

__all__ = [
    "ATTEMPTS",
    "CLIENT_BYTES",
    "CLIENT_SECONDS",
    "CYCLE_SECONDS",
    "HINT_SECONDS",
    "PLUGIN_SECONDS",
    "POINT_SECONDS",
    "ROTATION_SECONDS",
    "SLI_SECONDS",
    "VICTIMS",
    "WORK_SECONDS",
]


def _exponential(start: float, factor: float, count: int) -> tuple[float, ...]:
    """Return bounds of which each is `factor` times the one before it.

    Multiplied up one by one, as Prometheus' library does: powers differ in the last digit, and
    dashboards compare the text.
    """
    return tuple(accumulate(repeat(factor, count - 1), mul, initial=start))


CYCLE_SECONDS: Final = _exponential(0.001, 2, 15)
POINT_SECONDS: Final = _exponential(0.0001, 2, 12)
HINT_SECONDS: Final = _exponential(0.00001, 2, 12)
PLUGIN_SECONDS: Final = _exponential(0.00001, 1.5, 20)
SLI_SECONDS: Final = _exponential(0.01, 2, 20)
ATTEMPTS: Final = _exponential(1, 2, 5)
VICTIMS: Final = _exponential(1, 2, 7)
WORK_SECONDS: Final = _exponential(10e-9, 10, 10)
CLIENT_SECONDS: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
CLIENT_BYTES: Final = (
    *(64.0, 256.0, 512.0, 1024.0, 4096.0, 16384.0, 65536.0),
    *(262144.0, 1048576.0, 4194304.0, 16777216.0),
)
_HOUR: Final = 3600.0
_MONTH: Final = 30 * 24 * _HOUR
ROTATION_SECONDS: Final = (
    *(600.0, 1800.0, _HOUR, 4 * _HOUR, 24 * _HOUR, 7 * 24 * _HOUR),
    *(_MONTH, 3 * _MONTH, 6 * _MONTH, 12 * _MONTH, 48 * _MONTH),
)
