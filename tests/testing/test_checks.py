"""The checks find what is not so, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.testing.sample_plugins import Gate, Rank, Untrue

import moorage
from moorage import PluginError
from moorage.testing import Cluster, check_forms_agree, check_row_local, make_node, make_pod


class OffByOne(Rank):
    """Scores otherwise, node by node."""

    @moorage.hookimpl
    def score(self, node: moorage.NodeInfo) -> float:
        """Be wrong where there is a label."""
        return len(node.labels.get("rank", ""))


class OtherReason(Rank):
    """Refuses for another reason, node by node."""

    @moorage.hookimpl
    def filter(self, node: moorage.NodeInfo) -> moorage.Verdict | None:
        """Refuse."""
        closed = node.node.spec.unschedulable
        return moorage.Verdict.unschedulable("closed") if closed else None


class Blind(Rank):
    """Looks at the pod, and signs that it does not."""

    @moorage.hookimpl
    def score(self, pod: moorage.Pod, node: moorage.NodeInfo) -> float:  # type: ignore[override]
        """Look at both."""
        return len(pod.metadata.labels) + len(node.labels)

    score_nodes = None  # type: ignore[assignment]


def test_two_equal_forms_pass() -> None:
    """Scores, codes and reasons."""
    check_forms_agree(Rank, examples=20)


def test_a_difference_of_scores_is_found() -> None:
    """The sentence has the node and both scores."""
    with pytest.raises(AssertionError, match=r"node n\d: the array form scores .*per-node form"):
        check_forms_agree(OffByOne, examples=100)


def test_a_difference_of_reasons_is_found() -> None:
    """A pod's message must not depend on the form."""
    case = Cluster([make_node("n1", unschedulable=True)]), make_pod()

    with pytest.raises(AssertionError, match="per-node form says Unschedulable: closed"):
        check_forms_agree(OtherReason, cases=[case])


def test_the_per_node_form_may_be_a_plugin_of_its_own() -> None:
    """Its name does not count."""
    check_forms_agree(Rank, OtherReason, cases=[(Cluster(["n1"]), make_pod())])


def test_there_must_be_two_forms() -> None:
    """Or nothing would be compared, and all would be well."""
    with pytest.raises(PluginError, match="has no two forms"):
        check_forms_agree(Gate)


def test_a_true_declaration_passes() -> None:
    """Whatever changes about the cluster."""
    check_row_local(Rank, examples=40)


def test_a_declaration_that_leaves_out_pods_is_found() -> None:
    """A pod came or left, and the kept answer is not what a new one would be."""
    with pytest.raises(AssertionError, match=r"what Untrue declares is not so: .* pod .*"):
        check_row_local(Untrue, examples=200)


def test_a_fragment_that_leaves_out_what_counts_is_found() -> None:
    """Two pods are signed alike and answered differently."""
    with pytest.raises(AssertionError, match="for a pod that is signed alike"):
        check_row_local(Blind, examples=200)


class Signless(moorage.Plugin):
    """Signs nothing, and looks at what the test says."""

    filter_depends = moorage.Depends(node=True)

    @moorage.hookimpl
    def sign(self) -> tuple[()]:
        """See nothing of a pod, so it says."""
        return ()


class SeesCpu(Signless):
    """Looks at a request."""

    @moorage.hookimpl
    def filter_nodes(self, info: moorage.PodInfo, nodes: moorage.NodesView) -> NDArray[np.bool_]:
        """Compare sizes."""
        return info.requests.get("cpu") <= nodes.allocatable("cpu")


class SeesALabel(Signless):
    """Looks at one label of many."""

    @moorage.hookimpl
    def filter_nodes(self, pod: moorage.Pod, nodes: moorage.NodesView) -> NDArray[np.bool_]:
        """Compare it."""
        return nodes.labels("disk").equals(pod.metadata.labels.get("disk", ""))


class SeesASelector(Signless):
    """Looks at what a pod asks of nodes."""

    @moorage.hookimpl
    def filter_nodes(self, pod: moorage.Pod, nodes: moorage.NodesView) -> NDArray[np.bool_]:
        """Refuse pods that ask for anything."""
        return np.full(len(nodes), not pod.spec.node_selector)


class SeesTolerations(Signless):
    """Looks at what a pod tolerates."""

    @moorage.hookimpl
    def filter_nodes(self, pod: moorage.Pod, nodes: moorage.NodesView) -> NDArray[np.bool_]:
        """Refuse pods that tolerate anything."""
        return np.full(len(nodes), not pod.spec.tolerations)


@pytest.mark.parametrize("plugin", [SeesCpu, SeesALabel, SeesASelector, SeesTolerations])
def test_a_fragment_that_leaves_out_one_field_is_found_at_once(
    plugin: type[moorage.Plugin],
) -> None:
    """A third of the usual examples will do, whichever field it is."""
    with pytest.raises(AssertionError, match="for a pod that is signed alike"):
        check_row_local(plugin, examples=20)


def test_a_plugin_that_shares_nothing_has_nothing_to_check() -> None:
    """The sentence says what is missing."""
    with pytest.raises(PluginError, match="shares no answers: it needs the hook sign"):
        check_row_local(Gate)
