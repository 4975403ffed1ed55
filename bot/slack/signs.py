"""The sign of life: assistant status where Slack has it, an 👀 reaction elsewhere.

Source: docs.slack.dev, assistant.threads.setStatus (cleared by the app's next message, else after
two minutes), reactions.add.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence

from slack_sdk.web.async_client import AsyncWebClient

from bot import words
from bot.errors import DeliveryError, DeliveryRefused
from bot.slack.web import call

log = logging.getLogger(__name__)

FIRST_SECONDS = 0.5
"""A turn that posts something sooner needs no other sign."""
RENEW_SECONDS = 90.0
REACTION = "eyes"
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


class Signs:
    """Knows which sign this workspace takes; shared by all threads."""

    def __init__(self, client: AsyncWebClient, silent_seconds: float) -> None:
        self._client, self.silent_seconds = client, silent_seconds
        self._has_status = True
        self._sure = False

    async def show(self, channel: str, thread_ts: str, question: str) -> str:
        """Show that work goes on; returns what was shown: "status", "reaction" or ""."""
        if self._has_status:
            try:
                await self._status(channel, thread_ts, words.WORKING)
                self._sure = True
                return "status"
            except DeliveryRefused as error:
                log.info("no assistant status here (%s): using a reaction", error.code)
                self._has_status = error.code not in NO_STATUS
            except DeliveryError:
                return ""
        return "reaction" if await self._reaction("reactions.add", channel, question) else ""

    async def hide(self, shown: str, channel: str, thread_ts: str, question: str) -> None:
        """Take the sign away."""
        if shown == "reaction":
            await self._reaction("reactions.remove", channel, question)
        elif shown == "status":
            try:
                await self._status(channel, thread_ts, "")
            except DeliveryError as error:
                log.info("the status could not be cleared: %s", error)

    async def clean(self, channel: str, questions: Sequence[str]) -> None:
        """Take away reactions that a killed process may have left on these messages."""
        for question in () if self._sure else questions:
            await self._reaction("reactions.remove", channel, question)

    async def _status(self, channel: str, thread_ts: str, status: str) -> None:
        arguments = {"channel_id": channel, "thread_ts": thread_ts, "status": status}
        await call(self._client, "assistant.threads.setStatus", arguments)

    async def _reaction(self, method: str, channel: str, ts: str) -> bool:
        try:
            await call(
                self._client, method, {"channel": channel, "timestamp": ts, "name": REACTION}
            )
        except DeliveryRefused as error:
            return error.code in ("already_reacted", "no_reaction")
        except DeliveryError:
            return False
        return True


class Sign:
    """One thread's sign of life, from the beginning of its work to the end."""

    def __init__(self, signs: Signs, thread: str) -> None:
        self._signs = signs
        _, self._channel, self._thread_ts = thread.split(":", 2)
        self._question = self._thread_ts
        self._shown = ""
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

    async def end(self) -> None:
        """Take the sign away, also one that is just being shown."""
        if self._task is None:
            return
        self._ending.set()
        await self._task
        self._task = None
        cleared = self._shown == "status" and self._spoke_at > self._showed_at
        if self._shown and not cleared:
            await self._signs.hide(self._shown, self._channel, self._thread_ts, self._question)
        self._shown = ""

    async def clean(self, questions: Sequence[str]) -> None:
        """Take away what a killed process may have left on these messages."""
        await self._signs.clean(self._channel, questions)

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
        if self._shown == "reaction":
            return False
        if not self._shown and not self._spoke_at:
            return True
        cleared = (
            self._spoke_at > self._showed_at and now - self._spoke_at > self._signs.silent_seconds
        )
        return cleared or now - max(self._spoke_at, self._showed_at) > RENEW_SECONDS
