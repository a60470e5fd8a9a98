"""Every extension point: what is called when, with what, and what each answer does.

A hook implementation names only the arguments it needs, in any order. Everything up to and
including `permit` runs inline between two pods and must not block; `pre_bind_pre_flight`,
`pre_bind`, `bind` and `post_bind` may be ``async def``, or plain functions that run in a thread
and may block: they hold up their own pod alone.

Arguments that many hooks share:

``pod``    the pod, a `moorage.Pod` record, read-only.
``info``   the same pod with what is reckoned from it (`moorage.PodInfo`: ``info.requests`` in
           milli-CPU and bytes, ``info.host_ports``), read-only.
``state``  this plugin's own notes on this pod, a `moorage.CycleState`.
``nodes``  a `moorage.NodesView` of n rows; its arrays are read-only, its positions 0 to n-1; valid
           until the hook returns.
``node``   one row of it, a `moorage.NodeInfo`.

Unless a hook says otherwise: None means Success; a `moorage.Verdict` refuses (Unschedulable,
UnschedulableAndUnresolvable, Pending) or reports a fault (Error); an exception is a fault. After a
fault the pod goes to the backoff queue with the plugin named in its condition; after a refusal it
waits for an event that one of the refusing plugins registered.
"""

from __future__ import annotations

from collections.abc import Awaitable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pluggy
from numpy.typing import NDArray

from moorage.cache.node_info import NodeInfo
from moorage.cache.view import NodesView
from moorage.framework.cycle_state import CycleState
from moorage.framework.diagnosis import Diagnosis
from moorage.framework.hints import EventHint
from moorage.framework.placement import Placement, PodGroup
from moorage.framework.plugin import PROJECT
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.verdict import Verdict
from moorage.model.pod_info import PodInfo
from moorage.model.pods import Pod

if TYPE_CHECKING:
    from moorage.framework.nomination import Nomination

hookspec = pluggy.HookspecMarker(PROJECT)

# Life cycle


@hookspec
def start() -> Awaitable[None] | None:
    """Get ready: called once per profile, before the first pod, in the configured order.

    The place to ask for informers and to open connections; may be ``async def``. An exception
    ends the start of the scheduler with exit code 2 and the plugin's name.
    """


@hookspec
def close() -> Awaitable[None] | None:
    """Let go: called once per profile at shutdown, in reverse order, also after a failed start.

    May be ``async def``; an exception is logged and the others are closed all the same.
    """


# Queueing


@hookspec
def pre_enqueue(pod: Pod) -> Verdict | None:
    """Say whether a pod may enter the active queue.

    Called whenever a pod is about to become active. A refusal keeps the pod aside, at no cost,
    until it changes or an event comes that this plugin registered; the reason is shown in the
    pod's PodScheduled condition (NotReadyForScheduling), unless there is none, or the pod has
    scheduling gates. An exception counts as a refusal with the fault as reason (SchedulerError).
    """


@hookspec
def queue_sort(queued: QueuedPod) -> Any:  # noqa: ANN401 - anything that compares
    """Return the key by which pods in the active queue are sorted, lowest first.

    Called when a pod enters the active queue; keys of one profile, and of all profiles of a
    process, must compare with each other. Exactly one plugin of a profile implements this. After an
    exception, or for a key that does not compare, the pod comes behind all others, by priority and
    time.
    """


@hookspec
def events_to_register() -> Iterable[EventHint]:
    """Say which events can make a pod schedulable that this plugin refused (KEP-4247).

    Called once, after `start`. A plugin that refuses pods and does not implement this is retried
    on every event. Each hint function gets the waiting pod and the object before and after.
    """


# One pod, one decision


@hookspec
def sign(pod: Pod, info: PodInfo) -> Hashable | None:
    """Return what this plugin sees of a pod: equal fragments, equal answers.

    Called at each attempt, for plugins that declare `filter_depends` where they filter and
    `score_depends` where they score. None means that this pod cannot be signed: the plugin is then asked anew,
    and sharing goes on for all others. An exception is a fault.
    """


@hookspec
def pre_filter(
    state: CycleState, pod: Pod, info: PodInfo, nodes: NodesView
) -> Verdict | Iterable[str] | None:
    """Look at a pod before nodes are filtered; `nodes` are all nodes.

    Return names of nodes to say that no others need be looked at; Skip to have `filter` not
    called for this pod; a refusal to make it unschedulable on all nodes at once.
    """


@hookspec
def add_pods(
    state: CycleState,
    pod: Pod,
    nodes: NodesView,
    positions: NDArray[np.intp],
    pods: Sequence[PodInfo],
) -> None:
    """Bring `state` up to date for pods that are added to rows, hypothetically.

    `positions` (m,) intp are the rows and `pods` the m pods, a `moorage.PodsOnRows` where there may
    be many; a row may occur several times.
    `state` is a clone that this call may change, and must keep apart what it counts for each row.
    """


@hookspec
def remove_pods(
    state: CycleState,
    pod: Pod,
    nodes: NodesView,
    positions: NDArray[np.intp],
    pods: Sequence[PodInfo],
) -> None:
    """Bring `state` up to date for pods that are taken off rows; as `add_pods`."""


@hookspec
def filter(state: CycleState, pod: Pod, info: PodInfo, node: NodeInfo) -> Verdict | None:  # noqa: A001 - kube-scheduler's name
    """Say whether a pod fits one node: the easy form, called for one node after another.

    Called only for nodes that the plugins before it let pass. Where a plugin implements
    `filter_nodes` as well, that is called instead.
    """


