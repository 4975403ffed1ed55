"""What processes on one PostgreSQL database share, seen by two of them: rows and their rules."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import psycopg
import pytest
from procrastinate import App, SyncPsycopgConnector
from sqlalchemy import Connection

from bot.agent.budgets import Cap, Scope, Unit, Wanted
from bot.agent.entries import Overheard, Resumed
from bot.cluster import PROOF, Shared, prove_workspace
from bot.errors import ConfigError, Fenced
from bot.runs.cluster import Presence, Yard
from bot.runs.pulse import Pulse
from bot.slack.pacing import Pacer
from bot.slack.slots import Rate
from bot.storage.agreed import Agreed
from bot.storage.budgets import Budgets
from bot.storage.claims import Claim, Claims
from bot.storage.database import Database
from bot.storage.deliveries import Deliveries, State
from bot.storage.inbox import Inbox
from bot.storage.items import Addressing, Item, Kind
from bot.storage.journal import Journals
from bot.storage.leases import Leases
from bot.storage.postgres import open_postgres
from bot.storage.slots import SharedSlots
from bot.storage.statements import hold, perform
from bot.storage.wakes import QUEUE, TASK, call, on_stored
from bot.storage.writer import Writer

pytestmark = pytest.mark.wall_clock
"""Processes are taken for dead after a second or two: a busy host may be slower."""

P = TypeVar("P")
T = TypeVar("T")
PULSE = Pulse(beat=0.1, stall=1.0, sweep=0.1, look=0.1, proof=0.3)
THREAD = "T1:C1:1.0"
DAILY = (Scope.USER, Unit.TOKENS)
ITEM = Item(Kind.MESSAGE, "T1", "C1", "1.0", "1.0", "U1", addressing=Addressing.DIRECT)


@dataclass
class Side:
    """One process, as far as the database knows it."""

    claims: Claims
    leases: Leases
    slots: SharedSlots
    agreed: Agreed
    inbox: Inbox
    journals: Journals
    deliveries: Deliveries
    budgets: Budgets
    url: str

    @property
    def shared(self) -> Shared:
        yard = Yard(self.claims, self.url, PULSE, lambda thread: False)
        return Shared(yard, self.slots, self.leases, self.agreed)


@asynccontextmanager
async def side(url: str, name: str) -> AsyncIterator[Side]:
    database = open_postgres(url)
    writer = Writer(database.engine)
    try:
        yield Side(
            Claims(writer, name, PULSE.stall),
            Leases(writer, name, PULSE.stall),
            SharedSlots(writer, lambda lane: Rate(10.0, 2.0, kept=1.0)),
            Agreed(writer, name, PULSE.stall),
            Inbox(writer, on_stored=on_stored),
            Journals(writer, name, shared=True),
            Deliveries(writer, name),
            Budgets(writer, owner=name),
            url,
        )
    finally:
        await writer.close()
        database.close()


@pytest.fixture
async def a(postgres: str) -> AsyncIterator[Side]:
    async with side(postgres, "a") as opened:
        await opened.claims.beat(works=True)
        yield opened


@pytest.fixture
async def b(postgres: str) -> AsyncIterator[Side]:
    async with side(postgres, "b") as opened:
        await opened.claims.beat(works=True)
        yield opened


async def jobs(url: str) -> list[tuple[object, ...]]:
    query = "SELECT queue_name, task_name, args FROM procrastinate_jobs ORDER BY id"
    async with await psycopg.AsyncConnection.connect(url) as connection:
        return await (await connection.execute(query)).fetchall()


async def after_the_stall(claims: Claims) -> None:
    """Until everybody who has not just said that it lives counts as dead."""
    end = time.monotonic() + PULSE.stall + 0.05
    while time.monotonic() < end:
        await claims.beat(works=True)
        await asyncio.sleep(0.05)


@asynccontextmanager
async def alive(*sides: Side) -> AsyncIterator[None]:
    """Meanwhile they say that they live, however slow this machine is."""

    async def beat() -> None:
        while True:
            await asyncio.gather(*(side.claims.beat(works=True) for side in sides))
            await asyncio.sleep(0.05)

    await asyncio.gather(*(side.claims.beat(works=True) for side in sides))
    task = asyncio.create_task(beat())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_call_is_what_procrastinate_itself_would_send(postgres: str) -> None:
    app = App(connector=SyncPsycopgConnector(conninfo=postgres))
    with app.open():
        app.configure_task(TASK, queue=QUEUE).defer(thread=THREAD)
    database = open_postgres(postgres)
    with database.engine.begin() as connection:
        perform(connection, [call(THREAD)])
    database.close()

    (theirs, ours) = await jobs(postgres)
    assert theirs == ours == (QUEUE, TASK, {"thread": THREAD})


async def test_a_thread_that_was_idle_gets_one_call_however_much_comes(a: Side) -> None:
    for ts in ("1.0", "2.0", "3.0"):
        await a.inbox.store(replace(ITEM, ts=ts))

    assert len(await jobs(a.url)) == 1


async def test_a_thread_is_one_processes_until_that_one_is_dead(a: Side, b: Side) -> None:
    await a.inbox.store(ITEM)
    assert await a.claims.claim(THREAD) is Claim.OURS
    assert await a.claims.claim(THREAD) is Claim.OURS
    assert await b.claims.claim(THREAD) is Claim.OTHERS

    await after_the_stall(b.claims)
    assert await b.claims.claim(THREAD) is Claim.LEFT
    await a.claims.beat(works=True)
    assert await a.claims.claim(THREAD) is Claim.OTHERS


async def test_of_many_who_claim_a_thread_at_once_one_gets_it(a: Side, b: Side) -> None:
    for number in range(10):
        item = replace(ITEM, root_ts=f"{number}.0", ts=f"{number}.0")
        await a.inbox.store(item)
        async with alive(a, b):
            found = await asyncio.gather(a.claims.claim(item.thread), b.claims.claim(item.thread))
        assert set(found) == {Claim.OTHERS, Claim.OURS}


async def test_a_thread_without_work_is_nobody_s(a: Side) -> None:
    await a.inbox.store(ITEM)
    await a.claims.claim(THREAD)
    items = await a.inbox.waiting(THREAD)
    await a.journals.append(THREAD, 0, [Overheard(())], items)
    assert await a.journals.finish(THREAD, 0)

    assert await a.claims.claim(THREAD) is Claim.OTHERS
    assert (await a.claims.look([THREAD]))[0].owner is None


async def test_who_has_lost_a_thread_can_neither_finish_it_nor_post_in_it(a: Side, b: Side) -> None:
    await a.inbox.store(ITEM)
    await a.claims.claim(THREAD)
    items = await a.inbox.waiting(THREAD)
    await a.journals.append(THREAD, 0, [Overheard(())], items)
    await a.deliveries.begin(THREAD, "before", ["p"])
    await after_the_stall(b.claims)
    await b.claims.claim(THREAD)

    with pytest.raises(Fenced):
        await a.deliveries.begin(THREAD, "after", ["q"])
    with pytest.raises(Fenced):
        await a.journals.finish(THREAD, 0)
    assert [one.key for one in await b.deliveries.of(THREAD)] == ["before"]
    assert await b.journals.finish(THREAD, 0)


@pytest.mark.parametrize("entries", [(), (Overheard(()),)])
async def test_who_has_lost_a_thread_takes_nothing_from_its_inbox(
    a: Side, b: Side, entries: Sequence[Overheard]
) -> None:
    """Else a click that means nothing in a journal grown old would be lost, and a message of which
    the new owner, who has read the journal by then, knows nothing."""
    await a.inbox.store(ITEM)
    await a.claims.claim(THREAD)
    items = await a.inbox.waiting(THREAD)
    await after_the_stall(b.claims)
    await b.claims.claim(THREAD)

    with pytest.raises(Fenced):
        await a.journals.append(THREAD, 0, entries, items)
    assert await b.inbox.waiting(THREAD) == items


async def test_who_has_lost_a_thread_does_not_undo_what_another_has_posted(
    a: Side, b: Side
) -> None:
    """It was frozen before it heard that Slack had not taken its post; the other posted it."""
    await a.inbox.store(ITEM)
    await a.claims.claim(THREAD)
    await a.deliveries.begin(THREAD, "refused", ["p"])
    await a.deliveries.begin(THREAD, "limited", ["q"])
    await after_the_stall(b.claims)
    await b.claims.claim(THREAD)
    for key in ("refused", "limited"):
        await b.deliveries.end(key, State.POSTED, "2.0")
    await a.deliveries.end("refused", State.REFUSED)
    await a.deliveries.forget("limited")

    assert {one.key: one.state for one in await b.deliveries.of(THREAD)} == {
        "refused": State.POSTED,
        "limited": State.POSTED,
    }
    await b.deliveries.forget("limited")
    assert [one.key for one in await b.deliveries.of(THREAD)] == ["refused"]


async def test_who_has_lost_a_thread_neither_sets_aside_nor_frees_any_of_a_budget(
    a: Side, b: Side
) -> None:
    """It was frozen during a call of the model, or before one."""
    wanted, caps = Wanted(THREAD, "U1", 0, 0.0, 0.0, 600, 1, "m", 2), [Cap(*DAILY, 1_000)]
    await a.inbox.store(ITEM)
    await a.claims.claim(THREAD)
    await a.budgets.reserve(wanted, caps, "of a")
    await after_the_stall(b.claims)
    await b.claims.claim(THREAD)
    assert (await b.budgets.reserve(replace(wanted, seq=3), [], "of b")) == (None, [])
    (before,) = await b.budgets.states(wanted, caps)

    with pytest.raises(Fenced):
        await a.budgets.reserve(wanted, caps, "of a, later")
    await a.budgets.release("of a")
    assert (await b.budgets.states(wanted, caps))[0].used == before.used
    await b.budgets.release("of b")
    assert (await b.budgets.states(wanted, caps))[0].used == before.used - 600


async def test_what_follows_from_an_entry_does_not_follow_when_a_rival_has_written_since(
    postgres: str, b: Side
) -> None:
    """A process is frozen when its entry is durable and it does not know so yet."""
    database = open_postgres(postgres)
    writer = Frozen(database, lambda: b.journals.append(THREAD, 1, [Resumed("b")]))
    frozen = Journals(writer, "a", shared=True, late=0.0)
    with pytest.raises(Fenced):
        await frozen.append(THREAD, 0, [Overheard(())])
    await writer.close()
    database.close()


class Frozen(Writer):
    """Something happens after its first work is done and before anybody hears of it."""

    def __init__(self, database: Database, meanwhile: Callable[[], Awaitable[object]]) -> None:
        super().__init__(database.engine)
        self._meanwhile = [meanwhile]

    async def run_together(
        self, works: Callable[[Connection, list[P]], Sequence[T]], part: P, thread: str = ""
    ) -> T:
        result = await super().run_together(works, part, thread)
        while self._meanwhile:
            await self._meanwhile.pop()()
        return result


async def test_the_sweep_calls_for_threads_at_which_nobody_is_and_once(a: Side, b: Side) -> None:
    await a.inbox.store(ITEM)
    async with await psycopg.AsyncConnection.connect(a.url) as connection:
        await connection.execute("DELETE FROM procrastinate_jobs")  # a call that got lost
    assert await b.claims.sweep(lambda thread: True, 5) == []
    assert await b.claims.sweep(lambda thread: False, -1.0) == []  # as after an outage
    assert await b.claims.sweep(lambda thread: False, 5) == [THREAD]
    assert await a.claims.sweep(lambda thread: False, 5) == []
    assert len(await jobs(a.url)) == 1

    async with await psycopg.AsyncConnection.connect(a.url) as connection:
        await connection.execute("DELETE FROM procrastinate_jobs")
    await a.claims.claim(THREAD)
    await a.claims.beat(works=True)
    assert await b.claims.sweep(lambda thread: False, 5) == []
    await after_the_stall(b.claims)
    assert await b.claims.sweep(lambda thread: False, 5) == [THREAD]


async def test_a_process_that_is_frozen_in_a_transaction_does_not_hold_up_the_others(
    a: Side,
) -> None:
    await a.inbox.store(ITEM)
    database = open_postgres(a.url, idle=0.3)
    frozen = database.engine.connect()
    hold(frozen, THREAD)
    hold(frozen, "sweep")
    assert await asyncio.wait_for(a.claims.claim(THREAD), 5) is Claim.OURS
    assert await asyncio.wait_for(a.claims.sweep(lambda thread: False, 5), 5) == []
    frozen.invalidate()
    frozen.close()
    database.close()


async def test_who_leaves_has_others_called_at_once(a: Side, b: Side) -> None:
    await a.inbox.store(ITEM)
    await a.claims.claim(THREAD)
    await a.claims.leave()

    assert len(await jobs(a.url)) == 2
    assert await b.claims.claim(THREAD) is Claim.LEFT


async def test_after_a_silence_of_its_own_a_process_does_not_take_the_others_for_dead(
    a: Side, b: Side
) -> None:
    """As when the database was away: nobody could say that it lived."""
    await a.inbox.store(ITEM)
    await a.claims.claim(THREAD)
    await asyncio.sleep(PULSE.stall + 0.05)
    presence = Presence(b.shared.yard, works=True)
    await presence.open()
    await asyncio.sleep(PULSE.sweep / 2)
    await a.claims.beat(works=True)
    for _ in range(6):
        await a.claims.beat(works=True)
        await asyncio.sleep(0.05)
    await presence.close()

    assert len(await jobs(a.url)) == 1


async def test_slots_are_one_budget_for_all(a: Side, b: Side) -> None:
    """Ten a second, two at once."""
    began = time.monotonic()
    taken: list[str] = []

    async def take(one: Side, name: str) -> None:
        for _ in range(4):
            while wait := await one.slots.reserve("C1", 0.0):
                await asyncio.sleep(wait)
            taken.append(name)

    await asyncio.gather(take(a, "a"), take(b, "b"))

    assert sorted(taken) == ["a"] * 4 + ["b"] * 4
    assert time.monotonic() - began >= 0.55
    assert await a.slots.reserve("C2", 0.0) == 0.0


async def test_a_pause_holds_for_all_and_a_shorter_one_does_not_cut_it(a: Side, b: Side) -> None:
    await a.slots.pause("C1", time.monotonic() + 5.0)
    await b.slots.pause("C1", time.monotonic() + 1.0)

    assert 4.0 < await b.slots.reserve("C1", 0.0) <= 5.0
    assert await b.slots.reserve("C2", 0.0) == 0.0


async def test_a_slot_is_kept_for_the_urgent_whichever_process_has_them(a: Side, b: Side) -> None:
    assert await a.slots.reserve("C1", 0.0, urgent=False) == 0.0
    assert 0.0 < await b.slots.reserve("C1", 0.0, urgent=False) <= 0.1
    assert await b.slots.reserve("C1", 0.0, urgent=True) == 0.0


async def test_the_pacers_of_all_processes_go_by_the_same_slots(a: Side, b: Side) -> None:
    began = time.monotonic()
    pacers = [Pacer(side.slots, time.monotonic) for side in (a, b)]

    await asyncio.gather(*(pacer.slot("C1", urgent=True) for pacer in pacers for _ in range(4)))

    assert time.monotonic() - began >= 0.55


async def test_a_lease_is_held_by_one_process_and_passes_on_when_it_is_dead(
    a: Side, b: Side
) -> None:
    order: list[str] = []

    async def hold(one: Side, name: str) -> None:
        async with one.leases.hold("files"):
            order.append(f"{name} begins")
            await asyncio.sleep(0.05)
            order.append(f"{name} ends")

    async with alive(a, b):
        await asyncio.gather(hold(a, "a"), hold(b, "b"))
    assert [word.split()[1] for word in order] == ["begins", "ends", "begins", "ends"]

    async with a.leases.hold("files"):
        waiting = asyncio.create_task(hold(b, "b"))
        await after_the_stall(b.claims)
        await asyncio.wait_for(waiting, 5)


async def test_a_workspace_is_proved_by_a_file_that_all_workers_see(
    a: Side, b: Side, tmp_path: Path
) -> None:
    same, other = tmp_path / "same", tmp_path / "other"
    same.mkdir()
    other.mkdir()
    await prove_workspace(a.shared, same)
    await b.claims.beat(works=True)
    await prove_workspace(b.shared, same)
    for strange in ("", "of another cluster"):
        (other / PROOF).write_text(strange)
        await a.claims.beat(works=True)
        with pytest.raises(ConfigError, match="is not the one that the other workers use"):
            await prove_workspace(b.shared, other)
        assert (other / PROOF).read_text() == strange

    await after_the_stall(b.claims)
    await prove_workspace(b.shared, other)
    assert (other / PROOF).read_text() == "of another cluster"
