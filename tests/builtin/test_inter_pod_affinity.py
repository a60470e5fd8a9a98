"""InterPodAffinity by example; A1, A2, A4 are reports from the field (research/decision-bugs.md)."""

from __future__ import annotations

import pytest
from tests.builtin.affinity import (
    away,
    cluster_of,
    decide,
    expression,
    feasible,
    framework_of,
    labelled,
    namespace,
    near,
    pod,
    scores,
    term,
    weighted,
)
from tests.objects import make_node, queued

from moorage import Code, PluginError
from moorage.cycle import Cycle
from moorage.model import Affinity, PodAffinityTerm
from moorage.queueing import Nominator

DB = labelled(app="db")
ZONES = {
    "n1": {"host": "n1", "zone": "east"},
    "n2": {"host": "n2", "zone": "east"},
    "n3": {"host": "n3", "zone": "west"},
    "n4": {"host": "n4"},
}

# Required terms


def test_affinity_wants_a_node_in_a_domain_of_such_pods() -> None:
    """The node's own pods do not matter, those of its zone do."""
    cluster = cluster_of(ZONES, [pod(node="n1", app="db")])

    assert feasible(cluster, pod(near(term(DB, "zone")))) == ["n1", "n2"]


def test_anti_affinity_wants_a_node_outside_of_all_such_domains() -> None:
    """A node without the key is in no domain, and passes."""
    cluster = cluster_of(ZONES, [pod(node="n1", app="db")])

    assert feasible(cluster, pod(away(term(DB, "zone")))) == ["n3", "n4"]


def test_anti_affinity_of_pods_that_are_there_holds_the_other_way_round() -> None:
    """A pod without any terms is kept out by theirs."""
    cluster = cluster_of(ZONES, [pod(away(term(DB, "zone")), node="n1", app="web")])

    assert feasible(cluster, pod(app="db")) == ["n3", "n4"]
    assert feasible(cluster, pod(app="web")) == ["n1", "n2", "n3", "n4"]


def test_affinity_of_pods_that_are_there_is_no_demand_on_others() -> None:
    """Only anti-affinity is symmetric among required terms."""
    cluster = cluster_of(ZONES, [pod(near(term(DB)), node="n1", app="db")])

    assert feasible(cluster, pod(app="web")) == ["n1", "n2", "n3", "n4"]


@pytest.mark.parametrize(
    ("incoming", "there", "code", "reason"),
    [
        pytest.param(
            pod(near(term(DB))),
            pod(node="n1", app="web"),
            Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            "node(s) didn't match pod affinity rules",
            id="affinity",
        ),
        pytest.param(
            pod(away(term(DB))),
            pod(node="n1", app="db"),
            Code.UNSCHEDULABLE,
            "node(s) didn't match pod anti-affinity rules",
            id="anti-affinity",
        ),
        pytest.param(
            pod(app="db"),
            pod(away(term(DB)), node="n1"),
            Code.UNSCHEDULABLE,
            "node(s) didn't satisfy existing pods anti-affinity rules",
            id="anti-affinity of the pod there",
        ),
    ],
)
def test_each_refusal_has_its_own_code_and_words(
    incoming: object, there: object, code: Code, reason: str
) -> None:
    """The code says whether preempting may help, the words are kube-scheduler's."""
    decision = decide(cluster_of(["n1"], [there]), incoming)  # type: ignore[list-item, arg-type]

    assert decision.diagnosis is not None
    assert decision.diagnosis.verdict(0).code is code
    assert decision.message == f"0/1 nodes are available: 1 {reason}."


def test_affinity_is_named_before_anti_affinity_before_that_of_others() -> None:
    """Each node counts for the first rule that it breaks."""
    terms = Affinity(
        pod_affinity=near(term(labelled(app="web"))).pod_affinity,
        pod_anti_affinity=away(term(DB)).pod_anti_affinity,
    )
    cluster = cluster_of(
        ["n1", "n2", "n3"],
        [
            pod(node="n1", app="db"),
            pod(node="n2", app="web"),
            pod(away(term(DB)), node="n2", app="db"),
            pod(away(term(DB)), node="n3", app="web"),
        ],
    )

    assert decide(cluster, pod(terms, app="db")).message == (
        "0/3 nodes are available: 1 node(s) didn't match pod affinity rules, "
        "1 node(s) didn't match pod anti-affinity rules, "
        "1 node(s) didn't satisfy existing pods anti-affinity rules."
    )


def test_a2_one_pod_must_meet_all_affinity_terms() -> None:
    """Two pods that meet one term each are not enough, as in kube-scheduler 1.36."""
    both = near(term(DB), term(labelled(tier="back")))
    apart = cluster_of(["n1"], [pod(node="n1", app="db"), pod(node="n1", tier="back")])
    together = cluster_of(["n1"], [pod(node="n1", app="db", tier="back")])

    assert feasible(apart, pod(both)) == []
    assert feasible(together, pod(both)) == ["n1"]


