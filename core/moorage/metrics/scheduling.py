"""What kube-scheduler tells of its queue, its cycles, its bindings and its cache: ``scheduler_...``.

Names, labels and buckets are those that a kube-scheduler 1.36 was recorded with, or that its
reference documents. Where Moorage works otherwise, ``docs/reference/metrics.md`` says what a number
means here.
"""

from __future__ import annotations

from moorage.metrics.buckets import (
    ATTEMPTS,
    CYCLE_SECONDS,
    HINT_SECONDS,
    PLUGIN_SECONDS,
    POINT_SECONDS,
    SLI_SECONDS,
    VICTIMS,
)
from moorage.metrics.families import Counter, Gauge, Histogram

__all__ = ["SchedulingMetrics"]

_POINT, _PLUGIN, _PROFILE = "extension_point", "plugin", "profile"


class SchedulingMetrics:
    """The families by their names in Python; labels are given in the order of `Family.labels`."""

    def __init__(self) -> None:
        # Attempts

        self.attempts = Counter(
            "scheduler_schedule_attempts_total",
            "Attempts to schedule a pod, by result: scheduled, unschedulable or error.",
            "result",
            _PROFILE,
        )
        self.attempt_seconds = Histogram(
            "scheduler_scheduling_attempt_duration_seconds",
            "Seconds from popping a pod to its binding, or to its refusal.",
            "result",
            _PROFILE,
            bounds=CYCLE_SECONDS,
        )
        self.algorithm_seconds = Histogram(
            "scheduler_scheduling_algorithm_duration_seconds",
            "Seconds that finding a node took.",
            bounds=CYCLE_SECONDS,
        )
        self.pod_attempts = Histogram(
            "scheduler_pod_scheduling_attempts",
            "Attempts that a pod needed until it was bound.",
            bounds=ATTEMPTS,
        )
        self.pod_sli_seconds = Histogram(
            "scheduler_pod_scheduling_sli_duration_seconds",
            "Seconds from a pod's first readiness to its binding, by attempts.",
            "attempts",
            bounds=SLI_SECONDS,
        )
        self.scheduled_after_flush = Counter(
            "scheduler_pod_scheduled_after_flush_total",
            "Pods bound after only the long timeout had brought them back.",
        )

        # Plugins

        self.point_seconds = Histogram(
            "scheduler_framework_extension_point_duration_seconds",
            "Seconds that all plugins of an extension point took for a pod.",
            _POINT,
            "status",
            _PROFILE,
            bounds=POINT_SECONDS,
        )
        self.plugin_seconds = Histogram(
            "scheduler_plugin_execution_duration_seconds",
            "Seconds that one plugin took, in a tenth of the cycles.",
            _PLUGIN,
            _POINT,
            "status",
            bounds=PLUGIN_SECONDS,
        )
        self.evaluations = Counter(
            "scheduler_plugin_evaluation_total",
            "How often a plugin was asked about a pod.",
            _PLUGIN,
            _POINT,
            _PROFILE,
        )
        self.permit_wait_seconds = Histogram(
            "scheduler_permit_wait_duration_seconds",
            "Seconds that a pod waited in Permit, by result.",
            "result",
            bounds=CYCLE_SECONDS,
        )
        self.hint_seconds = Histogram(
            "scheduler_queueing_hint_execution_duration_seconds",
            "Seconds that a queueing hint took.",
            _PLUGIN,
            "event",
            "hint",
            bounds=PLUGIN_SECONDS,
        )

        # Shared answers, which stand where kube-scheduler batches

        self.batch_attempts = Counter(
            "scheduler_batch_attempts_total",
            "Cycles, by whether answers about pods like this one were at hand.",
            _PROFILE,
            "result",
        )
        self.batch_flushed = Counter(
            "scheduler_batch_cache_flushed_total",
            "How often shared answers were thrown away, by reason.",
            _PROFILE,
            "reason",
        )
        self.shared_lookup_seconds = Histogram(
            "scheduler_get_node_hint_duration_seconds",
            "Seconds that signing a pod and finding shared answers took.",
            "hinted",
            _PROFILE,
            bounds=HINT_SECONDS,
        )
        self.shared_store_seconds = Histogram(
            "scheduler_store_schedule_results_duration_seconds",
            "Seconds that keeping answers took; they are kept as they are made here.",
            _PROFILE,
            bounds=HINT_SECONDS,
        )

        # Preemption

        self.preemption_attempts = Counter(
            "scheduler_preemption_attempts_total", "Attempts to make room by preemption."
        )
        self.preemption_victims = Histogram(
            "scheduler_preemption_victims", "Pods chosen to go at once.", bounds=VICTIMS
        )
        self.preemption_seconds = Histogram(
            "scheduler_preemption_goroutines_duration_seconds",
            "Seconds that a task took to carry a preemption out.",
            "result",
            bounds=SLI_SECONDS,
        )
        self.preemptions = Counter(
            "scheduler_preemption_goroutines_execution_total",
            "Tasks that carried a preemption out.",
            "result",
        )

        # Queue and cache

        self.incoming = Counter(
            "scheduler_queue_incoming_pods_total",
            "Pods that entered a queue, by what brought them.",
            "event",
            "queue",
        )
        self.pending = Gauge("scheduler_pending_pods", "Pods that wait, by queue.", "queue")
        self.unschedulable = Gauge(
            "scheduler_unschedulable_pods",
            "Pods that wait, by each plugin that refused them.",
            _PLUGIN,
            _PROFILE,
        )
        self.inflight_events = Gauge(
            "scheduler_inflight_events",
            "Events kept for pods in their cycle, and those pods (PodPopped).",
            "event",
        )
        self.event_seconds = Histogram(
            "scheduler_event_handling_duration_seconds",
            "Seconds that taking in an event of the cluster took.",
            "event",
            bounds=POINT_SECONDS,
        )
        self.cache_size = Gauge(
            "scheduler_cache_size", "Nodes, pods on them and assumed pods in the cache.", "type"
        )

        # Work beside the loop

        self.goroutines = Gauge(
            "scheduler_goroutines", "Tasks at work beside the loop, by what they do.", "operation"
        )
        self.api_calls = Counter(
            "scheduler_async_api_call_execution_total",
            "Writes about pods, by result.",
            "call_type",
            "result",
        )
        self.api_call_seconds = Histogram(
            "scheduler_async_api_call_execution_duration_seconds",
            "Seconds that a write about a pod took.",
            "call_type",
            "result",
            bounds=CYCLE_SECONDS,
        )
        self.pending_api_calls = Gauge(
            "scheduler_pending_async_api_calls", "Writes about pods that wait.", "call_type"
        )
        self.volume_errors = Counter(
            "scheduler_volume_scheduling_stage_error_total",
            "Faults with the volumes of a pod: while nodes were filtered (predicate), volumes "
            "promised (assume), or claims bound (bind).",
            "operation",
        )
        self.claims_created = Counter(
            "scheduler_resourceclaim_creates_total",
            "Claims made for pods that ask for extended resources of devices, by success or failure.",
            "status",
        )

    def api_call(self, kind: str, seconds: float, *, failed: bool) -> None:
        """Note a write about a pod; `kind` as in ``call_type``: ``pod_binding``."""
        result = "error" if failed else "success"
        self.api_calls.inc(kind, result)
        self.api_call_seconds.observe(seconds, kind, result)
