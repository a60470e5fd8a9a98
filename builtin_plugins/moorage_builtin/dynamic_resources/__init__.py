"""DynamicResources: pods get the devices that they claim (resource.k8s.io/v1).

In: claims, slices of devices and classes, as the handle's `devices` has them. Out: which nodes have
devices for a pod, what is written into its claims. Not here: making claims from templates, and
taking devices back from pods that ended; both are the resource claim controller's.

`pod_claims.py` finds a pod's claims, `extended.py` makes one for resources that stand for devices.
`pools.py` and `inventory.py` say what a node sees, `ledger.py` who has what, `expressions.py`,
`functions.py` and `semver.py` what a selector selects, `capacities.py` and `constraints.py` what
else must hold; `reckoner.py` holds what all profiles share of these. `wanted.py` says what a request
wants, `variants.py` what a pod does, `allocating.py` searches, `results.py` puts what it found into
the API's form. `pod_devices.py` is all that for one pod and many nodes, `counting.py` counts devices
for scores of resources. `writing.py` writes, `readiness.py` says when devices can be used,
`requeueing.py` when to look again; `plugin.py` has the hooks, `arguments.py` what can be configured.
"""

from __future__ import annotations

from moorage_builtin.dynamic_resources.plugin import DynamicResources

__all__ = ["DynamicResources"]