def test_all_affinity_terms_are_met_each_in_its_own_domain() -> None:
    """The pod that meets all terms gives each term's key its domain."""
    cluster = cluster_of(
        {"n1": {"zone": "a", "rack": "1"}, "n2": {"zone": "a", "rack": "2"}},
        [pod(node="n1", app="db")],
    )

    assert feasible(cluster, pod(near(term(DB, "zone"), term(DB, "rack")))) == ["n1"]


def test_the_first_pod_of_a_series_needs_no_other() -> None:
    """It meets its own terms, and there is nobody yet whom it could follow."""
    own = near(term(DB, "zone"))

    assert feasible(cluster_of(ZONES), pod(own, app="db")) == ["n1", "n2", "n3"]
    assert feasible(cluster_of(ZONES), pod(own, app="web")) == []


def test_the_second_pod_of_a_series_follows_the_first() -> None:
    """The exception ends with the first pod on a node that has a topology key."""
    own = near(term(DB, "zone"))
    off = cluster_of(ZONES, [pod(own, node="n4", app="db")])
    on = cluster_of(ZONES, [pod(own, node="n3", app="db")])

    assert feasible(off, pod(own, app="db")) == ["n1", "n2", "n3"]
    assert feasible(on, pod(own, app="db")) == ["n3"]


def test_a4_the_first_pod_of_a_series_needs_the_topology_key_all_the_same() -> None:
    """A node that lacks a key of any term is refused."""
    own = near(term(DB, "host"), term(DB, "zone"))

    assert feasible(cluster_of(ZONES), pod(own, app="db")) == ["n1", "n2", "n3"]


# Which pods a term means


def test_a1_a_namespace_selector_looks_at_the_labels_of_the_namespace() -> None:
    """NotIn does not hold for every namespace, as it does in 1.36 once the labels got lost."""
    others = labelled(expression("kubernetes.io/metadata.name", "NotIn", "workload-a"))
    own = away(term(labelled(expression("workload-id", "Exists")), namespace_selector=others))
    cluster = cluster_of(
        ["n1"],
        [pod(node="n1", namespace="workload-a", labels={"workload-id": "1"})],
        [namespace("workload-a", **{"kubernetes.io/metadata.name": "workload-a"})],
    )
    incoming = pod(own, namespace="workload-a", labels={"workload-id": "1"})

    assert feasible(cluster, incoming) == ["n1"]


def test_a1_holds_for_preferred_terms_too() -> None:
    """The pod of the same namespace is not meant, so there is nothing to score."""
    others = labelled(expression("kubernetes.io/metadata.name", "NotIn", "a"))
    preferred = weighted(5, term(DB, namespace_selector=others))
    cluster = cluster_of(
        ["n1", "n2"],
        [pod(node="n1", namespace="a", app="db")],
        [namespace("a", **{"kubernetes.io/metadata.name": "a"})],
    )

    assert scores(cluster, pod(near(preferred=[preferred]), namespace="a")) == {}


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        pytest.param(term(DB), ["n1"], id="neither: the pod's own"),
        pytest.param(term(DB, namespaces=("other",)), ["n2"], id="listed"),
        pytest.param(
            term(DB, namespace_selector=labelled(team="red")), ["n2"], id="selected by label"
        ),
        pytest.param(
            term(DB, namespaces=("ns",), namespace_selector=labelled(team="red")),
            ["n1", "n2"],
            id="listed and selected",
        ),
        pytest.param(
            term(DB, namespace_selector=labelled()), ["n1", "n2", "n3"], id="an empty selector: all"
        ),
    ],
)
def test_namespaces_are_listed_or_selected(wanted: PodAffinityTerm, expected: list[str]) -> None:
    """Own terms and those of pods on nodes mean the same namespaces."""
    spaces = [namespace("ns"), namespace("other", team="red"), namespace("third")]
    names = ["n1", "n2", "n3"]
    there = [
        pod(node=node, namespace=space.metadata.name, app="db")
        for node, space in zip(names, spaces, strict=True)
    ]
    cluster = cluster_of(names, there, spaces)

    assert feasible(cluster, pod(near(wanted))) == expected
    refused_by_terms = [
        node
        for node, space in zip(names, spaces, strict=True)
        if feasible(
            cluster_of([node], [pod(away(wanted), node=node)], spaces),
            pod(namespace=space.metadata.name, app="db"),
        )
        == []
    ]
    assert refused_by_terms == expected


