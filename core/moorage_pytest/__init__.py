"""The pytest plugin of `moorage.testing`: fixtures for tests of plugins.

A package of its own, beside `moorage`: pytest imports its plugins in every run wherever Moorage is
installed, and importing `moorage` takes half a second. So nothing is imported here before a test
asks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from moorage import Registry
    from moorage.testing import Cluster

__all__ = ["moorage_cluster", "moorage_host"]


@pytest.fixture
def moorage_cluster() -> Cluster:
    """Return a cluster with nodes n1, n2 and n3 of the usual size, and no pods."""
    from moorage.testing import Cluster  # noqa: PLC0415 - see above

    return Cluster(["n1", "n2", "n3"])


@pytest.fixture
def moorage_host() -> Registry:
    """Return what the host sees: the registry of installed plugins.

    ``"ZoneCost" in moorage_host`` says whether it is installed; ``moorage_host.load("ZoneCost")``
    imports it, or raises PluginError with what is wrong with it.
    """
    from moorage import discover  # noqa: PLC0415 - see above

    return discover()
