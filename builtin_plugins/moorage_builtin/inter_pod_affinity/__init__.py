"""InterPodAffinity: near some pods and away from others, as the pod and the pods there ask for.

`plugin.py` has the hooks; `filtering.py` what refuses a node, `scoring.py` what makes one better,
both by sums over topology domains (`domains.py`); `requeueing.py` which events can help a pod.
"""

from __future__ import annotations

from moorage_builtin.inter_pod_affinity.plugin import InterPodAffinity, InterPodAffinityArgs

__all__ = ["InterPodAffinity", "InterPodAffinityArgs"]
