"""Counterexamples, looked for at random: clusters, pods, and what happens to them. Needs hypothesis."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import msgspec
import numpy as np

# First, since it words the absence of hypothesis.
from moorage.testing import strategies  # isort: split

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from moorage.cache import ClusterCache
from moorage.cycle.answers import PluginAnswers
from moorage.errors import PluginError
from moorage.framework.plugin import Plugin, PluginArgs
from moorage.framework.verdict import SUCCESS, Verdict
from moorage.model import Node, Pod, PodInfo
from moorage.testing.cluster import Cluster
from moorage.testing.comparing import Answers, difference
from moorage.testing.objects import make_namespace, make_pod, make_service
from moorage.testing.single_plugin import SinglePlugin

__all__ = ["look_for_differing_forms", "look_for_untrue_sharing"]

_METADATA = frozenset({"labels", "namespace"})
_SPEC = frozenset({"containers", "node_selector", "affinity", "tolerations", "priority"})
"""The fields in which a pod may differ from one that is signed alike."""


def look_for_differing_forms(check: Callable[[Cluster, Pod], None], examples: int) -> None:
    """Call `check` with clusters and pods; raises the AssertionError of the first it fails for."""
    _at_random(given(strategies.clusters(), strategies.pods())(check), examples)


def look_for_untrue_sharing(
    plugin: type[Plugin], args: Mapping[str, Any] | PluginArgs | None, examples: int
) -> None:
    """Do what `moorage.testing.check_row_local` says."""

    @given(
        strategies.clusters(),
        strategies.pods(),
        strategies.pods(),
        st.lists(st.sampled_from(sorted(_METADATA | _SPEC)), max_size=2),
        _changes(),
    )
    def check(
        cluster: Cluster, pod: Pod, other: Pod, taken: list[str], changes: list[_Change]
    ) -> None:
        single = SinglePlugin(plugin, cluster, args=args)
        if not single.step.is_shared:
            raise PluginError(
                f"plugin {plugin.__name__!r} shares no answers: it needs the hook sign, and "
                "filter_depends and score_depends for what it implements of filter and score"
            )
        fragment = single.sign(pod)
        if fragment is None:
            return
        keeper = PluginAnswers(single.step, single.asker, cluster.cache)
        _answers(single, keeper, cluster.cache, PodInfo(pod))
        done = [change.apply(cluster) for change in changes]
        for asked in (pod, *_alike(pod, other, taken)):
            if single.sign(asked) != fragment:
                continue
            kept = _answers(single, keeper, cluster.cache, PodInfo(asked))
            anew = PluginAnswers(single.step, single.asker, cluster.cache)
            fresh = _answers(single, anew, cluster.cache, PodInfo(asked))
            found = difference(kept, fresh, names=("the kept answer", "a new one"))
            told = "; ".join(done) or "no change"
            of = "the same pod" if asked is pod else "a pod that is signed alike"
            if found:
                raise AssertionError(
                    f"what {plugin.__name__} declares is not so: {found}; for {of}, after {told}"
                )

    _at_random(check, examples)


def _at_random(check: Callable[[], None], examples: int) -> None:
    settings(
        max_examples=examples,
        deadline=None,
        database=None,
        # Worlds are small as they are; making a counterexample smaller still takes minutes.
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )(check)()


def _answers(
    single: SinglePlugin, keeper: PluginAnswers, cache: ClusterCache, info: PodInfo
) -> Answers:
    """Bring kept answers up to date, as the cycle does, and return them by node."""
    keeper.refresh_filter(info)
    rows = cache.valid_rows
    before = keeper.pre_filtered
    verdicts = {}
    passed = []
    for row in rows.tolist():
        name = cache.name(row)
        code = 0 if keeper.codes is None else int(keeper.codes[row])
        if before.verdict.is_rejection:
            verdicts[name] = before.verdict
        elif before.names is not None and name not in before.names:
            verdicts[name] = Verdict.unresolvable("not among the named nodes")
        elif code:
            verdicts[name] = single.asker.explain(single.step, keeper.state, info, code)
        else:
            verdicts[name] = SUCCESS
            passed.append(row)
    scores = None
    if single.step.score is not None:
        keeper.refresh_scores(info, np.array(passed, dtype=np.intp))
        if keeper.raw is not None:
            raw = np.broadcast_to(keeper.raw, cache.columns.capacity)
            scores = {cache.name(row): float(raw[row]) for row in rows.tolist()}
    return Answers(verdicts, scores)


def _alike(pod: Pod, other: Pod, chosen: Sequence[str]) -> Iterator[Pod]:
    """Make pods that may be signed as `pod` is: each differs in one field, the last in `chosen`.

    All of them are tried in every world: a lie about one field shows only where it matters there.
    """
    for source in (other, *_extremes()):
        for name in sorted(_METADATA | _SPEC):
            part = "metadata" if name in _METADATA else "spec"
            if getattr(getattr(source, part), name) != getattr(getattr(pod, part), name):
                yield _like(pod, source, [name])
    if len(chosen) > 1:
        yield _like(pod, other, chosen)


@cache
def _extremes() -> tuple[Pod, ...]:
    """Return a pod that has nothing, and one that has every label and asks for much."""
    much = {"cpu": "9", "memory": "9Gi", **dict.fromkeys(strategies.EXTENDED_RESOURCES, "9")}
    labels = dict.fromkeys(strategies.LABEL_KEYS, strategies.LABEL_VALUES[-1])
    return make_pod("nothing"), make_pod("much", requests=much, labels=labels)


def _like(pod: Pod, other: Pod, chosen: Sequence[str]) -> Pod:
    """Return a pod that differs from `pod` in the `chosen` fields, taken from `other`."""
    replace = msgspec.structs.replace
    metadata = replace(pod.metadata, uid=other.metadata.uid, name=f"{pod.metadata.name}-like")
    for name in _METADATA.intersection(chosen):
        metadata = replace(metadata, **{name: getattr(other.metadata, name)})
    taken = {name: getattr(other.spec, name) for name in _SPEC.intersection(chosen)}
    return replace(pod, metadata=metadata, spec=replace(pod.spec, **taken))


class _Change(NamedTuple):
    """Something that happens to a cluster; what, and to which of those that are there."""

    kind: str
    place: int
    pod: Pod
    node: Node
    labels: dict[str, str]

    def apply(self, cluster: Cluster) -> str:
        """Let it happen; say what."""
        names = sorted(cluster.nodes)
        running = sorted(cluster.pods.items())
        if self.kind == "pod" and names:
            node = names[self.place % len(names)]
            cluster.bind(self.pod, node)
            return f"a pod came to {node}"
        if self.kind == "no pod" and running:
            key, gone = running[self.place % len(running)]
            cluster.remove_pod(gone)
            return f"pod {key} left"
        if self.kind == "no node" and len(names) > 1:
            name = names[self.place % len(names)]
            cluster.remove_node(name)
            return f"node {name} left"
        if self.kind == "namespace":
            name = strategies.NAMESPACES[self.place % len(strategies.NAMESPACES)]
            cluster.add(make_namespace(name, labels=self.labels))
            return f"namespace {name} was relabelled"
        if self.kind == "service":
            cluster.add(make_service("s", selector=self.labels))
            return "a service came or changed"
        cluster.add(self.node)
        return f"node {self.node.metadata.name} came or changed"


@cache
def _changes() -> st.SearchStrategy[list[_Change]]:
    return st.lists(
        st.builds(
            _Change,
            st.sampled_from(["pod", "no pod", "node", "no node", "namespace", "service"]),
            st.integers(0, 5),
            strategies.pods(names=st.just("new")),
            strategies.nodes(),
            strategies.labels(("app",), min_size=1),
        ),
        max_size=2,
    )
