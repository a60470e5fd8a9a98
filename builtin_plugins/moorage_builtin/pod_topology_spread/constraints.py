"""A pod's constraints, compiled and checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import moorage
from moorage.model import (
    InvalidSelectorError,
    Requirement,
    Selector,
    TopologySpreadConstraint,
    selector_of,
)

__all__ = ["Constraint", "Constraints", "InvalidConstraintError", "constraints_of"]

_FIELD = "spec.topologySpreadConstraints"
_POLICIES = ("Honor", "Ignore")


class InvalidConstraintError(ValueError):
    """A constraint that the API would refuse; the text names the field."""


class Constraint(NamedTuple):
    """One constraint, with the defaults filled in that the API leaves out.

    `self_match`: 1 where the pod itself is selected. `honors_affinity`: only nodes that the pod's
    required node affinity lets in count; `honors_taints`: only nodes whose taints it tolerates.
    """

    key: str
    selector: Selector
    self_match: int
    max_skew: int
    min_domains: int = 1
    honors_affinity: bool = True
    honors_taints: bool = False

    @property
    def counts_nothing(self) -> bool:
        """Whether the pods that are there count for nothing: an empty selector is taken so in 1.36.

        For everything else an empty selector selects all, also in 1.36: see `selects`.
        """
        return self.selector.nothing or not self.selector.requirements

    def selects(self, pod: moorage.Pod) -> bool:
        """Say whether one pod, of the right namespace, that comes or goes makes a difference."""
        return self.selector.matches(pod.metadata.labels)


class Constraints(NamedTuple):
    """A pod's constraints, in its order: `hard` ones filter, `soft` ones score.

    `needs_all_keys`: nodes that lack a key of a soft constraint score lowest and count for none;
    false only for the built-in default constraints.
    """

    hard: tuple[Constraint, ...] = ()
    soft: tuple[Constraint, ...] = ()
    needs_all_keys: bool = True


def constraints_of(pod: moorage.Pod) -> Constraints:
    """Compile the constraints that a pod has of its own; raises InvalidConstraintError."""
    hard: list[Constraint] = []
    soft: list[Constraint] = []
    for index, constraint in enumerate(pod.spec.topology_spread_constraints):
        where = f"{_FIELD}[{index}]"
        _check(constraint, where)
        try:
            selector = selector_of(constraint.label_selector, field=f"{where}.labelSelector")
        except InvalidSelectorError as error:
            raise InvalidConstraintError(str(error)) from error
        selector = _with_own_labels(selector, constraint.match_label_keys, pod)
        side = hard if constraint.when_unsatisfiable == "DoNotSchedule" else soft
        side.append(compiled(constraint, selector, pod))
    return Constraints(tuple(hard), tuple(soft))


def compiled(
    constraint: TopologySpreadConstraint, selector: Selector, pod: moorage.Pod
) -> Constraint:
    """Fill in what a checked constraint leaves out."""
    return Constraint(
        key=constraint.topology_key,
        selector=selector,
        self_match=int(selector.matches(pod.metadata.labels)),
        max_skew=constraint.max_skew,
        min_domains=1 if constraint.min_domains is None else constraint.min_domains,
        honors_affinity=constraint.node_affinity_policy != "Ignore",
        honors_taints=constraint.node_taints_policy == "Honor",
    )


def _check(constraint: TopologySpreadConstraint, where: str) -> None:
    if constraint.max_skew <= 0:
        raise InvalidConstraintError(
            f"{where}.maxSkew: must be greater than 0, got {constraint.max_skew}"
        )
    if not constraint.topology_key:
        raise InvalidConstraintError(f"{where}.topologyKey: must not be empty")
    if constraint.min_domains is not None and constraint.min_domains <= 0:
        raise InvalidConstraintError(
            f"{where}.minDomains: must be greater than 0, got {constraint.min_domains}"
        )
    _check_word(
        constraint.when_unsatisfiable,
        ("DoNotSchedule", "ScheduleAnyway"),
        f"{where}.whenUnsatisfiable",
    )
    for policy, name in (
        (constraint.node_affinity_policy, "nodeAffinityPolicy"),
        (constraint.node_taints_policy, "nodeTaintsPolicy"),
    ):
        if policy is not None:
            _check_word(policy, _POLICIES, f"{where}.{name}")


def _check_word(word: str, known: Sequence[str], where: str) -> None:
    if word not in known:
        raise InvalidConstraintError(f"{where}: {word!r} is not one of {', '.join(known)}")


def _with_own_labels(selector: Selector, keys: Sequence[str], pod: moorage.Pod) -> Selector:
    """Add ``matchLabelKeys``: pods must have the pod's own values of these labels, where it has any.

    The API server adds them too, in 1.34 and later; what is there already is not added again.
    """
    if selector.nothing:
        return selector
    labels = pod.metadata.labels
    own = [Requirement(key, "In", frozenset((labels[key],))) for key in keys if key in labels]
    return Selector(tuple(dict.fromkeys((*selector.requirements, *own))))
