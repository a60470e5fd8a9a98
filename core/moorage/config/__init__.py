"""KubeSchedulerConfiguration: read, checked, merged with the defaults, turned into profiles.

In: the schema and its defaults, reading files, the order of plugins at each extension point,
kube-scheduler's command-line flags as data. A configuration takes this way::

    file -> load.py -> schema.py (fields) -> defaults.py (what is left out; merging.py) -> checks.py
         -> merging.extension_points (which plugin runs where, once the plugins are known)

Out: a plugin's own arguments, which its `Args` class validates (`sentences.validation_sentence`
words what it finds), and whatever the settings do: that is for the stage that reads them.
"""

from __future__ import annotations

from moorage.config.defaults import DEFAULT_PLUGINS, default_configuration, with_defaults
from moorage.config.document import to_document
from moorage.config.durations import GoDuration, format_duration, parse_duration
from moorage.config.load import load_configuration, parse_configuration
from moorage.config.merging import EnabledPlugin, extension_points, require_one_queue_sort
from moorage.config.notices import notices
from moorage.config.schema import (
    EXTENSION_POINTS,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    PluginsConfig,
    RawArgs,
)
from moorage.config.sentences import validation_sentence

__all__ = [
    "DEFAULT_PLUGINS",
    "EXTENSION_POINTS",
    "EnabledPlugin",
    "GoDuration",
    "KubeSchedulerConfiguration",
    "KubeSchedulerProfile",
    "PluginsConfig",
    "RawArgs",
    "default_configuration",
    "extension_points",
    "format_duration",
    "load_configuration",
    "notices",
    "parse_configuration",
    "parse_duration",
    "require_one_queue_sort",
    "to_document",
    "validation_sentence",
    "with_defaults",
]
