"""The node on which a pod is expected to be placed later."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Nomination"]


class Nomination(NamedTuple):
    """What a successful `post_filter` answers; an empty name clears an earlier nomination."""

    node_name: str
