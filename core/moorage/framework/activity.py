"""What the scheduling loop is at: the plugin and hook that it called last, and the pod."""

from __future__ import annotations

__all__ = ["Activity"]


class Activity:
    """Marks that the loop leaves for whoever watches it from another thread.

    `pod` is ``namespace/name``, empty between two attempts; `plugin` and `hook` are those called
    last. Plain stores, so that leaving marks costs nothing; `number` tells attempts apart.
    """

    __slots__ = ("hook", "number", "plugin", "pod")

    def __init__(self) -> None:
        self.number = 0
        self.pod = ""
        self.plugin = ""
        self.hook = ""

    def begin(self, pod: str) -> None:
        """Note that something is done about a pod."""
        self.number += 1
        self.pod = pod
        self.plugin = self.hook = ""

    def end(self) -> None:
        """Note that it is done."""
        self.number += 1
        self.pod = self.plugin = self.hook = ""

    def enter(self, plugin: str, hook: str, pod: str) -> tuple[str, str, str]:
        """Note a call that may come in the middle of an attempt; returns what `leave` wants."""
        before = self.plugin, self.hook, self.pod
        self.number += 1
        self.plugin, self.hook, self.pod = plugin, hook, pod
        return before

    def leave(self, before: tuple[str, str, str]) -> None:
        """Note that such a call is over."""
        self.number += 1
        self.plugin, self.hook, self.pod = before

    def now(self) -> tuple[int, str, str] | None:
        """Return what tells one call from the next; None: no plugin is at work."""
        return (self.number, self.plugin, self.hook) if self.plugin else None

    def at_work(self) -> str:
        """Say who is at what; empty where no plugin is."""
        return self.sentence() if self.plugin else ""

    def sentence(self) -> str:
        """Say who is at what."""
        about = f" about pod {self.pod}" if self.pod else ""
        return f"plugin {self.plugin!r} is in its hook {self.hook}{about}"
