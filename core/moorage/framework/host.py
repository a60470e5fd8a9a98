"""Which plugins are installed, and how one is loaded.

Entry points of the group ``moorage.plugins`` are read without importing what they name; a plugin
is imported when a profile enables it or somebody asks about it.
"""

from __future__ import annotations

import contextlib
import difflib
import inspect
import logging
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import FunctionType
from typing import get_args

import importlib_metadata
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from pydantic import BaseModel, RootModel

from moorage.cache.cluster import ClusterCache
from moorage.errors import PluginError
from moorage.fault_log import worded
from moorage.framework.plugin import Depends, Plugin, PluginArgs
from moorage.framework.points import HOOK_ARGUMENTS, hooks_of, may_be_async
from moorage.framework.renames import accept_old_names

__all__ = ["GROUP", "WATCHABLE", "PluginSource", "Registry", "discover", "moorage_version"]

GROUP = "moorage.plugins"
_UNKNOWN = ("unknown", "", "")
WATCHABLE = frozenset(
    {
        "csidrivers",
        "csinodes",
        "csistoragecapacities",
        "deviceclasses",
        "namespaces",
        "nodes",
        "persistentvolumeclaims",
        "persistentvolumes",
        "poddisruptionbudgets",
        "pods",
        "replicasets",
        "replicationcontrollers",
        "resourceclaims",
        "resourceslices",
        "services",
        "statefulsets",
        "storageclasses",
        "volumeattachments",
    }
)
"""What `Plugin.watches` may name; `moorage.feed.watched` has a feed for each, and no other."""

_logger = logging.getLogger(__name__)

_BY_NAME_ONLY = frozenset({inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD})


@dataclass(frozen=True, kw_only=True)
class PluginSource:
    """Where a plugin comes from: an entry point of a distribution, or a class given in code."""

    name: str
    distribution: str
    version: str
    built_for: str = ""
    entry_point: importlib_metadata.EntryPoint | None = None
    plugin: type[Plugin] | None = None
    _loaded: list[type[Plugin]] = field(default_factory=list, repr=False, compare=False)

    @property
    def origin(self) -> str:
        """The distribution and its version, as errors name it."""
        return f"{self.distribution} {self.version}".strip()

    def load(self) -> type[Plugin]:
        """Import the plugin and check its hooks; PluginError says what is wrong with it."""
        if not self._loaded:
            found = self.plugin if self.plugin is not None else self._import()
            for old, new, until in accept_old_names(found):
                _logger.warning(
                    "Plugin %r of %s implements hook %r, which is called %r now; rename it before "
                    "Moorage %s",
                    self.name,
                    self.origin,
                    old,
                    new,
                    until,
                )
            _check_declarations(found, self)
            _check_hooks(found, self)
            self._loaded.append(found)
        return self._loaded[0]

    def _import(self) -> type[Plugin]:
        self._check_version()
        assert self.entry_point is not None  # noqa: S101 - a source has a class or an entry point
        try:
            # stdout is for results, which a program may read: a module that prints goes elsewhere.
            with contextlib.redirect_stdout(sys.stderr):
                found = self.entry_point.load()
        except (Exception, SystemExit) as error:
            # Whatever a module raises when imported is that plugin's fault, and nobody else's.
            raise PluginError(
                f"plugin {self.name!r} of {self.origin} cannot be imported from "
                f"{self.entry_point.value}: {worded(error)}"
            ) from error
        if not (isinstance(found, type) and issubclass(found, Plugin)):
            raise PluginError(
                f"plugin {self.name!r} of {self.origin}: {self.entry_point.value} is not a "
                "subclass of moorage.Plugin"
            )
        return found

    def _check_version(self) -> None:
        if not self.built_for:
            return
        try:
            wanted = Requirement(self.built_for).specifier
        except InvalidRequirement:
            return
        if not wanted.contains(moorage_version(), prereleases=True):
            raise PluginError(
                f"plugin {self.name!r} of {self.origin} was built for moorage{wanted}, and this "
                f"is moorage {moorage_version()}; install a version of {self.distribution} that "
                "supports it"
            )


