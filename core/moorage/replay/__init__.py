"""Recorded decisions of a real kube-scheduler, replayed through the same core.

In: recordings and a way to assemble profiles. Out: which steps are equal, and every difference.
Not here: how that is printed (`moorage.cli`). May import `config`, `cycle`, `framework`, `cache`,
`model`, `errors`.

`recording.py` reads; `comparing.py` says where an outcome differs; `replaying.py` runs scenarios.
"""

from __future__ import annotations

from moorage.replay.comparing import Difference
from moorage.replay.recording import Recording, read_recording
from moorage.replay.replaying import Assemble, Report, replay

__all__ = ["Assemble", "Difference", "Recording", "Report", "read_recording", "replay"]
