"""The inter-pod affinity terms of a pod, compiled: which pods each selects, and around what.

Rules: a term without namespaces and without a namespace selector means the pod's own namespace; a
namespace is meant if it is listed or selected; a missing label selector selects nothing.
matchLabelKeys and mismatchLabelKeys add what the pod's own labels say of these keys to the label
selector (KEP-3633).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from typing import NamedTuple

from moorage.model.affinity import PodAffinity, PodAffinityTerm
from moorage.model.pods import Pod
from moorage.model.selectors import InvalidSelectorError, Requirement, Selector, selector_of

__all__ = ["AffinityTerm", "AffinityTerms", "TermKind", "affinity_terms"]

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_NO_NAMESPACE = Selector(nothing=True)
_HEAVIEST = 100


class TermKind(IntEnum):
    """What a term asks for; the numbers index `AffinityTerms`."""

    AFFINITY = 0
    """Required: be near such pods."""
    ANTI_AFFINITY = 1
    """Required: be away from such pods."""
    PREFERRED = 2
    """Preferred: near such pods (weight above 0) or away from them (below 0)."""


class AffinityTerm(NamedTuple):
    """One compiled term; hashable, so that equal terms of many pods are kept once.

    `namespaces` are meant by name, others by `namespace_selector`, which looks at their labels.
    `weight` is 0 for required terms, 1 to 100 for preferred ones, negative for anti-affinity.
    """

    topology_key: str
    namespaces: frozenset[str]
    namespace_selector: Selector
    selector: Selector
    weight: int = 0

    def selects(self, pod: Pod, namespace_labels: Mapping[str, str] | None) -> bool:
        """Say whether a pod is meant; `namespace_labels` are those of its namespace now.

        None: the namespace is not known. Only its name, or a selector of all, can mean it then.
        """
        return self.admits(pod.metadata.namespace, namespace_labels) and self.selector.matches(
            pod.metadata.labels
        )

    def admits(self, namespace: str, labels: Mapping[str, str] | None) -> bool:
        """Say whether pods of a namespace with these labels (None: not known) may be meant."""
        if namespace in self.namespaces:
            return True
        if labels is None:
            return self.namespace_selector == Selector()
        return self.namespace_selector.matches(labels)


class AffinityTerms(NamedTuple):
    """All terms of one pod by `TermKind`.

    `invalid` says what is wrong with the first bad term, and names its field; the list of the
    pod's spec that has a bad term counts as empty, as in kube-scheduler.
    """

    affinity: tuple[AffinityTerm, ...] = ()
    anti_affinity: tuple[AffinityTerm, ...] = ()
    preferred: tuple[AffinityTerm, ...] = ()
    invalid: str = ""

    def of(self, kind: TermKind) -> tuple[AffinityTerm, ...]:
        """Return the terms of one kind."""
        terms: tuple[tuple[AffinityTerm, ...], ...] = self[:3]
        return terms[kind]

    @property
    def are_none(self) -> bool:
        """Whether the pod has no terms, good or bad."""
        return self == _NONE


_NONE = AffinityTerms()


def affinity_terms(pod: Pod) -> AffinityTerms:
    """Compile a pod's terms; never raises."""
    affinity = pod.spec.affinity
    if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
        return _NONE
    near = _Wanted(affinity.pod_affinity or PodAffinity(), "spec.affinity.podAffinity", 1)
    away = _Wanted(affinity.pod_anti_affinity or PodAffinity(), "spec.affinity.podAntiAffinity", -1)
    faults: list[str] = []
    return AffinityTerms(
        _compile_all(near.required(), pod, faults),
        _compile_all(away.required(), pod, faults),
        _compile_all(near.preferred(), pod, faults) + _compile_all(away.preferred(), pod, faults),
        faults[0] if faults else "",
    )


_Raw = tuple[PodAffinityTerm, str, int]
"""A term as the pod has it, the field it is in, and its weight (0: required)."""


class _Wanted(NamedTuple):
    """One half of a pod's affinity, as the pod has it."""

    affinity: PodAffinity
    field: str
    sign: int

    def required(self) -> Iterator[_Raw]:
        for index, term in enumerate(
            self.affinity.required_during_scheduling_ignored_during_execution
        ):
            yield term, f"{self.field}.{_REQUIRED}[{index}]", 0

    def preferred(self) -> Iterator[_Raw]:
        for index, preferred in enumerate(
            self.affinity.preferred_during_scheduling_ignored_during_execution
        ):
            where = f"{self.field}.{_PREFERRED}[{index}]"
            _check_weight(preferred.weight, where)
            yield (
                preferred.pod_affinity_term,
                f"{where}.podAffinityTerm",
                self.sign * preferred.weight,
            )


def _check_weight(weight: int, where: str) -> None:
    if not 1 <= weight <= _HEAVIEST:
        raise InvalidSelectorError(f"{where}.weight: {weight} is not from 1 to {_HEAVIEST}")


def _compile_all(raw: Iterable[_Raw], pod: Pod, faults: list[str]) -> tuple[AffinityTerm, ...]:
    try:
        return tuple(_compile(term, pod, field, weight) for term, field, weight in raw)
    except InvalidSelectorError as error:
        faults.append(str(error))
        return ()


def _compile(term: PodAffinityTerm, pod: Pod, field: str, weight: int) -> AffinityTerm:
    if not term.topology_key:
        raise InvalidSelectorError(f"{field}.topologyKey: must not be empty")
    selector = selector_of(term.label_selector, field=f"{field}.labelSelector")
    namespaces = frozenset(term.namespaces)
    namespace_selector = _NO_NAMESPACE
    if term.namespace_selector is not None:
        namespace_selector = selector_of(
            term.namespace_selector, field=f"{field}.namespaceSelector"
        )
    elif not namespaces:
        namespaces = frozenset((pod.metadata.namespace,))
    selector = _with_own_labels(selector, term, pod.metadata.labels)
    return AffinityTerm(term.topology_key, namespaces, namespace_selector, selector, weight)


def _with_own_labels(
    selector: Selector, term: PodAffinityTerm, labels: Mapping[str, str]
) -> Selector:
    """Add what the pod's labels say of the keys to match and to mismatch.

    The API server does so when the pod is made, and then the selector names the key already: it
    stays as it is, whatever became of the pod's labels since. A missing selector selects nothing,
    with or without keys.
    """
    if selector.nothing or not (term.match_label_keys or term.mismatch_label_keys):
        return selector
    named = {needed.key for needed in selector.requirements}
    added = (
        *_own(term.match_label_keys, "In", labels),
        *_own(term.mismatch_label_keys, "NotIn", labels),
    )
    return Selector(
        (*selector.requirements, *(needed for needed in added if needed.key not in named))
    )


def _own(keys: Iterable[str], operator: str, labels: Mapping[str, str]) -> Iterable[Requirement]:
    return (Requirement(key, operator, frozenset((labels[key],))) for key in keys if key in labels)
