"""Checks of settings against each other.

Each check yields problems; one that needs a section whose own values are wrong is left out.
"""

from __future__ import annotations

import stat
import sys
from collections.abc import Iterable, Iterator, Set
from pathlib import Path

from bot.config.environment import VARIABLES, passwords
from bot.config.model import Settings
from bot.config.values import Problem
from bot.errors import ConfigError

MARKER = ".treadle-workspaces"
"""A file in the root of workspaces, where no tool can reach it: below that, nothing is trusted."""


HOST_ONLY = (Path("/run"), Path("/proc"), Path("/sys"), Path("/dev"))
"""Never shown to commands: sockets of services, and the kernel's own. Below /run some may be."""


def cross_problems(settings: Settings, broken: Set[str], cwd: Path) -> Iterator[Problem]:
    """Problems between settings; `broken` names sections and variables that are wrong already."""
    name = settings.config_path.name
    if not broken & {"budget", "model", "OPENAI_MODEL"}:
        yield from _price_problems(settings, name)
    if "channel" not in broken:
        yield from _repeated_channels(settings, name)
    if not broken & VARIABLES:
        yield from _layout_problems(settings, broken, cwd)


def _price_problems(settings: Settings, name: str) -> Iterator[Problem]:
    model = settings.model_name
    if settings.budget.in_money and model not in settings.model.prices:
        yield Problem(
            f"{name}: budget.{settings.budget.in_money[0]}",
            f"is money, and the price of {model} is not known",
            f'model.prices."{model}" = {{ input = 0.25, output = 2.0 }} (for a million tokens)',
        )


def _repeated_channels(settings: Settings, name: str) -> Iterator[Problem]:
    seen: set[str] = set()
    for number, channel in enumerate(settings.channel, start=1):
        if channel.id in seen:
            yield Problem(
                f"{name}: channel[{number}].id", f"repeats {channel.id}; join the two tables"
            )
        seen.add(channel.id)


def _layout_problems(settings: Settings, broken: Set[str], cwd: Path) -> Iterator[Problem]:
    """The bot's own files must be out of the reach of the tools, which see the workspace."""
    root = settings.workspace_root
    example = "TREADLE_WORKSPACE=workspace and TREADLE_HOME=.treadle side by side"
    if is_inside(settings.home, root) or is_inside(root, settings.home):
        yield Problem(
            "TREADLE_HOME and TREADLE_WORKSPACE",
            f"lie one inside the other ({settings.home}, {root}); the tools could reach the state",
            example,
        )
        return
    for what, path in _own_paths(settings, broken, cwd):
        holder = root if is_inside(path, root) else marked_above(path)
        if holder is not None:
            yield Problem(
                "TREADLE_WORKSPACE", f"({holder}) holds {what} ({path}); move one of them", example
            )
    if "sandbox" not in broken:
        yield from _sandbox_problems(settings, cwd)
    for variable, path in (("TREADLE_WORKSPACE", root), ("TREADLE_HOME", settings.home)):
        if _is_no_directory(path):
            yield Problem(variable, f"names {path}, which is not a directory", example)


def _sandbox_problems(settings: Settings, cwd: Path) -> Iterator[Problem]:
    name = settings.config_path.name
    if settings.sandbox.network and settings.sandbox.mode == "landlock":
        yield Problem(
            f"{name}: sandbox.network", "names hosts, and Landlock gives no network", "network = []"
        )
    for shown in map(Path, settings.sandbox.read_only):
        if shown in HOST_ONLY or any(is_inside(shown, place) for place in HOST_ONLY[1:]):
            yield Problem(
                f"{name}: sandbox.read_only",
                f"would show {shown} of the host, through which commands could get out",
                'read_only = ["/opt/node"]',
            )
        own = [path for _, path in _own_paths(settings, frozenset(), cwd)]
        own.append(settings.workspace_root)
        holders = (settings.home, settings.workspace_root)
        if any(is_inside(path, shown) for path in own) or any(is_inside(shown, d) for d in holders):
            yield Problem(
                f"{name}: sandbox.read_only",
                f"would show {shown} to every command, and files of Treadle or of others lie there",
                'read_only = ["/opt/node"]',
            )


def _own_paths(settings: Settings, broken: Set[str], cwd: Path) -> Iterator[tuple[str, Path]]:
    yield "the current directory", cwd.resolve()
    yield "the state directory", settings.home
    yield "the configuration file", settings.config_path
    if settings.database_path:
        yield "the database", settings.database_path
    yield "the program", Path(__file__).resolve().parent
    for entry in filter(None, sys.path):
        yield "a directory that Python imports from", Path(entry).resolve()
    if "tools" not in broken:
        for module in settings.tools.modules:
            if module.endswith(".py"):
                yield "a tool's code", Path(module)


def _is_no_directory(path: Path) -> bool:
    try:
        return not stat.S_ISDIR(path.stat().st_mode)
    except OSError:
        return False  # it does not exist yet; whoever makes it tells what is in the way


def is_inside(path: Path, directory: Path) -> bool:
    """Whether a path is a directory or below it; both are absolute and without links."""
    return path == directory or directory in path.parents


def marked_above(path: Path) -> Path | None:
    """The root of workspaces that `path` is or lies below, if it was ever used as one."""
    return next((d for d in (path, *path.parents) if _is_marked(d)), None)


def _is_marked(directory: Path) -> bool:
    try:
        return (directory / MARKER).is_file()
    except OSError:
        return False  # it cannot be entered, so nothing is read from it either


def refuse_workspace(cwd: Path) -> None:
    """Raises ConfigError where even .env may have been written by an agent."""
    if (root := marked_above(cwd.resolve())) is not None:
        raise ConfigError(
            f"Treadle cannot start in {cwd}: it lies in {root}, where agents write, so nothing in "
            "it is read. Start Treadle from another directory."
        )


def resolved(text: str, cwd: Path) -> Path:
    """A path of the settings as an absolute one without links; relative ones start at `cwd`.

    Raises ConfigError for one that cannot be followed: no check after it would mean anything.
    """
    try:
        return (cwd / text).resolve()
    except (OSError, RuntimeError, ValueError):
        raise ConfigError(
            f"Treadle cannot start: the path {text!r} in its settings cannot be followed, since it "
            "is too long or its links go in a circle; name another one."
        ) from None


def remarks(settings: Settings, off: Iterable[str]) -> Iterator[str]:
    """Sentences on what is right but perhaps not meant; `off` are tools this release lacks."""
    off = frozenset(off)
    name = settings.config_path.name
    for tool in settings.tools.enabled or ():
        if tool in off:
            yield f"{name}: tools.enabled names {tool}, which this release lacks; it is off."
    if "run_command" in off and "sandbox" in settings.model_fields_set:
        yield f"{name}: [sandbox] has no effect, because this release has no run_command."
    for number, section in enumerate(settings.policy, start=1):
        if () in (section.channel, section.user, section.role):
            yield f"{name}: policy[{number}] has an empty list, so it is about nobody."
    for variable, address in (
        ("TREADLE_DATABASE_URL", settings.env.database_url),
        ("OPENAI_BASE_URL", settings.env.openai_base_url),
    ):
        if any(password not in settings.secrets for password in passwords(address)):
            yield f"The password in {variable} is too short to be hidden in what Treadle writes."
