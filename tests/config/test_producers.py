"""From a configuration and the installed plugins to frameworks."""

from __future__ import annotations

import pytest

from moorage import Code, Plugin, PluginArgs, Registry, Services, Verdict, hookimpl
from moorage.config.defaults import default_configuration
from moorage.config.load import parse_configuration
from moorage.config.producers import Assembly, assemble, plugin_arguments
from moorage.errors import ConfigurationError, PluginError
from moorage.model.pods import Pod


class Sort(Plugin):
    """Sorts the queue by age."""

    @hookimpl
    def queue_sort(self, queued: object) -> float:
        """Nobody is more important than anybody else."""
        return 0.0


class Bind(Plugin):
    """Binds nothing."""

    @hookimpl
    def bind(self, pod: Pod, node_name: str) -> Verdict:
        """Say that it is done."""
        return Verdict(Code.SUCCESS)


class Cost(Plugin):
    """Takes arguments, one of them required, and scores."""

    class Args(PluginArgs):
        """A price list."""

        price_per_zone: dict[str, float]
        most: int = 10

    @hookimpl
    def score(self) -> int:
        """Like every node the same."""
        return 1


INSTALLED = {"PrioritySort": Sort, "DefaultBinder": Bind, "Cost": Cost}
HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def _assemble(profiles: str) -> Assembly:
    configuration = parse_configuration(f"{HEAD}{profiles}", file="c.yaml")
    return assemble(configuration, Registry.of(INSTALLED), services=Services())


