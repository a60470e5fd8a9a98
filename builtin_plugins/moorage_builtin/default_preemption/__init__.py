"""DefaultPreemption: room for a pod that fits nowhere, at the cost of less important ones.

`plugin.py` has the hooks; `victims.py` rehearses, for many nodes in lockstep, which pods would have to
go, with `budgets.py` saying whose disruption budget that would violate; `choosing.py` compares the
nodes; `execution.py` deletes the victims, beside the scheduling.
"""

from __future__ import annotations

from moorage_builtin.default_preemption.plugin import DefaultPreemption, DefaultPreemptionArgs

__all__ = ["DefaultPreemption", "DefaultPreemptionArgs"]
