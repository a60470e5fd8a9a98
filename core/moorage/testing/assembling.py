"""From what a test names - classes, names, a profile - to an assembled framework."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from moorage.config import load_configuration, parse_configuration
from moorage.config.producers import assemble
from moorage.config.schema import API_VERSION, KIND
from moorage.framework.assembly import new_framework
from moorage.framework.handle import Services
from moorage.framework.host import PluginSource, Registry, discover
from moorage.framework.plugin import Plugin, PluginArgs
from moorage.framework.points import hooks_of, points_of
from moorage.framework.profile import Framework

__all__ = ["Args", "PluginChoice", "Plugins", "Profile", "make_framework", "name_of"]

PluginChoice: TypeAlias = type[Plugin] | str
"""A plugin's class, which goes by its class name, or the name of an installed plugin."""
Plugins: TypeAlias = "Sequence[PluginChoice | tuple[PluginChoice, int]] | None"
"""Plugins in order, each alone or with its weight."""
Profile: TypeAlias = "str | Path | Mapping[str, Any] | None"
"""A configuration: a file, YAML text, a profile as a mapping, or ``default``."""
Args: TypeAlias = "Mapping[str, Mapping[str, Any] | PluginArgs] | None"
"""Arguments by plugin, as ``pluginConfig`` gives them."""

_DEFAULT = "default"


def make_framework(
    services: Services,
    *,
    plugins: Plugins = None,
    profile: Profile = None,
    args: Args = None,
    scheduler_name: str = "default-scheduler",
) -> Framework:
    """Assemble the profile that a test asks for.

    Without `profile`, exactly `plugins` run, in this order, wherever they can be enabled; without
    `plugins` either, the default profile does. With `profile`, that runs, and those of `plugins`
    that it does not name are added to it; of several profiles, `scheduler_name` picks one.
    """
    pairs = [_pair(one) for one in plugins or ()]
    registry = _registry([choice for choice, _ in pairs], alone=profile is None)
    alone = profile is None and plugins is not None
    _require_known(args or {}, [name_of(one) for one, _ in pairs] if alone else registry.names())
    if alone:
        points: dict[str, list[tuple[str, int]]] = {}
        for choice, weight in pairs:
            name = name_of(choice)
            for point in sorted(points_of(hooks_of(registry.load(name)))):
                points.setdefault(point, []).append((name, weight))
        return new_framework(registry, points, args, profile_name=scheduler_name, services=services)
    document = _document(profile)
    for one in document["profiles"]:
        _add_plugins(one, pairs)
        _add_args(one, args or {})
    configuration = parse_configuration(json.dumps(document), file="profile")
    frameworks = assemble(configuration, registry, services=services).frameworks
    if scheduler_name in frameworks:
        return frameworks[scheduler_name]
    if len(frameworks) > 1:
        raise ValueError(
            f"the configuration has profiles {', '.join(frameworks)}; the pod asks for "
            f"{scheduler_name!r}: make_pod(..., scheduler_name=...)"
        )
    return next(iter(frameworks.values()))


def name_of(choice: PluginChoice) -> str:
    """Return the name under which a plugin runs."""
    return choice if isinstance(choice, str) else choice.__name__


def _pair(given: PluginChoice | tuple[PluginChoice, int]) -> tuple[PluginChoice, int]:
    choice, weight = given if isinstance(given, tuple) else (given, 1)
    if not isinstance(choice, (str, type)):
        raise TypeError(f"plugins are classes or names of installed ones, not {choice!r}")
    return choice, weight


def _require_known(args: Iterable[str], names: Sequence[str]) -> None:
    """Refuse arguments of a plugin that does not run: the test would be about its defaults."""
    for name in args:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            advice = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names)}"
            raise ValueError(f"args has {name!r}, which is none of the plugins; {advice}")


def _registry(choices: Sequence[PluginChoice], *, alone: bool) -> Registry:
    """Installed plugins, with those that are given as classes in place of their namesakes.

    Where classes run alone nobody asks what else is installed; finding out takes a while.
    """
    given = {name_of(choice): choice for choice in choices if not isinstance(choice, str)}
    sources = [
        PluginSource(name=name, distribution="test", version="", plugin=plugin)
        for name, plugin in given.items()
    ]
    if not alone or len(given) < len(choices) or not choices:
        sources += [source for source in discover().sources() if source.name not in given]
    return Registry(sources)


def _document(profile: Profile) -> dict[str, Any]:
    """Return a whole configuration, in containers of its own."""
    if profile is None or profile == _DEFAULT:
        found: Any = {}
    elif isinstance(profile, Mapping):
        found = json.loads(json.dumps(profile))
    elif isinstance(profile, Path) or "\n" not in profile:
        # Read by the host first, for its sentence about what is wrong with the file.
        load_configuration(profile)
        documents = yaml.safe_load_all(Path(profile).read_text(encoding="utf-8"))
        found = next(one for one in documents if one["kind"] == KIND)
    else:
        found = _read(profile)
    if "profiles" not in found and "kind" not in found:
        found = {"profiles": [found]}
    found = {"apiVersion": API_VERSION, "kind": KIND, **found}
    # Whatever is wrong with it is said by the host, before anything is added; null is not set.
    parse_configuration(json.dumps(found), file="profile")
    return {**found, "profiles": found.get("profiles") or [{}]}


def _read(text: str) -> dict[str, Any]:
    """Return what YAML text says; ConfigurationError where it is no mapping."""
    try:
        found: Any = yaml.safe_load(text) or {}
    except yaml.YAMLError:
        found = None
    if not isinstance(found, dict):
        # It raises, with a sentence of its own.
        parse_configuration(text, file="profile")
    return dict(found)


def _add_plugins(profile: dict[str, Any], pairs: Sequence[tuple[PluginChoice, int]]) -> None:
    plugins = _filled(profile, "plugins", {})
    named = {
        entry["name"] for point in plugins.values() for entry in (point or {}).get("enabled") or ()
    }
    everywhere = _filled(_filled(plugins, "multiPoint", {}), "enabled", [])
    everywhere.extend(
        {"name": name_of(choice), "weight": weight}
        for choice, weight in pairs
        if name_of(choice) not in named
    )


def _add_args(profile: dict[str, Any], args: Mapping[str, Mapping[str, Any] | PluginArgs]) -> None:
    given = _filled(profile, "pluginConfig", [])
    for name, values in args.items():
        if isinstance(values, PluginArgs):
            values = values.model_dump(mode="json", by_alias=True)  # noqa: PLW2901 - the same, spelt
        given.append({"name": name, "args": dict(values)})


def _filled(mapping: dict[str, Any], key: str, empty: Any) -> Any:  # noqa: ANN401 - any container
    """Return what a mapping has, with `empty` put where it has nothing, or null."""
    if mapping.get(key) is None:
        mapping[key] = empty
    return mapping[key]
