"""What an operator can count: families of numbers, with kube-scheduler's names, labels and buckets.

In: the families, how they are recorded cheaply, their text. Out: who records what (each stage), and
who serves it (`moorage.serving`). Below everything that records; imports nothing of ours.

`families.py` is how numbers are kept; `scheduling.py`, `client.py`, `work.py` and `process.py` which
there are; `profile.py` looks up once what a cycle records often; `collection.py` is all of them.
"""

from __future__ import annotations

from moorage.metrics.collection import Metrics
from moorage.metrics.families import Counter, Gauge, Histogram
from moorage.metrics.profile import ProfileMetrics

__all__ = ["Counter", "Gauge", "Histogram", "Metrics", "ProfileMetrics"]
