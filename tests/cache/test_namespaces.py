"""Namespaces found by their labels."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests import spread_strategies as draw

from moorage.cache import ClusterCache
from moorage.model import LabelSelector, Namespace, ObjectMeta, Requirement, Selector, selector_of

PROD = Selector((Requirement("env", "In", frozenset({"prod"})),))


def namespace(name: str, **labels: str) -> Namespace:
    """Make a namespace."""
    return Namespace(metadata=ObjectMeta(name=name, labels=labels))


def test_a_relabelled_namespace_is_found_anew() -> None:
    """An answer holds until labels change."""
    cluster = ClusterCache()
    cluster.set_namespace(namespace("a", env="prod"))
    cluster.set_namespace(namespace("b"))
    assert cluster.view().namespaces_matching(PROD) == {"a"}

    cluster.set_namespace(namespace("b", env="prod"))
    assert cluster.view().namespaces_matching(PROD) == {"a", "b"}

    cluster.remove_namespace("a")
    assert cluster.view().namespaces_matching(PROD) == {"b"}


def test_only_a_change_of_labels_counts_as_a_change() -> None:
    """The fact ``namespaces`` moves with what selectors can see."""
    cluster = ClusterCache()
    cluster.set_namespace(namespace("a", env="prod"))
    before = cluster.facts["namespaces"]

    cluster.set_namespace(
        Namespace(metadata=ObjectMeta(name="a", labels={"env": "prod"}, resource_version="2"))
    )
    cluster.remove_namespace("never there")
    assert cluster.facts["namespaces"] == before
    assert cluster.namespaces["a"].metadata.resource_version == "2"

    cluster.remove_namespace("a")
    assert cluster.facts["namespaces"] == before + 1


@given(
    changes=st.lists(st.tuples(st.sampled_from("abc"), st.none() | draw.pod_labels()), max_size=12),
    selectors=st.lists(draw.selectors(), max_size=3),
)
def test_namespaces_are_found_as_by_looking_at_each(
    changes: list[tuple[str, dict[str, str] | None]], selectors: list[LabelSelector]
) -> None:
    """Whatever came and went, labels are matched as they are now."""
    cluster = ClusterCache()
    labels: dict[str, dict[str, str]] = {}
    for name, now in changes:
        if now is None:
            cluster.remove_namespace(name)
            labels.pop(name, None)
        else:
            cluster.set_namespace(namespace(name, **now))
            labels[name] = now
        for selector in map(selector_of, selectors):
            found = cluster.view().namespaces_matching(selector)
            assert found == {name for name, own in labels.items() if selector.matches(own)}
        cluster.check_invariants()


def test_many_namespaces_find_room() -> None:
    """There may be more than at first."""
    cluster = ClusterCache()
    for number in range(200):
        cluster.set_namespace(namespace(f"team-{number}", env="prod" if number % 2 else "dev"))

    assert len(cluster.view().namespaces_matching(PROD)) == 100
    assert cluster.view().namespaces_matching(Selector(nothing=True)) == frozenset()
    cluster.check_invariants()
