"""NodeAffinity: nodeSelector and node affinity, the pod's own and the configuration's."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Annotated, Any, NamedTuple, Self

import msgspec
import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, ConfigDict, Field, model_validator

import moorage
from moorage.model import (
    InvalidSelectorError,
    NodeSelectorTerm,
    Requirement,
    node_term_requirements,
)
from moorage.model import (
    NodeAffinity as NodeAffinityRecord,
)

__all__ = ["NodeAffinity", "NodeAffinityArgs"]

_NOT_THE_PODS = 1
_NOT_ENFORCED = 2
_VERDICTS = {
    _NOT_THE_PODS: moorage.Verdict.unresolvable(
        "node(s) didn't match Pod's node affinity/selector"
    ),
    _NOT_ENFORCED: moorage.Verdict.unresolvable(
        "node(s) didn't match scheduler-enforced node affinity"
    ),
}
_NAME = "metadata.name"


class _Term(NamedTuple):
    """A compiled term: conditions on labels and on the node's name, all of which must hold."""

    labels: tuple[Requirement, ...]
    fields: tuple[Requirement, ...]

    @property
    def is_empty(self) -> bool:
        return not self.labels and not self.fields

    def rows(self, nodes: moorage.NodesView) -> NDArray[np.bool_]:
        """Say which nodes match; (n,) bool. An empty term matches none."""
        if self.is_empty:
            return np.zeros(len(nodes), dtype=np.bool_)
        matches = [_label_rows(needed, nodes) for needed in self.labels]
        matches += [_name_rows(needed, nodes) for needed in self.fields]
        return np.logical_and.reduce(matches) if len(matches) > 1 else matches[0]

    def accepts(self, node: moorage.Node) -> bool:
        """Say whether one node matches."""
        labels, name = node.metadata.labels, node.metadata.name
        return (
            not self.is_empty
            and all(needed.accepts(labels.get(needed.key)) for needed in self.labels)
            and all(needed.accepts(name) for needed in self.fields)
        )


class _Weighted(NamedTuple):
    """A compiled preference."""

    weight: int
    term: _Term


class _Required(NamedTuple):
    """What a pod requires: a selector, and terms of which one must hold (None: no affinity)."""

    selector: tuple[Requirement, ...] = ()
    terms: tuple[_Term, ...] | None = None

    def rows(self, nodes: moorage.NodesView) -> NDArray[np.bool_]:
        matches = [_label_rows(needed, nodes) for needed in self.selector]
        if self.terms is not None:
            any_term = np.zeros(len(nodes), dtype=np.bool_)
            for term in self.terms:
                any_term |= term.rows(nodes)
            matches.append(any_term)
        return np.logical_and.reduce(matches) if len(matches) > 1 else matches[0]

    def accepts(self, node: moorage.Node) -> bool:
        labels = node.metadata.labels
        return all(needed.accepts(labels.get(needed.key)) for needed in self.selector) and (
            self.terms is None or any(term.accepts(node) for term in self.terms)
        )

    @property
    def is_empty(self) -> bool:
        return not self.selector and self.terms is None


def _read_affinity(value: Any) -> Any:  # noqa: ANN401 - whatever a configuration holds
    if isinstance(value, dict):
        try:
            return msgspec.convert(value, NodeAffinityRecord)
        except msgspec.ValidationError as error:
            raise ValueError(str(error)) from error
    return value


