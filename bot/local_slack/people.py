"""A person of the workspace, as tests and the page act for them."""

import re
import uuid
from collections.abc import Sequence

from bot.local_slack import interactions, messages, responses
from bot.local_slack.acting import plainly
from bot.local_slack.clicks import Clicks
from bot.local_slack.delivery import Kind
from bot.local_slack.events import emit
from bot.local_slack.options import BOT_USER_ID, TEAM_ID
from bot.local_slack.shapes import Json, PersonError
from bot.local_slack.text import as_stored, rich_text
from bot.local_slack.world import Channel, Member, World

_NAMED = re.compile(r"<@(\w+)>")


class Person(Clicks):
    """What one person can do. Channels are named by id, ``#name``, or ``dm``.

    Every method raises ``PersonError`` with one plain sentence when Slack would not let them.
    """

    # -- messages ---------------------------------------------------------------------------
    async def say(
        self,
        channel: str,
        text: str,
        *,
        thread_ts: str | None = None,
        files: Sequence[tuple[str, bytes]] = (),
        raw: bool = False,
    ) -> str:
        """Write a message; its ``ts``. ``@name`` and ``#name`` become marks.

        ``raw`` takes the text as Slack stores it, with its marks in it. ``files`` are uploaded
        with the message (name and bytes).
        """
        place = self._place(channel)
        stored = text if raw else self._stored(text)
        if not stored.strip() and not files:
            raise PersonError("Write something first.")
        if len(stored) > 12_000:
            raise PersonError("This message is too long for Slack; it takes 12,000 characters.")
        body: Json = {
            "user": self.id,
            "client_msg_id": str(uuid.uuid4()),
            "text": stored,
            "blocks": rich_text(stored, self._world.new_id("b")),
        }
        if files:
            added = [self._world.files.add(name, data, self.id) for name, data in files]
            body |= {"files": added, "subtype": "file_share", "upload": False}
        if thread_ts:
            body["thread_ts"] = thread_ts
        if self.member.team_id != TEAM_ID:
            body |= {"user_team": self.member.team_id, "source_team": self.member.team_id}
        return str(plainly(lambda: messages.post(self._world, place, body))["ts"])

    async def reply(self, channel: str, ts: str, text: str, *, raw: bool = False) -> str:
        """Write into the thread whose first message is ``ts``."""
        return await self.say(channel, text, thread_ts=ts, raw=raw)

    async def edit(self, channel: str, ts: str, text: str) -> None:
        """Change one's own message."""
        place = self._own(channel, ts)
        stored = self._stored(text)
        fields = {
            "text": stored,
            "blocks": rich_text(stored, self._world.new_id("b")),
            "edited": {"user": self.id, "ts": self._world.clock.ts()},
        }
        plainly(lambda: messages.change(self._world, place, ts, fields))

    async def delete(self, channel: str, ts: str) -> None:
        """Delete one's own message (an admin may delete anybody's)."""
        admin = self.member.role == "admin"
        place = self._place(channel) if admin else self._own(channel, ts)
        plainly(lambda: messages.delete(self._world, place, ts))

    async def react(self, channel: str, ts: str, name: str) -> None:
        """Put a reaction on a message."""
        place = self._place(channel)
        plainly(lambda: messages.react(self._world, place, ts, name.strip(":"), self.id))

    async def unreact(self, channel: str, ts: str, name: str) -> None:
        """Take one's reaction back."""
        place = self._place(channel)
        plainly(lambda: messages.unreact(self._world, place, ts, name.strip(":"), self.id))

    async def join(self, channel: str) -> None:
        """Join a public channel."""
        place = self._world.channel(channel)
        if place.kind != "public":
            raise PersonError("Only public channels can be joined.")
        add_to_channel(self._world, place, self.member, self.id)

    async def invite_bot(self, channel: str) -> None:
        """Add the app to a channel that one is in."""
        bot = self._world.members[BOT_USER_ID]
        add_to_channel(self._world, self._place(channel), bot, self.id)

    # -- the app's surfaces -----------------------------------------------------------------
    async def open_home(self, tab: str = "home") -> None:
        """Open the app: ``home`` or ``messages``."""
        dm = self._world.dm(self.id)
        event: Json = {"type": "app_home_opened", "user": self.id, "channel": dm.id, "tab": tab,
                       "event_ts": self._world.clock.ts()}  # fmt: skip
        if tab == "home" and self.id in self._world.views.homes:
            event["view"] = self._world.views.homes[self.id]
        if tab == "messages" and self._world.options.agent_app:
            event["context"] = {}
        emit(self._world, event)

    async def look_at(self, channel: str) -> None:
        """Look at another channel while the app's pane is open (``app_context_changed``)."""
        place = self._place(channel)
        entity = {"type": "slack#/types/channel_id", "value": place.id, "team_id": TEAM_ID}
        emit(self._world, {
            "type": "app_context_changed", "user": self.id,
            "channel": self._world.dm(self.id).id, "context": {"entities": [entity]},
            "event_ts": self._world.clock.ts(),
        })  # fmt: skip

    async def stop(self, channel: str, thread_ts: str) -> None:
        """Press Slack's own stop button under a thread that the app works on."""
        place = self._place(channel)
        if not self._world.sessions.shown(place.id, thread_ts)["stoppable"]:
            raise PersonError("There is no stop button: nothing is running in this thread.")
        streams = self._world.streams.of_thread(place.id, thread_ts)
        for ts in streams:
            self._world.streams.stop_by_person(place.id, ts)
            messages.change(self._world, place, ts, {})
        event = {"type": "agent_session_stopped", "channel": place.id, "thread_ts": thread_ts,
                 "user": self.id, "streaming_message_ts": streams,
                 "event_ts": self._world.clock.ts()}  # fmt: skip
        emit(self._world, event, place)

    async def slash(self, channel: str, command: str, text: str = "") -> Json | None:
        """Run a slash command; the app's direct answer, if it gave one with its ack.

        The text is escaped, as with ``should_escape: true`` in the manifest.
        """
        place = self._place(channel)
        if command not in self._world.options.commands:
            raise PersonError(
                f"{command} is not a valid command. To send it as a message, put a space before it."
            )
        stored = _NAMED.sub(self._labelled, self._stored(text))
        payload = interactions.slash(self._world, self.member, place, command, stored)
        outcome = await self._ask(Kind.SLASH, payload)
        given = outcome.body or ({"text": outcome.text} if outcome.text else None)
        if given is None or not (given.get("text") or given.get("blocks")):
            return None
        token = str(payload["response_url"]).rpartition("/")[2]
        address = self._world.views.addresses[token]
        plainly(lambda: responses.respond(self._world, address, given))
        return given

    async def shortcut(self, callback_id: str, channel: str = "", ts: str = "") -> None:
        """Use a shortcut: on a message, or a global one without a channel."""
        if not channel:
            payload = interactions.base(self._world, self.member, "shortcut")
            payload |= {"callback_id": callback_id, "action_ts": self._world.clock.ts()}
            await self._ask(Kind.INTERACTIVE, payload)
            return
        place = self._place(channel)
        message = plainly(lambda: messages.find(place, ts))
        payload = interactions.base(self._world, self.member, "message_action")
        payload |= {
            "callback_id": callback_id,
            "message_ts": ts,
            "message": message,
            "channel": {"id": place.id, "name": place.name},
            "action_ts": self._world.clock.ts(),
            "response_url": interactions.response_url(self._world, self.member, place, message),
        }
        await self._ask(Kind.INTERACTIVE, payload)

    # -- inside -----------------------------------------------------------------------------
    def _own(self, channel: str, ts: str) -> Channel:
        place = self._place(channel)
        if plainly(lambda: messages.find(place, ts)).get("user") != self.id:
            raise PersonError("This message is somebody else's.")
        return place

    def _labelled(self, mark: re.Match[str]) -> str:
        """A person's mark as commands get it, with the name in it."""
        return f"<@{mark[1]}|{self._world.members[mark[1]].name}>"

    def _stored(self, text: str) -> str:
        people: dict[str, str] = {}
        for member in self._world.members.values():
            people[member.name.lower()] = people[member.real_name.lower()] = member.id
        kinds = self._world.channels.values()
        channels = {channel.name: channel.id for channel in kinds if channel.kind != "im"}
        return as_stored(text, people, channels)


def add_to_channel(world: World, channel: Channel, who: Member, inviter: str) -> None:
    """Make an account a member of a channel and tell the app."""
    channel.members.add(who.id)
    emit(world, {
        "type": "member_joined_channel", "user": who.id, "channel": channel.id,
        "channel_type": "C" if channel.kind == "public" else "G", "team": TEAM_ID,
        "inviter": inviter, "event_ts": world.clock.ts(),
    }, channel)  # fmt: skip
    world.pulse.beat()
