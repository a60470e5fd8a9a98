"""Promises of a plugin that no single example proves: its forms agree, what it declares is true."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from moorage.errors import PluginError
from moorage.framework.plugin import Plugin, PluginArgs
from moorage.framework.points import hooks_of
from moorage.model import Pod
from moorage.testing.assembling import name_of
from moorage.testing.cluster import Cluster
from moorage.testing.comparing import Answers, difference
from moorage.testing.single_plugin import SinglePlugin

__all__ = ["check_forms_agree", "check_row_local"]

_ARRAY_FORMS = {"filter": "filter_nodes", "score": "score_nodes"}
_EXAMPLES = 60


def check_forms_agree(
    plugin: type[Plugin],
    per_node: type[Plugin] | None = None,
    *,
    args: Mapping[str, Any] | PluginArgs | None = None,
    cases: Iterable[tuple[Cluster, Pod]] | None = None,
    examples: int = _EXAMPLES,
) -> None:
    """Check that a plugin's array hooks answer as its per-node hooks do, reasons included.

    The per-node form is `filter` and `score` of the same class, or another plugin, `per_node`, with
    the same arguments. `cases` are what they are asked about; without it, hypothesis draws
    `examples` of them. Raises AssertionError for the first difference, PluginError where there are
    no two forms to compare.
    """
    slow = per_node or _without_arrays(plugin)

    def check(cluster: Cluster, pod: Pod) -> None:
        found = difference(
            _ask(plugin, cluster, pod, args),
            _ask(slow, cluster, pod, args),
            names=("the array form", "the per-node form"),
        )
        if found:
            raise AssertionError(f"the forms of {name_of(plugin)} differ about {pod}: {found}")

    if cases is None:
        from moorage.testing.drawing import look_for_differing_forms  # noqa: PLC0415 - needs an extra

        look_for_differing_forms(check, examples)
        return
    for cluster, pod in cases:
        check(cluster, pod)


def check_row_local(
    plugin: type[Plugin],
    *,
    args: Mapping[str, Any] | PluginArgs | None = None,
    examples: int = _EXAMPLES,
) -> None:
    """Check that sharing a plugin's answers changes none: `filter_depends`, `score_depends`, `sign`.

    Answers are kept as the host keeps them: after pods, nodes, namespaces and services have come,
    changed and gone, only rows are asked again for which something declared has changed, and pods
    with equal fragments get each other's. They must be what the plugin says when asked anew.
    Needs hypothesis, which draws `examples`. Raises AssertionError for the first difference,
    PluginError for a plugin whose answers the host does not share.
    """
    from moorage.testing.drawing import look_for_untrue_sharing  # noqa: PLC0415 - it needs an extra

    look_for_untrue_sharing(plugin, args, examples)


def _without_arrays(plugin: type[Plugin]) -> type[Plugin]:
    """Return the same plugin without the array hooks for which it has a per-node form as well."""
    hooks = hooks_of(plugin)
    both = [array for one, array in _ARRAY_FORMS.items() if one in hooks and array in hooks]
    if not both:
        raise PluginError(
            f"plugin {name_of(plugin)!r} has no two forms of a hook (filter and filter_nodes, or "
            "score and score_nodes); give its per-node form as a plugin of its own"
        )
    return type(plugin.__name__, (plugin,), dict.fromkeys(both))


def _ask(
    plugin: type[Plugin],
    cluster: Cluster,
    pod: Pod,
    args: Mapping[str, Any] | PluginArgs | None,
) -> Answers:
    single = SinglePlugin(plugin, cluster, args=args)
    try:
        # Two classes have two names, which must not count.
        verdicts = {node: verdict.of("") for node, verdict in single.filter(pod).items()}
        scores = (single.raw_scores(pod) or None) if single.step.score is not None else None
    finally:
        single.close()
    return Answers(verdicts, scores)
