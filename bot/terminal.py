"""`treadle chat`: the same loop in a terminal, for one person with the admin role."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from bot import words
from bot.agent.entries import (
    Answered,
    Entry,
    Failed,
    ModelReply,
    Observation,
    Quote,
    Refused,
    Stopped,
    ToolCall,
)
from bot.agent.shown import Piece
from bot.live_text import LiveText
from bot.policy import Person, Role
from bot.storage.inbox import Addressing, Item, Kind

TEAM, CHANNEL, USER = "TLOCAL", "DTERMINAL", "UTERMINAL"

Write = Callable[[str], None]


class TerminalPeople:
    """`bot.runs.ports.People` and `Surroundings` where there is one person and no Slack."""

    async def lookup(self, user: str, team: str) -> Person:
        return Person(user, Role.ADMIN.value)

    async def name(self, user: str, team: str) -> str:
        return "You"

    async def earlier(self, thread: str, before: str) -> Sequence[Quote]:
        return ()

    async def missed(self, thread: str, after: str) -> Sequence[Item]:
        return ()


@dataclass(frozen=True, slots=True)
class TerminalOutlet:
    """`bot.runs.ports.Outlet`: prints what is new. `write` gets text that is safe to print."""

    write: Write
    describe: Callable[[ToolCall], str]
    live: LiveText

    async def open(self, thread: str) -> TerminalView:
        return TerminalView(self.write, self.describe, self.live)


class TerminalView:
    """`bot.runs.ports.View` of the conversation in the terminal."""

    def __init__(self, write: Write, describe: Callable[[ToolCall], str], live: LiveText) -> None:
        self._write, self._describe, self._live = write, describe, live
        self._shown = -1

    def begin(self, entries: Sequence[Entry]) -> None:
        if self._shown < 0:
            self._shown = len(entries)

    def look(self, entries: Sequence[Entry]) -> None:
        if self._shown < 0:
            self._shown = max(0, len(entries) - 1)
        for seq in range(self._shown, len(entries)):
            self._print(entries[seq])
        self._shown = len(entries)

    def live(self, piece: Piece | None) -> None:
        self._live.show(piece)

    async def settle(self, entries: Sequence[Entry]) -> None:
        self.look(entries)

    async def close(self) -> None:
        self._write("")

    def _print(self, entry: Entry) -> None:
        match entry:
            case ModelReply():
                self._reply(entry, self._live.end())
            case Observation(text=text):
                self._write("\n".join(f"  → {line}" for line in text.splitlines()[:12]))
            case Failed(text=text) | Refused(text=text) if text:
                self._write(text)
            case Stopped(by=by):
                self._write(words.stopped(by))
            case Answered() | _:
                pass

    def _reply(self, reply: ModelReply, seen: frozenset[str]) -> None:
        """What of a reply has not been seen while it arrived."""
        thought = (reply.thought or reply.reasoning).strip()
        if reply.answer is None and thought and thought not in seen:
            self._write(f"  {thought}")
        for call in reply.calls:
            self._write(f"  {words.tool_name(call.name)} {self._describe(call)}")
        if reply.answer is not None and reply.answer.strip() not in seen:
            self._write(f"\n{reply.answer}")


async def converse(
    store: Callable[[Item], Awaitable[None]],
    idle: Callable[[], Awaitable[None]],
    write: Write,
) -> None:
    """Read lines until end of file or `exit`; each is a message in one conversation."""
    root = _now()
    write(words.chat_greeting())
    ts = root
    while (line := await asyncio.to_thread(_read_line)) is not None:
        if line.strip() in ("exit", "quit"):
            break
        if line.strip():
            await store(
                Item(
                    kind=Kind.MESSAGE,
                    team=TEAM,
                    channel=CHANNEL,
                    root_ts=root,
                    ts=ts,
                    author=USER,
                    text=line.strip(),
                    addressing=Addressing.DIRECT,
                )
            )
            await idle()
        ts = _now()


def _now() -> str:
    return f"{time.time():.6f}"


def _read_line() -> str | None:
    try:
        return input("you> " if sys.stdin.isatty() else "")
    except EOFError:
        return None
