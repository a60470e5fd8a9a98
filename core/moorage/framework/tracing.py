"""What plugins are asked and what they answer, for people to watch; costs nothing where nobody does.

A `Tracer` wraps the calls of the hooks that it watches when a profile is assembled; the others stay
as they are.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from moorage.cache.node_info import NodeInfo
from moorage.cache.view import NodesView
from moorage.errors import ConfigurationError
from moorage.fault_log import worded
from moorage.framework.diagnosis import Diagnosis
from moorage.framework.points import HOOK_ARGUMENTS
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.verdict import Verdict
from moorage.model.pod_info import PodInfo
from moorage.model.pods import Pod, pod_key

__all__ = ["Total", "Tracer", "brief"]

_EVERYTHING = "*"
_FEW = 8
"""An array of so many numbers is shown as a whole."""
_LONGEST = 80
"""Characters of whatever else is shown."""


class Total(NamedTuple):
    """What all calls of one hook came to: how many, how many of them raised, and seconds."""

    plugin: str
    hook: str
    calls: int
    faults: int
    seconds: float


class Tracer:
    """Writes a line for each call of the hooks that it watches, and counts.

    `watched` are ``PLUGIN`` or ``PLUGIN:hook``; the plugin ``*`` means all. `write` is given one
    line a call, and may be called from several threads. Raises ConfigurationError for a hook that
    there is not.
    """

    def __init__(
        self,
        watched: Iterable[str],
        write: Callable[[str], None],
        *,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._watched = [_pair(text) for text in watched]
        self._write = write
        self._clock = clock
        self._lock = threading.Lock()
        self._totals: dict[tuple[str, str], Total] = {}

    def watches(self, plugin: str, hook: str) -> bool:
        """Say whether calls of a hook are to be seen."""
        return any(
            name in {plugin, _EVERYTHING} and wanted in {hook, ""} for name, wanted in self._watched
        )

    def unseen(self, plugins: Iterable[str]) -> list[str]:
        """Return the plugins that are watched and are none of these."""
        present = {*plugins, _EVERYTHING}
        return sorted({name for name, _ in self._watched} - present)

    def wrap(self, plugin: str, hook: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return a call that does the same and is seen; `call` itself where nobody watches it."""
        if not self.watches(plugin, hook):
            return call
        names = HOOK_ARGUMENTS[hook]

        @functools.wraps(call)
        def seen(*arguments: Any) -> Any:  # noqa: ANN401 - as the hook has them
            # First: what the hook changes should be shown as it was.
            shown = ", ".join(
                f"{name}={brief(value)}" for name, value in zip(names, arguments, strict=False)
            )
            begun = self._clock()
            try:
                answer = call(*arguments)
            except BaseException as error:
                self._tell(plugin, hook, shown, error, begun)
                raise
            if inspect.isawaitable(answer):
                return self._await(answer, plugin, hook, shown, begun)
            self._tell(plugin, hook, shown, answer, begun)
            return answer

        return seen

    def totals(self) -> Sequence[Total]:
        """Return what was counted, by falling time."""
        with self._lock:
            return sorted(self._totals.values(), key=lambda total: -total.seconds)

    async def _await(
        self,
        answer: Awaitable[Any],
        plugin: str,
        hook: str,
        shown: str,
        begun: float,
    ) -> Any:  # noqa: ANN401 - as the hook answers
        try:
            found = await answer
        except BaseException as error:
            self._tell(plugin, hook, shown, error, begun)
            raise
        self._tell(plugin, hook, shown, found, begun)
        return found

    def _tell(self, plugin: str, hook: str, shown: str, answer: object, begun: float) -> None:
        seconds = self._clock() - begun
        raised = isinstance(answer, BaseException)
        if isinstance(answer, BaseException):
            said = f"raised {worded(answer)}"
        else:
            said = f"-> {brief(answer)}"
        with self._lock:
            before = self._totals.get((plugin, hook), Total(plugin, hook, 0, 0, 0.0))
            self._totals[plugin, hook] = Total(
                plugin, hook, before.calls + 1, before.faults + raised, before.seconds + seconds
            )
        self._write(f"{plugin}.{hook}({shown}) {said} [{seconds * 1000:.3f} ms]")


def brief(value: object) -> str:
    """Show an argument or an answer of a hook in a few words."""
    for kinds, show in _SHOWN:
        if isinstance(value, kinds):
            return show(value)
    text = " ".join(repr(value).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _array(values: np.ndarray[Any, Any]) -> str:
    if values.size <= _FEW:
        return " ".join(np.array2string(values, separator=" ").split())
    text = f"<{values.shape} {values.dtype}"
    if values.dtype == np.bool_:
        return f"{text}, {int(np.count_nonzero(values))} true>"
    if values.dtype.kind in "iuf":
        return f"{text}, {values.min():g} to {values.max():g}>"
    return f"{text}>"


_SHOWN: Sequence[tuple[type | tuple[type, ...], Callable[[Any], str]]] = (
    (Pod, pod_key),
    ((PodInfo, QueuedPod), lambda pod: str(pod.key)),
    (NodesView, lambda nodes: f"<{len(nodes)} nodes>"),
    (NodeInfo, lambda node: str(node.name)),
    (Diagnosis, lambda diagnosis: f"<diagnosis of {len(diagnosis.nodes)} nodes>"),
    (Verdict, str),
    (np.ndarray, _array),
    (Mapping, lambda values: f"{{{', '.join(map(str, values))}}}"),
)


def _pair(text: str) -> tuple[str, str]:
    plugin, _, hook = text.partition(":")
    if hook and hook not in HOOK_ARGUMENTS:
        near = difflib.get_close_matches(hook, HOOK_ARGUMENTS, n=1)
        advice = f"did you mean {near[0]}?" if near else f"there are {', '.join(HOOK_ARGUMENTS)}"
        raise ConfigurationError(f"{text!r} cannot be traced: {hook!r} is no hook; {advice}")
    return plugin or _EVERYTHING, hook
