"""One assembled profile: its plugins, and for each extension point what is called in which order.

pluggy declares and validates; the hot path calls the bound methods that are resolved here once.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import total_ordering
from operator import itemgetter, lt
from typing import Any, NamedTuple

import msgspec
import pluggy

from moorage.errors import PluginError
from moorage.fault_log import text_of, worded
from moorage.framework import slowness
from moorage.framework.blame import let_through
from moorage.framework.handle import Services
from moorage.framework.hints import EventHint, wrong_event
from moorage.framework.host import PluginSource
from moorage.framework.plugin import Plugin
from moorage.framework.points import HOOK_ARGUMENTS, POINTS, hooks_of, points_of
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.verdict import SUCCESS, Code, Verdict, wrong_timeout
from moorage.model.events import ALL, ClusterEvent
from moorage.model.pods import Pod, pod_key

_log = logging.getLogger(__name__)

__all__ = ["Framework", "Hook"]

_REFUSING = ("pre_enqueue", "pre_filter", "filter", "reserve", "permit", "pre_bind")


class Hook(NamedTuple):
    """One call that the host makes: `call` takes all arguments of hook `name`, in order.

    `place` is the plugin's index in `Framework.plugins`; `weight` matters for scores.
    """

    plugin: str
    place: int
    name: str
    call: Callable[..., Any]
    weight: int


class Framework:
    """A profile, ready to run: plugins in configured order, and their hooks by extension point."""

    def __init__(
        self,
        plugins: Sequence[Plugin],
        enabled: Mapping[str, Sequence[tuple[str, int]]],
        *,
        sources: Mapping[str, PluginSource],
        manager: pluggy.PluginManager,
        profile_name: str,
        services: Services,
        percentage_of_nodes_to_score: int,
    ) -> None:
        self.profile_name = profile_name
        self.services = services
        self.plugins = tuple(plugins)
        self.manager = manager
        self.percentage_of_nodes_to_score = percentage_of_nodes_to_score
        self._activity = services.activity
        self._metrics = services.metrics.profile(profile_name)
        self._sources = sources
        self._places = {plugin.name: index for index, plugin in enumerate(plugins)}
        self._hooks = {plugin.name: hooks_of(type(plugin)) for plugin in plugins}
        self.points: dict[str, tuple[Hook, ...]] = {
            point: tuple(
                hook
                for name, weight in enabled.get(point, ())
                if (hook := self._first_form(name, POINTS[point], weight)) is not None
            )
            for point in POINTS
        }
        self._sort = self.points["queue_sort"][0] if self.points["queue_sort"] else None
        self._last_key: Any = None
        self.hints: Mapping[str, tuple[EventHint, ...]] = {}

    def hook(self, plugin: str, name: str, weight: int = 0) -> Hook | None:
        """Return one hook of a plugin of this profile, None where it does not implement it."""
        if name not in self._hooks[plugin]:
            return None
        place = self._places[plugin]
        call = _adapt(getattr(self.plugins[place], name), HOOK_ARGUMENTS[name])
        if self.services.tracer is not None:
            call = self.services.tracer.wrap(plugin, name, call)
        return Hook(plugin, place, name, call, weight)

    def plugin(self, name: str) -> Plugin:
        """Return a plugin of this profile by name; KeyError where it is not enabled."""
        return self.plugins[self._places[name]]

    def origin(self, plugin: str) -> str:
        """Return the distribution and version that a plugin comes from."""
        return self._sources[plugin].origin

    # What the queue needs of a profile

    def sort_key(self, queued: QueuedPod) -> Any:  # noqa: ANN401 - anything that compares
        """Return the key of a pod in the active queue; never raises.

        A plugin that fails here must not cost a pod its place in the queue: the fault is logged
        and the pod comes behind those that were sorted, by priority and time.
        """
        by_rank = -queued.info.priority, queued.timestamp
        if self._sort is None:
            return by_rank
        try:
            key = self._sort.call(queued)
            # A key that does not compare would bring the queue down when it is sifted.
            lt(key, key if self._last_key is None else self._last_key)
        except BaseException as error:  # noqa: BLE001 - any fault of a plugin
            _log.error("%s (pod %s)", self.fault(self._sort, error), queued.key)
            return _Last(by_rank)
        self._last_key = key
        return key

    def pre_enqueue(self, pod: Pod) -> Verdict:
        """Ask the PreEnqueue plugins in order; return the first refusal, or Success."""
        clock, sampled = self._metrics.clock, self._metrics.gate_is_sampled()
        begun = clock()
        verdict = SUCCESS
        for hook in self.points["pre_enqueue"]:
            asked = clock()
            before = self._activity.enter(hook.plugin, hook.name, pod_key(pod))
            called = slowness.begin()
            try:
                verdict = self._check_gate(hook, self.check_verdict(hook, hook.call(pod)))
            except BaseException as error:  # noqa: BLE001 - any fault of a plugin keeps the pod aside
                verdict = Verdict.error(str(self.fault(hook, error))).of(hook.plugin)
            self._activity.leave(before)
            slowness.tell_if_slow(self, hook.plugin, hook.name, pod_key(pod), begun=called)
            if sampled:
                label = verdict.code.label
                self._metrics.plugin(hook.plugin, "PreEnqueue", label, clock() - asked)
            if not verdict.is_success:
                break
        # As a Success also where a plugin refused: kube-scheduler 1.36 was recorded to do so. How
        # each plugin answered is in its own times.
        self._metrics.point("PreEnqueue", clock() - begun)
        return verdict

    def register_events(self) -> None:
        """Ask every plugin that refuses pods for the events that help them; fills `hints`."""
        hints: dict[str, tuple[EventHint, ...]] = {}
        for plugin in self.plugins:
            hook = self.hook(plugin.name, "events_to_register")
            if hook is None:
                refuses = points_of(self._hooks[plugin.name]).intersection(_REFUSING)
                hints[plugin.name] = (EventHint(ALL),) if refuses else ()
                continue
            try:
                hints[plugin.name] = tuple(hook.call())
            except BaseException as error:
                raise self.fault(hook, error) from error
            for hint in hints[plugin.name]:
                self._check_hint(hook, hint)
        self.hints = hints

    # Faults

    def check_verdict(self, hook: Hook, answer: object) -> Verdict:
        """Return a hook's verdict with its plugin's name; PluginError where it is none."""
        if answer is None:
            return SUCCESS
        if isinstance(answer, Verdict):
            wrong = _wrong_verdict(answer.code, answer.reasons, answer.timeout)
            if not wrong:
                return answer.of(hook.plugin)
            raise PluginError(
                f"plugin {hook.plugin!r} ({self.origin(hook.plugin)}) returned a Verdict with "
                f"{wrong} from {hook.name}; make it with Verdict.unschedulable('why') and the like"
            )
        raise PluginError(
            f"plugin {hook.plugin!r} ({self.origin(hook.plugin)}) returned "
            f"{type(answer).__name__} from {hook.name}, which takes a Verdict or None"
        )

    def _check_gate(self, hook: Hook, verdict: Verdict) -> Verdict:
        """Return what `pre_enqueue` answered; PluginError where it keeps the pod for no reason.

        A refusal may have none, but these would keep the pod aside without anybody's meaning to.
        """
        if verdict.code in {Code.SKIP, Code.WAIT}:
            wrong = f"{verdict.code.label}, which has no meaning there"
        elif verdict.code is Code.ERROR and not verdict.reasons:
            wrong = "Error, and did not say why"
        else:
            return verdict
        origin = self.origin(hook.plugin)
        raise PluginError(f"plugin {hook.plugin!r} ({origin}) answered {hook.name} with {wrong}")

    def fault(self, hook: Hook, error: BaseException) -> PluginError:
        """Word what went wrong in a hook: one sentence with plugin, distribution and hook.

        Raises `error` itself where it is not the plugin's, see `let_through`.
        """
        let_through(error, awaited=True)
        if isinstance(error, PluginError) and f"plugin {hook.plugin!r}" in text_of(error):
            return error
        return PluginError(
            f"plugin {hook.plugin!r} ({self.origin(hook.plugin)}) raised in {hook.name}: "
            f"{worded(error)}{_advice(error)}"
        )

    def _check_hint(self, hook: Hook, hint: object) -> None:
        """Raise PluginError for what is no EventHint, or one that the queue cannot use."""
        wrong = _wrong_hint(hint)
        if wrong:
            raise PluginError(
                f"plugin {hook.plugin!r} ({self.origin(hook.plugin)}) returned {wrong} from "
                "events_to_register"
            )

    # Life cycle

    async def start(self) -> None:
        """Start the plugins in order, then ask which events they register."""
        for plugin in self.plugins:
            hook = self.hook(plugin.name, "start")
            if hook is not None:
                try:
                    await _maybe_await(hook.call())
                except BaseException as error:
                    raise self.fault(hook, error) from error
        self.register_events()

    async def close(self, on_fault: Callable[[PluginError], None]) -> None:
        """Close the plugins in reverse order; faults go to `on_fault`."""
        for plugin in reversed(self.plugins):
            hook = self.hook(plugin.name, "close")
            if hook is not None:
                try:
                    await _maybe_await(hook.call())
                except BaseException as error:  # noqa: BLE001 - the others are closed all the same
                    on_fault(self.fault(hook, error))

    def _first_form(self, plugin: str, forms: Sequence[str], weight: int) -> Hook | None:
        for form in forms:
            found = self.hook(plugin, form, weight)
            if found is not None:
                return found
        return None


def _advice(error: BaseException) -> str:
    """Say what to do about a field that the API has, and a record of ours has not."""
    if isinstance(error, AttributeError) and isinstance(error.obj, msgspec.Struct):
        return "; fields that Moorage does not read itself are there if extra_fields names them"
    return ""


def _wrong_verdict(code: object, reasons: object, timeout: object) -> str:
    """Name what no Verdict can have: NamedTuples take anything."""
    if not isinstance(code, Code):
        return f"code {code!r}"
    if not isinstance(reasons, tuple) or not all(isinstance(reason, str) for reason in reasons):
        return f"reasons {reasons!r}"
    if code is Code.WAIT and wrong_timeout(timeout):
        return f"timeout {timeout!r}, which is no number of seconds from 0 on,"
    return ""


def _wrong_hint(hint: object) -> str:
    if not isinstance(hint, EventHint):
        return f"{type(hint).__name__}, which is not a moorage.EventHint,"
    event: object = hint.event
    if not isinstance(event, ClusterEvent):
        return f"an EventHint of {event!r}, which is not a moorage.ClusterEvent,"
    if wrong := wrong_event(event.resource, event.action):
        return f"an EventHint for {wrong},"
    function: object = hint.hint
    if function is not None and not callable(function):
        return f"an EventHint with {function!r}, which cannot be called,"
    return ""


@total_ordering
class _Last:
    """The key of a pod that a plugin failed to sort: behind all others, by rank among its like."""

    __slots__ = ("_rank",)

    def __init__(self, rank: tuple[int, float]) -> None:
        self._rank = rank

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Last) and self._rank == other._rank

    def __lt__(self, other: object) -> bool:
        return isinstance(other, _Last) and self._rank < other._rank

    def __hash__(self) -> int:
        return hash(self._rank)


def _adapt(method: Callable[..., Any], offered: tuple[str, ...]) -> Callable[..., Any]:
    """Return a call that takes all arguments a hook offers and passes on those the method names."""
    wanted = tuple(inspect.signature(method).parameters)
    if wanted == offered:
        return method
    if not wanted:
        return lambda *_: method()
    places = [offered.index(name) for name in wanted]
    if len(places) == 1:
        (place,) = places
        return lambda *arguments: method(arguments[place])
    pick = itemgetter(*places)
    return lambda *arguments: method(*pick(arguments))


async def _maybe_await(answer: Any) -> None:  # noqa: ANN401 - whatever a hook returned
    if inspect.isawaitable(answer):
        await answer