def test_labels_of_namespaces_are_looked_at_as_they_are_now() -> None:
    """A namespace that is relabelled changes the answer of a cycle that keeps answers."""
    guard = pod(away(term(DB, namespace_selector=labelled(team="red"))), node="n1")
    cluster = cluster_of(["n1", "n2"], [guard], [namespace("x", team="red")])
    cycle = Cycle(framework_of(cluster), cluster)

    refused = cycle.decide(queued(pod(namespace="x", app="db")), details=True)
    cluster.set_namespace(namespace("x", team="blue"))
    passed = cycle.decide(queued(pod(namespace="x", app="db")), details=True)

    assert refused.details is not None
    assert passed.details is not None
    assert (refused.details.feasible, passed.details.feasible) == (["n2"], ["n1", "n2"])


def test_match_label_keys_add_the_pods_own_values_to_the_selector() -> None:
    """Only pods of the same revision are meant; with mismatchLabelKeys, only of others."""
    there = [pod(node="n1", app="db", rev="1"), pod(node="n2", app="db", rev="2")]
    cluster = cluster_of(["n1", "n2"], there)

    same = pod(near(term(DB, match_label_keys=("rev",))), rev="2")
    other = pod(near(term(DB, mismatch_label_keys=("rev",))), rev="2")

    assert feasible(cluster, same) == ["n2"]
    assert feasible(cluster, other) == ["n1"]


def test_keys_that_the_pod_lacks_or_the_selector_names_add_nothing() -> None:
    """The API server has merged the latter already, with the labels of that time."""
    cluster = cluster_of(["n1"], [pod(node="n1", app="db", rev="1")])
    merged = labelled(expression("rev", "In", "1"), app="db")

    assert feasible(cluster, pod(near(term(DB, match_label_keys=("rev",))))) == ["n1"]
    assert feasible(cluster, pod(near(term(merged, match_label_keys=("rev",))), rev="2")) == ["n1"]


def test_a_missing_label_selector_means_no_pod() -> None:
    """Also not with label keys to match."""
    cluster = cluster_of(["n1"], [pod(node="n1", rev="1")])

    assert feasible(cluster, pod(near(term(None, match_label_keys=("rev",))), rev="1")) == []
    assert feasible(cluster, pod(away(term(None)))) == ["n1"]


# Scores


def test_preferred_terms_add_and_take_weight_by_pod_and_domain() -> None:
    """The worst node gets 0, the best 100, those between their share, rounded down."""
    cluster = cluster_of(
        ["n1", "n2", "n3"],
        [pod(node="n1", app="db"), pod(node="n1", app="db"), pod(node="n2", app="web")],
    )
    wanted = Affinity(
        pod_affinity=near(preferred=[weighted(3, term(DB))]).pod_affinity,
        pod_anti_affinity=away(
            preferred=[weighted(5, term(labelled(app="web")))]
        ).pod_anti_affinity,
    )

    assert scores(cluster, pod(wanted)) == {"n1": 100, "n2": 0, "n3": 45}


def test_pods_that_are_there_attract_by_what_they_prefer_and_require() -> None:
    """A required affinity term of theirs counts hardPodAffinityWeight."""
    cluster = cluster_of(
        ["n1", "n2", "n3", "n4"],
        [
            pod(near(preferred=[weighted(10, term(DB))]), node="n1"),
            pod(away(preferred=[weighted(10, term(DB))]), node="n2"),
            pod(near(term(DB)), node="n3", app="db"),
        ],
    )
    incoming = pod(app="db")

    assert scores(cluster, incoming) == {"n1": 100, "n2": 0, "n3": 55, "n4": 50}
    assert scores(cluster, incoming, hardPodAffinityWeight=10) == {
        "n1": 100,
        "n2": 0,
        "n3": 100,
        "n4": 50,
    }
    assert scores(cluster, incoming, hardPodAffinityWeight=0)["n3"] == 50


def test_terms_of_pods_that_are_there_may_be_left_out_for_pods_that_prefer_nothing() -> None:
    """ignorePreferredTermsOfExistingPods; a pod with preferences of its own is scored by all."""
    guard = pod(near(preferred=[weighted(10, term(DB))]), node="n1")
    cluster = cluster_of(["n1", "n2"], [guard, pod(node="n2", app="web")])
    own = near(preferred=[weighted(1, term(labelled(app="web")))])

    assert scores(cluster, pod(app="db"), ignorePreferredTermsOfExistingPods=True) == {}
    assert scores(cluster, pod(own, app="db"), ignorePreferredTermsOfExistingPods=True) == {
        "n1": 100,
        "n2": 0,
    }


