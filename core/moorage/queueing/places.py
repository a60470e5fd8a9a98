"""Where a pod can be, and how it gets from one place to another.

```
           add                    pop                       done
  OUTSIDE -----> ACTIVE ----------------------> IN_FLIGHT -------> OUTSIDE
                 ^  ^                            ^  |  |
    backoff over |  |   pop, if nothing else is  |  |  |
                 |  |   active, no error         |  |  |
                 |  |                            |  |  |
               BACKOFF --------------------------+  |  |
                 ^  ^                               |  |
                 |  |   requeue: an error, or an    |  |
                 |  |   event came meanwhile        |  |
                 |  +-------------------------------+  |
                 |                                     |  requeue: refused
                 |  event, update or flush             |
               UNSCHEDULABLE <-------------------------+

  to ACTIVE too:  from UNSCHEDULABLE by the same if no backoff is left, or by activate;
                  from IN_FLIGHT after an event that helps a pending plugin
  to GATED:       whoever is about to enter ACTIVE or BACKOFF and is refused by PreEnqueue;
                  from there by an event of the gating plugin, update, activate or flush
  to OUTSIDE:     from everywhere by delete
```

As a table, from left to top:

```
               ACTIVE  BACKOFF  UNSCHEDULABLE  GATED  IN_FLIGHT  OUTSIDE
OUTSIDE        x                               x
ACTIVE                                                x          x
BACKOFF        x                                      x          x
UNSCHEDULABLE  x       x                       x                 x
GATED          x       x                       x                 x
IN_FLIGHT      x       x        x              x                 x
```

PreEnqueue is asked whenever a pod is about to enter ACTIVE or BACKOFF, but not again on the way from
BACKOFF to ACTIVE: a pod in backoff may be popped at any time, so it has been let in already.
`TRANSITIONS` gives each its cause; `moorage.queueing.ledger` refuses everything else.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

__all__ = ["TRANSITIONS", "Place"]


class Place(Enum):
    """Where a pod is; the values are kube-scheduler's names of its queues."""

    OUTSIDE = "outside"
    """Not here: unknown, bound or deleted."""
    ACTIVE = "active"
    """Ready to be tried, in the order of the profile's queue sort."""
    BACKOFF = "backoff"
    """Worth trying again, once its backoff is over or nothing is active."""
    UNSCHEDULABLE = "unschedulable"
    """Refused; waits for an event that may help, or for the long timeout."""
    GATED = "gated"
    """Not let in by a PreEnqueue plugin."""
    IN_FLIGHT = "in flight"
    """Popped: in its scheduling cycle, waiting in Permit, or being bound."""


TRANSITIONS: Mapping[tuple[Place, Place], str] = {
    (Place.OUTSIDE, Place.ACTIVE): "add",
    (Place.OUTSIDE, Place.GATED): "add, and PreEnqueue refuses",
    (Place.ACTIVE, Place.IN_FLIGHT): "pop",
    (Place.ACTIVE, Place.OUTSIDE): "delete",
    (Place.BACKOFF, Place.ACTIVE): "backoff over, or activate",
    (Place.BACKOFF, Place.IN_FLIGHT): "pop while nothing is active; not after an error",
    (Place.BACKOFF, Place.OUTSIDE): "delete",
    (Place.UNSCHEDULABLE, Place.ACTIVE): "event, update, activate or flush; backoff over",
    (Place.UNSCHEDULABLE, Place.BACKOFF): "event, update or flush; backoff not over",
    (Place.UNSCHEDULABLE, Place.GATED): "as to active or backoff, and PreEnqueue refuses",
    (Place.UNSCHEDULABLE, Place.OUTSIDE): "delete",
    (Place.GATED, Place.ACTIVE): "event, update, activate or flush, and PreEnqueue passes",
    (Place.GATED, Place.BACKOFF): "as to active, with a backoff from before that is not over",
    (Place.GATED, Place.GATED): "asked again, and PreEnqueue refuses, perhaps by another plugin",
    (Place.GATED, Place.OUTSIDE): "delete",
    (Place.IN_FLIGHT, Place.ACTIVE): "requeue, after an event that helps a pending plugin",
    (Place.IN_FLIGHT, Place.BACKOFF): "requeue, after an error or an event that may help",
    (Place.IN_FLIGHT, Place.UNSCHEDULABLE): "requeue, refused",
    (Place.IN_FLIGHT, Place.GATED): "as to active or backoff, and PreEnqueue refuses",
    (Place.IN_FLIGHT, Place.OUTSIDE): "done, or delete",
}
