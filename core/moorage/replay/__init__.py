"""What a real kube-scheduler was recorded to do, replayed through the same core.

In: recordings and a way to assemble profiles. Out: which steps are equal, and every difference.
Not here: how that is printed (`moorage.cli`). May import `session`, `config`, `cycle`, `framework`, `cache`,
`model`, `errors`.

`recording.py` reads; `comparing.py` says where an outcome differs; `replaying.py` runs scenarios.
`requeue_recording.py` and `requeueing.py` do the same for recordings of which event makes a refused
pod be tried again.
"""

from __future__ import annotations

from moorage.replay.comparing import Difference
from moorage.replay.recording import Recording, read_recording
from moorage.replay.replaying import Assemble, Report, replay
from moorage.replay.requeue_recording import is_requeue_recording
from moorage.replay.requeueing import replay_requeueing

__all__ = [
    "Assemble",
    "Difference",
    "Recording",
    "Report",
    "is_requeue_recording",
    "read_recording",
    "replay",
    "replay_requeueing",
]