@hookspec
def filter_nodes(
    state: CycleState, pod: Pod, info: PodInfo, nodes: NodesView
) -> NDArray[np.bool_] | NDArray[np.integer[Any]] | None:
    """Say which nodes a pod fits: the fast form, called for many nodes at once.

    Return (n,) bool, True where it fits; or (n,) integers, 0 where it fits and otherwise a code
    of the plugin's own, 1 to 2147483647, which `explain` turns into a verdict; or None: it fits all. A
    False counts as code 1. Rows may be asked about that other plugins refuse.
    """


@hookspec
def explain(state: CycleState, pod: Pod, code: int) -> Verdict:
    """Turn a code of `filter_nodes` into a verdict; called only when somebody reads it.

    Without it, the verdict is Unschedulable with the plugin's name as reason.
    """


@hookspec
def post_filter(
    state: CycleState, pod: Pod, info: PodInfo, diagnosis: Diagnosis
) -> Nomination | Verdict | None:
    """Try to make room for a pod that no node let pass.

    Called in order until one answers with a `moorage.Nomination` of a node: the pod is to be tried
    there later, and what the others said is dropped. The text of a refusal, and of a nomination
    that clears an earlier one, is added to the pod's message. An UnschedulableAndUnresolvable or an
    Error ends it, with its own text alone; the pod stays refused. An exception is a fault.
    `diagnosis` says why the nodes were refused, and rehearses the filters with other pods.
    """


@hookspec
def pre_score(state: CycleState, pod: Pod, info: PodInfo, nodes: NodesView) -> Verdict | None:
    """Look at a pod before nodes are scored; `nodes` are those that passed.

    Skip: `score` is not called for this pod. A refusal is a fault here.
    """


@hookspec
def score(state: CycleState, pod: Pod, info: PodInfo, node: NodeInfo) -> float:
    """Score one node, higher is better: the easy form. Any finite number.

    Where a plugin implements `score_nodes` as well, that is called instead.
    """


@hookspec
def score_nodes(
    state: CycleState, pod: Pod, info: PodInfo, nodes: NodesView
) -> NDArray[np.integer[Any]] | NDArray[np.floating[Any]] | int:
    """Score many nodes at once: (n,) integers or finite floats, higher is better.

    Integers or floats, but always the same: rows may be asked about in several calls. An int, 0 to
    100: what every node gets, whichever nodes are asked about; `normalize_scores` is not called.
    """


@hookspec
def normalize_scores(
    state: CycleState, pod: Pod, scores: NDArray[Any], nodes: NodesView
) -> NDArray[np.integer[Any]]:
    """Bring this plugin's scores of the nodes that passed to integers 0 to 100.

    `scores` (n,) as returned by `score_nodes`, read-only; `nodes` the same n rows. Without this
    hook the scores themselves must be whole numbers from 0 to 100. Anything else is a fault that
    names the plugin. The result is multiplied by the plugin's weight and summed over plugins.
    """


@hookspec
def reserve(state: CycleState, pod: Pod, node_name: str) -> Verdict | None:
    """Set aside what the pod will use on the node; called before the next pod is looked at.

    A refusal or fault undoes: `unreserve` of all plugins, in reverse order.
    """


@hookspec
def unreserve(state: CycleState, pod: Pod, node_name: str) -> None:
    """Give back what `reserve` set aside; must be idempotent and must not fail.

    Called for all plugins of the point in reverse order when anything after `reserve` fails, also
    for a plugin whose own `reserve` failed or was not reached. An exception is logged.
    """


@hookspec
def permit(state: CycleState, pod: Pod, node_name: str) -> Verdict | None:
    """Let the pod go on to be bound, refuse it, or let it wait (``Verdict.wait(seconds)``).

    A waiting pod is bound when every plugin that made it wait has allowed it through the handle's
    waiting pods; it is refused when one rejects it or its time is over. The shortest wait counts.
    """


# Binding, in a task of its own


@hookspec
def pre_bind_pre_flight(
    state: CycleState, pod: Pod, node_name: str
) -> Awaitable[Verdict | None] | Verdict | None:
    """Say, before anything is written, whether `pre_bind` has work to do (KEP-5278).

    None: it has, and the pod's nominatedNodeName is written first where that takes long; Skip:
    `pre_bind` is not called.
    """


@hookspec
def pre_bind(
    state: CycleState, pod: Pod, node_name: str
) -> Awaitable[Verdict | None] | Verdict | None:
    """Do what must be done before the pod is bound. A refusal or fault undoes the reservation.

    So does a more important pod that needs the room: an async hook is cancelled then.
    """


@hookspec(firstresult=True)
def bind(state: CycleState, pod: Pod, node_name: str) -> Awaitable[Verdict | None] | Verdict | None:
    """Bind the pod. Skip leaves it to the next binding plugin; None means that it is bound."""


@hookspec
def post_bind(state: CycleState, pod: Pod, node_name: str) -> Awaitable[None] | None:
    """Hear that the pod is bound. An exception is logged and changes nothing."""


# Groups of pods


@hookspec
def placement_generate(state: CycleState, group: PodGroup, nodes: NodesView) -> Iterable[Placement]:
    """Propose sets of nodes on which a group of pods could be placed together (KEP-5732)."""


@hookspec
def placement_score(
    state: CycleState, group: PodGroup, placement: Placement, nodes: NodesView
) -> float:
    """Score one proposed placement, higher is better (KEP-5732)."""
