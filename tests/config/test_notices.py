"""What is accepted and worth a word."""

from __future__ import annotations

import pytest

from moorage.config.defaults import DEFAULT_PLUGINS, default_configuration
from moorage.config.load import parse_configuration
from moorage.config.notices import notices

KNOWN = {name for name, _ in DEFAULT_PLUGINS} | {"Own"}


@pytest.mark.parametrize(
    ("profile", "notice"),
    [
        pytest.param(
            "plugins: {score: {disabled: [{name: NodeResourceFit}]}}",
            "c.yaml: profiles[0].plugins.score.disabled: there is no plugin NodeResourceFit (did"
            " you mean NodeResourcesFit?), so there is nothing to disable",
            id="disabled",
        ),
        pytest.param(
            "pluginConfig: [{name: Zebra}]",
            "c.yaml: profiles[0].pluginConfig[0]: there is no plugin Zebra, so these args have no"
            " effect",
            id="configured",
        ),
        pytest.param(
            "pluginConfig: [{name: Own}]",
            "c.yaml: profiles[0].pluginConfig[0]: Own is not enabled in this profile, so these"
            " args have no effect",
            id="not-enabled",
        ),
        pytest.param(
            "plugins: {score: {enabled: [{name: ImageLocality, weight: -2}]}}",
            "c.yaml: profiles[0].plugins.score.enabled: ImageLocality has weight -2; below 0,"
            " nodes that it prefers are avoided",
            id="negative-weight",
        ),
    ],
)
def test_what_hardly_was_meant_is_noticed(profile: str, notice: str) -> None:
    """kube-scheduler takes it without a word."""
    text = (
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        f"profiles:\n- {profile}\n"
    )

    assert notices(parse_configuration(text, file="c.yaml"), KNOWN) == [notice]


def test_the_defaults_raise_no_notice() -> None:
    """Nor does disabling everything, which names no plugin."""
    assert notices(default_configuration(), KNOWN) == []
