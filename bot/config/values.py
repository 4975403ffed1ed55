"""What a right value of a setting is. Each check returns the value or raises ValueError.

The text of a ValueError continues "<place> …", so it begins with a verb.
"""

from __future__ import annotations

import difflib
import re
import zoneinfo
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from urllib.parse import urlsplit

from pydantic import ValidationInfo

from bot.patterns import Pattern
from bot.policy import Role

TOOLS = frozenset(
    {
        "read_file",
        "write_file",
        "edit_file",
        "list_dir",
        "search_files",
        "run_command",
        "calculate",
        "wikipedia",
        "share_file",
    }
)
"""The tools of the contract; a release may lack some."""
OTHER_NAMES: Mapping[str, str] = MappingProxyType(
    {"write_to_file": "write_file", "run_terminal_command": "run_command"}
)
"""Other accepted names of tools, and the tool that each one means."""

_CHANNEL = re.compile(r"[CGD][A-Z0-9]{2,}")
_USER = re.compile(r"[UW][A-Z0-9]{2,}")
_BOT = re.compile(r"[BUWA][A-Z0-9]{2,}")
_HOST = re.compile(
    r"(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])"
)
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that stops the start: where it stands, what is wrong, and a right form."""

    place: str
    text: str
    example: str = ""

    def __str__(self) -> str:
        example = f" For example: {self.example}" if self.example else ""
        return f"{self.place} {self.text}.{example}"


@dataclass(frozen=True, slots=True)
class KnownTools:
    """The names that settings may use for tools: those of the contract and the `others`."""

    others: frozenset[str] = field(default_factory=frozenset)

    def resolve(self, name: str) -> str:
        """The tool's own name. Raises ValueError for a name that no release knows."""
        name = OTHER_NAMES.get(name, name)
        if name in TOOLS or name in self.others:
            return name
        raise ValueError(
            f"names {name!r}, which is no tool{suggestion(name, TOOLS | set(OTHER_NAMES))}"
        )


def suggestion(name: str, known: Collection[str]) -> str:
    """A half sentence that names the nearest known name, or nothing."""
    near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.6)
    return f" (did you mean {near[0]!r}?)" if near else ""


def listed(value: object) -> object:
    """TOML's arrays as tuples; anything else is left for the type check to refuse."""
    return tuple(value) if isinstance(value, list) else value


def one_or_more(value: object) -> object:
    """One value or a list, as a tuple."""
    return (value,) if isinstance(value, str) else listed(value)


def paths(items: tuple[str, ...]) -> tuple[str, ...]:
    """Paths; whether they exist is not looked at."""
    return _each(items, lambda item: bool(item.strip()) and item.isprintable(), "no path")


def channel_id(value: str) -> str:
    """A Slack conversation id: C…, G… or D…, in capitals."""
    if not _CHANNEL.fullmatch(value):
        raise ValueError(_no_id(value, "channel"))
    return value


def channel_ids(items: tuple[str, ...]) -> tuple[str, ...]:
    """Ids of channels."""
    return _ids(items, _CHANNEL, "channel")


def channels(items: tuple[str, ...]) -> tuple[str, ...]:
    """Ids of channels, or "*" for all."""
    _ids(tuple(item for item in items if item != "*"), _CHANNEL, "channel")
    return items


def user_ids(items: tuple[str, ...]) -> tuple[str, ...]:
    """Ids of people."""
    return _ids(items, _USER, "user")


def bot_ids(items: tuple[str, ...]) -> tuple[str, ...]:
    """Ids of bots, of their users or of their apps."""
    return _ids(items, _BOT, "bot")


def approvers(items: tuple[str, ...]) -> tuple[str, ...]:
    """ "admins", "requester" or ids of people."""
    named = ("admins", "requester")
    for item in items:
        if item not in named and not _USER.fullmatch(item):
            near = suggestion(item, named)
            raise ValueError(f"holds {item!r}, which is neither admins, requester nor an id{near}")
    return items


