"""A hook that is renamed keeps its old name for a while."""

from __future__ import annotations

import logging

import pytest

import moorage
from moorage.framework import host
from moorage.framework.host import PluginSource
from moorage.framework.points import hooks_of
from moorage.framework.renames import accept_old_names

RENAMED = {"may_enter": ("pre_enqueue", "0.3")}


def old_plugin() -> type[moorage.Plugin]:
    """Make a plugin that was written when the hook had another name."""

    class Old(moorage.Plugin):
        @moorage.hookimpl
        def may_enter(self, pod: moorage.Pod) -> moorage.Verdict | None:
            return moorage.Verdict.unschedulable(pod.metadata.name)

    return Old


def test_the_old_name_is_taken_for_the_new_one() -> None:
    """The method is found under the hook's new name, and only there."""
    plugin = old_plugin()
    assert accept_old_names(plugin, RENAMED) == [("may_enter", "pre_enqueue", "0.3")]
    assert set(hooks_of(plugin)) == {"pre_enqueue"}


def test_the_method_can_still_be_called_by_its_old_name() -> None:
    """A plugin may call its own methods."""
    plugin = old_plugin()
    accept_old_names(plugin, RENAMED)
    pod = moorage.Pod()
    assert plugin.may_enter(None, pod) == plugin.pre_enqueue(None, pod)  # type: ignore[attr-defined]


def test_a_class_with_both_names_keeps_the_new_one() -> None:
    """It was written for several versions of Moorage."""

    class Both(moorage.Plugin):
        @moorage.hookimpl
        def may_enter(self) -> moorage.Verdict | None:
            return moorage.Verdict.unschedulable("old")

        @moorage.hookimpl
        def pre_enqueue(self) -> moorage.Verdict | None:
            return None

    accept_old_names(Both, RENAMED)
    assert set(hooks_of(Both)) == {"pre_enqueue"}
    assert Both.pre_enqueue(None) is None  # type: ignore[arg-type]


def test_loading_warns_with_plugin_hook_and_version(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The author is told what to do, the operator who is meant."""
    monkeypatch.setattr(host, "accept_old_names", lambda found: accept_old_names(found, RENAMED))
    source = PluginSource(name="Old", distribution="acme-old", version="1.2", plugin=old_plugin())
    with caplog.at_level(logging.WARNING):
        source.load()
    (message,) = caplog.messages
    assert message == (
        "Plugin 'Old' of acme-old 1.2 implements hook 'may_enter', which is called 'pre_enqueue' "
        "now; rename it before Moorage 0.3"
    )
