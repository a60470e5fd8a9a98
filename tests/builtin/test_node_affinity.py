"""NodeAffinity where a pod's terms cannot be read, name nodes, or weigh nothing."""

from __future__ import annotations

import pytest
from tests.objects import affinity, preferring, requirement, term

from moorage import Code, PluginError
from moorage.model import Affinity, NodeSelectorRequirement
from moorage.testing import Cluster, SinglePlugin, make_node, make_pod

CLUSTER = Cluster(
    [make_node("n1", labels={"gen": "5"}), make_node("n2", labels={"gen": "9", "disk": "ssd"})]
)
SSD = requirement("disk", "In", "ssd")
NOT_MATCHED = "node(s) didn't match Pod's node affinity/selector"


def _passing(wanted: Affinity) -> set[str]:
    verdicts = SinglePlugin("NodeAffinity", CLUSTER).filter(make_pod("p", affinity=wanted))
    for verdict in verdicts.values():
        assert verdict.is_success or verdict.reasons == (NOT_MATCHED,)
    return {name for name, verdict in verdicts.items() if verdict.is_success}


@pytest.mark.parametrize(
    "unreadable",
    [
        pytest.param(requirement("gen", "Gt", "many"), id="no-number"),
        pytest.param(requirement("gen", "Gt", str(2**63)), id="beyond-64-bits"),
        pytest.param(requirement("gen", "Near", "5"), id="operator"),
        pytest.param(requirement("gen", "In"), id="no-values"),
        pytest.param(requirement("gen", "NotIn", "no label!"), id="value"),
        pytest.param(requirement("gen", "NotIn", "x" * 64), id="long-value"),
        pytest.param(requirement("no/label/", "DoesNotExist"), id="key"),
        pytest.param(requirement("A.com/gen", "DoesNotExist"), id="domain-of-a-key"),
    ],
)
def test_term_that_cannot_be_read_matches_no_node(unreadable: NodeSelectorRequirement) -> None:
    """The API takes some of them; the pod's other terms count as ever."""
    assert _passing(affinity(term(unreadable))) == set()
    assert _passing(affinity(term(unreadable), term(SSD))) == {"n2"}


@pytest.mark.parametrize("key", ["gen", "a", "A_b.c", "example.com/gen", "a-1.b/" + "x" * 63])
def test_key_of_a_label_can_be_read(key: str) -> None:
    """A name, also with a domain before it."""
    assert _passing(affinity(term(requirement(key, "NotIn", "", "a_B.c-1")))) == {"n1", "n2"}


def test_label_beyond_64_bits_is_no_number() -> None:
    """It is neither more nor less than anything."""
    made = Cluster([make_node("n", labels={"gen": str(2**63)})])
    for operator in ("Gt", "Lt"):
        wanted = affinity(term(requirement("gen", operator, "5")))
        (verdict,) = (
            SinglePlugin("NodeAffinity", made).filter(make_pod("p", affinity=wanted)).values()
        )
        assert verdict.reasons == (NOT_MATCHED,)


def test_field_takes_one_value() -> None:
    """A term with more is one that cannot be read, but names its nodes nevertheless."""
    both = requirement("metadata.name", "In", "n1", "n2")
    plugin = SinglePlugin("NodeAffinity", CLUSTER)
    pod = make_pod("p", affinity=affinity(term(fields=[both])))

    assert plugin.pre_filter(pod) == frozenset({"n1", "n2"})
    assert _passing(affinity(term(fields=[both]))) == set()


def test_terms_that_exclude_each_other_name_no_node() -> None:
    """Nobody has two names, and the pod is told so."""
    fields = [requirement("metadata.name", "In", name) for name in ("n1", "n2")]
    verdict = SinglePlugin("NodeAffinity", CLUSTER).pre_filter(
        make_pod("p", affinity=affinity(term(fields=fields)))
    )

    assert not isinstance(verdict, frozenset)
    assert verdict.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert verdict.reasons == ("pod affinity terms conflict",)


def test_preference_that_cannot_be_read_is_an_error() -> None:
    """As in kube-scheduler, unless it weighs nothing."""
    plugin = SinglePlugin("NodeAffinity", CLUSTER)
    many = term(requirement("gen", "Gt", "many"))
    ssd = preferring(3, term(SSD))

    with pytest.raises(PluginError, match="needs one integer"):
        plugin.scores(make_pod("p", affinity=affinity(preferred=[preferring(1, many), ssd])))
    assert plugin.scores(
        make_pod("p", affinity=affinity(preferred=[preferring(0, many), ssd]))
    ) == {"n1": 0, "n2": 100}
