"""One Web API method and one call of it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from bot.local_slack.options import BOT_USER_ID
from bot.local_slack.shapes import Json, PersonError, Refusal
from bot.local_slack.tickets import Tickets
from bot.local_slack.world import Channel, Member, World

_SCOPE_FAMILY = {"public": "channels", "private": "groups", "im": "im"}
_TRUE = frozenset({True, "1", "true", "True"})


class Token(StrEnum):
    """Which kind of token a method takes."""

    BOT = "xoxb"
    APP = "xapp"


@dataclass(frozen=True, slots=True)
class Call:
    """The arguments of a call and the workspace that it is made on."""

    world: World
    tickets: Tickets
    args: Json

    def text(self, name: str, default: str = "") -> str:
        """A text argument; numbers are taken as Slack takes them."""
        value = self.args.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise invalid_argument(f"must be a string [json-pointer:/{name}]")
        return str(value)

    def required(self, name: str) -> str:
        """A text argument that must be there."""
        value = self.text(name)
        if not value:
            raise invalid_argument(f"missing required field: {name}")
        return value

    def flag(self, name: str) -> bool:
        """A yes-or-no argument; absent is no."""
        return self.args.get(name) in _TRUE

    def number(self, name: str, default: int, most: int) -> int:
        """A whole number from 1 to ``most``; a greater one is cut, a senseless one refused."""
        value = self.args.get(name)
        if value in (None, "", 0, "0"):
            return default
        try:
            found = int(str(value))
        except ValueError:
            raise Refusal("invalid_limit") from None
        if found < 1:
            raise Refusal("invalid_limit")
        return min(found, most)

    def json(self, name: str, refusal: str = "invalid_arguments") -> object:
        """An argument that may be JSON or a string holding JSON; None if absent or empty."""
        value = self.args.get(name)
        if not isinstance(value, str):
            return value
        if not value.strip():
            return None
        try:
            parsed: object = json.loads(value)
        except ValueError:
            raise Refusal(refusal) from None
        return parsed

    def channel(self, name: str = "channel", family: str = "") -> Channel:
        """The channel that an argument names.

        ``family`` ("read" or "history") asks for the scope of the channel's kind, and hides
        private channels that the app is not in.
        """
        wanted = self.text(name)
        if not wanted:
            raise Refusal("channel_not_found")
        try:
            channel = self.world.channel(wanted)
        except PersonError:
            raise Refusal("channel_not_found") from None
        if channel.kind != "public" and BOT_USER_ID not in channel.members:
            raise Refusal("channel_not_found")
        if family:
            self.need(f"{_SCOPE_FAMILY[channel.kind]}:{family}")
        return channel

    def member(self, name: str = "user") -> Member:
        """The account whose id an argument holds."""
        member = self.world.members.get(self.text(name))
        if member is None:
            raise Refusal("user_not_found")
        return member

    def need(self, scope: str) -> None:
        """Refuse the call if the app was not granted this scope."""
        granted = self.world.options.scopes
        if scope and scope not in granted:
            raise Refusal("missing_scope", needed=scope, provided=",".join(sorted(granted)))

    def sees(self, kind: str) -> bool:
        """Whether the scopes let the app list channels of this kind."""
        return f"{_SCOPE_FAMILY[kind]}:read" in self.world.options.scopes


@dataclass(frozen=True, slots=True)
class Method:
    """A method: what runs it, the scope and token it needs, and its rate tier (calls a minute)."""

    name: str
    run: Callable[[Call], Json]
    scope: str = ""
    per_minute: int = 50
    token: Token = Token.BOT


def invalid_argument(problem: str) -> Refusal:
    """``invalid_arguments`` with Slack's message about the argument."""
    return Refusal("invalid_arguments", response_metadata={"messages": [f"[ERROR] {problem}"]})


def page(rows: list[Json], call: Call, most: int = 1000, default: int = 100) -> tuple[
    list[Json], str
]:  # fmt: skip
    """One page of rows and the cursor of the next one (empty at the end)."""
    limit = call.number("limit", default, most)
    cursor = call.text("cursor")
    start = 0
    if cursor:
        digits = cursor.removeprefix("next:")
        if digits == cursor or not digits.isdecimal() or int(digits) > len(rows):
            raise Refusal("invalid_cursor")
        start = int(digits)
    end = start + limit
    return rows[start:end], f"next:{end}" if end < len(rows) else ""
