"""Each thing that the API server tells, into cache and queue; and whom it may wake. Stage 2.

In: batches of `moorage.api.watching` (all objects there are, or what happened since). Out: nothing;
cache, queue and stores are brought up to date, and events go to the queue. Not here: the watching
itself, and which pod is tried when. No I/O, no await, no clock: a simulation feeds batches of its
own. May import `queueing`, `framework`, `cache`, `api`, `model`, `errors`.

`following.py` turns batches into arrivals and departures, one object at a time, and finds what a
new list silently lacks; `pods.py`, `nodes.py`, `namespaces.py`, `stored.py`, `devices.py` and
`informed.py` say what those mean; `watched.py` lists all kinds.
"""

from __future__ import annotations

from moorage.feed.devices import DeviceClassFeed, ResourceClaimFeed, ResourceSliceFeed
from moorage.feed.following import Feed
from moorage.feed.informed import InformedFeed
from moorage.feed.namespaces import NamespaceFeed
from moorage.feed.nodes import NodeFeed
from moorage.feed.pods import PodFeed
from moorage.feed.stored import BudgetFeed, StorageFeed, WorkloadFeed

__all__ = [
    "BudgetFeed",
    "DeviceClassFeed",
    "Feed",
    "InformedFeed",
    "NamespaceFeed",
    "NodeFeed",
    "PodFeed",
    "ResourceClaimFeed",
    "ResourceSliceFeed",
    "StorageFeed",
    "WorkloadFeed",
]
