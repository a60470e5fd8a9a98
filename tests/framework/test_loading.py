"""A plugin that cannot be loaded: one sentence that names it, its distribution and the cause."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pluggy
import pytest
from pydantic import BaseModel, ConfigDict, RootModel
from tests.framework.plugin_sources import installed, of_code

import moorage
from moorage import Plugin, PluginArgs, PluginError, Registry, hookimpl
from moorage.framework.assembly import ArgumentsError, new_framework
from moorage.framework.host import _built_for, discover, moorage_version

WHERE = "plugin 'Cost' of acme-plugins 2.1"


def refusal(source: object) -> str:
    """Load what is broken and return the sentence."""
    with pytest.raises(PluginError) as caught:
        source.load()  # type: ignore[attr-defined]
    return str(caught.value)


@pytest.mark.parametrize(
    ("value", "rest"),
    [
        pytest.param(
            "no_such_module:Cost",
            " cannot be imported from no_such_module:Cost: ModuleNotFoundError: No module named"
            " 'no_such_module'",
            id="no-module",
        ),
        pytest.param(
            "tests.framework.broken_plugins:Nothing",
            " cannot be imported from tests.framework.broken_plugins:Nothing: AttributeError:"
            " module 'tests.framework.broken_plugins' has no attribute 'Nothing'",
            id="no-attribute",
        ),
        pytest.param(
            "tests.framework.exits:Cost",
            " cannot be imported from tests.framework.exits:Cost: SystemExit: 3",
            id="ends-the-process",
        ),
        pytest.param(
            "tests.framework.broken_plugins:NOT_A_PLUGIN",
            ": tests.framework.broken_plugins:NOT_A_PLUGIN is not a subclass of moorage.Plugin",
            id="no-class",
        ),
        pytest.param(
            "tests.framework.broken_plugins:NotASubclass",
            ": tests.framework.broken_plugins:NotASubclass is not a subclass of moorage.Plugin",
            id="no-plugin",
        ),
    ],
)
def test_what_cannot_be_imported(value: str, rest: str) -> None:
    """The module, what was raised and what it said."""
    assert refusal(installed("Cost", value)) == WHERE + rest


def test_what_was_built_for_another_version() -> None:
    """Before anything is imported."""
    assert refusal(installed("Cost", "no_such_module:Cost", built_for="moorage>=99,<100")) == (
        f"{WHERE} was built for moorage<100,>=99, and this is moorage {moorage_version()}; "
        "install a version of acme-plugins that supports it"
    )


@pytest.mark.parametrize(
    ("requires", "built_for"),
    [
        pytest.param(["numpy", "Moorage >= 1.0"], "moorage>=1.0", id="spelling"),
        pytest.param(['moorage>=1; python_version >= "3"'], "moorage>=1", id="marker-that-holds"),
        pytest.param(['moorage>=1; python_version < "3"'], "", id="marker-that-does-not"),
        pytest.param(['moorage>=1; extra == "test"'], "", id="extra"),
        pytest.param(["not a requirement !!"], "", id="unreadable"),
        pytest.param([], "", id="none"),
    ],
)
def test_what_a_distribution_was_built_for(requires: list[str], built_for: str) -> None:
    """Its requirement on moorage, where it applies here."""
    assert _built_for(requires) == built_for


def test_a_hook_that_does_not_exist() -> None:
    """With the one that was meant."""

    class Cost(Plugin):
        @hookimpl
        def fliter(self) -> None:
            """Misspelt."""

    assert refusal(of_code("Cost", Cost)) == (
        f"{WHERE} implements hook 'fliter', which does not exist; did you mean 'filter'?"
    )


def test_a_hook_whose_mark_was_forgotten() -> None:
    """It would never be called; one that overrides a marked one is no exception."""

    class Marked(Plugin):
        @hookimpl
        def filter(self) -> None:
            """Refuse nothing."""

    class Cost(Plugin):
        def score(self) -> int:
            """Be forgotten."""
            return 1

    class Dear(Marked):
        def filter(self) -> None:
            """Lose the mark."""

    sentence = (
        "is named like a hook, but is not marked as one; put @moorage.hookimpl above it, or rename"
        " it"
    )
    assert refusal(of_code("Cost", Cost)) == f"{WHERE}: method 'score' {sentence}"
    assert refusal(of_code("Cost", Dear)) == f"{WHERE}: method 'filter' {sentence}"


def test_an_inherited_hook_may_be_taken_away() -> None:
    """By setting it to None; nobody forgot anything."""

    class Marked(Plugin):
        @hookimpl
        def filter(self) -> None:
            """Refuse nothing."""

    class Cost(Marked):
        filter = None  # type: ignore[assignment]

    assert of_code("Cost", Cost).load() is Cost


def test_an_optional_hook_that_does_not_exist_is_let_be() -> None:
    """A plugin may be built for a later version as well."""

    class Cost(Plugin):
        @hookimpl(optionalhook=True)
        def predict(self) -> None:
            """Of the future."""

    assert of_code("Cost", Cost).load() is Cost


def test_an_argument_that_the_hook_does_not_offer() -> None:
    """With those that it offers."""

    class Cost(Plugin):
        @hookimpl
        def reserve(self, node: object) -> None:
            """Ask for too much."""

    assert refusal(of_code("Cost", Cost)) == (
        f"{WHERE}: hook 'reserve' asks for 'node'; it offers state, pod, node_name"
    )


def test_a_wrapper() -> None:
    """The hot path calls plugins itself, so that wrappers would never run."""

    class Cost(Plugin):
        @hookimpl(wrapper=True)
        def filter(self) -> Iterator[None]:
            yield

    assert refusal(of_code("Cost", Cost)) == (
        f"{WHERE} wraps hook 'filter'; wrappers are not supported"
    )


def test_a_hook_under_another_name() -> None:
    """The host calls hooks by their names."""

    class Cost(Plugin):
        @hookimpl(specname="filter")
        def check(self) -> None:
            """Check."""

    assert refusal(of_code("Cost", Cost)) == (
        f"{WHERE} implements hook 'filter' under another name; rename it"
    )


def test_an_async_hook_that_runs_between_two_pods() -> None:
    """It could not be awaited there."""

    class Cost(Plugin):
        @hookimpl
        async def filter(self) -> None:
            """Wait."""

    class Lazy(Plugin):
        @hookimpl
        async def pre_filter(self) -> AsyncIterator[str]:
            yield "n1"

    sentence = "is async, but it runs inline between two pods; make it a plain function"
    assert refusal(of_code("Cost", Cost)) == f"{WHERE}: hook 'filter' {sentence}"
    assert refusal(of_code("Cost", Lazy)) == f"{WHERE}: hook 'pre_filter' {sentence}"


def test_a_static_method() -> None:
    """Hooks are called on the instance."""

    class Cost(Plugin):
        @staticmethod
        @hookimpl
        def filter(node: object) -> None:
            """Have no self."""

    class Dear(Plugin):
        @hookimpl
        @staticmethod
        def filter(node: object) -> None:
            """Have no self, and the mark outside."""

    for plugin in (Cost, Dear):
        assert refusal(of_code("Cost", plugin)) == (
            f"{WHERE}: hook 'filter' is a static or class method; make it a plain method"
        )


def test_an_argument_by_keyword_only() -> None:
    """Hooks are called with positions."""

    class Cost(Plugin):
        @hookimpl
        def filter(self, *, node: object) -> None:
            """Take names."""

    assert refusal(of_code("Cost", Cost)) == (
        f"{WHERE}: hook 'filter' takes 'node' by keyword only; hooks are called with positions,"
        " so take the '*' out"
    )


def test_arguments_that_are_no_plugin_args() -> None:
    """They could not be validated."""

    class Cost(Plugin):
        Args = dict  # type: ignore[assignment]

    assert (
        refusal(of_code("Cost", Cost)) == f"{WHERE}: Args is not a subclass of moorage.PluginArgs"
    )


class Part(BaseModel):
    """Takes whatever it is given."""

    weight: int = 1


class Told(BaseModel):
    """Takes whatever it is given, and says so."""

    model_config = ConfigDict(extra="ignore")


class Whole(PluginArgs):
    """Holds parts, and itself."""

    parts: dict[str, list[Part]] | None = None
    whole: Whole | None = None


def test_arguments_that_hold_a_model_of_another_kind() -> None:
    """A field that is misspelt there would be dropped, and nobody would hear of it."""

    class Cost(Plugin):
        class Args(PluginArgs):
            """Holds parts deep within."""

            whole: Whole = Whole()

    assert refusal(of_code("Cost", Cost)) == (
        f"{WHERE}: Args holds Part, which would let unknown fields by without a word; derive it "
        "from moorage.PluginArgs, or say in its model_config what extra is to be"
    )


def test_models_within_that_say_what_they_do_with_unknown_fields() -> None:
    """Whatever it is; and a model that is a mere list has no fields at all."""

    class Cost(Plugin):
        class Args(PluginArgs):
            """Holds both."""

            told: Told = Told()
            names: RootModel[list[str]] = RootModel([])

    assert of_code("Cost", Cost).load() is Cost


def test_a_fact_that_does_not_exist() -> None:
    """Answers that depend on it would be kept for ever."""

    class Cost(Plugin):
        filter_depends = moorage.Depends(facts=("image",))

    assert refusal(of_code("Cost", Cost)).startswith(
        f"{WHERE}: filter_depends names the fact 'image', which does not exist; there are "
    )


@pytest.mark.parametrize(
    ("watched", "problem"),
    [
        (("service",), "watches names 'service', which is not watched; did you mean 'services'?"),
        (
            ("foos",),
            "watches names 'foos', which is not watched; for others there is handle.informer",
        ),
        ("services", "watches is not a tuple of names, such as ('services',)"),
    ],
)
def test_a_kind_that_is_not_watched(watched: Any, problem: str) -> None:  # noqa: ANN401 - also what is wrong
    """The plugin would find none, and nobody would know why."""

    class Cost(Plugin):
        watches = watched

    assert refusal(of_code("Cost", Cost)) == f"{WHERE}: {problem}"


def test_a_name_that_two_distributions_offer() -> None:
    """An error only where somebody asks for it; nobody wins in silence."""
    registry = Registry([of_code("Cost", Plugin), installed("Cost", "other:Cost")])

    assert "Cost" in registry
    with pytest.raises(PluginError) as caught:
        registry.load("Cost")
    assert str(caught.value).startswith(
        "plugin 'Cost' is offered by acme-plugins 2.1 and acme-plugins 2.1; uninstall all but one"
        " of them"
    )


def test_a_name_that_nobody_offers() -> None:
    """With the one that was meant, if any is near."""
    registry = Registry.of({"Cost": Plugin})

    with pytest.raises(
        PluginError, match=r"^plugin 'Cots' is not installed; did you mean 'Cost'\?"
    ):
        registry.source("Cots")
    with pytest.raises(PluginError, match=r"^plugin 'Zebra' is not installed; install the package"):
        registry.source("Zebra")


def test_discovery_imports_nothing() -> None:
    """What no profile enables cannot break anything; the built-ins come from moorage itself."""
    source = discover().source("NodeResourcesFit")

    assert source.distribution == "moorage"
    assert source.version == moorage_version()
    assert source.plugin is None


# Making


class Priced(Plugin):
    """Takes a price."""

    class Args(PluginArgs):
        """One number."""

        price_per_hour: float


def _made(plugin: type[Plugin], args: Any = None) -> str:  # noqa: ANN401 - whatever a user writes
    with pytest.raises(PluginError) as caught:
        new_framework(Registry([of_code("Cost", plugin)]), {"score": [("Cost", 1)]}, {"Cost": args})
    return str(caught.value)


def test_arguments_that_a_plugin_refuses() -> None:
    """By their place, spelt as in a configuration."""
    assert _made(Priced) == f"{WHERE}: args.pricePerHour: Field required"
    assert _made(Priced, {"pricePerHour": 1, "x": 2}) == (
        f"{WHERE}: args.x: Extra inputs are not permitted"
    )
    assert _made(Priced, ["a"]).startswith(f"{WHERE}: args: Input should be a valid dictionary")
    with pytest.raises(ArgumentsError):
        new_framework(Registry.of({"Cost": Priced}), {"score": [("Cost", 1)]})


def test_arguments_made_in_code_must_be_of_the_plugins_own_class() -> None:
    """They are not validated again."""
    assert _made(Priced, PluginArgs()) == f"{WHERE} takes Priced.Args, not PluginArgs"


def test_an_init_that_raises() -> None:
    """Named with the profile that it was made for."""

    class Cost(Plugin):
        def __init__(self, args: PluginArgs, handle: moorage.Handle) -> None:
            raise RuntimeError("no price list\nat all")

    assert _made(Cost) == (
        f"{WHERE} cannot be made for profile 'default-scheduler': RuntimeError: no price list at"
        " all"
    )


def test_an_init_that_forgets_its_base_class() -> None:
    """Without a handle the plugin has no name."""

    class Cost(Plugin):
        def __init__(self, args: PluginArgs, handle: moorage.Handle) -> None:
            pass

    assert _made(Cost) == f"{WHERE}: its __init__ must call super().__init__(args, handle)"


# Assembling in code


class Scorer(Plugin):
    """Scores."""

    @hookimpl
    def score(self) -> int:
        """Like all the same."""
        return 1


class Sorter(Plugin):
    """Sorts."""

    @hookimpl
    def queue_sort(self, queued: moorage.QueuedPod) -> float:
        """First come, first served."""
        return queued.timestamp


REGISTRY = Registry([of_code(name, Sorter) for name in ("A", "B")] + [of_code("Scorer", Scorer)])


@pytest.mark.parametrize(
    ("points", "sentence"),
    [
        pytest.param({"scores": []}, "'scores' is no extension point; there are ", id="point"),
        pytest.param(
            {"filter": [("Scorer", 1)]},
            "plugin 'Scorer' is enabled at filter in profile 'default-scheduler' but does not",
            id="not-implemented",
        ),
        pytest.param(
            {"score": [("Scorer", 1), ("Scorer", 2)]},
            "plugin 'Scorer' is enabled 2 times at score",
            id="twice",
        ),
        pytest.param(
            {"queue_sort": [("A", 1), ("B", 1)]},
            "plugins 'A' and 'B' both sort the queue; enable one of them",
            id="two-sort",
        ),
        pytest.param({"score": [("Nobody", 1)]}, "plugin 'Nobody' is not installed", id="absent"),
    ],
)
def test_a_profile_that_cannot_be(points: dict[str, list[tuple[str, int]]], sentence: str) -> None:
    """One sentence."""
    with pytest.raises(PluginError) as caught:
        new_framework(REGISTRY, points)
    assert str(caught.value).startswith(sentence)


def test_names_alone_enable_a_plugin_wherever_it_can_be() -> None:
    """With weight 1, in the order given, each with a manager of the profile's own."""
    one = new_framework(REGISTRY, ["Scorer", "A"], profile_name="one")
    other = new_framework(REGISTRY, ["Scorer"])

    assert [plugin.name for plugin in one.plugins] == ["A", "Scorer"]
    assert [(hook.plugin, hook.weight) for hook in one.points["score"]] == [("Scorer", 1)]
    assert one.plugin("Scorer").handle.profile_name == "one"
    assert one.manager is not other.manager
    assert isinstance(one.manager, pluggy.PluginManager)
    assert one.origin("A") == "acme-plugins 2.1"


