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
