"""The shell tool's part: its sandbox made from the settings, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bot import words
from bot.config import Settings
from tools.errors import SandboxUnavailable
from tools.locks import Locks
from tools.sandbox.contract import SandboxSettings
from tools.sandbox.probe import open_sandbox
from tools.sandbox.sandbox import Sandbox

SHELL = "run_command"
"""The tool that needs a sandbox."""


@dataclass(frozen=True, slots=True)
class Shell:
    """The sandbox, or the sentence that says why there is none."""

    sandbox: Sandbox | None
    off: str = ""
    missed: bool = False
    """Whether the operator wants one, and this host has none."""


async def open_shell(settings: Settings, locks: Locks) -> Shell:
    """The sandbox for these workspaces, proved by a self-test."""
    section, enabled = settings.sandbox, settings.tools.enabled
    if section.mode == "off" or (enabled is not None and SHELL not in enabled):
        return Shell(None, words.shell_off() if section.mode == "off" else "")
    try:
        return Shell(await prove_sandbox(settings, locks))
    except SandboxUnavailable as error:
        return Shell(None, words.shell_unavailable(str(error)), missed=True)


async def prove_sandbox(settings: Settings, locks: Locks | None = None) -> Sandbox:
    """Raises SandboxUnavailable, with the fix."""
    root, home = settings.workspace_root, settings.home
    return await open_sandbox(sandbox_settings(settings), root, home, locks=locks)


def sandbox_settings(settings: Settings) -> SandboxSettings:
    """[sandbox] as the sandbox takes it."""
    section = settings.sandbox
    return SandboxSettings(
        mode=section.mode,
        network=section.network,
        uid=section.uid,
        timeout_s=section.timeout_s,
        memory_mb=section.memory_mb,
        processes=section.processes,
        output_kb=section.output_kb,
        read_only=tuple(map(Path, section.read_only)),
        cpu_s=2 * section.timeout_s,  # two cores at full load until the time is over
        quota_mb=settings.workspace.quota_mb,
    )
