"""Pods that wait for a decision: active, backoff, unschedulable, gated; hints and nominations."""
