"""KubeSchedulerConfiguration of ``kubescheduler.config.k8s.io/v1`` as typed, frozen records.

The fields, their spelling and their ranges are those of kube-scheduler 1.36:
<https://kubernetes.io/docs/reference/config-api/kube-scheduler-config.v1/>. Documents are
camelCase, Python is snake_case. As in Kubernetes, a field set to null is a field not set.

What a document leaves out is filled in by `moorage.config.defaults`; conditions between fields are
in `moorage.config.checks`.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    model_validator,
)
from pydantic.alias_generators import to_camel

from moorage.config.durations import GoDuration
from moorage.config.plugin_settings import MoorageConfiguration

__all__ = [
    "API_VERSION",
    "EXTENSION_POINTS",
    "KIND",
    "ClientConnection",
    "Extender",
    "ExtenderManagedResource",
    "ExtenderTLSConfig",
    "KubeSchedulerConfiguration",
    "KubeSchedulerProfile",
    "LeaderElection",
    "PluginConfigEntry",
    "PluginRef",
    "PluginSet",
    "PluginsConfig",
    "RawArgs",
]

API_VERSION: Final = "kubescheduler.config.k8s.io/v1"
KIND: Final = "KubeSchedulerConfiguration"
_GROUP: Final = "kubescheduler.config.k8s.io/"

EXTENSION_POINTS: Final = (
    "pre_enqueue",
    "queue_sort",
    "pre_filter",
    "filter",
    "post_filter",
    "pre_score",
    "score",
    "reserve",
    "permit",
    "pre_bind",
    "bind",
    "post_bind",
    "placement_generate",
    "placement_score",
)
"""Where a profile can enable plugins, in our spelling; `multi_point` stands for all of them."""


def _base64(text: str) -> str:
    try:
        base64.b64decode(text, validate=True)
    except binascii.Error:
        raise ValueError("must be base64") from None
    return text


Int32 = Annotated[StrictInt, Field(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[StrictInt, Field(ge=-(2**63), le=2**63 - 1)]
Float = Annotated[StrictFloat, Field(allow_inf_nan=False)]
Percentage = Annotated[StrictInt, Field(ge=0, le=100)]
PluginName = Annotated[StrictStr, Field(min_length=1)]
Base64 = Annotated[StrictStr, AfterValidator(_base64)]


class _Record(BaseModel):
    """Frozen; refuses fields it does not know; takes null for "not set"."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        validate_by_alias=True,
        validate_by_name=True,  # for records made in code; documents are read without it
    )

    @model_validator(mode="before")
    @classmethod
    def _null_is_not_set(cls, data: object) -> object:
        if not isinstance(data, dict):
            return data
        known = {info.alias for info in cls.model_fields.values()}
        return {key: value for key, value in data.items() if value is not None or key not in known}


class LeaderElection(_Record):
    """Who may write, when several schedulers run; see `moorage.config.defaults` for the name."""

    leader_elect: StrictBool = True
    lease_duration: GoDuration = 15.0
    """Seconds after which others may take a Lease that was not renewed."""
    renew_deadline: GoDuration = 10.0
    """Seconds within which a leader must have renewed, or it stops."""
    retry_period: GoDuration = 2.0
    """Seconds between two tries to take or renew the Lease."""
    resource_lock: StrictStr = ""
    resource_name: StrictStr = ""
    resource_namespace: StrictStr = ""


class ClientConnection(_Record):
    """How to talk to the API server."""

    kubeconfig: StrictStr = ""
    accept_content_types: StrictStr = ""
    content_type: StrictStr = ""
    qps: Float = 0.0
    """Requests a second before the client throttles itself; negative: it never does."""
    burst: Annotated[Int32, Field(ge=0)] = 0
    """Requests that may go out at once above `qps`."""


class PluginRef(_Record):
    """A plugin by name; `weight` matters where it scores, and 0 then means 1."""

    name: PluginName
    weight: Int32 = 0


