"""The command `moorage`: one module a command, loaded when it is called for.

In: what people type (`entry`, `options`, and `flag_options` for kube-scheduler's flags), what they
see (`output`, `placements`, `logs`), and the commands: `run` (by way of `embedded_run` and
`cluster_run`, in an `event_loop`), `plugins`, `install`, `uninstall`, `new_plugin`, `verify`,
`version`. Each command's module has its click command as
`command`; what it returns, if an integer, is the exit code.

Out: everything that a program would want to call; it is in the layers below. May import all of
Moorage, but for `moorage.testing`.

Exit codes: 0 (also where a run was told to stop), 1 for a negative answer, a fault of ours, or a
plugin that kept a run from ending, 2 for what the user can put right (one sentence on stderr), 130
where Ctrl-C came before the end.
"""

from __future__ import annotations

from moorage.cli.entry import main

__all__ = ["main"]