def test_plugins_run_in_the_configured_order_with_their_weights() -> None:
    """At each point by itself."""
    registry = Registry([of_code(name, Scorer) for name in ("A", "B", "C")])

    framework = new_framework(registry, {"score": [("C", 3), ("A", 1), ("B", 2)]})

    assert [(hook.plugin, hook.weight) for hook in framework.points["score"]] == [
        ("C", 3),
        ("A", 1),
        ("B", 2),
    ]


def test_hooks_get_the_arguments_that_they_name_in_any_order() -> None:
    """None, one, some or all."""

    class Picky(Plugin):
        @hookimpl
        def filter(self) -> str:
            """Take nothing."""
            return "nothing"

        @hookimpl
        def reserve(self, node_name: str) -> str:
            """Take one."""
            return node_name

        @hookimpl
        def permit(self, node_name: str, state: str) -> tuple[str, str]:
            """Take two, the other way round."""
            return node_name, state

        @hookimpl
        def unreserve(self, state: str, pod: str, node_name: str) -> tuple[str, str, str]:
            """Take all."""
            return state, pod, node_name

    framework = new_framework(Registry.of({"Picky": Picky}), ["Picky"])

    def called(hook: str, *arguments: str) -> object:
        found = framework.hook("Picky", hook)
        assert found is not None
        return found.call(*arguments)

    assert called("filter", "state", "pod", "info", "node") == "nothing"
    assert called("reserve", "state", "pod", "n1") == "n1"
    assert called("permit", "state", "pod", "n1") == ("n1", "state")
    assert called("unreserve", "state", "pod", "n1") == ("state", "pod", "n1")
    assert framework.hook("Picky", "bind") is None
