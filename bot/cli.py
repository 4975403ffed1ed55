"""The commands. Each reads the settings once, runs `bot.main` and prints plain words."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bot import words
from bot.errors import TreadleError

if TYPE_CHECKING:
    from bot.main import Identity, Settings


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


@app.command()
def run(host: Host = "127.0.0.1", port: Port = 3000, verbose: Verbose = False) -> None:
    """Serve one Slack workspace: Socket Mode with an app token, else signed HTTP."""
    from bot.main import Need, read_settings, run_slack

    settings = _start(lambda: read_settings(os.environ, Path.cwd(), Need.RUN), verbose)
    by_socket = settings.env.slack_app_token is not None

    def ready(identity: Identity) -> None:
        for warning in identity.warnings:
            _warn(warning)
        door = words.door_socket() if by_socket else words.door_http(host, port)
        _say(words.ready(identity.user, identity.team, settings.model_name, door))

    async def serve() -> None:
        await run_slack(settings, stop=_stop_signal(), ready=ready, host=host, port=port)

    _run(serve())


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

    settings = _start(lambda: demo_settings(os.environ, Path.cwd()), verbose)

    def ready(address: str) -> None:
        _say(words.demo_ready(address))
        if browser and sys.stdout.isatty():
            typer.launch(address)

    async def serve() -> None:
        await run_demo(settings, stop=_stop_signal(), ready=ready, port=port)

    _run(serve())


@app.command()
def chat(verbose: Verbose = False) -> None:
    """Talk to Treadle in this terminal: the same loop, tools and journal."""
    from bot.main import Need, read_settings, run_chat

    settings = _start(lambda: read_settings(os.environ, Path.cwd(), Need.CHAT), verbose)
    if not verbose:  # what ends a turn is said in the conversation, which is this terminal
        logging.getLogger("bot.runs.runner").setLevel(logging.ERROR)
    _run(run_chat(settings, _say, _put))


@app.command()
def doctor(
    wait: Annotated[int, typer.Option(help="Seconds to wait for a mention of the bot.")] = 0,
    forget_model: Annotated[
        bool, typer.Option(help="Forget what was found out about the model's endpoint.")
    ] = False,
) -> None:
    """Check the settings, the workspace, the model and Slack, and say what to do."""
    from bot.main import examine_host

    _log(verbose=False)
    findings = asyncio.run(examine_host(os.environ, Path.cwd(), wait, forget=forget_model))
    for finding in findings:
        _say(str(finding))
    raise typer.Exit(0 if all(finding.ok for finding in findings) else 1)


policy = typer.Typer(help="Look at the rules: who may do what, and why.", no_args_is_help=True)
app.add_typer(policy, name="policy")


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
    from bot.main import Need, read_settings
    from bot.policy_report import explain_policy

    settings = _start(lambda: read_settings(os.environ, Path.cwd(), Need.NOTHING), verbose=False)
    _report(lambda: list(explain_policy(settings, user, channel, tool, arguments or [], role)))


@policy.command()
def check(file: Annotated[str, typer.Argument(help="A configuration file.")]) -> None:
    """Say what is wrong, or probably not meant, in a file's rules."""
    from bot.main import Need, read_settings
    from bot.policy_report import check_policy

    environ = {**os.environ, "TREADLE_CONFIG": file}
    settings = _start(lambda: read_settings(environ, Path.cwd(), Need.NOTHING), verbose=False)
    found = _report(lambda: check_policy(settings))
    if not found:
        _say(words.policy_is_fine(file, len(settings.rules)))
    raise typer.Exit(1 if found else 0)


def _report(look: Callable[[], Sequence[str]]) -> Sequence[str]:
    """Print what there is to say."""
    try:
        lines = look()
    except TreadleError as error:
        _warn(str(error))
        raise typer.Exit(2) from None
    for line in lines:
        _say(line)
    return lines


def main() -> None:
    """The entry point of `treadle`."""
    app()


def _start(load: Callable[[], Settings], verbose: bool) -> Settings:
    """The settings, with logging that never shows a secret."""
    _log(verbose)
    try:
        settings = load()
    except TreadleError as error:
        _warn(str(error))
        raise typer.Exit(2) from None
    from bot.main import redacted_formatter

    for handler in logging.getLogger().handlers:
        handler.setFormatter(redacted_formatter(settings))
    for warning in settings.warnings:
        _warn(warning)
    return settings


def _run(work: Coroutine[None, None, None]) -> None:
    try:
        asyncio.run(work)
    except TreadleError as error:
        _warn(str(error))
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


def _log(verbose: bool) -> None:
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING)


def _say(text: str) -> None:
    typer.echo(text)


def _put(text: str) -> None:
    typer.echo(text, nl=False)


def _warn(text: str) -> None:
    typer.echo(text, err=True)
