"""The workspace in a file, so that a restart loses nothing."""

import asyncio
import base64
import json
import os
from pathlib import Path

from bot.local_slack.delivery import Courier
from bot.local_slack.host import Change
from bot.local_slack.shapes import Json
from bot.local_slack.world import Channel, Member, World

_VERSION = 1
_DEBOUNCE_SECONDS = 0.3


class StateError(Exception):
    """The saved workspace cannot be used; the text says what to do."""


class StateFile:
    """The workspace's file (None: nothing is kept).

    A change that nobody waits for is saved a moment later, with all others until then.
    """

    def __init__(self, world: World, courier: Courier, path: Path | None) -> None:
        self._world = world
        self._courier = courier
        self._path = path
        self._timer: asyncio.TimerHandle | None = None
        self._saving: asyncio.Task[None] | None = None
        self._later: asyncio.Task[None] | None = None
        self._following = False
        self._changes = 0
        self._saved = 0

    def load(self) -> list[Json]:
        """Put the saved workspace back; the events that were still to be delivered."""
        if self._path is None or not self._path.exists():
            return []
        try:
            saved = json.loads(self._path.read_text(encoding="utf-8"))
            if saved["version"] != _VERSION:
                raise ValueError("another version")
            _restore(self._world, saved)
            pending: list[Json] = saved["pending"]
        except (ValueError, KeyError, TypeError, AttributeError, OSError) as problem:
            raise StateError(
                f"The saved workspace {self._path} cannot be read ({problem}); "
                "move it away to start with an empty one."
            ) from problem
        return pending

    def follow(self) -> None:
        """Save after every change from now on."""
        if self._path is not None:
            self._following = True
            self._world.subscribe(self._changed)

    async def settled(self) -> None:
        """Return when every change until now stands in the file: then others may be told of it.

        ``OSError`` if the file cannot be written.
        """
        wanted = self._changes
        while self._saved < wanted:
            if self._saving is None or self._saving.done():
                self._saving = asyncio.get_running_loop().create_task(self._save())
            await asyncio.shield(self._saving)

    async def close(self) -> None:
        """Save once more and stop. A file that could not be loaded stays as it is."""
        if not self._following:
            return
        if self._timer is not None:
            self._timer.cancel()
        if self._later is not None:
            await asyncio.wait({self._later})
        self._changes += 1  # events that were delivered meanwhile
        await self.settled()

    def _changed(self, change: Change) -> None:
        self._changes += 1
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(_DEBOUNCE_SECONDS, self._due)

    def _due(self) -> None:
        self._timer = None
        if self._saved < self._changes:
            self._later = asyncio.get_running_loop().create_task(self.settled())

    async def _save(self) -> None:
        changes = self._changes
        text = json.dumps(_saved(self._world, self._courier))
        assert self._path is not None
        await asyncio.to_thread(_write, self._path, text)
        self._saved = changes


def _write(path: Path, text: str) -> None:
    """Replace the file as a whole: whoever reads sees the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".new")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def _saved(world: World, courier: Courier) -> Json:
    files = world.files.by_id.items()
    return {
        "version": _VERSION,
        "base_url": world.base_url,
        "last_ts": world.clock.ts(),
        "members": [_member(member) for member in world.members.values()],
        "channels": [_channel(channel) for channel in world.channels.values()],
        "ephemerals": world.ephemerals,
        "prompts": world.prompts,
        "homes": world.views.homes,
        "sessions": world.sessions.saved(),
        "files": {
            file_id: {"object": file.object, "data": base64.b64encode(file.data).decode()}
            for file_id, file in files
            if file.data is not None
        },
        "pending": courier.unfinished(),
    }


def _member(member: Member) -> list[str]:
    return [member.id, member.name, member.real_name, member.role, member.team_id]


def _channel(channel: Channel) -> Json:
    return {
        "id": channel.id,
        "name": channel.name,
        "kind": channel.kind,
        "topic": channel.topic,
        "members": sorted(channel.members),
        "user": channel.user,
        "is_ext_shared": channel.is_ext_shared,
        "is_archived": channel.is_archived,
        "messages": list(channel.messages.values()),
        "threads": channel.threads,
    }


def _restore(world: World, saved: Json) -> None:
    """Put everything back. Addresses of files move with the port of this start."""
    text = json.dumps(saved).replace(str(saved["base_url"]) + "/", world.base_url + "/")
    saved = json.loads(text)
    world.clock.not_before(saved["last_ts"])
    for row in saved["members"]:
        world.members[row[0]] = Member(*row)
    for row in saved["channels"]:
        rows = {message["ts"]: message for message in row.pop("messages")}
        members = set(row.pop("members"))
        world.channels[row["id"]] = Channel(**row, members=members, messages=rows)
    world.ephemerals[:] = saved["ephemerals"]
    world.prompts = saved["prompts"]
    world.views.homes = saved["homes"]
    world.sessions.load(saved["sessions"])
    world.files.load(
        {
            file_id: (file["object"], base64.b64decode(file["data"]))
            for file_id, file in saved["files"].items()
        }
    )