def _refused(profiles: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        _assemble(profiles)
    return str(caught.value)


def test_default_plugins_that_are_not_installed_are_left_out_and_named_in_one_notice() -> None:
    """Whatever number of profiles and plugins it is about."""
    configuration = default_configuration(("moorage", "default-scheduler"))

    assembly = assemble(configuration, Registry.of(INSTALLED), services=Services())

    assert list(assembly.frameworks) == ["moorage", "default-scheduler"]
    assert [plugin.name for plugin in assembly.frameworks["moorage"].plugins] == [
        "PrioritySort",
        "DefaultBinder",
    ]
    assert assembly.absent[:3] == ("SchedulingGates", "NodeUnschedulable", "NodeName")
    (notice,) = assembly.notices
    assert notice.startswith(
        "these default plugins are not installed, and pods are placed without them: "
        "SchedulingGates, NodeUnschedulable, "
    )


def test_what_is_complete_raises_no_notice() -> None:
    """Silence means that everything runs."""
    only = "[{name: PrioritySort}, {name: DefaultBinder}]"
    profiles = (
        f"profiles: [{{plugins: {{multiPoint: {{disabled: [{{name: '*'}}], enabled: {only}}}}}}}]"
    )

    assert _assemble(profiles).notices == ()


def test_notices_about_the_configuration_come_along() -> None:
    """They need to know which plugins there are, as here."""
    *_, notice = _assemble("profiles: [{pluginConfig: [{name: Cots}]}]").notices

    assert notice == (
        "c.yaml: profiles[0].pluginConfig[0]: there is no plugin Cots (did you mean Cost?), so"
        " these args have no effect"
    )


def test_all_profiles_share_one_set_of_services() -> None:
    """What is reserved in flight is reserved for everybody."""
    frameworks = _assemble("profiles: [{schedulerName: a}, {schedulerName: b}]").frameworks

    assert frameworks["a"].services is frameworks["b"].services


def test_a_profile_may_look_at_another_share_of_the_nodes() -> None:
    """Its own percentage wins over the configuration's, even if it is 0."""
    frameworks = _assemble(
        "percentageOfNodesToScore: 30\n"
        "profiles: [{schedulerName: a}, {schedulerName: b, percentageOfNodesToScore: 0}]"
    ).frameworks

    assert frameworks["a"].percentage_of_nodes_to_score == 30
    assert frameworks["b"].percentage_of_nodes_to_score == 0


@pytest.mark.parametrize(
    ("profile", "sentence"),
    [
        pytest.param(
            "plugins: {score: {enabled: [{name: Cots}]}}",
            "c.yaml: profiles[0].plugins.score.enabled: plugin 'Cots' is not installed; did you"
            " mean 'Cost'?",
            id="at-a-point",
        ),
        pytest.param(
            "plugins: {multiPoint: {enabled: [{name: Zebra}]}}",
            "c.yaml: profiles[0].plugins.multiPoint.enabled: plugin 'Zebra' is not installed;"
            " install the package that has it",
            id="everywhere",
        ),
        pytest.param(
            "plugins: {score: {enabled: [{name: PodTopologySpread, weight: 5}]}}",
            "c.yaml: profiles[0].plugins.score.enabled: plugin 'PodTopologySpread' is not"
            " installed; install the package that has it",
            id="default-plugin-asked-for",
        ),
        pytest.param(
            "plugins: {filter: {enabled: [{name: Cost}]}}",
            "c.yaml: profiles[0].plugins.filter.enabled[0].name: Cost does not implement filter;"
            " it has score",
            id="where-it-cannot-be",
        ),
        pytest.param(
            "plugins: {score: {enabled: [{name: Cost}]}}",
            "c.yaml: profiles[0].pluginConfig[name=Cost].args.pricePerZone: required, but not"
            " there",
            id="without-its-arguments",
        ),
        pytest.param(
            "plugins: {score: {enabled: [{name: Cost}]}}, "
            "pluginConfig: [{name: Cost, args: {pricePerZone: {a: cheap}}}]",
            "c.yaml: profiles[0].pluginConfig[0].args.pricePerZone.a: expected a number, got"
            " 'cheap'",
            id="wrong-argument",
        ),
        pytest.param(
            "plugins: {score: {enabled: [{name: Cost}]}}, "
            "pluginConfig: [{name: Cost, args: {pricePerZone: {}, mots: 3}}]",
            "c.yaml: profiles[0].pluginConfig[0].args.mots: unknown field; did you mean most?",
            id="unknown-argument",
        ),
    ],
)
def test_what_a_configuration_asks_for_must_be_there_and_work(profile: str, sentence: str) -> None:
    """The sentence names the file, the field and the plugin, and says what to do."""
    assert _refused(f"profiles: [{{{profile}}}]") == sentence


def test_extenders_are_refused() -> None:
    """Pods would be placed as if they had no say, and nobody would notice."""
    assert _refused("extenders: [{urlPrefix: 'http://x/'}]") == (
        "c.yaml: extenders: HTTP extenders are not called by this version; "
        "remove them or write the plugin in Python"
    )


def test_profiles_sort_the_one_queue_alike() -> None:
    """The second profile, here without PrioritySort, has to agree with the first."""
    only = "[{name: Other}, {name: DefaultBinder}]"
    configuration = parse_configuration(
        f"{HEAD}profiles: [{{schedulerName: a}}, {{schedulerName: b, plugins: {{multiPoint: "
        f"{{disabled: [{{name: '*'}}], enabled: {only}}}}}}}]",
        file="c.yaml",
    )

    with pytest.raises(ConfigurationError, match=r"^c\.yaml: profiles\[1\]\.plugins: sorts the"):
        assemble(configuration, Registry.of({**INSTALLED, "Other": Sort}), services=Services())


def test_a_broken_default_plugin_is_its_own_fault() -> None:
    """Left out in silence, it would be missed only when a pod is on the wrong node."""

    class Misspelt(Plugin):
        @hookimpl
        def fliter(self) -> None:
            """Check nothing."""

    with pytest.raises(PluginError, match="did you mean 'filter'"):
        assemble(
            default_configuration(),
            Registry.of({**INSTALLED, "NodeName": Misspelt}),
            services=Services(),
        )


def test_arguments_in_force_are_shown_with_their_defaults() -> None:
    """As ``--write-config-to`` writes them: in the document's spelling."""
    assembly = _assemble(
        "profiles: [{plugins: {score: {enabled: [{name: Cost}]}}, "
        "pluginConfig: [{name: Cost, args: {pricePerZone: {a: 1.5}}}]}]"
    )

    assert plugin_arguments(assembly.frameworks) == {
        "default-scheduler": {"Cost": {"pricePerZone": {"a": 1.5}, "most": 10}}
    }
