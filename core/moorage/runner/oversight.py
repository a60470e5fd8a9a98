"""Who lets the loop write, and who looks whether it moves."""

from __future__ import annotations

from dataclasses import dataclass, field

from moorage.api.gate import WriteGate
from moorage.errors import LeadershipLostError
from moorage.serving import Heartbeat, Leadership

__all__ = ["Oversight"]


@dataclass(frozen=True, kw_only=True)
class Oversight:
    """`leadership`: the Lease to hold while scheduling; None: this replica is the only one.

    `delay_cache` keeps a replica that stands by from watching anything. `heartbeat` is kept up.
    """

    leadership: Leadership | None = None
    delay_cache: bool = False
    heartbeat: Heartbeat = field(default_factory=Heartbeat)

    @property
    def gate(self) -> WriteGate | None:
        """What all writes must pass; None: nothing stands in their way."""
        return None if self.leadership is None else self.leadership.gate

    async def until_leading(self) -> None:
        """Wait until this replica may schedule."""
        if self.leadership is not None:
            await self.leadership.acquire()

    async def until_lost(self) -> None:
        """Raise LeadershipLostError when this replica may schedule no more; return if it always may."""
        if self.leadership is not None:
            reason = await self.leadership.lost()
            raise LeadershipLostError(f"leaderelection lost: {reason}")

    async def release(self) -> None:
        """Let another replica schedule at once."""
        if self.leadership is not None:
            await self.leadership.release()
