"""The shell tool: one bash command in the workspace, inside the sandbox, or not at all."""

from __future__ import annotations

import signal

from tools.base import BadArguments, ToolContext, ToolOutput, tool
from tools.errors import SandboxUnavailable
from tools.printed import printed
from tools.sandbox.contract import Completed, Limit, SandboxSettings

TOO_LARGE = 128 + signal.SIGXFSZ
LONGEST_COMMAND = 100_000
"""Bytes; Linux takes 131,072 for one argument."""


@tool(aliases=("run_terminal_command",), changes=True, key_argument="command")
async def run_command(context: ToolContext, command: str, timeout_s: int = 60) -> ToolOutput:
    """Run a bash command in the workspace and return its exit code and what it printed.

    The command sees the workspace (its current directory), the programs of this host and nothing
    else of it. It has no input and, unless the operator named hosts, no network. What it leaves
    running in the background is ended with it.

    Args:
        command: what bash runs; several lines are fine
        timeout_s: after how many seconds it is ended
    """
    _check(command, timeout_s)
    if context.sandbox is None:
        raise SandboxUnavailable("No command can be run here. Go on without run_command.")
    done = await context.sandbox.run(context.workspace, command, timeout_s)
    head = headline(
        done, min(timeout_s, context.sandbox.settings.timeout_s), context.sandbox.settings
    )
    text = printed(done.text).rstrip()
    return ToolOutput(f"{head}\n{text or '(no output)'}")


def _check(command: str, timeout_s: int) -> None:
    if not command.strip():
        raise BadArguments("run_command: command is empty; give what bash is to run.")
    if "\0" in command:
        raise BadArguments("run_command: command holds a NUL character, which bash cannot take.")
    if len(command.encode()) > LONGEST_COMMAND:
        raise BadArguments(
            f"run_command: command is longer than {LONGEST_COMMAND:,} bytes; write it to a file "
            "with write_file and run that."
        )
    if timeout_s < 1:
        raise BadArguments("run_command: timeout_s must be 1 or more.")


def headline(done: Completed, timeout_s: float, settings: SandboxSettings) -> str:
    """How a command ended, in one line: exit code and time, or why it was stopped; what to do."""
    time = f"{done.seconds:.1f} s"
    if done.over_quota:
        time += (
            f". The workspace is over its quota of {settings.quota_mb} MB, so that files could "
            "only be deleted; delete what is not needed"
        )
    if done.uncountable:
        time += (
            ". A directory in the workspace cannot be read or is too deep, so that nobody knows "
            "what it takes and files could only be deleted; delete it (after chmod -R u+rwX)"
        )
    if done.stopped_for is not None:
        reason = _reason(done.stopped_for, timeout_s, settings)
        return f"Stopped after {time}: {reason}"
    if done.exit_code is None:
        name = signal.Signals(done.signal).name if done.signal is not None else "a signal"
        return f"Killed by {name} after {time}. It may have used too much memory; do less at once."
    limited = done.over_quota or done.uncountable
    hint = "" if limited and done.exit_code == TOO_LARGE else _hint(done.exit_code, settings)
    return f"Exit code {done.exit_code} after {time}{f'. {hint}' if hint else ''}"


def _reason(limit: Limit, timeout_s: float, settings: SandboxSettings) -> str:
    match limit:
        case Limit.TIME if timeout_s < settings.timeout_s:
            return (
                f"it ran longer than {timeout_s:.0f} s. timeout_s may be up to "
                f"{settings.timeout_s}; or do it in smaller steps."
            )
        case Limit.TIME:
            return (
                f"nothing may run longer than {timeout_s:.0f} s here. Do it in smaller steps; what "
                "was running is gone."
            )
        case Limit.OUTPUT:
            return (
                f"it printed more than {settings.output_kb} kB. Send the output to a file "
                "(> out.txt) and look at parts of it (head, tail, grep)."
            )
        case Limit.MEMORY:
            return f"it used more than {settings.memory_mb} MB of memory. Work on less at once."
        case Limit.PROCESSES:
            return f"it started more than {settings.processes} processes. Start fewer at once."
        case Limit.DISK:
            return "it filled the disk or its quota. Delete files that are not needed."


def _hint(code: int, settings: SandboxSettings) -> str:
    match code:
        case 127:
            return (
                "A program is missing: only what this host has can run; nothing can be installed."
            )
        case 137:
            return "A process was killed, perhaps for want of memory; do less at once."
        case 152:
            return f"A process used up its {settings.cpu_s} s of processor time."
        case code if code == TOO_LARGE:
            return f"A file grew beyond {settings.file_mb} MB, which is as large as one may get."
        case _:
            return ""
