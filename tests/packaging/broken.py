"""A table of broken plugins: what each does wrong, and what is to be said about it.

`code` is the body of the class; `{where}` in a sentence stands for plugin, distribution and version.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["AT_START", "AT_WORK", "Broken", "source"]

HEAD = "import time\nimport numpy as np\nimport moorage\nfrom pydantic import Field\n"


class Broken(NamedTuple):
    """One broken plugin. `module` replaces the whole module; `placed`: its pod gets a node."""

    name: str
    sentence: str
    code: str = ""
    module: str = ""
    requires: str = "moorage>=0.1,<9"
    placed: bool = False
    point: str = "multiPoint"


def source(broken: Broken) -> str:
    """Return the source of the module."""
    if broken.module:
        return broken.module
    body = "\n".join(f"    {line}" for line in broken.code.strip("\n").splitlines())
    return f"{HEAD}\nclass {broken.name}(moorage.Plugin):\n{body}\n"


def _hook(signature: str, *lines: str, prefix: str = "") -> str:
    body = "\n".join(f"    {line}" for line in lines)
    return f"@moorage.hookimpl\n{prefix}def {signature}:\n{body}\n"


FILTER = _hook("filter(self)", "return None")

AT_START = (
    Broken(
        "ImportsNothing",
        "{where} cannot be imported from {module}:ImportsNothing: ModuleNotFoundError",
        module="import nowhere_to_be_found",
    ),
    Broken("HasNoSyntax", "{where} cannot be imported", module="class HasNoSyntax(:"),
    Broken(
        "Exits",
        "{where} cannot be imported from {module}:Exits: SystemExit: 3",
        module="import sys\nsys.exit(3)",
    ),
    Broken("IsMissing", "has no attribute 'IsMissing'", module="x = 1"),
    Broken("IsNumber", "{where}: {module}:IsNumber is not a subclass", module="IsNumber = 3"),
    Broken(
        "IsForeign", "{where}: {module}:IsForeign is not a subclass", module="class IsForeign: pass"
    ),
    Broken(
        "Misspells",
        "{where} implements hook 'fliter', which does not exist; did you mean 'filter'?",
        code=_hook("fliter(self)", "return None"),
    ),
    Broken(
        "AsksTooMuch",
        "{where}: hook 'filter' asks for 'nodes'; it offers state, pod, info, node",
        code=_hook("filter(self, nodes)", "return None"),
    ),
    Broken(
        "Wraps",
        "{where} wraps hook 'filter'; wrappers are not supported",
        code="@moorage.hookimpl(wrapper=True)\ndef filter(self):\n    yield",
    ),
    Broken(
        "Awaits",
        "{where}: hook 'filter' is async, but it runs inline between two pods",
        code=_hook("filter(self)", "return None", prefix="async "),
    ),
    Broken(
        "IsTooNew",
        "{where} was built for moorage>=99, and this is moorage",
        code=FILTER,
        requires="moorage>=99",
    ),
    Broken(
        "CannotBeMade",
        "{where} cannot be made for profile 'broken': ZeroDivisionError",
        code=f"def __init__(self, args, handle):\n    1 / 0\n{FILTER}",
    ),
    Broken(
        "MissesArguments",
        "pluginConfig[name=MissesArguments].args.cost: required",
        code=f"class Args(moorage.PluginArgs):\n    cost: float\n{FILTER}",
    ),
    Broken(
        "DoesNotStart",
        "raised in start: OSError: no such device",
        code=FILTER + _hook("start(self)", "raise OSError('no such device')"),
    ),
    Broken("DoesNotPermit", "does not implement", code=FILTER, point="permit"),
    Broken(
        "RegistersNonsense",
        "is not a moorage.EventHint",
        code=FILTER + _hook("events_to_register(self)", "return ['NodeAdd']"),
    ),
    Broken(
        "WantsOtherKinds",
        "declares extra fields of 'Job'",
        code=f"extra_fields = {{'Job': {{'spec.x': str}}}}\n{FILTER}",
    ),
)
"""Plugins with which nothing starts: the configuration names them, so it cannot be followed."""

AT_WORK = (
    Broken(
        "RaisesInFilter",
        "{where} raised in filter: KeyError: 'x'",
        _hook("filter(self)", "raise KeyError('x')"),
    ),
    Broken(
        "RaisesInPreFilter",
        "{where} raised in pre_filter: RuntimeError: no",
        _hook("pre_filter(self)", "raise RuntimeError('no')"),
    ),
    Broken(
        "RaisesInScore",
        "{where} raised in score_nodes: ZeroDivisionError",
        _hook("score_nodes(self)", "return 1 / 0"),
    ),
    Broken(
        "ReturnsText",
        "{where} returned str from filter, which takes a Verdict or None",
        _hook("filter(self)", "return 'no'"),
    ),
    Broken(
        "HasWrongShape",
        "{where} returned an array of shape (1,), dtype bool from filter_nodes; wanted an array of shape (3,)",
        _hook("filter_nodes(self)", "return np.ones(1, dtype=bool)"),
    ),
    Broken(
        "HasWrongType",
        "dtype float64, values 1 to 1 from filter_nodes; wanted bool or integers",
        _hook("filter_nodes(self, nodes)", "return np.ones(len(nodes))"),
    ),
    Broken(
        "HasNegativeCodes",
        "from filter_nodes; wanted codes from 0 to 2147483647",
        _hook("filter_nodes(self, nodes)", "return np.full(len(nodes), -1)"),
    ),
    Broken(
        "WritesToView",
        "{where} raised in filter_nodes: ValueError: assignment destination is read-only",
        _hook("filter_nodes(self, nodes)", "nodes.allocatable('cpu')[:] = 10**9"),
    ),
    Broken(
        "WritesToPod",
        "{where} raised in filter: AttributeError",
        _hook("filter(self, pod)", "pod.spec.node_name = 'n1'"),
    ),
    Broken(
        "ScoresNothing",
        "from score_nodes; wanted finite numbers",
        _hook("score_nodes(self, nodes)", "return np.full(len(nodes), np.nan)"),
    ),
    Broken(
        "ScoresTooHigh",
        "from score_nodes; wanted scores from 0 to 100 (add normalize_scores)",
        _hook("score_nodes(self, nodes)", "return np.full(len(nodes), 101)"),
    ),
    Broken(
        "ScoresHalves",
        "from score; wanted whole numbers (add normalize_scores)",
        _hook("score(self)", "return 0.5"),
    ),
    Broken(
        "ScoresText",
        "{where} returned",
        _hook("score(self)", "return 'best'"),
    ),
    Broken(
        "NormalizesToList",
        "{where} returned list",
        _hook("score(self)", "return 1")
        + _hook("normalize_scores(self, scores)", "return [1, 2, 3]"),
    ),
    Broken(
        "RefusesInPreScore",
        "refused the pod in pre_score, where only Skip is allowed: never",
        _hook("pre_score(self)", "return moorage.Verdict.unschedulable('never')")
        + _hook("score(self)", "return 1"),
    ),
    Broken(
        "ExplainsSuccess",
        "from explain; wanted a Verdict that refuses",
        _hook("filter_nodes(self, nodes)", "return np.zeros(len(nodes), dtype=bool)")
        + _hook("explain(self)", "return moorage.SUCCESS"),
    ),
    Broken(
        "SignsLists",
        "{where} returned list [] from sign; wanted something hashable",
        "filter_depends = moorage.Depends(node=True)\n" + FILTER + _hook("sign(self)", "return []"),
    ),
    Broken(
        "RaisesInPreEnqueue",
        "{where} raised in pre_enqueue: KeyError: 'x'",
        _hook("pre_enqueue(self)", "raise KeyError('x')"),
    ),
    Broken(
        "RaisesInReserve",
        "raised in reserve: KeyError: 'x'",
        _hook("reserve(self)", "raise KeyError('x')"),
    ),
    Broken("PermitsWithText", "returned str from permit", _hook("permit(self)", "return 'yes'")),
    Broken(
        "RaisesInPreBind",
        "raised in pre_bind: OSError: disk full",
        _hook("pre_bind(self)", "raise OSError('disk full')", prefix="async "),
    ),
    Broken(
        "RaisesInThread",
        "raised in pre_bind: OSError: disk full",
        _hook("pre_bind(self)", "raise OSError('disk full')"),
    ),
    Broken(
        "RaisesInUnreserve",
        "{where} raised in unreserve: KeyError: 'x'",
        _hook("unreserve(self)", "raise KeyError('x')")
        + _hook("permit(self)", "return moorage.Verdict.unschedulable('never')"),
    ),
    Broken(
        "RaisesInPostBind",
        "{where} raised in post_bind: KeyError: 'x'",
        _hook("post_bind(self)", "raise KeyError('x')"),
        placed=True,
    ),
    Broken(
        "RaisesInClose",
        "{where} raised in close: KeyError: 'x'",
        FILTER + _hook("close(self)", "raise KeyError('x')"),
        placed=True,
    ),
    Broken(
        "IsSlow",
        "",
        _hook("score(self)", "time.sleep(0.2)", "return 1"),
        placed=True,
    ),
)
"""Plugins that fail their own pods only, each in a profile of its own."""
