"""The sandbox as tools get it: one call runs one command, held in, in its turn."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace

from tools.sandbox.contract import Completed, Confinement, Network, SandboxSettings
from tools.sandbox.lanes import Lanes
from tools.sandbox.runner import run
from tools.workspace import Workspace

NO_GROWTH = "ulimit -f 0"
"""Bash's own: from here on no file can be written to, and only root could take it back."""


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
        quota = self.settings.quota_mb
        async with self.lanes.turn(workspace.path), AsyncExitStack() as stack:
            socket = None
            if self.network is not None:
                socket = await stack.enter_async_context(self.network.open())
            full = quota is not None and await asyncio.to_thread(_is_full, workspace, quota)
            settings = replace(self.settings, quota_mb=None) if full else self.settings
            guarded = f"{NO_GROWTH}\n{command}" if full else command
            launch = self.confinement.launch(workspace.path, guarded, socket)
            done = await run(launch, workspace.path, settings, seconds, workspace.usage)
            return replace(done, over_quota=full)


def _is_full(workspace: Workspace, quota_mb: int) -> bool:
    quota = quota_mb * 1024 * 1024
    return workspace.usage(quota) > quota
