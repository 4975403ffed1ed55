"""What the commands share: settings, logging, plain words on the terminal, exit codes."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import typer

from bot.errors import TreadleError

if TYPE_CHECKING:
    from bot.main import Need, Settings
    from bot.redact import Redactor

T = TypeVar("T")


def settings_for(need: Need, *, verbose: bool = False) -> Settings:
    """The settings for a command, from the environment and the current directory."""
    from bot.main import read_settings

    return start(lambda: read_settings(os.environ, Path.cwd(), need), verbose)


def start(load: Callable[[], Settings], verbose: bool) -> Settings:
    """The settings, with logging that never shows a secret; exits with 2 if they are wrong."""
    log_to_terminal(verbose)
    settings = told(load)
    from bot.redact import redact_log

    redact_log(redactor(settings))
    for warning in settings.warnings:
        warn(warning)
    return settings


def redactor(settings: Settings) -> Redactor:
    """What hides the configured secrets in a line before it is printed."""
    from bot.redact import Redactor

    return Redactor(settings.secrets)


def told(work: Callable[[], T], code: int = 2) -> T:
    """The result; where it fails the sentence is printed and the command exits with `code`."""
    try:
        return work()
    except TreadleError as error:
        warn(str(error))
        raise typer.Exit(code) from None


def log_to_terminal(verbose: bool) -> None:
    """Warnings only, or every step."""
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING)


def say(text: str) -> None:
    """A line on standard output."""
    typer.echo(text)


def put(text: str) -> None:
    """A part of a line on standard output."""
    typer.echo(text, nl=False)


def warn(text: str) -> None:
    """A line on standard error."""
    typer.echo(text, err=True)