class PluginSet(_Record):
    """What is enabled, in order, and disabled (``*``: all) at one extension point."""

    enabled: tuple[PluginRef, ...] = ()
    disabled: tuple[PluginRef, ...] = ()


class PluginsConfig(_Record):
    """The plugin sets of a profile, one for each extension point, and `multi_point` for all."""

    multi_point: PluginSet = PluginSet()
    pre_enqueue: PluginSet = PluginSet()
    queue_sort: PluginSet = PluginSet()
    pre_filter: PluginSet = PluginSet()
    filter: PluginSet = PluginSet()
    post_filter: PluginSet = PluginSet()
    pre_score: PluginSet = PluginSet()
    score: PluginSet = PluginSet()
    reserve: PluginSet = PluginSet()
    permit: PluginSet = PluginSet()
    pre_bind: PluginSet = PluginSet()
    bind: PluginSet = PluginSet()
    post_bind: PluginSet = PluginSet()
    placement_generate: PluginSet = PluginSet()
    placement_score: PluginSet = PluginSet()

    def at(self, point: str) -> PluginSet:
        """Return the set of one extension point, named as in `EXTENSION_POINTS`, or `multi_point`."""
        plugin_set: PluginSet = getattr(self, point)
        return plugin_set

    def enabled_names(self) -> frozenset[str]:
        """Every plugin that some extension point, or multiPoint, enables."""
        return frozenset(
            plugin.name for point in type(self).model_fields for plugin in self.at(point).enabled
        )


@dataclass(frozen=True, slots=True)
class RawArgs:
    """A plugin's arguments as written; the plugin's own `Args` class validates them.

    `file` and `field` (``profiles[0].pluginConfig[2].args``) are where they stand, for errors.
    """

    data: dict[str, Any]
    field: str
    file: str = ""


class PluginConfigEntry(_Record):
    """Arguments of one plugin; checked by that plugin, not here."""

    name: PluginName
    args: dict[StrictStr, Any] = Field(default_factory=dict)

    def arguments(self) -> dict[str, Any]:
        """Leave out ``apiVersion`` and ``kind`` where these only name the arguments' type."""
        kind = f"{self.name}Args"
        api_version = str(self.args.get("apiVersion", API_VERSION))
        if self.args.get("kind", kind) != kind or not api_version.startswith(_GROUP):
            return dict(self.args)  # fields of the plugin's own
        return {key: self.args[key] for key in self.args if key not in {"apiVersion", "kind"}}


class KubeSchedulerProfile(_Record):
    """One scheduler name and the plugins that decide for the pods that ask for it."""

    scheduler_name: StrictStr = ""
    percentage_of_nodes_to_score: Percentage | None = None
    """As the configuration's field of that name, for this profile alone; None: that one."""
    plugins: PluginsConfig = PluginsConfig()
    plugin_config: tuple[PluginConfigEntry, ...] = ()

    _file: str = PrivateAttr("")
    _field: str = PrivateAttr("profiles[0]")
    _configured: frozenset[str] = PrivateAttr(frozenset())

    @property
    def file(self) -> str:
        """The file that this profile was read from; empty if it comes from none."""
        return self._file

    @property
    def field(self) -> str:
        """Where in the file this profile stands: ``profiles[0]``."""
        return self._field

    @property
    def configured_plugins(self) -> frozenset[str]:
        """Plugins that the user enabled by name, as opposed to those enabled by default.

        Known once `with_merged_plugins` has laid the profile over the default plugins.
        """
        return self._configured

    def with_merged_plugins(self, merged: PluginsConfig) -> KubeSchedulerProfile:
        """Replace the plugin sets by `merged` ones, remembering what its own had enabled."""
        profile = self.model_copy(update={"plugins": merged})
        profile._configured = self.plugins.enabled_names()  # noqa: SLF001 - a copy of our own
        return profile

    @property
    def raw_args(self) -> dict[str, RawArgs]:
        """The arguments of each plugin that has any, by name of the plugin."""
        return {
            entry.name: RawArgs(
                entry.arguments(), f"{self.field}.pluginConfig[{index}].args", self.file
            )
            for index, entry in enumerate(self.plugin_config)
        }


