"""NodeAffinity: nodeSelector and node affinity, the pod's own and the configuration's."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Annotated, Any, NamedTuple, Self

import msgspec
import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, ConfigDict, Field, model_validator

import moorage
from moorage.model import InvalidSelectorError, NodeSelectorTerm
from moorage.model import NodeAffinity as NodeAffinityRecord
from moorage_builtin.node_terms import (
    NodeTerm,
    RequiredNodeAffinity,
    compile_term,
    required_of,
    required_of_pod,
    required_terms,
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


class _Weighted(NamedTuple):
    """A compiled preference."""

    weight: int
    term: NodeTerm


def _read_affinity(value: Any) -> Any:  # noqa: ANN401 - whatever a configuration holds
    if not isinstance(value, dict):
        return value
    written = _without_nulls(value)
    try:
        record = msgspec.convert(written, NodeAffinityRecord)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from error
    unknown = next(_unknown_fields(written, record), None)
    if unknown is not None:
        raise ValueError(f"unknown field {unknown}")
    return record


def _without_nulls(value: Any) -> Any:  # noqa: ANN401 - whatever a configuration holds
    """Leave out what is null: it is not set."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def _unknown_fields(written: Any, record: object, where: str = "") -> Iterator[str]:  # noqa: ANN401 - whatever a configuration holds
    """Yield the fields, by their path, that were written but are not read."""
    if isinstance(record, msgspec.Struct):
        known = {
            field.encode_name: getattr(record, field.name)
            for field in msgspec.structs.fields(record)
        }
        for name, item in written.items():
            if name in known:
                yield from _unknown_fields(item, known[name], f"{where}{name}.")
            else:
                yield f"{where}{name}"
    elif isinstance(record, tuple):
        for index, (item, one) in enumerate(zip(written, record, strict=True)):
            yield from _unknown_fields(item, one, f"{where.removesuffix('.')}[{index}].")


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
                required_of(affinity, field="addedAffinity")
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
        self._enforced = required_of(args.added_affinity, field="addedAffinity")
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
        required = required_of_pod(pod)
        if required.is_empty and self._enforced.is_empty:
            return moorage.SKIP
        state["required"] = required
        names = _named_nodes(required_terms(pod) or ())
        if names is not None and not names:
            return moorage.Verdict.unresolvable("pod affinity terms conflict")
        return names

    @moorage.hookimpl
    def filter_nodes(
        self, state: moorage.CycleState, nodes: moorage.NodesView
    ) -> NDArray[np.int16]:
        """Return (n,) codes: 1 where the pod's own, 2 where the added affinity does not match."""
        codes = np.zeros(len(nodes), dtype=np.int16)
        required: RequiredNodeAffinity = state["required"]
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
                for required in (self._enforced, required_of_pod(pod))
            )

        if matches(after) and not matches(before):
            return moorage.QueueingHint.QUEUE
        return moorage.QueueingHint.SKIP


def _preferred_of(affinity: NodeAffinityRecord | None, *, field: str) -> tuple[_Weighted, ...]:
    if affinity is None:
        return ()
    where = f"{field}.preferredDuringSchedulingIgnoredDuringExecution"
    return tuple(
        _Weighted(
            preferred.weight,
            compile_term(preferred.preference, field=f"{where}[{index}].preference"),
        )
        for index, preferred in enumerate(
            affinity.preferred_during_scheduling_ignored_during_execution
        )
        if preferred.weight
    )


def _named_nodes(terms: Iterable[NodeSelectorTerm]) -> frozenset[str] | None:
    """Return the only nodes that can match, None where a term names none."""
    names: set[str] | None = None
    for term in terms:
        named = [
            frozenset(field.values)
            for field in term.match_fields
            if field.key == "metadata.name" and field.operator == "In"
        ]
        if not named:
            return None
        names = (names or set()) | frozenset.intersection(*named)
    return None if names is None else frozenset(names)
