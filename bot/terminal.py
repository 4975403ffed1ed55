"""`treadle chat`: the same loop in a terminal, for one person with the admin role."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

from bot import words
from bot.agent import card_text
from bot.agent.approvals import card_at
from bot.agent.consent import Choice
from bot.agent.entries import (
    Answered,
    ApprovalAsked,
    Entry,
    Failed,
    ModelReply,
    Observation,
    Quote,
    Refused,
    Stopped,
    Told,
    ToolCall,
)
from bot.agent.shown import Piece
from bot.agent.work import stop_notice
from bot.live_text import LiveText
from bot.policy import Person, Role
from bot.storage.items import Addressing, Item, Kind

TEAM, CHANNEL, USER = "TLOCAL", "DTERMINAL", "UTERMINAL"

SHOWN = 12
"""Lines of an observation that are printed."""

Write = Callable[[str], None]


def in_terminal(thread: str) -> bool:
    """Whether this is a conversation of `treadle chat`; only that one goes on with it."""
    return thread.startswith(f"{TEAM}:{CHANNEL}:")


class TerminalPeople:
    """`bot.runs.ports.People` and `Surroundings` where there is one person and no Slack."""

    async def lookup(self, user: str, team: str, *, acts: bool = False) -> Person:
        return Person(user, Role.ADMIN.value)

    async def name(self, user: str, team: str) -> str:
        return "You"

    def whisper(self, click: Item, text: str) -> None:
        """The next line of the conversation shows what came of it."""

    async def earlier(self, thread: str, before: str) -> Sequence[Quote]:
        return ()

    async def missed(self, thread: str, after: str) -> Sequence[Item]:
        return ()


@dataclass(slots=True)
class Asking:
    """The question that the next line answers: its journal position and digest.

    `thread` says that a yes for the whole thread is offered.
    """

    seq: int = -1
    digest: str = ""
    thread: bool = False


@dataclass(frozen=True, slots=True)
class TerminalOutlet:
    """`bot.runs.ports.Outlet`: prints what is new. `write` gets text that is safe to print."""

    write: Write
    describe: Callable[[ToolCall], str]
    live: LiveText
    asking: Asking = field(default_factory=Asking)

    async def open(self, thread: str, found: Callable[[], None]) -> TerminalView:
        return TerminalView(self.write, self.describe, self.live, self.asking)


class TerminalView:
    """`bot.runs.ports.View` of the conversation in the terminal."""

    def __init__(
        self,
        write: Write,
        describe: Callable[[ToolCall], str],
        live: LiveText,
        asking: Asking | None = None,
    ) -> None:
        self._write, self._describe, self._live = write, describe, live
        self._asking = asking or Asking()
        self._shown = -1

    def begin(self, entries: Sequence[Entry], question: str) -> None:
        if self._shown < 0:
            self._shown = len(entries)

    def look(self, entries: Sequence[Entry]) -> None:
        if self._shown < 0:
            self._shown = max(0, len(entries) - 1)
        for seq in range(self._shown, len(entries)):
            self._print(entries, seq)
        self._shown = len(entries)
        self._ask(entries)

    def live(self, piece: Piece | None) -> None:
        self._live.show(piece)

    async def settle(self, entries: Sequence[Entry], arrived: asyncio.Event | None = None) -> None:
        self.look(entries)

    async def halt(self, entries: Sequence[Entry]) -> None:
        """All is shown as soon as it is there."""

    async def notice(self, text: str, at: str = "") -> None:
        self._write(text)

    async def close(self) -> None:
        self._write("")

    def _print(self, entries: Sequence[Entry], seq: int) -> None:
        match entry := entries[seq]:
            case ModelReply():
                self._reply(entry, self._live.end())
            case Observation(text=text):
                lines = text.splitlines()
                more = [words.more_lines(len(lines) - SHOWN)] if len(lines) > SHOWN else []
                self._write("\n".join(f"  → {line}" for line in [*lines[:SHOWN], *more]))
            case Failed(text=text) | Refused(text=text) if text:
                self._live.end()
                self._write(text)
            case Told():
                self._write(words.chat_question(thread=self._asking.thread))
            case Stopped():
                self._live.end()
                self._write(stop_notice(entries, seq))
            case Answered() | _:
                pass

    def _ask(self, entries: Sequence[Entry]) -> None:
        """Print the first question that is open, once: they are answered one by one."""
        asked = [seq for seq, entry in enumerate(entries) if isinstance(entry, ApprovalAsked)]
        card = card_at(entries, asked[-1]) if asked else None
        if card is None or not card.open:
            self._asking.seq = -1
            return
        line, asking = card.open[0], self._asking
        if asking.seq != line.seq:
            asking.seq, asking.digest = line.seq, line.asked.digest
            asking.thread = line.asked.offer is not None
            self._write("\n".join(card_text.lines(card, line)))
            self._write(words.chat_question(thread=asking.thread))

    def _reply(self, reply: ModelReply, seen: frozenset[str]) -> None:
        """What of a reply has not been seen while it arrived."""
        thought = (reply.thought or reply.reasoning).strip()
        if reply.answer is None and thought and thought not in seen:
            self._write(f"  {thought}")
        for call in reply.calls:
            self._write(f"  {words.tool_name(call.name)} {self._describe(call)}")
        if reply.answer is not None and reply.answer.strip() not in seen:
            self._write(f"\n{reply.answer}")


class Lines:
    """Lines of a terminal, pipe or file, read without a thread: Ctrl-C need not wait for Enter."""

    def __init__(self, source: int) -> None:
        self._source = source
        self._read = b""
        self._ended = False

    async def next(self) -> str | None:
        """The next line without its end; None at the end of the input."""
        if os.isatty(self._source):
            print("you> ", end="", flush=True)
        while b"\n" not in self._read and not self._ended:
            await self._readable()
            more = os.read(self._source, 65536)
            self._read += more
            self._ended = not more
        line, _, self._read = self._read.partition(b"\n")
        return line.decode("utf-8", "replace") if line or not self._ended else None

    async def _readable(self) -> None:
        loop, there = asyncio.get_running_loop(), asyncio.Event()
        try:
            loop.add_reader(self._source, there.set)
        except PermissionError:  # a file: it is always readable (epoll_ctl(2), EPERM)
            return
        try:
            await there.wait()
        finally:
            loop.remove_reader(self._source)


async def converse(
    store: Callable[[Item], Awaitable[None]],
    idle: Callable[[], Awaitable[None]],
    lines: Lines,
    write: Write,
    asking: Asking,
) -> None:
    """Take lines until the end of the input or `exit`; each is a message in one conversation.

    While a question is open, yes and no answer it.
    """
    root = ts = _now()
    write(words.chat_greeting())
    while (line := await lines.next()) is not None and line.strip() not in ("exit", "quit"):
        if line.strip():
            await store(_item(root, ts, line.strip(), asking))
            await idle()
        ts = _now()


CHOICES = {
    **dict.fromkeys(("y", "yes"), Choice.YES),
    **dict.fromkeys(("n", "no"), Choice.NO),
    **dict.fromkeys(("a", "always"), Choice.THREAD),
}


def _item(root: str, ts: str, text: str, asking: Asking) -> Item:
    """The line as an answer, if a question is open and it is one; else as a message."""
    message = _message(root, ts, text)
    word, _, rest = text.partition(" ")
    choice = CHOICES.get(word.lower().rstrip(",.:;!"))
    if asking.seq < 0 or choice is None or (rest and choice is not Choice.NO):
        return message
    return replace(
        message,
        kind=Kind.CLICK,
        text=choice,
        change=str(asking.seq),
        about=asking.digest,
        reason=rest.strip(),
    )


def _message(root: str, ts: str, text: str) -> Item:
    return Item(
        kind=Kind.MESSAGE,
        team=TEAM,
        channel=CHANNEL,
        root_ts=root,
        ts=ts,
        author=USER,
        text=text,
        addressing=Addressing.DIRECT,
    )


def _now() -> str:
    return f"{time.time():.6f}"
