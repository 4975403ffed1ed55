"""App Home: everybody sees what they may use, admins change it. Every click is judged anew.

All in the background: no listener waits for the Web API. Windows open by a `trigger_id`, which
lives for three seconds (docs.slack.dev, "Handling user interaction").
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from weakref import WeakValueDictionary

from bot import words
from bot.admin.attempts import Attempt
from bot.admin.commands import Commands
from bot.admin.grammar import NUMBER
from bot.admin.house import Asker, House
from bot.admin.recent import recent_lines
from bot.admin.requests import Choose, Forget, MakeRule, Request, Switch
from bot.admin.rights import rights_of
from bot.errors import DeliveryError, DeliveryRefused, LookupFailed, NotPermitted
from bot.policy import Place, Refusal
from bot.slack import home_view as view
from bot.slack.blocks import Json
from bot.slack.home_modals import Filled, budget_modal, choice_modal, read_submission, rule_modal
from bot.slack.inbound import Payload, mapping_of, text_of
from bot.slack.mrkdwn import MARKS
from bot.slack.people import SlackPeople
from bot.slack.web import SlackClient, call

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Click:
    """A click on the Home: who, on what, and the channel that the Home shows."""

    user: str
    action: str
    value: str
    place: str
    trigger: str


class Home:
    """Publishes the Home tab and carries out what is clicked on it.

    `team` is the workspace that the app is installed in. The team of a payload does not count:
    that of somebody of another organisation is their own, where they may be an admin.
    """

    def __init__(
        self, client: SlackClient, people: SlackPeople, house: House, model: str, team: str
    ) -> None:
        self._client, self._house = client, house
        self._model, self._team = model, team
        self._commands = Commands(house, people, MARKS)
        self._tasks: set[asyncio.Task[None]] = set()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def opened(self, event: Payload) -> None:
        """Publish for whoever looks, soon."""
        shown = view.place_of(mapping_of(event, "view"))
        self._soon(self._publish(text_of(event, "user"), shown or text_of(event, "channel")))

    def clicked(self, body: Payload) -> None:
        """Do what was clicked, soon, if whoever clicked may."""
        click = read_home_click(body)
        if click is not None:
            self._soon(self._act(click))

    def submitted(self, body: Payload) -> Mapping[str, str]:
        """What is wrong with what was filled in; if nothing is, it is done soon."""
        filled = read_submission(body)
        if not filled.problems:
            user = text_of(mapping_of(body, "user"), "id")
            place = text_of(mapping_of(body, "view"), "private_metadata")
            self._soon(self._save(user, place, filled))
        return filled.problems

    async def close(self) -> None:
        """What has begun is finished, for a moment at most: it may be changing something."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=2.0)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _soon(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(self._guarded(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _guarded(self, work: Coroutine[None, None, None]) -> None:
        try:
            await work
        except DeliveryError as error:
            log.warning("an App Home was not published: %s", error)
        except Exception:
            log.exception("a click on an App Home was not carried out")

    async def _act(self, click: Click) -> None:
        place = click.value if click.action == view.PLACE else click.place
        notice = await self._done(click)
        if notice is not None:
            await self._publish(click.user, place, notice)

    async def _done(self, click: Click) -> str | None:
        """What came of a click, None where the page stays as it is.

        An admin's right to a change is asked where it is made.
        """
        here = Place(self._team, click.place)
        match click.action:
            case view.STOP:
                return await self._stop(click)
            case view.ADD | view.SETTINGS | view.MORE:
                return await self._open(click)
            case view.FORGET if NUMBER.fullmatch(click.value):
                return await self._commands.change(click.user, here, Forget(int(click.value)))
            case view.SWITCH:
                tool, _, way = click.value.partition(" ")
                if tool in self._house.names.values():
                    switch = Switch(tool, way == "on")
                    return await self._commands.change(click.user, here, switch)
        return ""

    async def _stop(self, click: Click) -> str:
        """Stop a turn, if it is one of their own or an admin asks."""
        asker, thread = await self._asker(click.user, click.place), click.value
        if asker is None or self._house.refusal(asker.person, asker.place) not in SPEAKS:
            return ""
        running = await self._house.turns.running()
        for turn in running:
            if turn.thread == thread and (asker.is_admin or asker.person.id in turn.askers):
                await self._house.turns.stop(turn, asker.person)
                return words.stopping(1)
        return words.nothing_to_stop()

    async def _open(self, click: Click) -> str | None:
        """Open a window in which something is to be changed."""
        try:
            attempt = Attempt("open", f"window {click.action}")
            await self._commands.permitted(click.user, Place(self._team, click.place), attempt)
        except (LookupFailed, NotPermitted) as error:
            return str(error)
        tools = sorted(set(self._house.names.values()))
        modal = rule_modal(tools, click.place)
        if click.action == view.SETTINGS:
            modal = choice_modal(click.place)
        elif click.action == view.MORE:
            modal = budget_modal()
        arguments = {
            "trigger_id": click.trigger,
            "view": {**modal, "private_metadata": click.place},
        }
        try:
            await call(self._client, "views.open", arguments)
        except DeliveryRefused as error:
            log.info("a window was not opened: %s", error)
            return words.home_too_slow()
        return None

    async def _save(self, user: str, place: str, filled: Filled) -> None:
        requests: list[Request] = [Choose(s, channel, v) for s, channel, v in filled.choices]
        if filled.rule is not None:
            requests.append(MakeRule(filled.rule))
        if filled.more is not None:
            requests.append(filled.more)
        here = Place(self._team, place)
        said = [await self._commands.change(user, here, request) for request in requests]
        await self._publish(user, place, "\n".join(said))

    async def _asker(self, user: str, place: str) -> Asker | None:
        """Whoever clicked; None if that cannot be found out: nothing is then done."""
        try:
            return await self._commands.asker(user, Place(self._team, place))
        except LookupFailed as error:
            log.warning("%s", error)
            return None

    async def _publish(self, user: str, place: str, notice: str = "") -> None:
        async with self._locks.setdefault(user, asyncio.Lock()):  # what is newest is shown last
            facts = await self._facts(user, place, notice)
            arguments: dict[str, Json] = {"user_id": user, "view": view.home_view(facts)}
            await call(self._client, "views.publish", arguments)

    async def _facts(self, user: str, place: str, notice: str) -> view.Facts:
        asker = await self._asker(user, place)
        if asker is None:
            return view.Facts(place, notice, words.home_unknown())
        refusal = self._house.refusal(asker.person, asker.place)
        if refusal not in SPEAKS:
            assert refusal is not None
            said = words.home_silent() if self._house.silent else words.access_why(refusal)
            return view.Facts(place, "", said)
        running = await self._house.turns.running()
        return view.Facts(
            place,
            "\n".join(filter(None, [notice, words.REFUSALS[refusal] if refusal else ""])),
            "",
            rights_of(self._house, asker.person, asker.place),
            await self._house.budgets.lines(self._team, user, place),
            [turn for turn in running if user in turn.askers],
            self._model,
            await self._office(asker) if asker.is_admin else None,
        )

    async def _office(self, asker: Asker) -> view.Office:
        house, live = self._house, self._house.live
        return view.Office(
            await house.status(whole=True),
            await house.turns.running(),
            [view.Tool(tool.name, live.is_on(tool.name)) for tool in house.tools],
            live.book.file,
            live.rules,
            live.choices,
            await recent_lines(house, MARKS),
            await house.budgets.all_lines(),
            live.book.slack_may_loosen,
        )


SPEAKS = (None, Refusal.CHANNEL)
"""Somebody whom only the channel is in the way of may use the Home, which is in no channel."""


def read_home_click(body: Payload) -> Click | None:
    """The click of a payload; None for one that is not on the Home."""
    actions = body.get("actions")
    action = actions[0] if isinstance(actions, list) and actions else None
    shown, user = mapping_of(body, "view"), text_of(mapping_of(body, "user"), "id")
    if not isinstance(action, dict) or text_of(shown, "type") != "home" or not user:
        return None
    value = text_of(action, "value") or text_of(action, "selected_conversation")
    return Click(
        user,
        text_of(action, "action_id"),
        value,
        view.place_of(shown),
        text_of(body, "trigger_id"),
    )
