"""The workspace: people, channels and who is told when something changes."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

from bot.local_slack.clock import Clock
from bot.local_slack.files import Files
from bot.local_slack.host import Change
from bot.local_slack.options import BOT_NAME, BOT_USER_ID, TEAM_ID, Options
from bot.local_slack.pulse import Pulse
from bot.local_slack.sessions import Sessions
from bot.local_slack.shapes import Json, PersonError
from bot.local_slack.streams import Streams
from bot.local_slack.text import visible_text
from bot.local_slack.views import Views


@dataclass(frozen=True, slots=True)
class Member:
    """One account. ``role`` is member, admin, guest, external or bot."""

    id: str
    name: str
    real_name: str
    role: str = "member"
    team_id: str = TEAM_ID

    def page_form(self) -> Json:
        """As the page and the control API know it."""
        return {"id": self.id, "name": self.name, "real_name": self.real_name, "role": self.role}


@dataclass(slots=True)
class Channel:
    """A conversation. ``kind`` is public, private or im; ``user`` is the person of a DM.

    Message objects are never changed in place: a change puts a new object under the same ``ts``.
    """

    id: str
    name: str
    kind: str = "public"
    topic: str = ""
    members: set[str] = field(default_factory=set)
    user: str = ""
    is_ext_shared: bool = False
    is_archived: bool = False
    messages: dict[str, Json] = field(default_factory=dict)
    threads: dict[str, list[str]] = field(default_factory=dict)

    @property
    def type(self) -> str:
        """Slack's ``channel_type``."""
        return {"public": "channel", "private": "group"}.get(self.kind, self.kind)


class World:
    """All state of the workspace. Everything here runs in one event loop, without awaiting."""

    def __init__(self, options: Options, clock: Clock) -> None:
        self.options = options
        self.clock = clock
        self.pulse = Pulse()
        self.members: dict[str, Member] = {}
        self.channels: dict[str, Channel] = {}
        self.groups: dict[str, Json] = {}
        self.ephemerals: list[Json] = []
        self.prompts: list[Json] = []
        self.banner: str | None = options.banner
        self.base_url = ""
        self.on_event: Callable[[Json], None] = _nobody_listens
        self._listeners: list[Callable[[Change], None]] = []
        self.sessions = Sessions(self)
        self.streams = Streams(self)
        self.views = Views(self)
        self.files = Files(self)

    # -- telling others ---------------------------------------------------------------------
    def subscribe(self, listener: Callable[[Change], None]) -> Callable[[], None]:
        """Call ``listener`` with every change; the returned function ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def notify(self, change: Change) -> None:
        """Tell every listener, and wake whoever waits for a condition."""
        for listener in tuple(self._listeners):
            listener(change)
        self.pulse.beat()

    def set_banner(self, banner: str | None) -> None:
        """The line that the page shows on top (None: no line)."""
        self.banner = banner
        self.notify(Change("banner", {"banner": banner}))

    # -- who and where ----------------------------------------------------------------------
    def add_member(self, member: Member) -> Channel | None:
        """Add an account and, unless it is a bot or external, its DM with the app."""
        self.members[member.id] = member
        if member.role in ("bot", "external"):
            return None
        return self.add_channel(
            Channel(
                id="D0" + member.id.removeprefix("U0"),
                name=BOT_NAME,
                kind="im",
                members={member.id, BOT_USER_ID},
                user=member.id,
            )
        )

    def add_channel(self, channel: Channel) -> Channel:
        """Add a conversation; one with the same id stays as it is."""
        return self.channels.setdefault(channel.id, channel)

    def member(self, wanted: str) -> Member:
        """The account with this id or name."""
        if wanted in self.members:
            return self.members[wanted]
        name = wanted.removeprefix("@").lower()
        for member in self.members.values():
            if member.name == name:
                return member
        raise PersonError(f"There is no person {wanted!r} here.")

    def channel(self, wanted: str, user: str = "") -> Channel:
        """The conversation with this id or name; ``dm`` or ``@treadle`` is ``user``'s DM."""
        if wanted in self.channels:
            return self.channels[wanted]
        if user and wanted in ("dm", f"@{BOT_NAME}", BOT_USER_ID):
            return self.dm(user)
        name = wanted.removeprefix("#")
        for channel in self.channels.values():
            if channel.kind != "im" and channel.name == name:
                return channel
        raise PersonError(f"There is no channel {wanted!r} here.")

    def dm(self, user: str) -> Channel:
        """The DM between this person and the app."""
        for channel in self.channels.values():
            if channel.user == user:
                return channel
        raise PersonError("This person has no direct messages with the app.")

    def visible_to(self, user: str) -> list[Channel]:
        """The conversations that this person is in, in the order of their making."""
        return [channel for channel in self.channels.values() if user in channel.members]

    def names(self) -> dict[str, str]:
        """What a person reads for each user id and channel id."""
        people = {member.id: member.real_name for member in self.members.values()}
        return people | {channel.id: channel.name for channel in self.channels.values()}

    def visible_text(self, message: Json) -> str:
        """Everything a person reads in this message."""
        return visible_text(message, self.names())

    def page_message(self, channel_id: str, message: Json) -> Json:
        """The message as the page gets it.

        ``streaming`` marks an open stream; addresses of files carry the page token, because a
        link sends no header.
        """
        shown = message
        if self.streams.is_open(channel_id, str(message["ts"])):
            shown = {**shown, "streaming": True}
        if message.get("files"):
            shown = {**shown, "files": [self._page_file(file) for file in message["files"]]}
        return shown

    def _page_file(self, file: Json) -> Json:
        addresses = {
            key: f"{file[key]}?token={self.options.page_token}"
            for key in ("url_private", "url_private_download")
        }
        return {**file, **addresses}

    def new_id(self, prefix: str) -> str:
        """An id that nothing else has, also across restarts."""
        return prefix + secrets.token_hex(5).upper()


def _nobody_listens(payload: Json) -> None:
    """Where events go until a courier is there: a workspace without an app."""