def test_scoring_is_skipped_where_no_pod_matters() -> None:
    """Also where a term selects a pod on a node without its topology key."""
    cluster = cluster_of(ZONES, [pod(near(preferred=[weighted(10, term(DB, "zone"))]), node="n4")])

    assert scores(cluster, pod(app="db")) == {}


def test_scores_that_cancel_out_are_scores_all_the_same() -> None:
    """All are 0, and the plugin has spoken."""
    both = Affinity(
        pod_affinity=near(preferred=[weighted(7, term(DB))]).pod_affinity,
        pod_anti_affinity=away(preferred=[weighted(7, term(DB))]).pod_anti_affinity,
    )
    cluster = cluster_of(["n1", "n2"], [pod(node="n1", app="db")])

    assert scores(cluster, pod(both)) == {"n1": 0, "n2": 0}


# Changes


def test_a_node_that_is_relabelled_takes_its_pods_to_another_domain() -> None:
    """Shared answers of other nodes follow."""
    cluster = cluster_of(ZONES, [pod(away(term(DB, "zone")), node="n1")])
    cycle = Cycle(framework_of(cluster), cluster)
    before = cycle.decide(queued(pod(app="db")), details=True)

    cluster.set_node(make_node("n1", labels={"host": "n1", "zone": "west"}))
    after = cycle.decide(queued(pod(app="db")), details=True)

    assert before.details is not None
    assert after.details is not None
    assert sorted(before.details.feasible) == ["n3", "n4"]
    assert sorted(after.details.feasible) == ["n2", "n4"]


def test_pods_expected_on_a_node_keep_others_out_by_their_terms() -> None:
    """Also where no pod on a node has a term; 1.36 does not look then."""
    cluster = cluster_of(["n1", "n2"])
    nominator = Nominator()
    nominator.nominate(pod(away(term(DB))), "n1")
    cycle = Cycle(framework_of(cluster), cluster, nominator=nominator)

    decision = cycle.decide(queued(pod(app="db")), details=True)

    assert decision.details is not None
    assert decision.details.feasible == ["n2"]


# Bad input


@pytest.mark.parametrize(
    ("affinity", "message"),
    [
        pytest.param(
            near(term(labelled(expression("app", "Near", "db")))),
            "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]"
            ".labelSelector.matchExpressions[0].operator: 'Near' is not one of In, NotIn, Exists, "
            "DoesNotExist",
            id="operator",
        ),
        pytest.param(
            away(term(DB), term(DB, namespace_selector=labelled(expression("team", "In")))),
            "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[1]"
            ".namespaceSelector.matchExpressions[0].values: In needs at least one value",
            id="namespace selector",
        ),
        pytest.param(
            near(preferred=[weighted(0, term(DB))]),
            "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: "
            "0 is not from 1 to 100",
            id="weight",
        ),
        pytest.param(
            away(preferred=[weighted(1, term(DB, ""))]),
            "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]"
            ".podAffinityTerm.topologyKey: must not be empty",
            id="topology key",
        ),
    ],
)
def test_a_bad_term_makes_its_pod_unschedulable_and_names_the_field(
    affinity: Affinity, message: str
) -> None:
    """Preempting others would not mend it."""
    decision = decide(cluster_of(["n1"]), pod(affinity))

    assert decision.verdict.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert decision.message == f"0/1 nodes are available: {message}."


def test_a_bad_term_of_a_pod_that_is_there_counts_for_nothing() -> None:
    """Its good terms in other lists do, and everything goes on."""
    bad = term(labelled(expression("app", "Near", "db")))
    there = Affinity(
        pod_affinity=near(preferred=[weighted(1, bad)]).pod_affinity,
        pod_anti_affinity=away(term(DB)).pod_anti_affinity,
    )
    cluster = cluster_of(["n1", "n2"], [pod(there, node="n1")])

    assert feasible(cluster, pod(app="db")) == ["n2"]


@pytest.mark.parametrize(
    ("args", "field"),
    [
        pytest.param({"hardPodAffinityWeight": 101}, "hardPodAffinityWeight", id="too heavy"),
        pytest.param({"hardPodAffinityWeight": -1}, "hardPodAffinityWeight", id="negative"),
        pytest.param({"hardPodAffinityWeight": "high"}, "hardPodAffinityWeight", id="a word"),
        pytest.param(
            {"ignorePreferredTermsOfExistingPods": "no"},
            "ignorePreferredTermsOfExistingPods",
            id="not a boolean",
        ),
        pytest.param({"weight": 1}, "weight", id="unknown"),
    ],
)
def test_bad_arguments_are_refused_by_name(args: dict[str, object], field: str) -> None:
    """As kube-scheduler validates them."""
    with pytest.raises(PluginError, match=field):
        framework_of(cluster_of([]), **args)
