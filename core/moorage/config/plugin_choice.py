"""Which installed plugins count: required, chosen between namesakes, disabled.

What is asked for comes from a MoorageConfiguration, from the environment and from the command line;
errors and notices name which of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from moorage.config.leaving_out import leave_out
from moorage.config.plugin_settings import check_requirement
from moorage.config.schema import KubeSchedulerConfiguration, KubeSchedulerProfile
from moorage.config.sentences import closest
from moorage.errors import ConfigurationError, PluginError
from moorage.framework.host import PluginSource, Registry
from moorage.framework.points import hooks_of, points_of

__all__ = ["DISABLE_VARIABLE", "REQUIRED_VARIABLE", "Chosen", "choose_plugins"]

DISABLE_VARIABLE: Final = "MOORAGE_DISABLE_PLUGINS"
REQUIRED_VARIABLE: Final = "MOORAGE_REQUIRED_PLUGINS"
_FLAG: Final = "--disable-plugin"
_OPERATOR: Final = re.compile(r"\s*([<>=!~]+|,(?=\s*[<>=!~]))\s*")
"""What stands within a requirement: ``>=``, and a comma behind which another version follows."""
_ESSENTIAL: Final = {
    "queue_sort": "sorts the queue",
    "bind": "binds pods",
}
"""Extension points that every profile needs a plugin at, and what it does there."""


class Chosen(NamedTuple):
    """A configuration and a registry that agree with all that was asked for; what to tell."""

    configuration: KubeSchedulerConfiguration
    registry: Registry
    notices: tuple[str, ...] = ()


class _Asked(NamedTuple):
    """One name or requirement, and where it was asked for."""

    text: str
    where: str


def choose_plugins(
    configuration: KubeSchedulerConfiguration,
    registry: Registry,
    *,
    disabled: Sequence[str] = (),
    environ: Mapping[str, str],
) -> Chosen:
    """Apply a configuration's MoorageConfiguration, `environ` and the command line's `disabled`.

    Raises ConfigurationError for plugins that are required and not there, or not in the version
    asked for; for a package that does not offer the plugin that it is chosen for; and where the
    last plugin would be disabled that a profile cannot do without.
    """
    settings = configuration.moorage
    file = configuration.file
    registry = _preferring(registry, settings.plugin_distributions, file)
    _check_required(
        [
            *_asked(settings.required_plugins, f"{file}: requiredPlugins"),
            *_asked(_words(environ.get(REQUIRED_VARIABLE, "")), REQUIRED_VARIABLE),
        ],
        registry,
    )
    asked = [
        *_asked(settings.disabled_plugins, f"{file}: disabledPlugins"),
        *_asked(_words(environ.get(DISABLE_VARIABLE, "")), DISABLE_VARIABLE),
        *_asked(disabled, _FLAG),
    ]
    return _without(configuration, registry, asked) if asked else Chosen(configuration, registry)


def _asked(texts: Iterable[str], where: str) -> list[_Asked]:
    return [_Asked(text, where) for text in texts]


def _words(text: str) -> list[str]:
    """Split a variable at blanks, and at commas behind which no version (``>=1,<2``) goes on."""
    joined = _OPERATOR.sub(r"\1", text)
    return [word for word in re.split(r"\s+|,(?![<>=!~])", joined) if word]


def _preferring(registry: Registry, distributions: Mapping[str, str], file: str) -> Registry:
    for plugin, distribution in distributions.items():
        offers = [one for one in registry.sources() if one.name == plugin]
        wanted = canonicalize_name(distribution)
        if not any(canonicalize_name(one.distribution) == wanted for one in offers):
            who = " and ".join(one.origin for one in offers) or "nobody"
            raise ConfigurationError(
                f"{file}: pluginDistributions.{plugin}: {distribution} does not offer it; {who} does"
            )
    return registry.preferring(distributions)


def _check_required(asked: Sequence[_Asked], registry: Registry) -> None:
    missing = []
    for text, where in asked:
        try:
            requirement = Requirement(check_requirement(text))
        except ValueError as error:
            raise ConfigurationError(f"{where}: {error}") from None
        found = _of_name(requirement.name, registry)
        fitting = [
            one for one in found if requirement.specifier.contains(one.version, prereleases=True)
        ]
        if not fitting:
            there = f"there is {found[0].origin}" if found else "it is not installed"
            missing.append((where, f"{text} ({there})"))
    if missing:
        names = ", ".join(what for _, what in missing)
        raise ConfigurationError(
            f"{missing[0][0]}: required plugins are missing: {names}; install them with "
            "moorage install"
        )


def _of_name(name: str, registry: Registry) -> list[PluginSource]:
    """Return the sources of a plugin, or of all plugins of a package."""
    sources = registry.sources()
    return [one for one in sources if one.name == name] or [
        one for one in sources if canonicalize_name(one.distribution) == canonicalize_name(name)
    ]


def _without(
    configuration: KubeSchedulerConfiguration, registry: Registry, asked: Sequence[_Asked]
) -> Chosen:
    enabled = frozenset[str]().union(*(p.plugins.enabled_names() for p in configuration.profiles))
    where: dict[str, str] = {}
    notices = []
    for name, origin in asked:
        meant = [name] if name in enabled or name in registry else []
        meant = meant or [one.name for one in _of_name(name, registry)]
        where |= dict.fromkeys(meant, origin)
        if not meant:
            near = closest(name, {*enabled, *registry.names()})
            advice = f"; did you mean {near}?" if near else ""
            notices.append(f"{origin}: there is no plugin {name!r} to disable{advice}")
    for profile in configuration.profiles:
        _require_essential(profile, registry, where)
    gone = sorted(name for name in where if name in enabled)
    if gone:
        notices.append(f"disabled, and pods are placed without them: {', '.join(gone)}")
    return Chosen(leave_out(configuration, where.keys()), registry, tuple(notices))


def _require_essential(
    profile: KubeSchedulerProfile, registry: Registry, disabled: Mapping[str, str]
) -> None:
    names = profile.plugins.enabled_names()
    stay, go = names - disabled.keys(), names & disabled.keys()
    for point, what in _ESSENTIAL.items():
        lost = [name for name in sorted(go) if _stands_at(point, name, registry)]
        if lost and not any(_stands_at(point, name, registry) for name in stay):
            raise ConfigurationError(
                f"{disabled[lost[0]]}: plugin {lost[0]!r} cannot be disabled: it is the only one "
                f"that {what} in profile {profile.scheduler_name!r}, and no profile can do without"
            )


def _stands_at(point: str, name: str, registry: Registry) -> bool:
    try:
        return point in points_of(hooks_of(registry.load(name)))
    except PluginError:
        return False
