"""VolumeBinding: places pods where their volumes are or can be, and has claims bound before pods are.

`arguments.py` are its arguments; `pod_claims.py` what a pod's claims need, `matching.py` which
volumes that are there already would do, `provisioning.py` where new ones can be made; `finding.py`
puts these together, for n nodes at once. `ledger.py` remembers what is promised to pods on their
way, for all profiles of the process; `binding.py` writes it to the API server and waits until the
volume controller is done. `scoring.py` rates how full volumes would be; `requeueing.py` says which
events help; `plugin.py` puts them together.
"""

from __future__ import annotations

from moorage_builtin.volume_binding.arguments import VolumeBindingArgs
from moorage_builtin.volume_binding.plugin import VolumeBinding

__all__ = ["VolumeBinding", "VolumeBindingArgs"]