class ExtenderManagedResource(_Record):
    """An extended resource that an extender accounts for."""

    name: StrictStr
    ignored_by_scheduler: StrictBool = False


class ExtenderTLSConfig(_Record):
    """How to trust an extender, and how to be trusted by it; ``...Data`` is base64 of PEM."""

    insecure: StrictBool = False
    server_name: StrictStr = ""
    cert_file: StrictStr = ""
    key_file: StrictStr = ""
    ca_file: StrictStr = ""
    cert_data: Base64 = ""
    key_data: Base64 = ""
    ca_data: Base64 = ""


class Extender(_Record):
    """A web hook that filters, scores, preempts or binds; an empty verb: not asked for that."""

    url_prefix: Annotated[StrictStr, Field(min_length=1)]
    filter_verb: StrictStr = ""
    preempt_verb: StrictStr = ""
    prioritize_verb: StrictStr = ""
    weight: Int64 = 0
    bind_verb: StrictStr = ""
    enable_https: StrictBool = Field(default=False, alias="enableHTTPS")
    tls_config: ExtenderTLSConfig | None = None
    http_timeout: GoDuration = 0.0
    """Seconds for one call; 0: five seconds."""
    node_cache_capable: StrictBool = False
    managed_resources: tuple[ExtenderManagedResource, ...] = ()
    ignorable: StrictBool = False


class KubeSchedulerConfiguration(_Record):
    """A whole configuration. `file` is where it was read from; empty if it comes from none."""

    api_version: Literal["kubescheduler.config.k8s.io/v1"] = API_VERSION
    kind: Literal["KubeSchedulerConfiguration"] = KIND
    parallelism: Annotated[Int32, Field(gt=0)] = 16
    """Accepted for kube-scheduler's sake: nodes are looked at as arrays, not by 16 goroutines."""
    leader_election: LeaderElection = LeaderElection()
    client_connection: ClientConnection = ClientConnection()
    enable_profiling: StrictBool = True
    enable_contention_profiling: StrictBool | None = None
    percentage_of_nodes_to_score: Percentage = 0
    """How many of the nodes to look at before choosing; 0: all of them."""
    pod_initial_backoff_seconds: Annotated[Int64, Field(gt=0)] = 1
    pod_max_backoff_seconds: Int64 = 10
    profiles: tuple[KubeSchedulerProfile, ...] = ()
    extenders: tuple[Extender, ...] = ()
    delay_cache_until_active: StrictBool = False

    _file: str = PrivateAttr("")
    _moorage: MoorageConfiguration = PrivateAttr(default_factory=MoorageConfiguration)

    @property
    def file(self) -> str:
        """The file that this was read from, for errors; empty if it comes from none."""
        return self._file

    @property
    def moorage(self) -> MoorageConfiguration:
        """The MoorageConfiguration that stands beside it in its file; an empty one otherwise."""
        return self._moorage

    def beside(self, moorage: MoorageConfiguration) -> KubeSchedulerConfiguration:
        """Return the configuration with a MoorageConfiguration beside it."""
        placed = self.model_copy()
        placed._moorage = moorage  # noqa: SLF001 - a copy of our own
        return placed

    def placed_in(self, file: str) -> KubeSchedulerConfiguration:
        """Tell the configuration its file, and each profile its place in it."""
        profiles = tuple(profile.model_copy() for profile in self.profiles)
        for index, profile in enumerate(profiles):
            profile._file, profile._field = file, f"profiles[{index}]"  # noqa: SLF001 - the owner
        placed = self.model_copy(update={"profiles": profiles})
        placed._file = file  # noqa: SLF001 - a copy of our own
        return placed
