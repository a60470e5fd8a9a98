"""What an operator sees, and who leads: health, metrics, debug views, leader election.

In: the checks, numbers and views of one process; a Lease. Out: answers over HTTP, in a thread of
their own; the gate of all writes, opened by another thread. Not here: who records the numbers
(each stage), and what becomes of a lost Lease (the runner).

`server.py` is the HTTP, `health.py`, `pages.py` and `debugging.py` what it tells; `watchdog.py` looks
whether the scheduling loop moves; `lease.py`, `elector.py` and `leadership.py` are leader election;
`attempts.py` and `gauges.py` are what a session leaves to be looked at.
"""

from __future__ import annotations

from moorage.serving.attempts import AttemptLog
from moorage.serving.debugging import Debugging, Inspected
from moorage.serving.elector import Terms
from moorage.serving.health import Check, Health
from moorage.serving.leadership import Leadership
from moorage.serving.pages import Pages
from moorage.serving.server import PATHS, Serving
from moorage.serving.watchdog import Heartbeat, Watchdog

__all__ = [
    "PATHS",
    "AttemptLog",
    "Check",
    "Debugging",
    "Health",
    "Heartbeat",
    "Inspected",
    "Leadership",
    "Pages",
    "Serving",
    "Terms",
    "Watchdog",
]
