"""One plugin alone: its hooks, asked as the host asks them, with the host's checks of the answers."""

from __future__ import annotations

import inspect
from collections.abc import Coroutine, Hashable, Iterable, Mapping
from typing import Any, cast

import numpy as np

from moorage.cache import NodesView
from moorage.cycle.asking import Asker
from moorage.cycle.steps import Step
from moorage.errors import PluginError
from moorage.framework.cycle_state import CycleState
from moorage.framework.hints import EventHint
from moorage.framework.plugin import Plugin, PluginArgs
from moorage.framework.points import HOOK_ARGUMENTS
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.verdict import SUCCESS, Code, Verdict
from moorage.model import Pod, PodInfo
from moorage.testing.assembling import PluginChoice, make_framework, name_of
from moorage.testing.cluster import Cluster
from moorage.testing.running import run_to_end

__all__ = ["SinglePlugin"]


class SinglePlugin:
    """A plugin made and started as the only one of a profile.

    `choice` is its class, or the name of an installed plugin. `plugin` is the instance; `step` and
    `asker` are how the host's cycle asks it. What the plugin notes about a pod (`moorage.CycleState`) is kept from one call to the next, as in one
    attempt to schedule it; `forget` begins anew. Whatever the plugin raises, or answers against the
    contract, is a PluginError.
    """

    def __init__(
        self,
        choice: PluginChoice,
        cluster: Cluster,
        *,
        args: Mapping[str, Any] | PluginArgs | None = None,
    ) -> None:
        name = name_of(choice)
        self.cluster = cluster
        self._framework = make_framework(
            cluster.services(), plugins=[choice], args={name: args} if args else None
        )
        if not self._framework.plugins:
            raise PluginError(
                f"plugin {name!r} implements no extension point; mark its hooks with "
                "@moorage.hookimpl"
            )
        self.plugin: Plugin = self._framework.plugins[0]
        self.step = Step(self._framework, self.plugin)
        self.asker = Asker(self._framework)
        self._states: dict[str, CycleState] = {}
        run_to_end(self._framework.start())

    def close(self) -> None:
        """Close the plugin; raises what it raises."""
        faults: list[PluginError] = []
        run_to_end(self._framework.close(faults.append))
        if faults:
            raise faults[0]

    def forget(self, pod: Pod) -> None:
        """Drop the plugin's notes on a pod: its next attempt begins."""
        self._states.pop(pod.metadata.uid, None)

    def state(self, pod: Pod) -> CycleState:
        """Return the plugin's notes on a pod, to look at or to write."""
        return self._states.setdefault(pod.metadata.uid, CycleState())

    # Queueing

    def pre_enqueue(self, pod: Pod) -> Verdict:
        """Ask whether a pod may enter the queue."""
        verdict = self._framework.pre_enqueue(pod)
        if verdict.code is Code.ERROR:
            raise PluginError(verdict.message)
        return verdict

    def sort_key(self, pod: Pod) -> Any:  # noqa: ANN401 - anything that compares
        """Return the key of a pod that is queued now."""
        return self._call("queue_sort", QueuedPod(PodInfo(pod), timestamp=self.cluster.clock()))

    @property
    def events(self) -> tuple[EventHint, ...]:
        """The events that the plugin registered."""
        return self._framework.hints[self.plugin.name]

    # Filtering and scoring

    def sign(self, pod: Pod) -> Hashable | None:
        """Return the plugin's fragment for a pod."""
        return cast("Hashable | None", self._call("sign", pod, PodInfo(pod)))

    def pre_filter(self, pod: Pod) -> Verdict | frozenset[str]:
        """Ask `pre_filter`, with notes begun anew: a verdict, or the only nodes to look at."""
        self.forget(pod)
        answer = self.asker.pre_filter(
            self.step, self.state(pod), PodInfo(pod), self.cluster.view()
        )
        return answer.verdict if answer.names is None else answer.names

    def filter(self, pod: Pod) -> dict[str, Verdict]:
        """Ask `pre_filter` and then the filter: a verdict for each node, Success where it passes."""
        nodes = self.cluster.view()
        names = nodes.names()
        before = self.pre_filter(pod)
        if isinstance(before, frozenset):
            refusal = Verdict.unresolvable(f"node(s) didn't satisfy plugin {self.plugin.name}")
            excluded = {name: refusal.of(self.plugin.name) for name in names if name not in before}
        elif before.is_rejection or before.code is Code.ERROR:
            return dict.fromkeys(names, before)
        else:
            excluded = {}
            if before.code is Code.SKIP:
                return dict.fromkeys(names, SUCCESS)
        state, info = self.state(pod), PodInfo(pod)
        codes = self.asker.filter(self.step, state, info, nodes)
        verdicts = dict.fromkeys(names, SUCCESS)
        if codes is not None:
            for name, code in zip(names, codes.tolist(), strict=True):
                if code:
                    verdicts[name] = self.asker.explain(self.step, state, info, code)
        return verdicts | excluded

    def raw_scores(self, pod: Pod, nodes: Iterable[str] | None = None) -> dict[str, float]:
        """Return what the plugin scores, before normalisation; empty where it skips the pod.

        `nodes` are those that passed the filters, without it all.
        """
        view = self.cluster.view(nodes)
        if not self._scores(pod, view):
            return {}
        raw = self.asker.score(self.step, self.state(pod), PodInfo(pod), view)
        scores = [raw] * len(view) if isinstance(raw, int) else raw.tolist()
        return dict(zip(view.names(), scores, strict=True))

    def scores(self, pod: Pod, nodes: Iterable[str] | None = None) -> dict[str, int]:
        """Return the normalised scores, 0 to 100; arguments as `raw_scores`."""
        view = self.cluster.view(nodes)
        if not self._scores(pod, view):
            return {}
        state, info = self.state(pod), PodInfo(pod)
        raw = self.asker.score(self.step, state, info, view)
        scores = self.asker.normalize(self.step, state, info, raw, view)
        return dict(zip(view.names(), scores.tolist(), strict=True))

    def normalize(self, scores: Mapping[str, float], pod: Pod | None = None) -> dict[str, int]:
        """Normalise given raw scores by node."""
        pod = pod or Pod()
        raw = np.array(list(scores.values()))
        normal = self.asker.normalize(
            self.step, self.state(pod), PodInfo(pod), raw, self.cluster.view(scores)
        )
        return dict(zip(scores, normal.tolist(), strict=True))

    # A node was chosen

    def reserve(self, pod: Pod, node: str) -> Verdict:
        """Ask `reserve`."""
        return self._verdict("reserve", pod, node)

    def unreserve(self, pod: Pod, node: str) -> None:
        """Call `unreserve`."""
        self._call("unreserve", self.state(pod), pod, node)

    def permit(self, pod: Pod, node: str) -> Verdict:
        """Ask `permit`; code Wait has its `timeout` in seconds."""
        return self._verdict("permit", pod, node)

    def pre_bind_pre_flight(self, pod: Pod, node: str) -> Verdict:
        """Ask `pre_bind_pre_flight`."""
        return self._verdict("pre_bind_pre_flight", pod, node)

    def pre_bind(self, pod: Pod, node: str) -> Verdict:
        """Ask `pre_bind`."""
        return self._verdict("pre_bind", pod, node)

    def bind(self, pod: Pod, node: str) -> Verdict:
        """Ask `bind`."""
        return self._verdict("bind", pod, node)

    def post_bind(self, pod: Pod, node: str) -> None:
        """Call `post_bind`."""
        self._call("post_bind", self.state(pod), pod, node)

    # Inside

    def _scores(self, pod: Pod, view: NodesView) -> bool:
        """Ask `pre_score` whether the plugin scores a pod, or skips it."""
        if self.step.score is None:
            raise PluginError(f"plugin {self.plugin.name!r} does not score")
        if pod.metadata.uid not in self._states:
            self.pre_filter(pod)  # it may note what scoring needs
        return self.asker.pre_score(self.step, self.state(pod), PodInfo(pod), view)

    def _verdict(self, name: str, pod: Pod, node: str) -> Verdict:
        answer = self._call(name, self.state(pod), pod, node)
        hook = self._framework.hook(self.plugin.name, name)
        assert hook is not None  # noqa: S101 - it was called just now
        return self._framework.check_verdict(hook, answer)

    def _call(self, name: str, *arguments: object) -> Any:  # noqa: ANN401 - as the hook answers
        hook = self._framework.hook(self.plugin.name, name)
        if hook is None:
            raise PluginError(
                f"plugin {self.plugin.name!r} does not implement {name}"
                f"({', '.join(HOOK_ARGUMENTS[name])})"
            )
        try:
            answer = hook.call(*arguments)
            if inspect.iscoroutine(answer):
                return run_to_end(cast("Coroutine[Any, Any, Any]", answer))
        except BaseException as error:
            raise self._framework.fault(hook, error) from error
        return answer
