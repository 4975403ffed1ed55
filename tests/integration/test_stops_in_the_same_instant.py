"""Two processes store a message and a ✖ on it in the same instant: the stop is in its thread.

Slack does not say in which thread a message stands that a reaction is on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import psycopg
import pytest

from bot.storage.deliveries import Deliveries, State
from bot.storage.inbox import Inbox
from bot.storage.items import Addressing, Item, Kind
from bot.storage.postgres import open_postgres
from bot.storage.statements import News, hold
from bot.storage.wakes import on_stored
from bot.storage.writer import Writer

ROOT = Item(Kind.MESSAGE, "T1", "C1", "1.0", "1.0", "U1", addressing=Addressing.DIRECT)
THREAD = ROOT.thread
ROUNDS = 60
WAITING = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"


@dataclass
class Side:
    """One process, as far as the database knows it."""

    inbox: Inbox
    deliveries: Deliveries
    writer: Writer


@asynccontextmanager
async def side(url: str) -> AsyncIterator[Side]:
    database = open_postgres(url)
    writer = Writer(database.engine)
    try:
        yield Side(Inbox(writer, on_stored=on_stored), Deliveries(writer), writer)
    finally:
        await writer.close()
        database.close()


@pytest.fixture
async def sides(postgres: str) -> AsyncIterator[tuple[Side, Side]]:
    async with side(postgres) as a, side(postgres) as b:
        await a.inbox.store(ROOT)
        yield a, b


def reply(number: int) -> Item:
    return replace(ROOT, ts=f"2.{number}", text="and?", addressing=Addressing.OPEN)


def stop(about: str, number: int) -> Item:
    place = replace(ROOT, kind=Kind.STOP, root_ts="", addressing=Addressing.OPEN)
    return replace(place, ts=f"3.{number}", about=about, event_id=f"E{number}")


async def stopped(one: Side) -> set[str]:
    """Which messages the stops are about that wait in the thread."""
    waiting = await one.inbox.waiting(THREAD)
    return {found.item.about for found in waiting if found.item.kind is Kind.STOP}


async def test_a_reply_and_its_stop(sides: tuple[Side, Side]) -> None:
    """Whoever is at the thread is told with the later of them that something may end its work."""
    a, b = sides
    told: list[News | None] = []
    for number in range(ROUNDS):
        message = reply(number)
        first = a.inbox.store(message), b.inbox.store(stop(message.ts, number))
        pair = await asyncio.gather(*(first if number % 2 else reversed(first)))
        told += [news for news in pair if news is not None and news.ending]

    assert await stopped(a) == {reply(number).ts for number in range(ROUNDS)}
    assert len(told) == ROUNDS


async def test_a_post_that_becomes_known_and_its_stop(sides: tuple[Side, Side]) -> None:
    a, b = sides
    found = 0
    for number in range(ROUNDS):
        ts, key = f"2.{number}", f"{THREAD}#p{number}"
        await a.deliveries.begin(THREAD, key, [f"p{number}"])
        storing = b.inbox.store(stop(ts, number))
        known = a.deliveries.end(key, State.POSTED, ts)
        news, adopted = await asyncio.gather(storing, known)
        found += (news is not None) + adopted

    assert await stopped(a) == {f"2.{number}" for number in range(ROUNDS)}
    assert found == ROUNDS


async def test_a_stop_whose_thread_is_only_just_known_does_not_pass_one_who_finishes_it(
    sides: tuple[Side, Side], postgres: str
) -> None:
    """It would be left in a thread that is written down as finished."""
    a, b = sides
    message = reply(1)
    alone, whole = f"T1:C1:{message.ts}", THREAD
    database = open_postgres(postgres)
    with database.engine.connect() as first, database.engine.connect() as second:
        hold(first, alone)
        replying = asyncio.create_task(a.inbox.store(message))
        await _until_waiting(postgres, 1)
        stopping = asyncio.create_task(b.inbox.store(stop(message.ts, 1)))
        await _until_waiting(postgres, 2)
        finishing = asyncio.create_task(asyncio.to_thread(hold, second, whole))
        await _until_waiting(postgres, 3)
        first.rollback()
        await asyncio.gather(replying, finishing)
        waits = asyncio.create_task(_until_waiting(postgres, 1))
        await asyncio.wait({waits, stopping}, return_when=asyncio.FIRST_COMPLETED)
        assert not stopping.done()
        await waits
        second.rollback()
        await stopping
    database.close()

    assert await stopped(a) == {message.ts}


async def _until_waiting(url: str, count: int) -> None:
    """Until so many wait for a name that somebody else holds."""
    async with (
        await psycopg.AsyncConnection.connect(url, autocommit=True) as connection,
        asyncio.timeout(10),
    ):
        while True:
            row = await (await connection.execute(WAITING)).fetchone()
            if row == (count,):
                return
            await asyncio.sleep(0.01)
