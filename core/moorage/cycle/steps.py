"""What a profile's plugins are asked in a cycle, and in which order."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from moorage.framework.plugin import Plugin
from moorage.framework.points import POINT_LABELS
from moorage.framework.profile import Framework, Hook
from moorage.framework.scaling import HIGHEST_SCORE
from moorage.metrics.families import CounterSeries

__all__ = ["Plan", "Step"]


class Evaluations(NamedTuple):
    """What counts how often a plugin is asked, by point."""

    pre_filter: CounterSeries
    filter: CounterSeries
    pre_score: CounterSeries
    score: CounterSeries

    @classmethod
    def of(cls, framework: Framework, step: Step) -> Evaluations:
        """Find the series of a plugin; where it has no such hook, one that nobody sees."""
        metrics = framework.services.metrics.profile(framework.profile_name)

        def series(hook: Hook | None) -> CounterSeries:
            if hook is None:
                return CounterSeries()
            return metrics.evaluations(step.name, POINT_LABELS[hook.name])

        return cls(*map(series, (step.pre_filter, step.filter, step.pre_score, step.score)))


_AFTER_THE_CYCLE = ("reserve", "permit", "pre_bind", "bind", "post_bind")


class Step:
    """One plugin's part in the cycle: its hooks at the points where the profile enables it.

    `is_shared`: pods with equal `sign` fragments share its answers, since it declared what its
    answers for a row depend on at each of these points. `keeps_notes`: it is called again after
    the cycle, with its notes.
    """

    def __init__(self, framework: Framework, plugin: Plugin) -> None:
        self.plugin = plugin
        self.name = plugin.name
        self.place = framework.plugins.index(plugin)
        self.pre_filter = _enabled(framework, "pre_filter", self.name)
        self.filter = _enabled(framework, "filter", self.name)
        self.pre_score = _enabled(framework, "pre_score", self.name)
        self.score = _enabled(framework, "score", self.name)
        self.explain = framework.hook(self.name, "explain")
        self.normalize = framework.hook(self.name, "normalize_scores")
        self.add_pods = framework.hook(self.name, "add_pods")
        self.remove_pods = framework.hook(self.name, "remove_pods")
        self.sign = framework.hook(self.name, "sign")
        self.keeps_notes = any(
            _enabled(framework, point, self.name) is not None for point in _AFTER_THE_CYCLE
        )
        self.weight = self.score.weight if self.score else 0
        self.evaluations = Evaluations.of(framework, self)
        self.is_shared = (
            self.sign is not None
            and ((self.filter or self.pre_filter) is None or plugin.filter_depends is not None)
            and ((self.score or self.pre_score) is None or plugin.score_depends is not None)
        )

    @property
    def takes_nodes_singly(self) -> bool:
        """Whether the plugin filters one node at a time."""
        return self.filter is not None and self.filter.name == "filter"

    def __repr__(self) -> str:
        return f"Step({self.name})"


class Plan:
    """All steps of a profile, in the configured order of each extension point.

    `score_dtype` is the smallest integer that holds every sum of weighted scores.
    """

    def __init__(self, framework: Framework) -> None:
        steps = {plugin.name: Step(framework, plugin) for plugin in framework.plugins}
        ordered = {
            point: tuple(steps[hook.plugin] for hook in framework.points[point])
            for point in ("pre_filter", "filter", "pre_score", "score")
        }
        self.pre_filters = ordered["pre_filter"]
        self.filters = ordered["filter"]
        self.scores = ordered["score"]
        self.only_pre_score = tuple(step for step in ordered["pre_score"] if step.score is None)
        highest = sum(HIGHEST_SCORE * abs(step.weight) for step in self.scores)
        self.score_dtype: type[np.signedinteger[Any]] = next(
            kind for kind in (np.int16, np.int32, np.int64) if highest <= np.iinfo(kind).max
        )
        self.asked = tuple(dict.fromkeys(step for part in ordered.values() for step in part))
        self.shared = tuple(step for step in self.asked if step.is_shared)
        self.noting = tuple(step for step in self.asked if step.keeps_notes)
        self.signs = tuple(step.sign for step in self.shared if step.sign is not None)


def _enabled(framework: Framework, point: str, plugin: str) -> Hook | None:
    return next((hook for hook in framework.points[point] if hook.plugin == plugin), None)