def channel_selector(items: tuple[str, ...]) -> tuple[str, ...]:
    """Ids of channels, all of them with a leading "!" or none."""
    return _selector(items, lambda bare: channel_ids(bare))


def user_selector(items: tuple[str, ...]) -> tuple[str, ...]:
    """Ids of people, all of them with a leading "!" or none."""
    return _selector(items, lambda bare: _ids(bare, _BOT, "user"))


def role_selector(items: tuple[str, ...]) -> tuple[str, ...]:
    """Roles, all of them with a leading "!" or none."""

    def check(bare: tuple[str, ...]) -> tuple[str, ...]:
        roles = [role.value for role in Role]
        return _each(bare, lambda item: item in roles, "a role other than admin, member and guest")

    return _selector(items, check)


def tool_names(items: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
    """Names of tools, as the tools' own names."""
    return tuple(_known(info).resolve(item) for item in items)


def rule_tool(name: str, info: ValidationInfo) -> str:
    """The name of a tool, as its own name, or "*"."""
    return name if name == "*" else _known(info).resolve(name)


def match_table(table: Mapping[str, str]) -> Mapping[str, str]:
    """A pattern for each argument, and each one a pattern that RE2 understands."""
    for argument, text in table.items():
        try:
            Pattern(argument, text)
        except ValueError as error:
            raise ValueError(f"has for {argument!r} a text that {error}") from None
    return MappingProxyType(dict(table))


def module_names(items: tuple[str, ...]) -> tuple[str, ...]:
    """ "file.py" or "package.module"."""

    def right(item: str) -> bool:
        return (item.endswith(".py") and item.isprintable()) or bool(_MODULE.fullmatch(item))

    return _each(items, right, "something that is neither a .py file nor the name of a module")


def host_names(items: tuple[str, ...]) -> tuple[str, ...]:
    """Host names without scheme, port, path or wildcard; addresses are refused."""
    return _each(
        items,
        lambda item: bool(_HOST.fullmatch(item)),
        "something other than a lower-case host name",
    )


def web_address(value: str) -> str:
    """An http(s) address with a host, without a slash at its end."""
    try:
        parts = urlsplit(value)
        right = parts.scheme in ("http", "https") and bool(parts.hostname)
        right = right and parts.port != 0 and value.isprintable() and " " not in value
    except ValueError:
        right = False
    if not right or parts.query or parts.fragment:
        raise ValueError("is not an address that begins with https:// or http://")
    return value.rstrip("/")


def time_zone(value: str) -> str:
    """UTC or a name of the time zone database."""
    if value != "UTC":
        try:
            zoneinfo.ZoneInfo(value)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError(f"names no time zone that this host knows: {value!r}") from None
    return value


def currency(value: str) -> str:
    """A code like those of ISO 4217."""
    if not re.fullmatch("[A-Z]{3}", value):
        raise ValueError(f"must be three capital letters, not {value!r}")
    return value


def _known(info: ValidationInfo) -> KnownTools:
    return info.context if isinstance(info.context, KnownTools) else KnownTools()


def _each(items: tuple[str, ...], right: Callable[[str], bool], wrong: str) -> tuple[str, ...]:
    bad = [item for item in items if not right(item)]
    if bad:
        raise ValueError(f"holds {wrong}: {bad[0]!r}")
    return items


def _ids(items: tuple[str, ...], form: re.Pattern[str], kind: str) -> tuple[str, ...]:
    for item in items:
        if not form.fullmatch(item):
            raise ValueError(_no_id(item, kind))
    return items


def _no_id(item: str, kind: str) -> str:
    if not item:
        return f"holds an empty {kind} id, which would name nobody"
    return f"holds {item!r}, which is not a {kind} id; Slack shows the id at the end of its details"


def _selector(
    items: tuple[str, ...], check: Callable[[tuple[str, ...]], tuple[str, ...]]
) -> tuple[str, ...]:
    check(tuple(item.removeprefix("!") for item in items))
    if len({item.startswith("!") for item in items}) > 1:
        raise ValueError('mixes values with and without a leading "!"; use one kind in one rule')
    return items
