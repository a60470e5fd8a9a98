"""Plugins that are enabled and would never be asked."""

from __future__ import annotations

from tests.loop_kit import Room, Sort

from moorage import Plugin, Registry, Services, Verdict, hookimpl
from moorage.config.load import parse_configuration
from moorage.config.producers import assemble

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


class OnlyStarts(Plugin):
    """Does something at the start, and nothing about any pod."""

    @hookimpl
    def start(self) -> None:
        """Start."""


class Bind(Plugin):
    """Binds nothing."""

    @hookimpl
    def bind(self) -> Verdict:
        """Say that it is done."""
        return Verdict()


def test_a_plugin_without_a_point_is_named() -> None:
    """Who enables it hears that it does nothing."""
    assert _notices(OnlyStarts) == [
        "plugin 'Mine' (tests) is enabled but implements no extension point, so it is not used"
    ]


def test_a_plugin_with_a_point_is_not_spoken_of() -> None:
    """All is well."""
    assert _notices(Room) == []


def _notices(plugin: type[Plugin]) -> list[str]:
    profiles = "profiles: [{plugins: {multiPoint: {enabled: [{name: Mine}]}}}]"
    configuration = parse_configuration(f"{HEAD}{profiles}", file="c.yaml")
    installed: dict[str, type[Plugin]] = {
        "PrioritySort": Sort,
        "DefaultBinder": Bind,
        "Mine": plugin,
    }
    registry = Registry.of(installed, distribution="tests")
    said = assemble(configuration, registry, services=Services()).notices
    return [sentence for sentence in said if "Mine" in sentence]
