"""The people of a run: each conversation's author writes, changes their mind, stops, approves."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field, replace

from bot.local_slack.server import LocalSlack
from bot.local_slack.shapes import Json, PersonError
from tests.chaos.evidence import Said
from tests.chaos.model import wish
from tests.chaos.plan import PEOPLE, Conversation, Course

APPROVE, DENY = "treadle_approve", "treadle_deny"
PATIENCE = 25.0
"""Seconds that a person waits for a card or a reply; then they do what they wanted anyhow."""


@dataclass(slots=True)
class Notebook:
    """What people said and did, for the checker and the report."""

    said: list[Said] = field(default_factory=list)
    clicked: set[str] = field(default_factory=set)
    """The questions whose answer Slack has handed over."""
    stops: int = 0

    def deleted(self, ts: str) -> None:
        """This message is gone."""
        self.said = [replace(one, deleted=True) if one.ts == ts else one for one in self.said]


class Talk:
    """One conversation, from its first message to its last."""

    def __init__(self, slack: LocalSlack, notebook: Notebook, conversation: Conversation) -> None:
        self._slack, self._notes, self._plan = slack, notebook, conversation
        self._channel = channel_name(conversation.channel)
        self._author = slack.person(conversation.author)
        self._root = ""

    async def hold(self) -> None:
        """Do everything that the conversation's course says."""
        await asyncio.sleep(self._plan.begin)
        first, second, third = self._plan.pauses
        course = self._plan.course
        await self._begin()
        await asyncio.sleep(first)
        with contextlib.suppress(PersonError):
            await self._go_on(course, second)
        await asyncio.sleep(third)
        if course in (Course.FOLLOW_UP, Course.STOP_WORD, Course.APPROVED):
            await self._reply(f"and then? {wish('note', 1)}")

    async def _begin(self) -> None:
        plan = self._plan
        tool = {
            Course.PLAIN: "note",
            Course.SHELL: "shell",
            Course.APPROVED: "deploy",
            Course.DENIED: "deploy",
            Course.APPROVAL_STOPPED: "deploy",
            Course.SLOW_TOOL: "slow",
            Course.STOP_WORD: "slow",
            Course.STOP_REACTION: "slow",
            Course.STOP_BUTTON: "shell",
        }.get(plan.course, "note")
        steps = 0 if plan.course is Course.PLAIN else plan.steps
        late = plan.course is Course.LATE_MENTION
        text = f"t{plan.number} {wish(tool, steps)}"
        self._root = await self._author.say(self._channel, text if late else f"@treadle {text}")
        self._note(self._root, for_bot=True, by_edit=late)

    async def _go_on(self, course: Course, pause: float) -> None:
        match course:
            case Course.STEER:
                await self._reply("one more thing")
                await asyncio.sleep(pause / 4)
                await self._reply(f"and another {wish('note', 1)}")
            case Course.STOP_WORD:
                self._notes.stops += 1
                await self._reply("stop")
            case Course.STOP_REACTION:
                self._notes.stops += 1
                await self._author.react(self._channel, self._root, "x")
            case Course.STOP_BUTTON:
                self._notes.stops += 1
                await self._author.stop(self._channel, self._root)
            case Course.DELETED:
                await self._author.delete(self._channel, self._root)
                self._notes.deleted(self._root)
            case Course.EDITED:
                await self._author.edit(self._channel, self._root, f"@treadle {wish('note', 2)}")
            case Course.LATE_MENTION:
                await self._author.edit(self._channel, self._root, f"@treadle {wish('note', 1)}")
            case Course.APPROVED | Course.DENIED | Course.APPROVAL_STOPPED:
                await self._about_the_card(course, pause)
            case Course.ASIDE:
                others = [who for who in PEOPLE if who != self._plan.author]
                await self._reply(f"@{others[0]} this is between us", for_bot=False)
            case _:
                return

    async def _about_the_card(self, course: Course, pause: float) -> None:
        async for _ in patiently():
            if cards(self._slack, self._channel, self._root):
                break
        if course is Course.APPROVAL_STOPPED:
            self._notes.stops += 1
            await self._reply("!stop")
            return
        if pause > 1.5:
            await self._reply("are you waiting for something?")
        await answer_cards(self._slack, self._notes, self._channel, self._root, course)

    async def _reply(self, text: str, *, for_bot: bool = True) -> None:
        ts = await self._author.reply(self._channel, self._root, text)
        self._note(ts, for_bot=for_bot)

    def _note(self, ts: str, *, for_bot: bool, by_edit: bool = False) -> None:
        channel = self._slack.channel(self._channel).id
        self._notes.said.append(Said(channel, self._root, ts, for_bot, by_edit=by_edit))


def channel_name(number: int) -> str:
    """The channels of a run, by number."""
    return f"#chaos-{number}"


def cards(slack: LocalSlack, channel: str, root: str) -> list[Json]:
    """The bot's questions in a thread that still have their buttons."""
    return [
        message
        for message in slack.thread(channel, root)
        if message.get("bot_id")
        and any(block["type"] == "actions" for block in message.get("blocks") or ())
    ]


async def answer_cards(
    slack: LocalSlack, notebook: Notebook, channel: str, root: str, course: Course
) -> None:
    """An admin clicks on each question, again if the app does not hear it."""
    ada = slack.person("ada")
    for card in cards(slack, channel, root):
        if card["ts"] not in notebook.clicked:
            with contextlib.suppress(PersonError):
                await ada.click(card, DENY if course is Course.DENIED else APPROVE)
                notebook.clicked.add(str(card["ts"]))


async def patiently() -> AsyncIterator[None]:
    """Look now and then, until a person's patience is over."""
    for _ in range(int(PATIENCE / 0.2)):
        yield
        await asyncio.sleep(0.2)


def threads(notebook: Notebook) -> Iterator[tuple[str, str]]:
    """Channel and root of every thread."""
    yield from sorted({(one.channel, one.root) for one in notebook.said})
