"""The kinds of objects that plugins may ask for by name."""

from __future__ import annotations

from tests.loop_kit import World

import moorage
from moorage.framework.host import WATCHABLE


class Curious(moorage.Plugin):
    """Reads everything."""

    watches = tuple(sorted(WATCHABLE))

    @moorage.hookimpl
    def filter(self) -> None:
        """Let every pod pass."""


def test_each_kind_that_a_plugin_may_name_is_watched_and_no_other_is() -> None:
    """The host refuses other names before there is a session that could be asked."""
    session = World(Curious=Curious).session

    assert {one.resource.plural for one in session.wanted()} == WATCHABLE
    assert all(one is session.watched(one.resource.plural) for one in session.wanted())


class Hinting(moorage.Plugin):
    """Refuses pods, and can be helped by a service or a set of replicas."""

    @moorage.hookimpl
    def filter(self) -> moorage.Verdict:
        """Refuse."""
        return moorage.Verdict.unschedulable("there is no service")

    @moorage.hookimpl
    def events_to_register(self) -> list[moorage.EventHint]:
        """Register both, one by its kind and one by its resource."""
        resources = (moorage.EventResource.SERVICE, "replicasets.v1.apps")
        return [
            moorage.EventHint(moorage.ClusterEvent(one, moorage.ActionType.ADD))
            for one in resources
        ]


def test_what_a_plugin_has_hints_for_is_watched() -> None:
    """A hint for what nobody watches would never be asked, and nobody would know."""
    session = World(Hinting=Hinting).session
    wanted = {one.resource.plural for one in session.wanted()}
    assert wanted == {"pods", "nodes", "namespaces", "services", "replicasets"}
