"""One pod, one decision; pure: no await, no I/O, no clock but the one it is given.

In: a pod and the cluster as the cache has it. Out: a `Decision` - a node, or a diagnosis. Not here:
what follows from it (`moorage.binding`) and which pod comes next (`moorage.queueing`). May import
`framework`, `cache`, `model`, `errors`.

`steps.py` lists what a profile's plugins are asked; `asking.py` asks one and checks its answer;
`answers.py` keeps one plugin's answers about pods that look the same to it; `combined.py` sums
them up for pods that look the same to all; `deciding.py` is the cycle, `attempt.py` one pod's way
through it, `filtering.py` the part of it that finds nodes, `decision.py` its outcome, `timing.py`
how long all of that took. Where no node is left, `post_filtering.py` asks who can make room, and
`dry_run.py` rehearses the filters for them with other pods on the nodes.
"""

from __future__ import annotations

from moorage.cycle.deciding import Cycle
from moorage.cycle.decision import Decision

__all__ = ["Cycle", "Decision"]
