"""The commands that read and print: what was used, what was done, what the rules say."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from bot import words
from bot.agent.budgets import By
from bot.console import log_to_terminal, redactor, say, settings_for, start, told

if TYPE_CHECKING:
    from bot.main import Settings

T = TypeVar("T")

audit = typer.Typer(
    help="The audit trail: who did what, when, by which rule.", no_args_is_help=True
)
runs = typer.Typer(help="The threads, and what was done in them.", no_args_is_help=True)
policy = typer.Typer(help="Look at the rules: who may do what, and why.", no_args_is_help=True)


@runs.command(name="list")
def list_(
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many threads, at most.")] = 20,
) -> None:
    """The threads that were written last, and how they stand."""
    from bot.main import Need
    from bot.runs_report import list_runs

    settings = settings_for(Need.NOTHING)
    _lines(settings, lambda: list_runs(settings, limit).splitlines())


@runs.command()
def show(thread: Annotated[str, typer.Argument(help="TEAM:CHANNEL:TS, as in the list.")]) -> None:
    """One thread's journal, an entry in a line."""
    from bot.main import Need
    from bot.runs_report import show_run

    settings = settings_for(Need.NOTHING)
    _lines(settings, lambda: list(show_run(settings, thread)))


def usage(
    days: Annotated[int, typer.Option(min=1, max=366, help="Today and the days before.")] = 7,
    by: Annotated[By, typer.Option(help="What a row is about.")] = By.DAY,
    as_csv: Annotated[bool, typer.Option("--csv", help="As comma-separated values.")] = False,
) -> None:
    """What the model used: turns, calls, tokens and cost."""
    from bot.main import Need
    from bot.usage_report import usage_report

    settings = settings_for(Need.NOTHING)
    report = told(lambda: usage_report(settings, days, by, datetime.now(UTC)))
    if as_csv:
        report.write_csv(sys.stdout)
    else:
        say(report.table())


@audit.command()
def verify(
    head: Annotated[
        list[str] | None,
        typer.Option(help="A newest row as the log shows it (CHAIN:ROW:SEAL); may be repeated."),
    ] = None,
    old_key: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A variable that holds an older key; may be repeated."),
    ] = None,
) -> None:
    """Prove that no row was altered, removed, moved or put in; exits with 1 if one was."""
    from bot.trail import verify_trail

    def prove() -> bool:
        heads, keys = head or (), old_key or ()
        return verify_trail(os.environ, Path.cwd(), say, recorded=heads, old_keys=keys)

    raise typer.Exit(0 if _audited(prove) else 1)


@audit.command()
def export(
    since: Annotated[str, typer.Option(help="From this time on: 2026-01-31, or with T09:30.")] = "",
    until: Annotated[str, typer.Option(help="Before this time.")] = "",
    thread: Annotated[str, typer.Option(help="Only of this thread: TEAM:CHANNEL:TS.")] = "",
) -> None:
    """Write the rows by time, each as one line of JSON."""
    from bot.trail import Wanted, export_trail

    wanted = Wanted(since, until, thread)
    _audited(lambda: export_trail(os.environ, Path.cwd(), say, wanted))


@policy.command()
def explain(
    user: Annotated[str, typer.Argument(help="A user id, as in U0123456789.")],
    channel: Annotated[str, typer.Argument(help="A channel id, as in C0123456789.")],
    tool: Annotated[str, typer.Argument(help="A tool's name.")],
    arguments: Annotated[
        list[str] | None, typer.Argument(help="name=value, or one JSON object.")
    ] = None,
    role: Annotated[
        str, typer.Option(help="admin, member or guest.", show_default="as in [access] admins")
    ] = "",
) -> None:
    """Say what the rules decide about a call, and which rule it is. Slack is not asked."""
    from bot.main import Need
    from bot.policy_report import explain_policy

    settings = settings_for(Need.NOTHING)
    _lines(
        settings, lambda: list(explain_policy(settings, user, channel, tool, arguments or [], role))
    )


@policy.command()
def check(file: Annotated[str, typer.Argument(help="A configuration file.")]) -> None:
    """Say what is wrong, or probably not meant, in a file's rules."""
    from bot.main import Need, read_settings
    from bot.policy_report import check_policy

    environ = {**os.environ, "TREADLE_CONFIG": file}
    settings = start(lambda: read_settings(environ, Path.cwd(), Need.NOTHING), verbose=False)
    found = _lines(settings, lambda: check_policy(settings))
    if not found:
        say(words.policy_is_fine(file, len(settings.rules)))
    raise typer.Exit(1 if found else 0)


def _lines(settings: Settings, look: Callable[[], Sequence[str]]) -> Sequence[str]:
    """Print what there is to say; a secret that was configured after it was written is hidden."""
    lines = told(look)
    if lines:
        say(redactor(settings).text("\n".join(lines)))
    return lines


def _audited(work: Callable[[], T]) -> T:
    log_to_terminal(verbose=False)
    return told(work)
