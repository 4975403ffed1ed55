"""Killed or without a disk at one particular moment: what was begun comes to its end, once."""

from __future__ import annotations

import asyncio
import functools
import json
import resource
import signal
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from bot.config import Need, load_settings
from bot.local_slack.faults import Effect, FaultRule
from bot.local_slack.options import BOT_USER_ID, Options
from bot.local_slack.server import LocalSlack
from bot.local_slack.world import Channel
from bot.main import run_slack
from bot.slack.patience import Patience
from bot.storage.database import open_database
from bot.storage.inbox import Inbox
from bot.storage.items import Addressing, Item, Kind
from bot.storage.writer import Writer
from tests.chaos.people import APPROVE, cards
from tests.doubles.desk import Desk, arguments, open_desk
from tests.doubles.model_endpoint import Request, Say
from tests.doubles.process import BRISK, HASTY, kill, process

LIMITED = FaultRule(Effect.RATE_LIMIT, "chat.postMessage", seconds=30.0)
"""What is to be posted waits, so that there is time for a kill."""


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """A desk whose Slack repeats lost events quickly and keeps them while nobody is there."""
    options = Options(ack_seconds=2.0, retry_scale=0.05, hold_while_offline=True)
    async with open_desk(tmp_path, options=options) as opened:
        yield opened


async def until_stored(desk: Desk, query: str, count: int = 1) -> None:
    """Return when the database has so many rows."""
    async with asyncio.timeout(30):
        while len(rows(desk, query)) < count:
            await asyncio.sleep(0.02)


def rows(desk: Desk, query: str) -> list[tuple[str, ...]]:
    path = desk.home / ".treadle" / "treadle.db"
    if not path.exists():
        return []
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        return database.execute(query).fetchall()


def journaled(kind: str) -> str:
    return f"SELECT body FROM journal WHERE json_extract(body, '$.kind') = '{kind}'"


async def test_killed_between_a_question_to_a_person_and_its_card(desk: Desk) -> None:
    desk.config('[[policy]]\ntool = "write_file"\ndecision = "ask"\n')
    call = ("write_file", arguments(path="n.txt", content="seven"))
    desk.model.play([Say("I write.", calls=(call,)), Say("Written.")])
    desk.slack.fail(LIMITED)
    async with process(desk) as first:
        ts = await desk.slack.person("alice").say("#general", "@treadle write")
        await until_stored(desk, journaled("ApprovalAsked"))
        await kill(first)
    assert desk.bot_replies("#general", ts) == []
    desk.slack.fail()
    async with process(desk, BRISK):
        (card,) = await desk.until(lambda: cards(desk.slack, "#general", ts))
        await desk.slack.person("ada").click(card, APPROVE)
        assert await desk.answered("#general", ts, covers=ts) == "Written."
        await desk.until(lambda: told_as_approved(desk, ts))

    assert (desk.workspace() / "n.txt").read_text() == "seven"
    assert len(told_as_approved(desk, ts)) == 1


def told_as_approved(desk: Desk, ts: str) -> list[str]:
    return [text for text in desk.bot_replies("#general", ts) if "Approved by ada" in text]


async def test_killed_between_writing_the_answer_down_and_posting_it(desk: Desk) -> None:
    desk.model.play([Say("Once.")])
    desk.slack.fail(LIMITED)
    async with process(desk) as first:
        ts = await desk.slack.person("alice").say("#general", "@treadle go")
        await until_stored(desk, journaled("Answered"))
        await kill(first)
    desk.slack.fail()
    async with process(desk, BRISK):
        await desk.answered("#general", ts, covers=ts)
        await desk.nothing_is_left_to_do()

    assert desk.bot_replies("#general", ts) == ["Once."]
    assert len(desk.model.requests) == 1


@pytest.mark.parametrize("effect", [Effect.LOSE_ANSWER, Effect.SERVER_ERROR])
async def test_killed_while_nobody_knows_whether_the_answer_stands_there(
    desk: Desk, effect: Effect
) -> None:
    """It stands there (the reply was lost), or it does not (Slack broke down before)."""
    desk.model.play([Say("Once.")])
    desk.slack.fail(FaultRule(effect, "chat.postMessage", count=1))
    async with process(desk) as first:
        ts = await desk.slack.person("alice").say("#general", "@treadle go")
        await desk.until(lambda: desk.slack.log.of("chat.postMessage"))
        await until_stored(desk, "SELECT key FROM deliveries WHERE state = 'trying'")
        await kill(first)
    async with process(desk, BRISK):
        await desk.answered("#general", ts, covers=ts)
        await desk.nothing_is_left_to_do()

    assert desk.bot_replies("#general", ts) == ["Once."]
    assert rows(desk, "SELECT state FROM deliveries") == [("posted",)]


