"""A plugin's notes on one pod, from PreFilter to PostBind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

__all__ = ["CycleState"]


class CycleState(dict[str, Any]):
    """What one plugin writes down about one pod; each plugin has its own.

    Written in `pre_filter` and `pre_score`, it may be shared by all pods with the same `sign`
    fragment and must then be treated as read-only by `filter`, `score` and `normalize_scores`;
    from `reserve` on it is the pod's own copy. `clone` is called before `add_pods` and
    `remove_pods` change it for hypothetical pods; override it where a shallow copy of the values
    is not enough.
    """

    __slots__ = ()

    def __init__(self, values: Mapping[str, Any] = {}) -> None:
        super().__init__(values)

    def clone(self) -> Self:
        """Return a copy whose values may be replaced; values with a `clone` method are cloned."""
        return type(self)(
            {
                key: value.clone() if hasattr(value, "clone") else value
                for key, value in self.items()
            }
        )
