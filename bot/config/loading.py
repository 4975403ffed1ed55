"""Read the settings, once: variables and .env, then treadle.toml. One error names every problem.

Nothing here looks at the process's own environment or directory: both are handed over.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import TypeAlias

from pydantic import ValidationError

from bot.config.checks import cross_problems, is_inside, refuse_workspace, remarks, resolved
from bot.config.environment import (
    VARIABLES,
    Environment,
    Given,
    check_server,
    read_variables,
)
from bot.config.model import File, Settings
from bot.config.problems import dotted, example, problems_of
from bot.config.values import KnownTools, Problem, module_names, suggestion
from bot.errors import ConfigError

OtherTools: TypeAlias = Callable[[tuple[str, ...]], Collection[str]]
"""The names of tools beside those of the contract, given the entries of [tools] modules; may raise
ConfigError."""


_POLICY = re.compile(r"\s*\[\[\s*(policy|\"policy\"|'policy')\s*\]\]")


class Need(Enum):
    """What the command that asks cannot do without."""

    RUN = "the bot token, an app token or signing secret, and the model"
    WORK = "the bot token and the model"
    CHAT = "the model"
    DEMO = "nothing; SLACK_ variables are not even read"
    NOTHING = "nothing"


def no_other_tools(modules: tuple[str, ...]) -> Collection[str]:
    """For commands that run no tools but those of the contract."""
    return ()


def load_settings(
    environ: Mapping[str, str],
    cwd: Path,
    *,
    need: Need,
    other_tools: OtherTools = no_other_tools,
    off_tools: Collection[str] = (),
) -> Settings:
    """All settings. Raises ConfigError that names every problem, its place and a right value.

    `environ` wins over the file .env in `cwd`, which relative paths start from. `off_tools` are
    tools of the contract that this release does not have: naming one is a warning, not an error.
    """
    refuse_workspace(cwd)
    problems: list[Problem] = []
    given = _variables(environ, cwd, need, problems)
    env, broken = _environment(given, problems)
    problems.extend(_missing(given, env, broken, need))
    paths = _Paths(cwd, environ.get("HOME", ""))
    config_path = paths.resolve(env.config)
    named = "TREADLE_CONFIG" in given.values.keys() - broken
    text = _read_text(config_path, named, problems)
    data = _tables(text, config_path.name, problems)
    modules = _modules(data, paths, paths.resolve(env.workspace))
    known = _known_tools(modules, other_tools, problems)
    file, wrong = _sections(data, config_path.name, known, problems)
    settings = _assemble(file, env, config_path, paths, problems)
    lines = policy_lines(text, len(settings.policy))
    settings = settings.model_copy(update={"policy_lines": lines})
    problems.extend(cross_problems(settings, broken | wrong, cwd))
    if problems:
        raise ConfigError(_text(problems))
    warnings = (*_unknown_variables(given), *remarks(settings, off_tools))
    return settings.model_copy(update={"warnings": warnings})


@dataclass(frozen=True, slots=True)
class _Paths:
    cwd: Path
    home: str

    def resolve(self, text: str) -> Path:
        """Absolute and without links; only a leading "~/" means the person's home directory."""
        if self.home and (text == "~" or text.startswith("~/")):
            text = self.home + text[1:]
        return resolved(text, self.cwd)

    def module(self, entry: str) -> str:
        """An entry of [tools] modules, a file by its absolute path: what is checked is loaded."""
        return str(self.resolve(entry)) if entry.endswith(".py") else entry


def _variables(environ: Mapping[str, str], cwd: Path, need: Need, problems: list[Problem]) -> Given:
    given = read_variables(environ, cwd)
    problems.extend(given.broken)
    if need is not Need.DEMO:
        return given
    kept = {name: value for name, value in given.values.items() if not name.startswith("SLACK_")}
    return replace(given, values=kept)


def _environment(given: Given, problems: list[Problem]) -> tuple[Environment, frozenset[str]]:
    """The variables, without those that are wrong, and the names of the wrong ones."""
    values = {name: value for name, value in given.values.items() if name in VARIABLES}
    try:
        return Environment.model_validate(values), frozenset()
    except ValidationError as error:
        broken = frozenset(str(detail["loc"][0]) for detail in error.errors(include_input=False))
        found = problems_of(error, Environment, lambda where: given.place(str(where[0])))
        problems.extend(found)
    right = {name: value for name, value in values.items() if name not in broken}
    return Environment.model_validate(right), broken


def _missing(
    given: Given, env: Environment, broken: frozenset[str], need: Need
) -> Iterator[Problem]:
    wanted = []
    if need in (Need.RUN, Need.WORK):
        wanted.append(("SLACK_BOT_TOKEN", "is not set, and Slack cannot be used without it"))
    if need is Need.RUN and "SLACK_SIGNING_SECRET" not in given.values:
        wanted.append(
            (
                "SLACK_APP_TOKEN",
                "is not set, and Socket Mode needs it (set SLACK_SIGNING_SECRET instead to receive "
                "events over HTTP)",
            )
        )
    model_known = "OPENAI_BASE_URL" not in broken
    if need in (Need.RUN, Need.WORK, Need.CHAT) and model_known and env.needs_model_key:
        wanted.append(
            (
                "OPENAI_API_KEY",
                "is not set, and the model needs it (a server of your own that needs no key is "
                "named by OPENAI_BASE_URL)",
            )
        )
    fields = {info.alias: (name, info) for name, info in Environment.model_fields.items()}
    for name, text in wanted:
        if name not in given.values:
            yield Problem(name, text, example(fields[name]))


