"""What Kubernetes' volume controller and a CSI provisioner would do next: objects in, writes out.

A stand-in, for clusters that are not there: the embedded API server, and recordings in which the real
ones had a hand. Objects are plain dictionaries in the API's spelling. No I/O, no clock.

::

    volume:  (new) -> Available --a claim takes it--> Bound --claim deleted--> Released, or deleted
    claim:   Pending --matched, or a volume was made for it--> Bound --volume deleted--> Lost

A claim is given, in this order: the volume that it names; one that names it; where its class binds at
once, the smallest that fits; a new one, where its class has a provisioner, once a node is selected if
the class waits for that.

`controller` decides who is given what and when, `volumes` which volume would do, `provisioning` how a
new one looks, `objects` what claims and volumes say, and how they say it when they are bound.
"""

from __future__ import annotations

from moorage.volume_controller.controller import VolumeController, Write, WriteKind

__all__ = ["VolumeController", "Write", "WriteKind"]
