"""The text behind `/treadle` as a request. Pure: what cannot be read gets the right form.

Slack escapes channels, people and links where the manifest says `should_escape`: `<#C…|name>`,
`<@U…|name>`. Source: docs.slack.dev, "Implementing slash commands".
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from bot import words
from bot.admin.live import Setting
from bot.admin.requests import (
    AddBudget,
    Choose,
    Forget,
    Help,
    MakeRule,
    Misread,
    Request,
    ShowBudgets,
    ShowRules,
    ShowStatus,
    ShowTools,
    ShowUsage,
    Stop,
    Switch,
    Why,
)
from bot.admin.selectors import Confused, Selectors, channel_id, read_selectors, user_id
from bot.agent.budgets import Cap, Scope, Unit
from bot.patterns import Pattern
from bot.policy import Rule, Verdict

VALUES: Mapping[Setting, tuple[str, ...]] = {
    Setting.VERBOSITY: ("steps", "card", "quiet", "full"),
    Setting.REPLIES: ("always", "mention"),
}
"""What each setting can be."""
DEFAULT = "default"
SIMPLE: Mapping[str, Request] = {
    "help": Help(),
    "tools": ShowTools(),
    "rules": ShowRules(),
    "why": Why(),
    "usage": ShowUsage(),
    "status": ShowStatus(),
}
NUMBER = re.compile(r"[0-9]{1,9}")
AMOUNT = re.compile(r"[0-9]{1,12}(\.[0-9]{1,6})?")
SETTINGS = {"verbosity": Setting.VERBOSITY, "replies": Setting.REPLIES}
WORDS = (*Verdict, *SIMPLE, *SETTINGS, "forget", "switch", "stop", "budget")


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What a command may name. `tools` maps every name of a tool, also other ones, to its own."""

    tools: Mapping[str, str]
    here: str
    """The id of the channel in which the command was typed."""


def read_command(text: str, known: Vocabulary) -> Request:
    """The request of a command's text; never raises."""
    parts = text.split()
    word = parts[0].lower() if parts else "help"
    try:
        if word in list(Verdict):
            return _rule(Verdict(word), text.strip()[len(word) :], known)
        if word in SETTINGS:
            return _choice(word, parts[1:], known)
        return _other(word, parts[1:], known)
    except Confused as error:
        return Misread(str(error))


def _other(word: str, rest: list[str], known: Vocabulary) -> Request:
    match word, [part.lower() for part in rest]:
        case ("forget", [number]) if NUMBER.fullmatch(number.removeprefix("#")):
            return Forget(int(number.removeprefix("#")))
        case ("forget", _):
            raise Confused(words.form_forget())
        case ("budget", []):
            return ShowBudgets()
        case ("budget", ["add", amount, unit, *whose]):
            return _budget(amount, unit, rest[3:] if whose else [], known.here)
        case ("budget", _):
            raise Confused(words.form_budget())
        case ("switch", [tool, ("on" | "off") as way]) | ("switch", [("on" | "off") as way, tool]):
            return Switch(_tool(tool, known.tools), way == "on")
        case ("switch", _):
            raise Confused(words.form_switch())
        case ("stop", []):
            return Stop()
        case ("stop", ["all"]):
            return Stop(everything=True)
        case ("stop", [number]) if NUMBER.fullmatch(number):
            return Stop(int(number))
        case ("stop", _):
            raise Confused(words.form_stop())
        case (name, []) if name in SIMPLE:
            return SIMPLE[name]
        case (name, _) if name in SIMPLE:
            raise Confused(words.form_simple(name))
    raise Confused(words.command_unknown(word, nearest(word, WORDS)))


def _budget(amount: str, unit: str, whose: list[str], here: str) -> Request:
    scope, subject = Scope.ALL, ""
    match [part.lower() for part in whose]:
        case [] | ["for", "everyone" | "everybody" | "all"]:
            pass
        case ["for", _]:
            scope, subject = Scope.USER, user_id(whose[1])
        case ["in", _]:
            scope, subject = Scope.CHANNEL, channel_id(whose[1], here)
        case _:
            raise Confused(words.form_budget())
    much = read_amount(amount)
    if unit not in list(Unit) or not much:
        raise Confused(words.form_budget())
    return AddBudget(Cap(scope, Unit(unit), much), subject)


def read_amount(text: str) -> float:
    """A number as people write it; 0 for anything else."""
    plain = text.replace(",", "")
    return float(plain) if AMOUNT.fullmatch(plain) else 0.0


def _rule(decision: Verdict, rest: str, known: Vocabulary) -> Request:
    before, when, condition = _condition(rest)
    parts = before.split()
    if not parts:
        raise Confused(words.form_rule(decision))
    tool = _tool(parts[0], known.tools, star=True)
    chosen: Selectors = read_selectors(decision, parts[1:], known.here)
    match = (_pattern(decision, condition),) if when else ()
    return MakeRule(Rule(tool, decision, chosen.channel, chosen.role, chosen.user, match))


def _condition(rest: str) -> tuple[str, bool, str]:
    """What stands before "when" and after it; a pattern may hold any word."""
    parts = rest.split()
    lowered = [part.lower() for part in parts]
    if "when" not in lowered:
        return rest, False, ""
    at = lowered.index("when")
    tail = rest.split(None, at + 1)
    return " ".join(parts[:at]), True, tail[at + 1] if len(tail) > at + 1 else ""


def _pattern(decision: Verdict, condition: str) -> Pattern:
    parts = condition.split(None, 2)
    if len(parts) < 3 or parts[1].lower() != "matches":
        raise Confused(words.form_when(decision))
    argument, text = parts[0], _unescaped(parts[2].strip())
    if not argument.isidentifier():
        raise Confused(words.form_when(decision))
    try:
        return Pattern(argument, text)
    except ValueError as error:
        raise Confused(words.pattern_wrong(text, str(error))) from None


def _unescaped(text: str) -> str:
    """A pattern as it was typed: without the backticks around it and Slack's escapes in it."""
    if len(text) > 2 and text[0] == text[-1] == "`":
        text = text[1:-1]
    for escaped, plain in (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")):
        text = text.replace(escaped, plain)
    return text


def _choice(word: str, rest: list[str], known: Vocabulary) -> Request:
    setting = SETTINGS[word]
    values = VALUES[setting]
    channel = known.here
    if len(rest) == 3 and rest[1].lower() == "in":
        channel = channel_id(rest[2], known.here)
    elif len(rest) != 1:
        raise Confused(words.form_choice(word, values))
    value = rest[0].lower()
    if value == DEFAULT:
        return Choose(setting, channel, None)
    if value not in values:
        raise Confused(words.form_choice(word, values))
    return Choose(setting, channel, value)


def _tool(name: str, tools: Mapping[str, str], *, star: bool = False) -> str:
    plain = name.strip("`").lower()
    if star and plain in ("*", "everything"):
        return "*"
    if plain in tools:
        return tools[plain]
    raise Confused(words.tool_unknown(name, nearest(plain, tools), sorted(set(tools.values()))))


def nearest(word: str, known: Collection[str]) -> str:
    """The known word that was most likely meant; "" if none is near."""
    return next(iter(difflib.get_close_matches(word, sorted(known), n=1, cutoff=0.6)), "")
