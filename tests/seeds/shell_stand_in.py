"""Runs a command without any sandbox: only for hosts and releases without the real tool."""

from __future__ import annotations

import subprocess

from tools.base import ToolContext, tool


@tool(changes=True)
def run_terminal_command(context: ToolContext, command: str) -> str:
    """Run a command in the workspace.

    Args:
        command: the command line
    """
    done = subprocess.run(
        command, shell=True, cwd=context.workspace.path, capture_output=True, text=True, timeout=30
    )
    return f"{done.stdout}{done.stderr}(exit code {done.returncode})"
