"""PodTopologySpread: keeps pods of a kind evenly spread over the domains of a topology key.

`arguments.py` are its arguments, `constraints.py` what a pod asks for, compiled; `defaults.py` what it
gets where it asks for nothing; `inclusion.py` which nodes count; `filtering.py` and `scoring.py` the
arithmetic over domains; `requeueing.py` which events help; `plugin.py` puts them together.
"""

from __future__ import annotations

from moorage_builtin.pod_topology_spread.arguments import PodTopologySpreadArgs
from moorage_builtin.pod_topology_spread.plugin import PodTopologySpread

__all__ = ["PodTopologySpread", "PodTopologySpreadArgs"]
