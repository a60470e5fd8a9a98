"""docs/reference/configuration.md says what the code does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from moorage.config.defaults import DEFAULT_PLUGINS
from moorage.config.load import parse_configuration
from moorage.config.schema import (
    ClientConnection,
    Extender,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElection,
    PluginsConfig,
)

if TYPE_CHECKING:
    from pydantic import BaseModel

PAGE = (Path(__file__).parents[2] / "docs/reference/configuration.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("model", "prefix"),
    [
        (KubeSchedulerConfiguration, ""),
        (ClientConnection, "clientConnection."),
        (LeaderElection, "leaderElection."),
        (KubeSchedulerProfile, ""),
        (PluginsConfig, ""),
        (Extender, ""),
    ],
)
def test_every_field_is_on_the_page(model: type[BaseModel], prefix: str) -> None:
    """A field that nobody reads about might as well not exist."""
    for info in model.model_fields.values():
        assert re.search(rf"`{re.escape(prefix)}{info.alias}\b", PAGE) or f"{info.alias}:" in PAGE


def test_the_default_plugins_are_on_the_page_in_order() -> None:
    """With their weights."""
    listed = ", ".join(f"{name} ({weight})" if weight else name for name, weight in DEFAULT_PLUGINS)

    assert f"{listed}." in PAGE.replace("\n", " ")


def test_the_example_is_a_configuration() -> None:
    """A reader may copy it."""
    example = re.search(r"```yaml\n(.*?)```", PAGE, flags=re.DOTALL)
    assert example

    profile = parse_configuration(example[1], file="c.yaml").profiles[0]

    assert profile.raw_args["ZoneCost"].data == {"cost": {"eu-1a": 1.0, "eu-1b": 1.4}}
