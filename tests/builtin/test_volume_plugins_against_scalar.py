"""Each plugin about volumes, in its array form, equals the scalar form over generated clusters."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from tests.builtin.asking_about_storage import Asked
from tests.builtin.volumes_scalar import ScalarStorage
from tests.volumes_kit import clusters

from moorage import Code, PodInfo, Verdict
from moorage.model import Node, Pod, StorageObject

Drawn = tuple[list[Node], list[PodInfo], list[StorageObject], PodInfo]
Scalar = Callable[[ScalarStorage, Pod, Node], Verdict | None]

PLUGINS: dict[str, Scalar] = {
    "VolumeBinding": ScalarStorage.volume_binding,
    "VolumeRestrictions": ScalarStorage.volume_restrictions,
    "VolumeZone": ScalarStorage.volume_zone,
    "NodeVolumeLimits": ScalarStorage.node_volume_limits,
}


class _Asked(Asked):
    """A plugin, asked about a pod on a drawn cluster."""

    def __init__(self, name: str, drawn: Drawn) -> None:
        nodes, pods, objects, info = drawn
        super().__init__(name, info, nodes, *objects, pods=pods)

    def answers(self, *, without: Sequence[PodInfo] = ()) -> dict[str, Verdict | None]:
        """Ask about all nodes, with some pods taken off the rows they are on first."""
        names, pod = self.view.names(), self.info.pod
        answer = self.call("pre_filter", self.state, pod, self.info, self.view)
        if isinstance(answer, Verdict):
            return dict.fromkeys(names, None if answer.code is Code.SKIP else answer)
        view, state = self.view, self.state
        if without:
            where = [names.index(one.pod.spec.node_name) for one in without]
            view = view.overlay(removed=list(zip(where, without, strict=True)))
            state = state.clone()
            positions = np.array(where, dtype=np.intp)
            if self.framework.hook(self.name, "remove_pods") is not None:
                self.call("remove_pods", state, pod, view, positions, without)
        codes = self.call("filter_nodes", state, pod, self.info, view)
        if codes.dtype == np.bool_:
            codes = ~codes
        return {
            name: _sorted(self.call("explain", state, pod, code)) if code else None
            for name, code in zip(names, codes.tolist(), strict=True)
        }


def _sorted(verdict: Verdict | None) -> Verdict | None:
    return None if verdict is None else verdict._replace(reasons=tuple(sorted(verdict.reasons)))


@pytest.mark.parametrize("name", PLUGINS)
@settings(max_examples=40)
@given(drawn=clusters())
def test_filters_refuse_as_the_scalar_form_does(name: str, drawn: Drawn) -> None:
    """The same nodes, with the same code and reasons."""
    nodes, pods, objects, info = drawn
    scalar = ScalarStorage(objects, pods)

    found = _Asked(name, drawn).answers()

    expected = {
        node.metadata.name: _sorted(PLUGINS[name](scalar, info.pod, node)) for node in nodes
    }
    assert found == expected


@pytest.mark.parametrize("name", ["VolumeRestrictions", "NodeVolumeLimits"])
@settings(max_examples=25)
@given(drawn=clusters())
def test_rows_without_some_pods_are_judged_as_if_these_had_gone(name: str, drawn: Drawn) -> None:
    """Each row for itself: a dry run takes the pods of one node at a time."""
    nodes, pods, objects, info = drawn
    first = nodes[0].metadata.name
    gone = [one for one in pods if one.pod.spec.node_name == first]
    left = [one for one in pods if one not in gone]

    found = _Asked(name, drawn).answers(without=gone)

    verdict = PLUGINS[name](ScalarStorage(objects, left), info.pod, nodes[0])
    if found[first] is not None or verdict is not None:
        assert found[first] == verdict