async def test_the_end_of_a_later_turn_is_not_told_before_one_that_is_in_doubt(
    desk: Desk,
) -> None:
    """A stop and the next question were taken together; the post about the stop failed."""
    desk.patience = Patience(look_up=0.5)
    desk.model.play([Say("Second.")])
    alice = desk.slack.person("alice")
    root = await alice.say("#general", "@treadle first")
    stop = await alice.reply("#general", root, "stop")
    second = await alice.reply("#general", root, "second")
    await store(desk, root, (root, Kind.MESSAGE), (stop, Kind.STOP), (second, Kind.MESSAGE))
    desk.slack.fail(FaultRule(Effect.SERVER_ERROR, "chat.postMessage", count=1))
    async with desk.treadle():
        await desk.answered("#general", root, covers=second)
        await desk.nothing_is_left_to_do()

    stopped, answer = desk.bot_replies("#general", root)
    assert stopped.startswith("Stopped")
    assert answer == "Second."


async def test_what_was_in_doubt_and_is_no_longer_wanted_does_not_stay_in_doubt(
    desk: Desk,
) -> None:
    """A card whose post failed, a kill, and a stop that is taken before the card is looked up."""
    desk.patience = Patience(look_up=0.5)
    desk.config('[slack]\nverbosity = "quiet"\n[[policy]]\ntool = "write_file"\ndecision = "ask"\n')
    call = ("write_file", arguments(path="n.txt", content="seven"))
    desk.model.play([Say("I write.", calls=(call,))])
    desk.slack.fail(FaultRule(Effect.SERVER_ERROR, "chat.postMessage", count=1))
    alice = desk.slack.person("alice")
    async with process(desk) as first:
        root = await alice.say("#general", "@treadle write")
        await until_stored(desk, "SELECT key FROM deliveries WHERE state = 'trying'")
        await kill(first)
    stop = await alice.reply("#general", root, "stop")
    await store(desk, root, (stop, Kind.STOP))
    async with desk.treadle():
        await desk.answered("#general", root, covers=stop)
        await desk.nothing_is_left_to_do()

    assert rows(desk, "SELECT state FROM deliveries") == [("posted",)]
    assert len(desk.bot_replies("#general", root)) == 1


@pytest.mark.parametrize("trouble", [False, True])
async def test_a_reply_that_came_before_its_mention_is_not_forgotten_however_long_it_is_down(
    desk: Desk, trouble: bool
) -> None:
    """It died when both were stored; then others wrote, and Slack may fail for a while at first."""
    desk.model.play(lambda _: Say("Both."))
    desk.slack.change(subscriptions=frozenset())  # what was acknowledged does not come again
    alice = desk.slack.person("alice")
    root = await alice.say("#general", "@treadle first")
    reply = await alice.reply("#general", root, "and second")
    await store(desk, root, (reply, Kind.MESSAGE), (root, Kind.MESSAGE))
    age = "UPDATE overheard SET at = at - 1000"
    with closing(sqlite3.connect(desk.home / ".treadle" / "treadle.db")) as database, database:
        database.execute(age)
        assert database.execute("SELECT count(*) FROM overheard").fetchone() == (1,)
    await store(desk, "99.0", ("99.1", Kind.MESSAGE))
    if trouble:
        desk.slack.fail(FaultRule(Effect.SERVER_ERROR, "conversations.replies", count=8))
    async with desk.treadle():
        await desk.slack.until(lambda: covered(desk, root, reply), timeout=50)
        await desk.answered("#general", root, covers=root)


