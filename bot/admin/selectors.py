"""Where and for whom a rule holds, as it is typed: "in #ops", "outside #ops", "for @bob". Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bot import words
from bot.policy import Role

_CHANNEL = re.compile(r"<#([CGD][A-Z0-9]+)(?:\|[^>]*)?>")
_PERSON = re.compile(r"<@([UW][A-Z0-9]+)(?:\|[^>]*)?>")
_GROUP = re.compile(r"<!(subteam\^|channel|here|everyone)[^>]*>")
ROLES = {f"{role}{end}": role.value for role in Role for end in ("", "s")}
EVERYONE = ("everyone", "everybody", "all")
FILLERS = ("and", ",")
HERE = "here"


class Confused(Exception):
    """The text cannot be read; the message says the right form."""


@dataclass(frozen=True, slots=True)
class Selectors:
    """Those of `bot.policy.Rule`."""

    channel: tuple[str, ...] | None = None
    role: tuple[str, ...] | None = None
    user: tuple[str, ...] | None = None


def read_selectors(decision: str, parts: Sequence[str], here: str) -> Selectors:
    """The selectors of these words. Raises Confused, also for any that is given twice."""
    clauses = _clauses(decision, parts)
    channel = role = user = None
    for word, items in clauses.items():
        if not items:
            raise Confused(words.form_rule(decision))
        if word in ("in", "outside"):
            mark = "!" if word == "outside" else ""
            channel = tuple(mark + channel_id(item, here) for item in items)
        else:
            role, user = _people(decision, items, "!" if word == "except" else "")
    return Selectors(channel, role, user)


def channel_id(text: str, here: str) -> str:
    """The id of a channel as Slack writes it, or of the place of the command for "here"."""
    if text.lower() == HERE:
        return here
    found = _CHANNEL.fullmatch(text)
    if found is None:
        raise Confused(words.channel_not_picked(text))
    return found[1]


def _clauses(decision: str, parts: Sequence[str]) -> dict[str, list[str]]:
    """The words behind each of "in", "outside", "for", "except"; one about each subject."""
    clauses: dict[str, list[str]] = {}
    current: list[str] | None = None
    for part in _separated(parts):
        word = part.lower()
        if word in ("in", "outside", "for", "except"):
            pair = ("in", "outside") if word in ("in", "outside") else ("for", "except")
            if current == [] or clauses.keys() & set(pair):
                raise Confused(words.form_rule(decision))
            current = clauses[word] = []
        elif word == "but" and "for" in clauses and _is_everyone(clauses["for"]):
            del clauses["for"]
            current = clauses["except"] = []
        elif current is None:
            raise Confused(words.form_rule(decision))
        elif word not in FILLERS:
            current.append(part)
    return clauses


def _separated(parts: Sequence[str]) -> list[str]:
    """The words without the commas at their ends; a channel's name holds none."""
    return [bare for part in parts if (bare := part.strip(","))]


def _is_everyone(items: Sequence[str]) -> bool:
    return len(items) == 1 and items[0].lower() in EVERYONE


def _people(
    decision: str, items: Sequence[str], mark: str
) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None]:
    """The roles or the people that these words name."""
    if _is_everyone(items) and not mark:
        return None, None
    roles = [ROLES[item.lower()] for item in items if item.lower() in ROLES]
    if len(roles) == len(items):
        return tuple(mark + role for role in roles), None
    if roles:
        raise Confused(words.roles_or_people(decision))
    return None, tuple(mark + user_id(item) for item in items)


def user_id(text: str) -> str:
    """The id of a person as Slack writes it. Raises Confused."""
    if _GROUP.fullmatch(text):
        raise Confused(words.no_groups())
    found = _PERSON.fullmatch(text)
    if found is None:
        raise Confused(words.person_not_picked(text))
    return found[1]