class NodeAffinityArgs(moorage.PluginArgs):
    """Arguments of NodeAffinity."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    added_affinity: Annotated[NodeAffinityRecord | None, BeforeValidator(_read_affinity)] = Field(
        default=None, description="Node affinity that every pod of the profile has besides its own."
    )

    @model_validator(mode="after")
    def _compiles(self) -> Self:
        affinity = self.added_affinity
        if affinity is not None:
            required = affinity.required_during_scheduling_ignored_during_execution
            if required is not None and not required.node_selector_terms:
                raise ValueError(
                    "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution."
                    "nodeSelectorTerms: at least one term is needed"
                )
            try:
                _required_of(affinity, field="addedAffinity")
                _preferred_of(affinity, field="addedAffinity")
            except InvalidSelectorError as error:
                raise ValueError(str(error)) from error
        return self


class NodeAffinity(moorage.Plugin):
    """Filters by required and scores by preferred node affinity."""

    Args = NodeAffinityArgs
    filter_depends = moorage.Depends(node=True)
    score_depends = moorage.Depends(node=True)

    def __init__(self, args: NodeAffinityArgs, handle: moorage.Handle) -> None:
        super().__init__(args, handle)
        self._enforced = _required_of(args.added_affinity, field="addedAffinity")
        self._added = _preferred_of(args.added_affinity, field="addedAffinity")

    @moorage.hookimpl
    def sign(self, pod: moorage.Pod) -> Hashable:
        """Only the selector and the node affinity matter."""
        affinity = pod.spec.affinity
        return (
            tuple(sorted(pod.spec.node_selector.items())),
            affinity.node_affinity if affinity is not None else None,
        )

    @moorage.hookimpl
    def pre_filter(
        self, state: moorage.CycleState, pod: moorage.Pod
    ) -> moorage.Verdict | frozenset[str] | None:
        """Compile what the pod requires; name the nodes where every term names some."""
        try:
            required = _required(pod)
        except InvalidSelectorError as error:
            return moorage.Verdict.unresolvable(str(error))
        if required.is_empty and self._enforced.is_empty:
            return moorage.SKIP
        state["required"] = required
        names = _named_nodes(required.terms or ())
        if names is not None and not names:
            return moorage.Verdict.unresolvable("pod affinity terms conflict")
        return names

    @moorage.hookimpl
    def filter_nodes(
        self, state: moorage.CycleState, nodes: moorage.NodesView
    ) -> NDArray[np.int16]:
        """Return (n,) codes: 1 where the pod's own, 2 where the added affinity does not match."""
        codes = np.zeros(len(nodes), dtype=np.int16)
        required: _Required = state["required"]
        if not required.is_empty:
            codes[~required.rows(nodes)] = _NOT_THE_PODS
        if not self._enforced.is_empty:
            codes[~self._enforced.rows(nodes)] = _NOT_ENFORCED
        return codes

    @moorage.hookimpl
    def explain(self, code: int) -> moorage.Verdict:
        """Preempting pods does not relabel a node."""
        return _VERDICTS[code]

    @moorage.hookimpl
    def pre_score(self, state: moorage.CycleState, pod: moorage.Pod) -> moorage.Verdict | None:
        """Compile what the pod prefers; skip pods that prefer nothing."""
        affinity = pod.spec.affinity
        own = affinity.node_affinity if affinity is not None else None
        if not self._added and (
            own is None or not own.preferred_during_scheduling_ignored_during_execution
        ):
            return moorage.SKIP
        state["preferred"] = (*_preferred_of(own, field="spec.affinity.nodeAffinity"), *self._added)
        return None

    @moorage.hookimpl
    def score_nodes(self, state: moorage.CycleState, nodes: moorage.NodesView) -> NDArray[np.int64]:
        """Sum the weights of the preferences that match; (n,) int64."""
        scores = np.zeros(len(nodes), dtype=np.int64)
        for weight, term in state["preferred"]:
            scores[term.rows(nodes)] += weight
        return scores

    @moorage.hookimpl
    def normalize_scores(self, scores: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give 100 to the highest sum."""
        return moorage.scale(scores)

    @moorage.hookimpl
    def events_to_register(self) -> list[moorage.EventHint]:
        """Come back when a node comes to match."""
        action = moorage.ActionType
        return [
            moorage.EventHint(
                moorage.ClusterEvent(
                    moorage.EventResource.NODE, action.ADD | action.UPDATE_NODE_LABEL
                ),
                self._matches_now,
            )
        ]

    def _matches_now(
        self, pod: moorage.Pod, before: moorage.Node | None, after: moorage.Node | None
    ) -> moorage.QueueingHint:
        def matches(node: moorage.Node | None) -> bool:
            return node is not None and all(
                required.is_empty or required.accepts(node)
                for required in (self._enforced, _required(pod))
            )

        if matches(after) and not matches(before):
            return moorage.QueueingHint.QUEUE
        return moorage.QueueingHint.SKIP


def _required(pod: moorage.Pod) -> _Required:
    affinity = pod.spec.affinity
    own = _required_of(
        affinity.node_affinity if affinity is not None else None,
        field="spec.affinity.nodeAffinity",
    )
    selector = tuple(
        Requirement(key, "In", frozenset((value,))) for key, value in pod.spec.node_selector.items()
    )
    return own._replace(selector=selector)


def _required_of(affinity: NodeAffinityRecord | None, *, field: str) -> _Required:
    required = (
        affinity.required_during_scheduling_ignored_during_execution
        if affinity is not None
        else None
    )
    if required is None:
        return _Required()
    where = f"{field}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
    return _Required(
        terms=tuple(
            _compile(term, field=f"{where}[{index}]")
            for index, term in enumerate(required.node_selector_terms)
        )
    )


def _preferred_of(affinity: NodeAffinityRecord | None, *, field: str) -> tuple[_Weighted, ...]:
    if affinity is None:
        return ()
    where = f"{field}.preferredDuringSchedulingIgnoredDuringExecution"
    return tuple(
        _Weighted(
            preferred.weight,
            _compile(preferred.preference, field=f"{where}[{index}].preference"),
        )
        for index, preferred in enumerate(
            affinity.preferred_during_scheduling_ignored_during_execution
        )
    )


def _compile(term: NodeSelectorTerm, *, field: str) -> _Term:
    return _Term(*node_term_requirements(term, field=field))


def _named_nodes(terms: Iterable[_Term]) -> frozenset[str] | None:
    """Return the only nodes that can match, None where a term names none."""
    names: set[str] | None = None
    for term in terms:
        named = [needed.values for needed in term.fields if needed.operator == "In"]
        if not named:
            return None
        names = (names or set()) | frozenset.intersection(*named)
    return None if names is None else frozenset(names)


def _label_rows(needed: Requirement, nodes: moorage.NodesView) -> NDArray[np.bool_]:
    labels = nodes.labels(needed.key)
    if needed.operator == "In":
        return labels.isin(needed.values)
    if needed.operator == "NotIn":
        return ~labels.isin(needed.values)
    if needed.operator == "Exists":
        return labels.present
    if needed.operator == "DoesNotExist":
        return ~labels.present
    return labels.map(needed.accepts, np.bool_)


def _name_rows(needed: Requirement, nodes: moorage.NodesView) -> NDArray[np.bool_]:
    matches = np.zeros(len(nodes), dtype=np.bool_)
    matches[nodes.positions(needed.values)] = True
    return ~matches if needed.operator == "NotIn" else matches