async def store(desk: Desk, root: str, *messages: tuple[str, Kind]) -> None:
    """Put messages into the inbox as a Treadle did that was killed then."""
    database = open_database(desk.home / ".treadle" / "treadle.db")
    writer = Writer(database.engine)
    for ts, kind in messages:
        item = Item(
            kind,
            "T0LOCAL",
            "C0GENERAL",
            root,
            ts,
            "U0ALICE",
            text="stop" if kind is Kind.STOP else "go",
            addressing=Addressing.MENTION if ts == root else Addressing.OPEN,
        )
        await Inbox(writer).store(item)
    await writer.close()
    database.close()


async def test_killed_while_a_long_thread_is_folded(desk: Desk) -> None:
    desk.config('[model]\ndialect = "native"\ncontext_tokens = 8000\n')
    gate = asyncio.Event()
    folds = 0

    def reply(request: Request) -> Say:
        nonlocal folds
        if "Write a summary for yourself" not in str(request["messages"][-1]["content"]):
            return Say("Noted.")
        folds += 1
        return Say("A garden.", gate=gate if folds == 1 else None)

    def folding_or_covered(ts: str) -> bool:
        return folds > 0 or covered(desk, root, ts)

    desk.model.play(reply)
    alice = desk.slack.person("alice")
    long = "roses and tulips " * 350
    async with process(desk) as first:
        ts = root = await alice.say("#general", f"@treadle my garden: {long}")
        await desk.answered("#general", root, covers=root)
        while not folds:
            ts = await alice.reply("#general", root, long)
            await desk.until(functools.partial(folding_or_covered, ts))
        await kill(first)
    async with process(desk):
        assert await desk.answered("#general", root, covers=ts) == "Noted."

    assert folds == 2
    assert len(rows(desk, journaled("Summary"))) == 1
    assert set(desk.bot_replies("#general", root)) == {"Noted."}
    gate.set()


def covered(desk: Desk, root: str, ts: str) -> bool:
    """Whether a message of the bot answers this one."""
    return any(
        ts in (m.get("metadata") or {}).get("event_payload", {}).get("covers", ())
        for m in desk.slack.thread("#general", root)
    )


@pytest.mark.timeout(120)
async def test_killed_with_three_hundred_unfinished_threads(desk: Desk) -> None:
    """All are taken up again, and each is answered once."""
    add_channels(desk.slack, 100)
    desk.model.play(lambda _: Say("Never.", delay=600))
    alice = desk.slack.person("alice")
    async with process(desk) as first:
        threads = [
            (f"#many-{n % 100}", await alice.say(f"#many-{n % 100}", "@treadle go"))
            for n in range(300)
        ]
        await until_stored(desk, journaled("User"), 300)
        await kill(first)
    desk.model.play(lambda _: Say("Here."))
    async with process(desk):
        await desk.until(
            lambda: all(desk.bot_replies(where, ts) for where, ts in threads), timeout=60
        )
        await desk.slack.until_delivered(60)

    assert [desk.bot_replies(where, ts) for where, ts in threads] == [["Here."]] * 300


def add_channels(slack: LocalSlack, count: int) -> None:
    slack.add_channels(
        Channel(f"C0MANY{n}", f"many-{n}", members={"U0ALICE", BOT_USER_ID}) for n in range(count)
    )


@pytest.mark.parametrize("after", [0.0, 0.05])
async def test_killed_in_its_first_start_it_starts_again(desk: Desk, after: float) -> None:
    """So many seconds after the database's file is there, which is while its tables are made."""
    desk.model.play([Say("Here.")])
    database = desk.home / ".treadle" / "treadle.db"
    starting = asyncio.create_task(first_start(desk))
    async with asyncio.timeout(30):
        while not database.exists():
            await asyncio.sleep(0)
    await asyncio.sleep(after)
    starting.cancel()
    await asyncio.gather(starting, return_exceptions=True)
    async with process(desk):
        ts = await desk.slack.person("alice").say("#general", "@treadle go")
        assert await desk.answered("#general", ts, covers=ts) == "Here."


async def first_start(desk: Desk) -> None:
    """Start it and wait for ever; a cancellation kills it."""
    async with process(desk):
        await asyncio.Event().wait()


