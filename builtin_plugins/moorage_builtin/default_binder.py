"""DefaultBinder: binds a pod by creating its Binding."""

from __future__ import annotations

import moorage

__all__ = ["DefaultBinder"]


class DefaultBinder(moorage.Plugin):
    """Writes ``pods/NAME/binding``."""

    @moorage.hookimpl
    async def bind(self, pod: moorage.Pod, node_name: str) -> None:
        """Bind the pod to the node; what the API server refuses is a fault."""
        await self.handle.bind(pod, node_name)
