"""The sandbox as tools get it: one call runs one command, held in, in its turn."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace

from tools.sandbox.contract import Completed, Confinement, Network, SandboxSettings
from tools.sandbox.lanes import Lanes, Turn
from tools.sandbox.monitor import MEGA, SHARED_ALLOWANCE
from tools.sandbox.runner import HostLimits, run
from tools.usage import UNCOUNTABLE
from tools.workspace import Workspace

NO_GROWTH = "ulimit -f 0"
"""Bash's own: from here on no file can be written to, and only root could take it back."""


SLACK = 16 * MEGA
"""What others may write to the disk while nobody knows what a workspace takes."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A confinement whose probe has passed."""

    confinement: Confinement
    settings: SandboxSettings
    lanes: Lanes
    network: Network | None = None

    async def run(
        self, workspace: Workspace, command: str, timeout_s: float | None = None
    ) -> Completed:
        """Run `command` by bash in `workspace`, after those that came before it.

        `timeout_s` can only shorten the time that the settings give. In a workspace that is over
        its quota files can only be deleted. Raises SandboxUnavailable.
        """
        longest = self.settings.timeout_s
        seconds = longest if timeout_s is None else min(timeout_s, longest)
        async with self.lanes.turn(workspace.path) as turn, AsyncExitStack() as stack:
            socket = None
            if self.network is not None:
                socket = await stack.enter_async_context(self.network.open())
            used = await asyncio.to_thread(_used, workspace, self.settings.quota_mb)
            host = _host_limits(workspace, self.settings, used, turn)
            guarded = command if used is None else f"{NO_GROWTH}\n{command}"
            launch = self.confinement.launch(workspace.path, guarded, socket)
            done = await run(launch, workspace.path, self.settings, seconds, host)
            lost = used == UNCOUNTABLE
            return replace(done, over_quota=used is not None and not lost, uncountable=lost)


def _used(workspace: Workspace, quota_mb: int | None) -> int | None:
    """Bytes in a workspace that is over its quota; None for one that is not."""
    if quota_mb is None or workspace.usage(quota_mb * MEGA) <= quota_mb * MEGA:
        return None
    return workspace.usage()


def _host_limits(
    workspace: Workspace, settings: SandboxSettings, used: int | None, turn: Turn
) -> HostLimits:
    """What a command may fill; where only deleting is left, not a byte more than before.

    What it takes of the host cannot be told from what those beside it take. So they have their
    limits together: those that run at once, or ran meanwhile, up to as many as may run at once.
    Where more than that fill the disk one after the other, one beside them may be ended for it.
    """
    each, taken = settings.memory_mb * MEGA + SHARED_ALLOWANCE, settings.disk_mb * MEGA

    def shared() -> int:
        return each * turn.beside()

    if used == UNCOUNTABLE:
        return HostLimits(shared, lambda: min(taken, SLACK), None, workspace.usage)
    quota = None if settings.quota_mb is None else settings.quota_mb * MEGA
    held = quota if used is None else used
    return HostLimits(shared, lambda: taken * turn.since(), held, workspace.usage)