async def test_a_disk_that_is_full_for_a_while_loses_nothing(desk: Desk) -> None:
    """The answer cannot be written down, and a message neither: it is not acknowledged."""
    gate = asyncio.Event()
    desk.model.play(lambda request: Say(told(request), gate=gate))
    alice, bob = desk.slack.person("alice"), desk.slack.person("bob")
    async with process(desk) as running:
        first = await alice.say("#general", "@treadle one")
        await desk.model.asked()
        before = resource.prlimit(running.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(running.pid, resource.RLIMIT_FSIZE, (4096, before[1]))
        second = await bob.say("#general", "@treadle two")
        gate.set()
        await desk.until(lambda: any(not r.ok for r in desk.slack.courier.records))
        assert not any(r.ok and r.about[1] == second for r in desk.slack.courier.records)
        assert desk.bot_replies("#general", first) == []
        resource.prlimit(running.pid, resource.RLIMIT_FSIZE, before)
        assert await desk.answered("#general", first, covers=first) == "One."
        assert await desk.answered("#general", second, covers=second) == "Two."
        await desk.nothing_is_left_to_do()

    assert desk.bot_replies("#general", first) == ["One."]
    assert desk.bot_replies("#general", second) == ["Two."]
    log = (desk.home / "treadle.log").read_text()
    assert "Traceback" not in log
    assert "not stored, so Slack is told to send it again: The database did not take a write" in log


@pytest.mark.wall_clock
async def test_sigterm_does_not_wait_for_a_slack_that_does_not_answer(desk: Desk) -> None:
    """The sign of life cannot be taken away; the next process does it."""
    session = "agents.sessions.setStatus"
    desk.model.play([Say("Never.", delay=600), Say("Here.")])
    async with process(desk, HASTY) as first:
        ts = await desk.slack.person("alice").say("#general", "@treadle think")
        await desk.until(lambda: is_processing(desk, ts))
        await desk.model.asked()
        desk.slack.fail(FaultRule(Effect.SERVER_ERROR, session, status=503))
        first.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(first.wait(), 10) == 0
    assert is_processing(desk, ts)
    desk.slack.fail()
    async with process(desk):
        assert await desk.answered("#general", ts, covers=ts) == "Here."
        await desk.until(lambda: not is_processing(desk, ts))


@pytest.mark.parametrize("sessions", [True, False])
async def test_a_sign_of_a_process_that_was_killed_is_taken_away_by_the_next(
    tmp_path: Path, sessions: bool
) -> None:
    """Its answer stood there already, and Slack breaks down before it takes the sign away."""
    absent = () if sessions else ("agents.sessions.setStatus", "assistant.threads.setStatus")
    method = "agents.sessions.setStatus" if sessions else "reactions.remove"
    options = Options(absent_methods=frozenset(absent), hold_while_offline=True)
    async with open_desk(tmp_path, options=options) as desk:
        gate = asyncio.Event()
        desk.model.play([Say("Once.", gate=gate)])

        def looks_busy() -> bool:
            message = desk.slack.message("#general", ts) or {}
            return is_processing(desk, ts) or bool(message.get("reactions"))

        async with process(desk) as first:
            ts = await desk.slack.person("alice").say("#general", "@treadle think")
            await desk.until(looks_busy)
            desk.slack.fail(FaultRule(Effect.SERVER_ERROR, method))
            gate.set()
            await desk.answered("#general", ts, covers=ts)
            await kill(first)
        assert looks_busy()
        desk.slack.fail(FaultRule(Effect.SERVER_ERROR, method, count=2))
        async with process(desk):
            await desk.until(lambda: not looks_busy())
            await desk.nothing_is_left_to_do()

        assert desk.bot_replies("#general", ts) == ["Once."]


async def test_sigterm_is_heard_while_it_cannot_connect(desk: Desk) -> None:
    """As `treadle run` does: the signal sets `stop`."""
    desk.slack.fail(FaultRule(Effect.REFUSE_SOCKET, status=503))
    settings = load_settings(desk.environment(), desk.home, need=Need.RUN)
    stop = asyncio.Event()
    running = asyncio.create_task(run_slack(settings, stop=stop, ready=lambda _: None))
    await desk.until(lambda: len(desk.slack.log.of("apps.connections.open")) >= 2)
    stop.set()
    await asyncio.wait_for(running, 15)


def is_processing(desk: Desk, ts: str) -> bool:
    found = desk.slack.world.sessions.session("C0GENERAL", ts)
    return found is not None and found.status == "processing"


def told(request: Request) -> str:
    return "Two." if "two" in json.dumps(request["messages"]) else "One."
