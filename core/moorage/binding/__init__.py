"""From a decision to the API, and the way back where something goes wrong. Stage 6.

In: a pod, the node that was chosen for it, and its plugins' notes. Out: a pod that is bound, or a
verdict and everything undone; what is to be written about it. Not here: the decision (`cycle`), and
the queue, to which the caller hands pods back. May import `framework`, `cache`, `api`, `model`, `errors`.

::

    assume, reserve, permit          `reservation.py`, before the next pod is looked at
    wait on permit, pre-bind,        `binder.py`, in a task of the pod's own; plain hooks in
    bind, post-bind                  threads (`threads.py`)
    unreserve, forget                `reservation.py`, after a failure at any point of the above
    condition, nomination, Events    `reporting.py`, off the critical path; worded in `wording.py`
"""

from __future__ import annotations

from moorage.binding.binder import Binder
from moorage.binding.reporting import Reporter
from moorage.binding.reservation import Reservation
from moorage.binding.threads import DaemonThreads

__all__ = ["Binder", "DaemonThreads", "Reporter", "Reservation"]
