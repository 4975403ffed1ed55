"""The sign of life: an agent session where Slack has it, else a status, else an 👀 reaction.

Source: docs.slack.dev, agents.sessions.setStatus (stays until it is changed, and brings Slack's own
stop button), assistant.threads.setStatus (cleared by the app's next message, else after two
minutes), reactions.add.

Slack takes about 50 calls a minute for sessions: one is shown only where the call that takes it
back has its slot too.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from enum import Enum

from bot import words
from bot.errors import DeliveryError, DeliveryRefused, DeliveryUnknown
from bot.slack.web import RateLimited, SlackClient, call, read

log = logging.getLogger(__name__)

FIRST_SECONDS = 0.7
"""A turn that posts something sooner needs no other sign."""
RENEW_SECONDS = 90.0
HIDE_SECONDS = 30.0
"""How long a session is tried to be set back."""
LEAVE_SECONDS = 3.0
REACTION = "eyes"
SESSION = "agents.sessions.setStatus"
STATUS = "assistant.threads.setStatus"
REACT = "reactions.add"
UNREACT = "reactions.remove"
NO_STATUS = frozenset(
    {
        "unknown_method",
        "method_deprecated",
        "missing_scope",
        "not_authorized",
        "not_allowed",
        "not_allowed_token_type",
        "feature_not_enabled",
    }
)
"""What says that this workspace or app has no status at all, rather than not in this thread."""


class Shown(Enum):
    """What was shown of the work in a thread."""

    NOTHING = "sign"
    SESSION = "agent session"
    STATUS = "assistant status"
    REACTION = "reaction"


WORKING = {Shown.SESSION: "processing", Shown.STATUS: words.WORKING}


class Signs:
    """Knows which sign this workspace takes; shared by all threads."""

    def __init__(self, client: SlackClient, silent_seconds: float) -> None:
        self._client, self.silent_seconds = client, silent_seconds
        self._absent: set[Shown] = set()
        self._sure = False

    @property
    def has_sessions(self) -> bool:
        """False once Slack has said that there are no agent sessions here."""
        return Shown.SESSION not in self._absent

    async def show(self, channel: str, thread_ts: str, question: str) -> Shown:
        """Show that work goes on; returns what was shown."""
        for sign in (Shown.SESSION, Shown.STATUS):
            if sign in self._absent:
                continue
            try:
                await self._work(sign, channel, thread_ts)
                self._sure = True
                return sign
            except DeliveryRefused as error:
                log.info("no %s here (%s): using another sign", sign.value, error.code)
                if error.code in NO_STATUS:
                    self._absent.add(sign)
            except RateLimited:
                log.info("no %s now: Slack asks to wait", sign.value)
            except DeliveryUnknown:
                return sign  # it may be there: it is taken away at the end
            except DeliveryError:
                return Shown.NOTHING
        return await self._react(channel, question)

    async def hide(self, shown: Shown, channel: str, thread_ts: str, question: str) -> None:
        """Take the sign away; it is tried again for a while."""
        try:
            match shown:
                case Shown.REACTION:
                    reaction = _reaction(channel, question)
                    await read(self._client, UNREACT, reaction, HIDE_SECONDS, slots=0)
                case Shown.SESSION:
                    await self._end_session(channel, thread_ts, slots=0)
                case Shown.STATUS:
                    nothing = _status(channel, thread_ts, "")
                    await read(self._client, STATUS, nothing, HIDE_SECONDS)
                case Shown.NOTHING:
                    pass
        except DeliveryError as error:
            log.info("the %s could not be cleared: %s", shown.value, error)

    async def clean(self, channel: str, thread_ts: str, questions: Sequence[str]) -> None:
        """Take away what a killed process may have left in this thread and on these messages."""
        if self.has_sessions:
            try:
                await self._end_session(channel, thread_ts, slots=1)
            except DeliveryError as error:
                log.info("the %s could not be cleared: %s", Shown.SESSION.value, error)
        for question in () if self._sure else questions:
            await self._reaction(UNREACT, channel, question)

    async def _work(self, sign: Shown, channel: str, thread_ts: str) -> None:
        """Show this sign if there are slots for it now, and for taking a session back."""
        method, slots = (SESSION, 2) if sign is Shown.SESSION else (STATUS, 1)
        arguments = _status(channel, thread_ts, WORKING[sign])
        await call(self._client, method, arguments, patience=0.0, slots=slots)

    async def _end_session(self, channel: str, thread_ts: str, slots: int) -> None:
        """It is tried again for a while, as Slack would show it for ever."""
        arguments = _status(channel, thread_ts, "active")
        await read(self._client, SESSION, arguments, HIDE_SECONDS, slots=slots)

    async def _react(self, channel: str, question: str) -> Shown:
        """The reaction, if there are slots now for it and for taking it away."""
        pacer = self._client.pacer
        if await pacer.take(UNREACT) > 0 or await pacer.take(REACT) > 0:
            return Shown.NOTHING
        shown = await self._reaction(REACT, channel, question, slots=0)
        return Shown.REACTION if shown else Shown.NOTHING

    async def _reaction(self, method: str, channel: str, ts: str, slots: int = 1) -> bool:
        try:
            await call(self._client, method, _reaction(channel, ts), slots=slots)
        except DeliveryRefused as error:
            return error.code in ("already_reacted", "no_reaction")
        except DeliveryError:
            return False
        return True


def _reaction(channel: str, ts: str) -> Mapping[str, object]:
    return {"channel": channel, "timestamp": ts, "name": REACTION}


def _status(channel: str, thread_ts: str, status: str) -> Mapping[str, object]:
    return {"channel_id": channel, "thread_ts": thread_ts, "status": status}


class Sign:
    """One thread's sign of life, from the beginning of its work to the end."""

    def __init__(self, signs: Signs, thread: str) -> None:
        self._signs = signs
        _, self._channel, self._thread_ts = thread.split(":", 2)
        self._question = self._thread_ts
        self._shown = Shown.NOTHING
        self._spoke_at = self._showed_at = 0.0
        self._task: asyncio.Task[None] | None = None
        self._ending = asyncio.Event()

    def begin(self, question: str) -> None:
        """Work on the message `question` begins: show it soon unless something is posted."""
        if self._task is None:
            self._question, self._spoke_at = question, 0.0
            self._ending.clear()
            self._task = asyncio.create_task(self._keep())

    def spoke(self) -> None:
        """A message was posted: it is a sign itself, and Slack takes the status away."""
        self._spoke_at = time.monotonic()

    @property
    def in_session(self) -> bool:
        """Whether an agent session shows that work goes on."""
        return self._shown is Shown.SESSION

    async def end(self) -> None:
        """Take the sign away, also one that is just being shown."""
        if self._task is None:
            return
        self._ending.set()
        await self._task
        self._task = None
        cleared = self._shown is Shown.STATUS and self._spoke_at > self._showed_at
        if self._shown is not Shown.NOTHING and not cleared:
            await self._signs.hide(self._shown, self._channel, self._thread_ts, self._question)
        self._shown = Shown.NOTHING

    async def leave(self) -> None:
        """Take the sign away before the process ends, if Slack does so soon; else the next does."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LEAVE_SECONDS):
                await self.end()

    async def clean(self, questions: Sequence[str]) -> None:
        """Take away what a killed process may have left in the thread and on these messages."""
        await self._signs.clean(self._channel, self._thread_ts, questions)

    async def _keep(self) -> None:
        pause = FIRST_SECONDS
        while not await self._ended_within(pause):
            if self._is_due(time.monotonic()):
                self._shown = await self._signs.show(self._channel, self._thread_ts, self._question)
                self._showed_at = time.monotonic()
            pause = 1.0

    async def _ended_within(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self._ending.wait(), seconds)
        except TimeoutError:
            return False
        return True

    def _is_due(self, now: float) -> bool:
        if self._shown in (Shown.REACTION, Shown.SESSION):
            return False  # it stays
        if self._shown is Shown.NOTHING and (self._signs.has_sessions or not self._spoke_at):
            return True  # a session brings the stop button besides
        cleared = (
            self._spoke_at > self._showed_at and now - self._spoke_at > self._signs.silent_seconds
        )
        return cleared or now - max(self._spoke_at, self._showed_at) > RENEW_SECONDS
