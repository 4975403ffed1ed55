"""`treadle policy`: what somebody may do and why, and what is probably not meant in a file.

Both only look: neither Slack nor a running Treadle is needed or disturbed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from bot import words
from bot.admin.check import concerns
from bot.admin.explain import Naming, in_words
from bot.admin.live import book_of
from bot.administration import floor_of
from bot.config import Settings
from bot.errors import ConfigError
from bot.making import all_tools
from bot.policy import Person, Place, Role, may_speak
from bot.state import open_reading
from bot.storage.rules import look_up, read_made
from tools.base import Tool, ToolError
from tools.toolset import registry


def explain_policy(
    settings: Settings, user: str, channel: str, tool: str, arguments: Sequence[str], role: str
) -> Iterator[str]:
    """The decision about a call, with its reason and every rule that is about it.

    `arguments` are one JSON object or name=value; none leaves them open. Without a `role` it is
    that of the file's admins, else of a member. Raises ConfigError and StorageError.
    """
    tools = registry(all_tools(settings))
    if tool not in tools:
        known = sorted({found.name for found in tools.values()})
        raise ConfigError(words.tool_unknown(tool, "", known))
    name, given = tools[tool].name, _arguments(tools[tool], arguments)
    role = role or (Role.ADMIN if user in settings.access.admins else Role.MEMBER).value
    person, place = Person(user, role), Place("", channel)
    yield words.explain_head(user, role, channel, name)
    refusal = may_speak(settings.access.speakers, person, place)
    if refusal is not None:
        yield words.access_why(refusal)
    elif settings.tools.enabled is not None and name not in settings.tools.enabled:
        yield words.explain_not_enabled(name)
    else:
        yield from _decision(settings, person, place, name, given)


def _decision(
    settings: Settings, person: Person, place: Place, tool: str, given: Mapping[str, object]
) -> Iterator[str]:
    path = settings.database_path
    made = look_up(path) if path is not None else read_made(open_reading(settings))
    book = book_of(floor_of(settings), made)
    decision = book.decide([person], place, tool, given)
    yield words.explain_decision(decision.verdict.value, decision.reason)
    for rule in book.everything():
        if rule.selects(person, place, tool):
            fits = rule.fits(given).name.lower()
            yield words.rule_about(rule.place, in_words(rule, Naming()), fits)


def check_policy(settings: Settings) -> Sequence[str]:
    """What is probably not meant in the file's rules."""
    return list(concerns(settings.rules))


def _arguments(tool: Tool, texts: Sequence[str]) -> Mapping[str, object]:
    """The arguments as the tool would get them."""
    if not texts:
        return {}
    if texts[0].startswith("{"):
        raw = " ".join(texts)
    else:
        pairs = [text.partition("=") for text in texts]
        if not all(sign for _, sign, _ in pairs):
            raise ConfigError(words.explain_arguments("use name=value"))
        raw = json.dumps({name: value for name, _, value in pairs})
    try:
        return tool.arguments(raw)
    except ToolError as error:
        raise ConfigError(words.explain_arguments(str(error))) from error
