"""Who people are, from users.info: cached, and nobody is let in on a failed look-up.

Source: docs.slack.dev, users.info and the user object (is_restricted: guest, is_stranger: somebody
of another organisation in a shared channel).
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bot import words
from bot.errors import DeliveryError, DeliveryRefused, LookupFailed
from bot.inert import inert
from bot.policy import Person, Role
from bot.slack.blocks import escape
from bot.slack.web import SlackClient, read, respond
from bot.storage.items import Item

FRESH_SECONDS = 600.0
KNOWN_PEOPLE = 5000


@dataclass(frozen=True, slots=True)
class _Known:
    person: Person
    name: str
    at: float


class SlackPeople:
    """`bot.runs.ports.People` on Slack."""

    def __init__(
        self,
        client: SlackClient,
        admins: frozenset[str],
        slack_admins: bool,
        retry_seconds: float,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client, self._admins, self._slack_admins = client, admins, slack_admins
        self._retry_seconds, self._now = retry_seconds, now
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._whispers: set[asyncio.Task[None]] = set()
        self._asking: dict[str, asyncio.Task[_Known]] = {}

    async def lookup(self, user: str, team: str, *, acts: bool = False) -> Person:
        known = self._known.get(user)
        if acts and known is not None and known.person.role == Role.ADMIN:
            return (await self._find_anew(user, team)).person
        return (await self._find(user, team)).person

    def whisper(self, click: Item, text: str) -> None:
        if not click.reply_url:
            return
        body: dict[str, object] = {"text": escape(inert(text)), "replace_original": False}
        body["response_type"] = "ephemeral"
        task = asyncio.create_task(respond(self._client, click.reply_url, body))
        self._whispers.add(task)
        task.add_done_callback(self._whispers.discard)

    async def close(self) -> None:
        """Say what is being said, for a moment at most."""
        if self._whispers:
            await asyncio.wait(self._whispers, timeout=1.0)
        for task in self._whispers:
            task.cancel()
        await asyncio.gather(*self._whispers, return_exceptions=True)

    async def name(self, user: str, team: str) -> str:
        try:
            return (await self._find(user, team)).name
        except LookupFailed:
            return user

    async def _find(self, user: str, team: str) -> _Known:
        known = self._known.get(user)
        if known is not None and self._now() - known.at < FRESH_SECONDS:
            return known
        return await self._find_anew(user, team)

    async def _find_anew(self, user: str, team: str) -> _Known:
        task = self._asking.get(user)
        if task is None:
            task = self._asking[user] = asyncio.create_task(self._ask(user, team))
            task.add_done_callback(lambda _: self._asking.pop(user, None))
        return await asyncio.shield(task)

    async def _ask(self, user: str, team: str) -> _Known:
        if not user.startswith(("U", "W")):
            raise LookupFailed(words.person_unknown(user, "not a user id"))
        try:
            answer = await read(self._client, "users.info", {"user": user}, self._retry_seconds)
        except DeliveryRefused as error:
            raise LookupFailed(words.person_unknown(user, error.code)) from error
        except DeliveryError as error:
            raise LookupFailed(words.person_unknown(user, "Slack gave no answer")) from error
        return self._remember(user, team, answer.get("user"))

    def _remember(self, user: str, team: str, found: object) -> _Known:
        if not isinstance(found, Mapping):
            raise LookupFailed(words.person_unknown(user, "an empty answer"))
        known = _Known(self._person(user, team, found), _name(found) or user, self._now())
        self._known[user] = known
        self._known.move_to_end(user)
        while len(self._known) > KNOWN_PEOPLE:
            self._known.popitem(last=False)
        return known

    def _person(self, user: str, team: str, found: Mapping[str, object]) -> Person:
        external = found.get("is_stranger") is True or team not in _teams(found)
        guest = found.get("is_restricted") is True or found.get("is_ultra_restricted") is True
        leads = found.get("is_admin") is True or found.get("is_owner") is True
        if external:
            role = Role.MEMBER.value  # an admin there is nobody's admin here
        elif user in self._admins or (self._slack_admins and leads):
            role = Role.ADMIN.value
        else:
            role = Role.GUEST.value if guest else Role.MEMBER.value
        return Person(user, role, external=external, bot=found.get("is_bot") is True)


def _teams(found: Mapping[str, object]) -> set[object]:
    """The workspaces that the person is a full part of; on Enterprise Grid there may be several."""
    enterprise = found.get("enterprise_user")
    more = enterprise.get("teams") if isinstance(enterprise, Mapping) else None
    return {found.get("team_id"), *(more if isinstance(more, list) else ())}


def _name(found: Mapping[str, object]) -> str:
    profile = found.get("profile")
    names = [found.get("real_name"), found.get("name")]
    if isinstance(profile, Mapping):
        names = [profile.get("display_name"), profile.get("real_name"), *names]
    return next((name for name in names if isinstance(name, str) and name), "")
