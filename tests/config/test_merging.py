"""Which plugins run where: what the recordings do not show."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.config.defaults import DEFAULT_PLUGINS, default_plugins, with_defaults
from moorage.config.merging import (
    EnabledPlugin,
    extension_points,
    merge_plugin_set,
    merge_plugins,
    require_one_queue_sort,
)
from moorage.config.schema import (
    EXTENSION_POINTS,
    KubeSchedulerConfiguration,
    PluginsConfig,
    PluginSet,
)
from moorage.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

IMPLEMENTS = {
    "Sort": frozenset({"queue_sort"}),
    "Sort2": frozenset({"queue_sort"}),
    "Bind": frozenset({"bind"}),
    "A": frozenset({"filter", "score"}),
    "B": frozenset({"filter", "score"}),
    "C": frozenset({"score", "placement_score"}),
}
NAMES = st.sampled_from([name for name, _ in DEFAULT_PLUGINS] + ["Own", "Another", "*"])
REFS = st.builds(lambda name, weight: {"name": name, "weight": weight}, NAMES, st.integers(0, 9))


def plugins(**sets: dict[str, Any]) -> PluginsConfig:
    """Read plugin sets, with a sort and a bind plugin in multiPoint."""
    multi_point = sets.pop("multi_point", {})
    enabled = [{"name": "Sort"}, {"name": "Bind"}, *multi_point.get("enabled", [])]
    return PluginsConfig.model_validate({"multi_point": multi_point | {"enabled": enabled}, **sets})


def implements(name: str) -> frozenset[str]:
    """Tell what a plugin implements; nothing if it is not installed."""
    return IMPLEMENTS.get(name, frozenset())


def expand(config: PluginsConfig) -> Mapping[str, tuple[EnabledPlugin, ...]]:
    """Expand as the assembly of profiles does."""
    return extension_points(config, implements, file="c.yaml", field="profiles[0].plugins")


def refused(config: PluginsConfig) -> str:
    """Expand what must be refused, and return the sentence about it."""
    with pytest.raises(ConfigurationError) as caught:
        expand(config)
    return str(caught.value)


def test_a_point_moves_its_own_plugins_before_those_of_multi_point() -> None:
    """Named at both: first, with the point's weight; only at the point: last."""
    config = plugins(
        multi_point={"enabled": [{"name": "A", "weight": 2}, {"name": "B", "weight": 3}]},
        score={"enabled": [{"name": "C", "weight": 4}, {"name": "B"}]},
    )

    assert expand(config)["score"] == (("B", 1), ("A", 2), ("C", 4))


def test_a_plugin_that_is_not_installed_is_left_out_of_what_multi_point_enables() -> None:
    """It implements nothing, so there is no point to run it at."""
    config = plugins(multi_point={"enabled": [{"name": "Absent"}, {"name": "A"}]})

    assert expand(config)["filter"] == (("A", 0),)


def test_every_extension_point_is_answered() -> None:
    """A point where nothing runs has an empty tuple."""
    points = expand(plugins())

    assert tuple(points) == EXTENSION_POINTS
    assert points["permit"] == ()


def test_a_plugin_at_a_point_that_it_lacks_is_refused() -> None:
    """The sentence says what the plugin does have."""
    config = plugins(reserve={"enabled": [{"name": "A"}]})

    assert refused(config) == (
        "c.yaml: profiles[0].plugins.reserve.enabled[0].name: A does not implement reserve;"
        " it has filter, score"
    )


def test_a_plugin_at_a_point_that_is_not_installed_is_refused() -> None:
    """Nothing is known of what it might have."""
    config = plugins(reserve={"enabled": [{"name": "Absent"}]})

    assert refused(config).endswith("Absent does not implement reserve; it is not installed")


def test_the_queue_is_sorted_by_exactly_one_plugin() -> None:
    """Neither two nor none."""
    two = plugins(multi_point={"enabled": [{"name": "Sort2"}]})
    none = plugins(queue_sort={"disabled": [{"name": "*"}]})

    assert refused(two) == (
        "c.yaml: profiles[0].plugins.queueSort: one plugin sorts the queue, but Sort and Sort2"
        " are enabled"
    )
    assert "no plugin is left to sort the queue" in refused(none)


def test_multi_point_may_repeat_what_every_point_overrides() -> None:
    """As in kube-scheduler, what multiPoint says twice only counts where it is used."""
    config = plugins(
        multi_point={"enabled": [{"name": "A"}, {"name": "A"}]},
        filter={"disabled": [{"name": "A"}]},
        score={"enabled": [{"name": "A", "weight": 5}]},
    )

    assert expand(config)["score"] == (("A", 5),)


@given(st.lists(REFS, max_size=6), st.lists(REFS, max_size=6))
def test_merging_keeps_the_order_of_the_defaults_and_then_the_profile_s(
    enabled: list[dict[str, Any]], disabled: list[dict[str, Any]]
) -> None:
    """What is left of the defaults is in their order, and nothing that was enabled is lost."""
    custom = PluginSet.model_validate({"enabled": enabled, "disabled": disabled})

    merged = [
        plugin.name for plugin in merge_plugin_set(custom, default_plugins().multi_point).enabled
    ]

    gone = {ref["name"] for ref in disabled}
    kept = [name for name, _ in DEFAULT_PLUGINS if not gone & {name, "*"}]
    assert merged[: len(kept)] == kept
    assert sorted(merged[len(kept) :] + [n for n in kept if n in {r["name"] for r in enabled}]) == (
        sorted(ref["name"] for ref in enabled)
    )


def test_merging_nothing_gives_the_defaults() -> None:
    """A profile that says nothing has the default plugin set."""
    assert merge_plugins(PluginsConfig(), default_plugins()) == default_plugins()


def profiles_sorted_by(
    *sorting: tuple[str, dict[str, Any]],
) -> list[tuple[Any, dict[str, tuple[EnabledPlugin, ...]]]]:
    """Make profiles whose queue sort plugin has these arguments."""
    configuration = with_defaults(
        KubeSchedulerConfiguration.model_validate(
            {
                "profiles": [
                    {
                        "schedulerName": f"s{index}",
                        "pluginConfig": [{"name": name, "args": args}] if args else [],
                    }
                    for index, (name, args) in enumerate(sorting)
                ]
            }
        ),
        file="c.yaml",
    )
    return [
        (profile, {"queue_sort": (EnabledPlugin(name, 0),)})
        for profile, (name, _) in zip(configuration.profiles, sorting, strict=True)
    ]


def test_profiles_that_sort_the_queue_alike_are_fine() -> None:
    """The same plugin with the same arguments, or a single profile, or none."""
    require_one_queue_sort([])
    require_one_queue_sort(profiles_sorted_by(("Sort", {"a": 1})))
    require_one_queue_sort(profiles_sorted_by(("Sort", {"a": 1}), ("Sort", {"a": 1})))


@pytest.mark.parametrize(
    ("second", "sentence"),
    [
        (("Sort2", {}), "profiles[1].plugins: sorts the queue by Sort2 where profiles[0] sorts"),
        (("Sort", {"a": 2}), "profiles[1].pluginConfig: must give Sort, which sorts the queue"),
    ],
)
def test_profiles_that_sort_the_queue_differently_are_refused(
    second: tuple[str, dict[str, Any]], sentence: str
) -> None:
    """There is one queue, whatever the number of profiles."""
    with pytest.raises(ConfigurationError, match=re.escape(f"c.yaml: {sentence}")):
        require_one_queue_sort(profiles_sorted_by(("Sort", {"a": 1}), second))
