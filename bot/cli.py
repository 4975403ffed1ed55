"""The commands. Each reads the settings once, runs `bot.main` and prints plain words."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bot import reports, words
from bot.console import log_to_terminal, put, redactor, say, settings_for, start, warn
from bot.errors import TreadleError

if TYPE_CHECKING:
    from bot.main import Identity, Settings

AUDIT_HEADS = "bot.audit.heads"
"""What is logged there is to be kept where nobody can change it, so a server always logs it."""

SETTLED_SECONDS = 2.0
"""By then all that a start imports is there mostly, the model's client too."""

app = typer.Typer(
    name="treadle",
    help="A self-hosted agent for Slack threads.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


Host = Annotated[str, typer.Option(help="Address to listen on for Slack's HTTP requests.")]
Port = Annotated[
    int, typer.Option(min=1, max=65535, help="Port to listen on for Slack's HTTP requests.")
]


Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Log every step.")]


Turns = Annotated[int, typer.Option(min=1, max=1000, help="Threads to work on at a time.")]


@app.command()
def run(
    host: Host = "127.0.0.1",
    port: Port = 3000,
    work: Annotated[
        bool,
        typer.Option(help="With PostgreSQL: do the work here too. Else `treadle work` does it."),
    ] = False,
    turns: Turns = 50,
    verbose: Verbose = False,
) -> None:
    """Serve one Slack workspace: Socket Mode with an app token, else signed HTTP."""
    from bot.main import Need, Role, run_slack

    settings = settings_for(Need.RUN, verbose=verbose)
    logging.getLogger(AUDIT_HEADS).setLevel(logging.INFO)
    safe = redactor(settings).text
    role = Role.ALL if work or settings.database_path is not None else Role.INTAKE
    by_socket = settings.env.slack_app_token is not None

    def ready(identity: Identity) -> None:
        for warning in identity.warnings:
            warn(safe(warning))
        _settle()
        door = words.door_socket() if by_socket else words.door_http(host, port)
        say(safe(words.ready(identity.user, identity.team, settings.model_name, door)))

    async def serve() -> None:
        stop = _stop_signal()
        await run_slack(
            settings, stop=stop, ready=ready, host=host, port=port, role=role, turns=turns
        )

    _run(settings, serve())


@app.command()
def work(turns: Turns = 50, verbose: Verbose = False) -> None:
    """Work on threads for `treadle run`, beside other workers; needs PostgreSQL."""
    from bot.main import Need, Role, run_slack

    settings = settings_for(Need.WORK, verbose=verbose)
    safe = redactor(settings).text
    logging.getLogger(AUDIT_HEADS).setLevel(logging.INFO)

    def ready(identity: Identity) -> None:
        for warning in identity.warnings:
            warn(safe(warning))
        _settle()
        say(safe(words.ready_work(identity.user, identity.team, settings.model_name, turns)))

    async def serve() -> None:
        stop = _stop_signal()
        await run_slack(settings, stop=stop, ready=ready, role=Role.WORK, turns=turns)

    _run(settings, serve())


@app.command()
def demo(
    port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            help="Port of the page; 0 picks a free one.",
            show_default="8200, or a free one where that is taken",
        ),
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
    verbose: Verbose = False,
) -> None:
    """A small Slack workspace on a local page, with Treadle in it: no account, no key."""
    from bot.main import demo_settings, run_demo

    settings = start(lambda: demo_settings(os.environ, Path.cwd()), verbose)

    def ready(address: str) -> None:
        say(words.demo_ready(address))
        if browser and sys.stdout.isatty():
            typer.launch(address)

    async def serve() -> None:
        await run_demo(settings, stop=_stop_signal(), ready=ready, port=port)

    _run(settings, serve())


@app.command()
def chat(verbose: Verbose = False) -> None:
    """Talk to Treadle in this terminal: the same loop, tools and journal."""
    from bot.main import Need, run_chat

    settings = settings_for(Need.CHAT, verbose=verbose)
    if not verbose:  # what ends a turn is said in the conversation, which is this terminal
        logging.getLogger("bot.runs.runner").setLevel(logging.ERROR)
    _run(settings, run_chat(settings, say, put))


@app.command()
def doctor(
    wait: Annotated[int, typer.Option(help="Seconds to wait for a mention of the bot.")] = 0,
    forget_model: Annotated[
        bool, typer.Option(help="Forget what was found out about the model's endpoint.")
    ] = False,
) -> None:
    """Check the settings, the workspace, the model and Slack, and say what to do."""
    from bot.main import examine_host

    log_to_terminal(verbose=False)
    findings = asyncio.run(examine_host(os.environ, Path.cwd(), wait, forget=forget_model))
    for finding in findings:
        say(str(finding))
    raise typer.Exit(0 if all(finding.ok for finding in findings) else 1)


app.command()(reports.usage)
app.add_typer(reports.policy, name="policy")
app.add_typer(reports.audit, name="audit")
app.add_typer(reports.runs, name="runs")


def main() -> None:
    """The entry point of `treadle`."""
    app()


def _run(settings: Settings, work: Coroutine[None, None, None]) -> None:
    try:
        asyncio.run(work)
    except TreadleError as error:
        warn(redactor(settings).text(str(error)))
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


def _stop_signal() -> asyncio.Event:
    """Set by Ctrl-C and SIGTERM: what runs ends in order."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    return stop


def _settle() -> None:
    """Spare the garbage collector what a start brings in, now and once more when all is there.

    It stays to the end; to look through it takes a tenth of a second, in which nobody is served.
    """
    gc.freeze()
    asyncio.get_running_loop().call_later(SETTLED_SECONDS, gc.freeze)
