"""Inter-pod affinity terms, compiled."""

from __future__ import annotations

import pytest

from moorage.model import (
    Affinity,
    AffinityTerm,
    LabelSelector,
    LabelSelectorRequirement,
    ObjectMeta,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodInfo,
    PodSpec,
    Requirement,
    Selector,
    TermKind,
    WeightedPodAffinityTerm,
    affinity_terms,
)

WEB = LabelSelector(match_labels={"app": "web"})
IS_WEB = Requirement("app", "In", frozenset({"web"}))
BAD = LabelSelector(match_expressions=(LabelSelectorRequirement(key="app", operator="Near"),))
NOTHING = Selector(nothing=True)


def pod(affinity: Affinity | None, **labels: str) -> Pod:
    """Make a pod in namespace ``ns``."""
    metadata = ObjectMeta(name="p", namespace="ns", labels=labels)
    return Pod(metadata=metadata, spec=PodSpec(affinity=affinity))


def half(*required: PodAffinityTerm, **preferred: int) -> PodAffinity:
    """Make one half of affinity; preferred terms by topology key and weight."""
    return PodAffinity(
        required_during_scheduling_ignored_during_execution=required,
        preferred_during_scheduling_ignored_during_execution=tuple(
            WeightedPodAffinityTerm(
                weight=weight,
                pod_affinity_term=PodAffinityTerm(topology_key=key, label_selector=WEB),
            )
            for key, weight in preferred.items()
        ),
    )


def one(term: PodAffinityTerm, **labels: str) -> AffinityTerm:
    """Compile one required term."""
    (compiled,) = affinity_terms(pod(Affinity(pod_affinity=half(term)), **labels)).affinity
    return compiled


@pytest.mark.parametrize(
    "affinity",
    [None, Affinity(), Affinity(pod_affinity=PodAffinity(), pod_anti_affinity=PodAffinity())],
    ids=["none", "empty", "empty halves"],
)
def test_a_pod_without_terms_has_none(affinity: Affinity | None) -> None:
    """However it says so."""
    assert affinity_terms(pod(affinity)).are_none


def test_terms_go_by_kind_and_weights_by_sign() -> None:
    """Anti-affinity that is preferred has a weight below 0."""
    affinity = Affinity(
        pod_affinity=half(PodAffinityTerm(topology_key="a", label_selector=WEB), b=3),
        pod_anti_affinity=half(PodAffinityTerm(topology_key="c", label_selector=WEB), d=4),
    )

    terms = affinity_terms(pod(affinity))

    kinds = {
        kind: [(term.topology_key, term.weight) for term in terms.of(kind)] for kind in TermKind
    }
    assert kinds == {
        TermKind.AFFINITY: [("a", 0)],
        TermKind.ANTI_AFFINITY: [("c", 0)],
        TermKind.PREFERRED: [("b", 3), ("d", -4)],
    }
    assert not terms.are_none


@pytest.mark.parametrize(
    ("term", "namespaces", "selector"),
    [
        pytest.param(PodAffinityTerm(), {"ns"}, NOTHING, id="neither"),
        pytest.param(PodAffinityTerm(namespaces=("a", "b")), {"a", "b"}, NOTHING, id="listed"),
        pytest.param(
            PodAffinityTerm(namespace_selector=WEB), set(), Selector((IS_WEB,)), id="selected"
        ),
        pytest.param(
            PodAffinityTerm(namespace_selector=LabelSelector()), set(), Selector(), id="all"
        ),
    ],
)
def test_the_pods_own_namespace_is_meant_where_a_term_names_none(
    term: PodAffinityTerm, namespaces: set[str], selector: Selector
) -> None:
    """A selector of namespaces stands for itself, also an empty one."""
    compiled = one(
        PodAffinityTerm(
            topology_key="k",
            label_selector=WEB,
            namespaces=term.namespaces,
            namespace_selector=term.namespace_selector,
        )
    )

    assert compiled == AffinityTerm("k", frozenset(namespaces), selector, Selector((IS_WEB,)))


def test_label_keys_add_the_pods_own_values() -> None:
    """But for keys that the pod lacks, and those that the selector names already."""
    term = PodAffinityTerm(
        topology_key="k",
        label_selector=WEB,
        match_label_keys=("rev", "lacking", "app"),
        mismatch_label_keys=("tenant",),
    )

    assert one(term, rev="1", tenant="t", app="db").selector.requirements == (
        IS_WEB,
        Requirement("rev", "In", frozenset({"1"})),
        Requirement("tenant", "NotIn", frozenset({"t"})),
    )


def test_a_missing_selector_selects_nothing_with_or_without_keys() -> None:
    """It stays a selector of nothing."""
    assert one(PodAffinityTerm(topology_key="k", match_label_keys=("rev",)), rev="1").selector == (
        NOTHING
    )


@pytest.mark.parametrize(
    ("labels", "admitted"),
    [({"app": "web"}, True), ({}, False), (None, False)],
    ids=["selected", "not selected", "unknown"],
)
def test_namespaces_are_admitted_by_their_labels(
    labels: dict[str, str] | None, *, admitted: bool
) -> None:
    """One that is not known has none."""
    term = one(PodAffinityTerm(topology_key="k", label_selector=WEB, namespace_selector=WEB))

    assert term.admits("other", labels) is admitted
    assert term.selects(pod(None, app="web"), labels) is admitted
    assert not term.selects(pod(None, app="db"), labels)


def test_all_namespaces_include_those_that_are_not_known() -> None:
    """An empty selector asks for no label."""
    assert one(
        PodAffinityTerm(topology_key="k", label_selector=WEB, namespace_selector=LabelSelector())
    ).admits("other", None)


def test_the_first_bad_term_is_named_and_its_list_left_out() -> None:
    """Other lists are as they are."""
    good = PodAffinityTerm(topology_key="k", label_selector=WEB)
    bad = PodAffinityTerm(topology_key="k", label_selector=BAD)
    affinity = Affinity(
        pod_affinity=half(good, bad), pod_anti_affinity=half(good, zone=101, host=5)
    )

    terms = affinity_terms(pod(affinity))

    assert terms.invalid == (
        "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[1].labelSelector"
        ".matchExpressions[0].operator: 'Near' is not one of In, NotIn, Exists, DoesNotExist"
    )
    assert (terms.affinity, terms.preferred) == ((), ())
    assert len(terms.anti_affinity) == 1
    assert not terms.are_none


def test_a_pod_info_compiles_once() -> None:
    """And keeps the terms when it is put on a node."""
    info = PodInfo(
        pod(Affinity(pod_affinity=half(PodAffinityTerm(topology_key="k", label_selector=WEB))))
    )

    assert info.affinity_terms is info.affinity_terms
    assert info.on_node("n1").affinity_terms is info.affinity_terms
