"""Single parts made of the settings alone: the model, the limits, the tools."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from pydantic import SecretStr

from bot import words
from bot.agent.guard import Limits
from bot.config import Need, Settings, load_settings
from bot.errors import ConfigError
from bot.model import RETRIES, ChatModel, Endpoint
from bot.rehearsal import RehearsalModel
from bot.shell import SHELL
from tools.base import Tool, ToolDefinitionError
from tools.catalog import builtin_tools
from tools.loading import load_tools

REHEARSAL_PAUSE = 0.5
"""Seconds: people should see the steps arrive one by one."""


def reveal(secret: SecretStr | None) -> str:
    return secret.get_secret_value() if secret is not None else ""


def make_limits(settings: Settings) -> Limits:
    """What one turn may take."""
    limits, guard = settings.limits, settings.guard
    return Limits(
        limits.max_steps,
        limits.max_seconds,
        limits.max_tokens,
        guard.repeat,
        guard.cycle,
        guard.stall,
        settings.model.context_tokens,
        settings.approvals.expires_s,
    )


def make_model(settings: Settings, retries: int = RETRIES) -> ChatModel | RehearsalModel:
    """The endpoint's model, or the rehearsal model where no endpoint is given."""
    env = settings.env
    if env.openai_api_key is None and env.needs_model_key:
        return RehearsalModel(REHEARSAL_PAUSE)
    key, base, dialect = reveal(env.openai_api_key), env.openai_base_url, settings.model.dialect
    return ChatModel(Endpoint(settings.model_name, key, base, retries=retries, dialect=dialect))


def all_tools(settings: Settings) -> tuple[Tool, ...]:
    """The tools of this release and the operator's own."""
    try:
        base, root = settings.config_path.parent, settings.workspace_root
        off = SHELL if settings.sandbox.mode == "off" else ""
        own = load_tools(settings.tools.modules, base, root)
        builtin = builtin_tools(settings.tools.wikipedia_url)
        return (*(tool for tool in builtin if tool.name != off), *own)
    except ToolDefinitionError as error:
        raise ConfigError(str(error)) from error


def read_settings(environ: Mapping[str, str], cwd: Path, need: Need) -> Settings:
    """The settings for a command. Raises ConfigError that names every problem."""
    root = cwd / environ.get("TREADLE_WORKSPACE", "workspace")

    def other_tools(modules: tuple[str, ...]) -> Collection[str]:
        try:
            return [tool.name for tool in (*builtin_tools(), *load_tools(modules, cwd, root))]
        except ToolDefinitionError as error:
            raise ConfigError(str(error)) from error

    return load_settings(
        environ, cwd, need=need, other_tools=other_tools, off_tools=words.TOOLS_NOT_YET
    )
