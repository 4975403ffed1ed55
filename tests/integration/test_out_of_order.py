"""A message, its edits and its deletion in every order of arrival: what is known at last is one."""

from __future__ import annotations

import itertools
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from bot.agent.entries import Edited, Entry, Overheard, Requoted, User
from bot.config import Need, load_settings
from bot.parts import Core, SystemClock, open_core
from bot.policy import Person
from bot.rehearsal import RehearsalModel
from bot.runs.answers import Answers
from bot.runs.door import Door
from bot.runs.intake import EARLY_SECONDS, Intake
from bot.runs.ports import Signals
from bot.runs.thread_journal import ThreadJournal
from bot.runs.turnstile import Turnstile
from bot.storage.items import Addressing, Item, Kind
from bot.terminal import TerminalPeople
from tests.integration.test_runner import Wall

ROOT_TS = f"{int(time.time())}.000001"
TS = f"{int(time.time())}.000002"
ROOT = Item(Kind.MESSAGE, "T1", "C1", ROOT_TS, ROOT_TS, "U1", "hello", Addressing.MENTION)
REPLY = replace(ROOT, ts=TS, text="first", addressing=Addressing.OPEN)


def edit(number: int, text: str, addressing: Addressing = Addressing.OPEN) -> Item:
    change = f"{int(time.time())}.00001{number}"
    return replace(REPLY, kind=Kind.EDIT, text=text, change=change, addressing=addressing)


EDITS = (edit(1, "second"), edit(2, "third"))
DELETION = replace(REPLY, kind=Kind.DELETION, text="")
TAKES = [(), (1,), (2,), (3,), (1, 2), (1, 3), (2, 3), (1, 2, 3)]
"""After how many arrivals the inbox is taken, beside the end."""


@pytest.fixture
async def core(tmp_path: Path) -> AsyncIterator[Core]:
    settings = load_settings({"OPENAI_API_KEY": "sk-not-asked-for"}, tmp_path, need=Need.CHAT)
    async with open_core(settings, RehearsalModel()) as opened:
        yield opened


class Threads:
    """One thread after the other, each begun by a message for the bot."""

    def __init__(self, core: Core, root: Item = ROOT) -> None:
        people = TerminalPeople()

        def anybody(person: Person, place: object) -> None:
            return None

        door = Door(people, anybody)
        answers = Answers(door, lambda *_: True, SystemClock())
        self.intake = Intake(
            *(people, people, door, answers, lambda _: False, frozenset(), SystemClock()),
            why=lambda *_: "",
        )
        self._core, self._root = core, root
        self._numbers = itertools.count()

    async def after(self, items: Sequence[Item], takes: Iterable[int]) -> list[Entry]:
        """The journal when the items came in this order and the inbox was taken in between."""
        place = f"C{next(self._numbers)}"
        await self._core.inbox.store(replace(self._root, channel=place))
        thread = f"T1:{place}:{ROOT_TS}"
        await self._take(thread)
        for number, item in enumerate(items, 1):
            await self._core.inbox.store(replace(item, channel=place))
            if number in takes:
                await self._take(thread)
        await self._take(thread)
        return list((await self._core.journals.read(thread)).entries)

    async def _take(self, thread: str) -> None:
        stored = await self._core.journals.read(thread)
        signals = Signals()
        signals.set()
        core = self._core
        journal = ThreadJournal(
            core.journals, core.inbox, self.intake, stored, signals, Wall(), Turnstile()
        )
        await journal.take_inbox()
        assert await core.journals.finish(thread, 0, journal.left)


def known(entries: Sequence[Entry]) -> str | None:
    """What the model will read of the reply; None if it is gone."""
    said: str | None = None
    for entry in entries:
        if isinstance(entry, User | Edited | Requoted) and entry.at == TS:
            said = entry.text
        elif isinstance(entry, Overheard):
            said = next((quote.text for quote in entry.quotes if quote.at == TS), said)
    return said


@pytest.mark.parametrize("takes", TAKES)
async def test_an_edited_message_is_known_as_it_was_last_written(
    core: Core, takes: tuple[int, ...]
) -> None:
    threads = Threads(core)
    for order in itertools.permutations([REPLY, *EDITS]):
        assert known(await threads.after(order, takes)) == "third", [i.text for i in order]


@pytest.mark.parametrize("takes", TAKES)
async def test_a_deleted_message_is_gone_whatever_comes_after(
    core: Core, takes: tuple[int, ...]
) -> None:
    threads = Threads(core)
    for order in itertools.permutations([REPLY, EDITS[0], DELETION]):
        assert known(await threads.after(order, takes)) is None, [i.kind for i in order]


@pytest.mark.parametrize("takes", TAKES)
async def test_a_message_that_is_not_for_the_bot_is_quoted_as_it_was_last_written(
    core: Core, takes: tuple[int, ...]
) -> None:
    threads = Threads(core)
    items = [replace(i, addressing=Addressing.ELSEWHERE) for i in (REPLY, *EDITS)]
    for order in itertools.permutations(items):
        assert known(await threads.after(order, takes)) == "third", [i.text for i in order]


async def test_the_change_of_a_message_that_never_comes_is_let_go(
    core: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One from before the bot was there: its text asks nothing, now or later."""
    threads = Threads(core)
    late = replace(threads.intake, clock=Later())
    entries = await threads.after([EDITS[0]], (1,))
    assert known(entries) is None
    threads.intake = late
    entries = await threads.after([EDITS[0], REPLY], (1,))
    assert known(entries) == "first"


class Later:
    """A clock by which whatever has come is older than Slack repeats events."""

    def now(self) -> float:
        return time.time() + EARLY_SECONDS + 1
