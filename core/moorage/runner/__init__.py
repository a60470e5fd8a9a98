"""The live scheduler: all stages in one event loop, from start-up to shutdown.

In: watch tasks, the scheduling loop, a task for each binding, timers, the writers. Out: what any of
that decides (`moorage.session` and below), what the command line offers (`moorage.cli`). May import
everything below; not `embedded`, which is a cluster like any other.

`runner.py` is the life of the process, `watching.py` what is watched, `on_their_way.py` the pods
that are being bound, `side_work.py` what plugins have done beside; `idleness.py` is how
``--until-idle`` knows that nothing more can happen, with `catching_up.py` that it has seen
everything, and `patience.py` what it says meanwhile;
`oversight.py` is who lets it schedule, `process.py` signals and threads.
"""

from __future__ import annotations

from moorage.runner.oversight import Oversight
from moorage.runner.runner import Runner

__all__ = ["Oversight", "Runner"]