def _read_text(path: Path, named: bool, problems: list[Problem]) -> str:
    """The file's text; none if the file may be absent and is."""
    try:
        return path.read_text("utf-8-sig")
    except FileNotFoundError:
        if named:
            problems.append(Problem("TREADLE_CONFIG", f"names {path}, and there is no such file"))
    except OSError as error:
        problems.append(Problem(str(path), f"cannot be read: {error.strerror}"))
    except UnicodeDecodeError:
        problems.append(Problem(str(path), "is not UTF-8 text"))
    return ""


def _tables(text: str, name: str, problems: list[Problem]) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        problems.append(Problem(name, f"is not TOML: {error}", "limits.max_steps = 25"))
    return {}


def policy_lines(text: str, rules: int) -> tuple[int, ...]:
    """The line of each [[policy]] table; none where the rules are written in another form."""
    lines = text.splitlines()
    found = tuple(number for number, line in enumerate(lines, start=1) if _POLICY.match(line))
    return found if len(found) == rules else ()


def _modules(data: Mapping[str, object], paths: _Paths, workspace: Path) -> tuple[str, ...]:
    """The right entries of [tools] modules; code that lies in the workspace is never loaded."""
    tools = data.get("tools")
    entries = tools.get("modules") if isinstance(tools, dict) else None
    try:
        right = module_names(tuple(entries) if isinstance(entries, list) else ())
    except (TypeError, ValueError, AttributeError):
        return ()
    places = (paths.module(entry) for entry in right)
    return tuple(place for place in places if not is_inside(Path(place), workspace))


def _known_tools(
    modules: tuple[str, ...], other_tools: OtherTools, problems: list[Problem]
) -> KnownTools:
    try:
        return KnownTools(frozenset(other_tools(modules)))
    except ConfigError as error:
        problems.append(Problem("tools.modules", f"cannot be used: {str(error).rstrip('.')}"))
    return KnownTools()


def _sections(
    data: Mapping[str, object], name: str, known: KnownTools, problems: list[Problem]
) -> tuple[File, frozenset[str]]:
    """The file's sections, with defaults for those that are wrong, and the names of these."""
    try:
        return File.model_validate(data, context=known), frozenset()
    except ValidationError as error:
        wrong = frozenset(str(detail["loc"][0]) for detail in error.errors(include_input=False))
        found = problems_of(error, File, lambda where: f"{name}: {dotted(where)}", VARIABLES)
        problems.extend(found)
    right = {key: value for key, value in data.items() if key not in wrong}
    return File.model_validate(right, context=known), wrong


def _assemble(
    file: File, env: Environment, config_path: Path, paths: _Paths, problems: list[Problem]
) -> Settings:
    home = paths.resolve(env.home)
    database: Path | None = home / "treadle.db"
    if env.database_url is not None:
        try:
            database = _database_path(env.database_url.get_secret_value(), paths)
        except ValueError as error:
            right = "TREADLE_DATABASE_URL=sqlite:///data/treadle.db"
            problems.append(Problem("TREADLE_DATABASE_URL", str(error), right))
    sections = {name: getattr(file, name) for name in file.model_fields_set}
    if "tools" in sections:
        modules = tuple(paths.module(entry) for entry in file.tools.modules)
        sections["tools"] = file.tools.model_copy(update={"modules": modules})
    if "sandbox" in sections:
        shown = tuple(str(paths.resolve(text)) for text in file.sandbox.read_only)
        sections["sandbox"] = file.sandbox.model_copy(update={"read_only": shown})
    return Settings(
        **sections,
        env=env,
        home=home,
        workspace_root=paths.resolve(env.workspace),
        database_path=database,
        config_path=config_path,
    )


def _database_path(url: str, paths: _Paths) -> Path | None:
    """The SQLite file of an address, None for PostgreSQL. Raises ValueError for anything else."""
    scheme, _, rest = url.partition("://")
    if scheme in ("postgresql", "postgresql+psycopg"):
        check_server(url)
        return None
    if scheme != "sqlite":
        raise ValueError("begins with neither sqlite:/// nor postgresql://")
    if not rest.startswith("/") or rest in ("/", "/:memory:") or "?" in rest:
        raise ValueError("must be sqlite:/// and the path of a file, and nothing behind it")
    return paths.resolve(rest[1:])


def _unknown_variables(given: Given) -> Iterator[str]:
    for name in sorted(given.values):
        if name.startswith("TREADLE_") and name not in VARIABLES:
            near = suggestion(name, VARIABLES)
            yield f"{given.place(name)} is no variable of Treadle{near}; it has no effect."


def _text(problems: list[Problem]) -> str:
    count = "one thing needs" if len(problems) == 1 else f"{len(problems)} things need"
    lines = (f"- {problem}" for problem in problems)
    return "\n".join([f"Treadle cannot start: {count} a change.", *lines])