class Registry:
    """Plugins by name, from entry points and from code."""

    def __init__(self, sources: Iterable[PluginSource] = ()) -> None:
        self._sources: dict[str, list[PluginSource]] = {}
        for source in sources:
            self._sources.setdefault(source.name, []).append(source)

    @classmethod
    def of(cls, plugins: Mapping[str, type[Plugin]], *, distribution: str = "code") -> Registry:
        """Make a registry of classes by name."""
        return cls(
            PluginSource(name=name, distribution=distribution, version="", plugin=plugin)
            for name, plugin in plugins.items()
        )

    def __contains__(self, name: str) -> bool:
        return name in self._sources

    def names(self) -> list[str]:
        """Return all names, sorted."""
        return sorted(self._sources)

    def sources(self) -> list[PluginSource]:
        """Return all sources, sorted by name."""
        return [source for name in self.names() for source in self._sources[name]]

    def source(self, name: str) -> PluginSource:
        """Return where a plugin comes from; PluginError where nobody or two offer the name."""
        sources = self._sources.get(name, [])
        if not sources:
            near = difflib.get_close_matches(name, self._sources, n=1)
            advice = f"did you mean {near[0]!r}?" if near else "install the package that has it"
            raise PluginError(f"plugin {name!r} is not installed; {advice}")
        if len(sources) > 1:
            sources = sorted(sources, key=lambda source: source.origin)
            origins = " and ".join(source.origin for source in sources)
            raise PluginError(
                f"plugin {name!r} is offered by {origins}; uninstall all but one of them, or "
                f"choose one in a MoorageConfiguration: pluginDistributions: {{{name}: "
                f"{sources[0].distribution}}}"
            )
        return sources[0]

    def preferring(self, distributions: Mapping[str, str]) -> Registry:
        """Return a registry in which some names mean the plugin of one distribution only."""
        wanted = {name: canonicalize_name(one) for name, one in distributions.items()}
        return Registry(
            source
            for source in self.sources()
            if wanted.get(source.name, canonicalize_name(source.distribution))
            == canonicalize_name(source.distribution)
        )

    def load(self, name: str) -> type[Plugin]:
        """Import a plugin by name; PluginError says what is wrong with it."""
        return self.source(name).load()


def discover() -> Registry:
    """Find the installed plugins, without importing any."""
    # Read once, however many plugins a distribution has: each look at its metadata parses them.
    told: dict[importlib_metadata.Distribution | None, tuple[str, str, str]] = {None: _UNKNOWN}
    sources = []
    for entry_point in importlib_metadata.entry_points(group=GROUP):
        found = entry_point.dist
        if found not in told:
            told[found] = _told_by(found)
        name, version, built_for = told[found]
        sources.append(
            PluginSource(
                name=entry_point.name,
                distribution=name,
                version=version,
                built_for=built_for,
                entry_point=entry_point,
            )
        )
    return Registry(sources)


def moorage_version() -> str:
    """Return the version of Moorage that is installed."""
    return importlib_metadata.version("moorage")


def _told_by(distribution: importlib_metadata.Distribution) -> tuple[str, str, str]:
    """Return what a distribution says: its name, its version, and its requirement on moorage."""
    metadata = distribution.metadata
    requires = metadata.get_all("Requires-Dist") or distribution.requires or []
    return metadata["Name"], metadata["Version"], _built_for(requires)


def _built_for(requires: Iterable[str]) -> str:
    """Return the one of a distribution's requirements that is on moorage, empty where none is."""
    for text in requires:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue
        applies = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if canonicalize_name(requirement.name) == "moorage" and applies:
            return f"moorage{requirement.specifier}"
    return ""


def _check_declarations(plugin: type[Plugin], source: PluginSource) -> None:
    """Refuse class attributes that the host cannot use."""
    where = f"plugin {source.name!r} of {source.origin}"
    if not (isinstance(plugin.Args, type) and issubclass(plugin.Args, PluginArgs)):
        raise PluginError(f"{where}: Args is not a subclass of moorage.PluginArgs")
    for model in _models_in(plugin.Args):
        if "extra" not in model.model_config and not issubclass(model, RootModel):
            raise PluginError(
                f"{where}: Args holds {model.__name__}, which would let unknown fields by without a "
                "word; derive it from moorage.PluginArgs, or say in its model_config what extra is "
                "to be"
            )
    _check_watches(plugin, where)
    known = ClusterCache().facts
    for attribute in ("filter_depends", "score_depends"):
        depends = getattr(plugin, attribute)
        if depends is None:
            continue
        if not isinstance(depends, Depends):
            raise PluginError(f"{where}: {attribute} is not a moorage.Depends")
        unknown = [fact for fact in depends.facts if fact not in known]
        if unknown:
            raise PluginError(
                f"{where}: {attribute} names the fact {unknown[0]!r}, which does not exist; "
                f"there are {', '.join(sorted(known))}"
            )


