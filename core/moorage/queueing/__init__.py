"""Pods that wait for a decision: when each is tried, and what brings it back.

In: the scheduling queue (active, backoff, unschedulable, gated), pods in flight and what happened
during their cycle, which event wakes which pod, nominations. Out: who computes the events (`feed`),
who decides (`cycle`), who writes (`binding`), timers (the runner asks `next_ready_at`). No I/O, no
threads, no clock but the one it is given: everything runs in the caller's event loop. Imports
`framework` and `model` only.

Reading order: `places` (the states and their picture), `ledger` (where each pod is),
`wakeups` (whom an event may concern), `scheduling_queue` (when a pod moves), `nominator`,
`profile` (what the queue asks of a profile) and `framework_profile` (which answers).
"""

from __future__ import annotations

from moorage.queueing.nominator import Nominator
from moorage.queueing.places import TRANSITIONS, Place
from moorage.queueing.profile import QueueProfile
from moorage.queueing.scheduling_queue import SchedulingQueue

__all__ = ["TRANSITIONS", "Nominator", "Place", "QueueProfile", "SchedulingQueue"]
