"""The two forms of a live message: Slack's stream with task cards, and a message that is updated.

Source: docs.slack.dev, chat.startStream, chat.appendStream, chat.stopStream, chat.update. A stream
takes no metadata before it is stopped, and Slack closes it after about five minutes.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from bot.errors import DeliveryRefused
from bot.slack.mail import Mail
from bot.slack.progress import Task, tasks_message, updates
from bot.slack.threads import EVENT_TYPE
from bot.slack.web import RateLimited, call, read

log = logging.getLogger(__name__)

START, APPEND, STOP = "chat.startStream", "chat.appendStream", "chat.stopStream"
UPDATE = "chat.update"
EXPIRED = "message_not_in_streaming_state"
BY_PERSON = "stopped_by_user"
CLOSED = frozenset({EXPIRED, BY_PERSON, "message_not_found"})
"""Refusals that say that the stream is no longer open."""
END_SECONDS = 30.0
"""How long a live message is tried to be brought to its end."""


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a live message stands, whom it is for, and how it is found again."""

    channel: str
    thread_ts: str
    team: str
    asker: str
    key: str


class Form(Protocol):
    """One form of a live message. What fails raises DeliveryError."""

    @property
    def name(self) -> str:
        """What it is called where open ones are remembered."""
        ...

    async def begin(self, spot: Spot, tasks: Sequence[Task]) -> str:
        """Post it; the channel's slot must have been taken. Returns its `ts`."""
        ...

    async def change(
        self, spot: Spot, ts: str, sent: Mapping[str, Task], tasks: Sequence[Task]
    ) -> None:
        """Show these tasks instead of those; raises RateLimited rather than to wait."""
        ...

    async def end(
        self, spot: Spot, ts: str, sent: Mapping[str, Task], tasks: Sequence[Task], status: str
    ) -> None:
        """Show these tasks for good; an agent session is then in this status.

        A refusal in CLOSED says that it was closed before.
        """
        ...


@dataclass(slots=True)
class StreamForm:
    """A stream. `absent` once Slack has said that there are none here."""

    mail: Mail
    name: str = "stream"
    absent: bool = field(default=False)

    async def begin(self, spot: Spot, tasks: Sequence[Task]) -> str:
        pacer = self.mail.client.pacer
        for method in (STOP, START):  # what is begun must be ended
            if (wait := await pacer.take(method)) > 0:
                raise RateLimited(wait)
        arguments = {
            "channel": spot.channel,
            "thread_ts": spot.thread_ts,
            "recipient_user_id": spot.asker,
            "recipient_team_id": spot.team,
            "chunks": updates({}, tasks),
        }
        answer = await call(self.mail.client, START, arguments, slots=0)
        return str(answer.get("ts", ""))

    async def change(
        self, spot: Spot, ts: str, sent: Mapping[str, Task], tasks: Sequence[Task]
    ) -> None:
        chunks = updates(sent, tasks)
        arguments = {"channel": spot.channel, "ts": ts, "chunks": chunks}
        if not chunks:
            return
        await call(self.mail.client, APPEND, arguments, patience=0.0)

    async def end(
        self, spot: Spot, ts: str, sent: Mapping[str, Task], tasks: Sequence[Task], status: str
    ) -> None:
        metadata = {"event_type": EVENT_TYPE, "event_payload": {"key": spot.key, "covers": []}}
        arguments: dict[str, object] = {
            "channel": spot.channel,
            "ts": ts,
            "metadata": metadata,
            "session_status": status,
        }
        chunks = updates(sent, tasks)
        with_chunks = {**arguments, "chunks": chunks} if chunks else arguments
        try:
            await read(self.mail.client, STOP, with_chunks, END_SECONDS, slots=0)
        except DeliveryRefused as error:
            if error.code in CLOSED or not chunks:
                raise
            log.warning("the last tasks of a live message are not shown: %s", error)
            await read(self.mail.client, STOP, arguments, END_SECONDS)


@dataclass(frozen=True, slots=True)
class MessageForm:
    """A message that is updated, where there are no streams."""

    mail: Mail
    name: str = "message"

    async def begin(self, spot: Spot, tasks: Sequence[Task]) -> str:
        message = tasks_message(tasks)
        return await self.mail.post(spot.channel, message, spot.key, (), spot.thread_ts)

    async def change(
        self, spot: Spot, ts: str, sent: Mapping[str, Task], tasks: Sequence[Task]
    ) -> None:
        if updates(sent, tasks):
            await call(self.mail.client, UPDATE, self._arguments(spot, ts, tasks), patience=0.0)

    async def end(
        self, spot: Spot, ts: str, sent: Mapping[str, Task], tasks: Sequence[Task], status: str
    ) -> None:
        if updates(sent, tasks):
            arguments = self._arguments(spot, ts, tasks)
            await read(self.mail.client, UPDATE, arguments, END_SECONDS)

    def _arguments(self, spot: Spot, ts: str, tasks: Sequence[Task]) -> Mapping[str, object]:
        message = tasks_message(tasks)
        return {
            "channel": spot.channel,
            "ts": ts,
            "text": message.text,
            "blocks": list(message.blocks),
        }