def _models_in(model: type[BaseModel]) -> list[type[BaseModel]]:
    """Find a model and all that its fields hold, however deep."""
    found: list[type[BaseModel]] = []
    open_types: list[object] = [model]
    while open_types:
        one = open_types.pop()
        open_types += get_args(one)
        if isinstance(one, type) and issubclass(one, BaseModel) and one not in found:
            found.append(one)
            open_types += [field.annotation for field in one.model_fields.values()]
    return found


def _check_watches(plugin: type[Plugin], where: str) -> None:
    """Refuse kinds of objects that are never watched: the plugin would see none, for ever."""
    watches: object = plugin.watches
    if not isinstance(watches, (tuple, list, frozenset, set)):
        raise PluginError(f"{where}: watches is not a tuple of names, such as ('services',)")
    for plural in watches:
        if plural not in WATCHABLE:
            near = difflib.get_close_matches(str(plural), WATCHABLE, n=1)
            advice = f"did you mean {near[0]!r}?" if near else "for others there is handle.informer"
            raise PluginError(f"{where}: watches names {plural!r}, which is not watched; {advice}")


def _check_hooks(plugin: type[Plugin], source: PluginSource) -> None:
    """Refuse unknown hooks, unknown arguments and what the host never calls, by name."""
    where = f"plugin {source.name!r} of {source.origin}"
    for hook, options in hooks_of(plugin).items():
        offered = HOOK_ARGUMENTS.get(hook)
        if offered is None:
            if options.get("optionalhook"):
                continue
            near = difflib.get_close_matches(hook, HOOK_ARGUMENTS, n=1)
            advice = f"; did you mean {near[0]!r}?" if near else ""
            raise PluginError(f"{where} implements hook {hook!r}, which does not exist{advice}")
        if options.get("wrapper") or options.get("hookwrapper"):
            raise PluginError(f"{where} wraps hook {hook!r}; wrappers are not supported")
        method = getattr(plugin, hook, None)
        if method is None:
            raise PluginError(f"{where} implements hook {hook!r} under another name; rename it")
        if isinstance(inspect.getattr_static(plugin, hook), (staticmethod, classmethod)):
            raise PluginError(
                f"{where}: hook {hook!r} is a static or class method; make it a plain method"
            )
        _check_arguments(method, hook, offered, where)
        is_async = inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method)
        if is_async and not may_be_async(hook):
            raise PluginError(
                f"{where}: hook {hook!r} is async, but it runs inline between two pods; "
                "make it a plain function"
            )
    _check_marks(plugin, where)


def _check_marks(plugin: type[Plugin], where: str) -> None:
    """Refuse a hook whose mark was forgotten, also where it overrides one that has it.

    It would never be called, and nobody would say so.
    """
    marked = hooks_of(plugin)
    for hook in HOOK_ARGUMENTS:
        method = inspect.getattr_static(plugin, hook, None)
        if hook not in marked and isinstance(method, (FunctionType, staticmethod, classmethod)):
            raise PluginError(
                f"{where}: method {hook!r} is named like a hook, but is not marked as one; put "
                "@moorage.hookimpl above it, or rename it"
            )


def _check_arguments(method: object, hook: str, offered: tuple[str, ...], where: str) -> None:
    parameters = list(inspect.signature(method).parameters.values())[1:]  # type: ignore[arg-type]
    unknown = [parameter.name for parameter in parameters if parameter.name not in offered]
    if unknown:
        raise PluginError(
            f"{where}: hook {hook!r} asks for {', '.join(map(repr, unknown))}; it offers "
            f"{', '.join(offered) or 'no arguments'}"
        )
    named = [parameter.name for parameter in parameters if parameter.kind in _BY_NAME_ONLY]
    if named:
        raise PluginError(
            f"{where}: hook {hook!r} takes {', '.join(map(repr, named))} by keyword only; hooks "
            "are called with positions, so take the '*' out"
        )
