"""What every plugin is: a class, made once per profile with its arguments and a handle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import pluggy
from pydantic import BaseModel, ConfigDict, model_validator
from pydantic.alias_generators import to_camel

if TYPE_CHECKING:
    # The handle offers more than a plugin's definition needs.
    from moorage.framework.handle import Handle

__all__ = ["PROJECT", "Depends", "Plugin", "PluginArgs", "hookimpl"]

PROJECT = "moorage"
"""The project name under which pluggy marks hooks."""

hookimpl = pluggy.HookimplMarker(PROJECT)
"""Marks a method as the implementation of the hook of its name."""


class PluginArgs(BaseModel):
    """Arguments of a plugin, as ``pluginConfig[].args`` gives them.

    Fields are written in camelCase in configurations and in snake_case in Python; unknown fields
    are refused; a field that is null has its default, if there is one; the values are frozen.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True
    )

    @model_validator(mode="before")
    @classmethod
    def _null_is_not_set(cls, data: object) -> object:
        if not isinstance(data, dict) or all(item is not None for item in data.values()):
            return data
        optional = {
            one
            for name, field in cls.model_fields.items()
            if not field.is_required()
            for one in (name, field.alias)
        }
        return {key: item for key, item in data.items() if item is not None or key not in optional}


class Depends(NamedTuple):
    """What a plugin's answer for a row depends on, beside the pod itself.

    `node`: the node object; `pods`: the pods on the node; `facts`: facts of the whole cluster
    by name (``nodes``: which nodes there are; ``images``: where images lie). Only rows for which
    one of these changed are asked again; when a named fact changes, all are.
    """

    node: bool = False
    pods: bool = False
    facts: tuple[str, ...] = ()


class Plugin:
    """Base class of plugins; override `Args`, and implement hooks with `hookimpl`.

    `name` is the name in the configuration. `args` are the validated arguments, `handle` is the
    way to the rest of the scheduler. `filter_depends` and `score_depends` let pods that look the
    same to the plugin (see the hook `sign`) share its answers; None means that it is asked for
    every pod. A plugin that sets `filter_depends` promises that `pre_filter` looks only at the pod
    and the named facts, and `filter` or `filter_nodes` moreover only at what is declared of the
    row asked for; with `score_depends` the same goes for `pre_score` and `score`, which may then
    be asked about nodes that did not pass the filters, and must give valid scores for them too.
    `watches` names the kinds of objects, by
    plural, that the plugin reads through its handle besides pods, nodes and namespaces, such as
    ``services``; for kinds that Moorage has no record of, see `Handle.informer`. `extra_fields` names fields of API objects
    that the plugin reads and that are not decoded otherwise:
    ``{"Pod": {"metadata.annotations": dict[str, str]}}``.
    """

    Args: ClassVar[type[PluginArgs]] = PluginArgs
    filter_depends: ClassVar[Depends | None] = None
    score_depends: ClassVar[Depends | None] = None
    watches: ClassVar[tuple[str, ...]] = ()
    extra_fields: ClassVar[dict[str, dict[str, Any]]] = {}

    def __init__(self, args: Any, handle: Handle) -> None:  # noqa: ANN401 - of type self.Args, which subclasses narrow
        self.args = args
        self.handle = handle

    @property
    def name(self) -> str:
        """The plugin's name in the configuration."""
        return self.handle.plugin_name
