"""Several processes on one PostgreSQL database: people see what one process would do.

One process takes events in and two work, on one thread at a time each, so that two threads at once
are always two processes. They are started once; a test that ends one of them starts another.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from bot.local_slack.faults import Effect, FaultRule
from bot.local_slack.options import Options
from bot.local_slack.world import Channel
from tests.doubles.cluster import Cluster, Member, open_cluster
from tests.doubles.desk import Desk, arguments, open_desk
from tests.doubles.model_endpoint import Reply, Request, Say
from tests.doubles.postgres import PostgresServer
from tests.doubles.shell import open_place

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(90),
    pytest.mark.wall_clock,
]

SOON = 1.0
TOOLS = '''
"""Tools that tell when they begin and end, and by which process."""

import asyncio
import os
from pathlib import Path

from tools.base import tool


async def told(name: str, seconds: float) -> str:
    with Path("told.txt").open("a") as log:
        log.write(f"begin {name} {os.getpid()}\\n")
    await asyncio.sleep(seconds)
    with Path("told.txt").open("a") as log:
        log.write(f"end {name} {os.getpid()}\\n")
    return f"Told {name}."


@tool(changes=True)
async def deploy(name: str, seconds: float) -> str:
    """Deploy something.

    Args:
        name: what
        seconds: how long it takes
    """
    return await told(name, seconds)


@tool(changes=True, alone=True)
async def rewrite(name: str, seconds: float) -> str:
    """Rewrite a file, as edit_file does but slower.

    Args:
        name: which
        seconds: how long it takes
    """
    return await told(name, seconds)
'''
CONFIG = """
[tools]
modules = ["own.py"]
[[policy]]
tool = "write_file"
decision = "ask"
"""
FURTHER = [f"room{number}" for number in range(8)]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(postgres_server: PostgresServer) -> AsyncIterator[Cluster]:
    url = postgres_server.create()
    with open_place() as place:
        options = Options(ack_seconds=2.0, retry_scale=0.02)
        async with open_desk(place, options=options) as desk:
            here = {"U0ALICE", "U0BOB", "U0ADA", "U0TREADLE"}
            desk.slack.add_channels(
                Channel(f"C0ROOM{number}", name, members=set(here))
                for number, name in enumerate(FURTHER)
            )
            (place / "own.py").write_text(TOOLS)
            desk.config(CONFIG)
            async with open_cluster(desk, url) as opened:
                await opened.workers(2, turns=1)
                yield opened
    postgres_server.drop(url)


@pytest_asyncio.fixture(loop_scope="module")
async def cluster(house: Cluster) -> AsyncIterator[Cluster]:
    """With nothing going on and two workers."""
    house.desk.model.requests.clear()
    house.desk.slack.log.clear()
    (house.desk.home / "told.txt").unlink(missing_ok=True)
    yield house
    house.desk.slack.fail()
    while len(house.working) < 2:
        await house.start("WORK", turns=1)
    await house.idle()


def script(**replies: list[Say]) -> Callable[[Request], Reply]:
    """Each thread has replies of its own, by a word of its question."""

    def reply(request: Request) -> Reply:
        messages = request["messages"]
        first = next(str(m["content"]) for m in messages if m["role"] == "user")
        (word,) = [word for word in replies if word in first]
        return replies[word].pop(0)

    return reply


def call(tool: str, **values: object) -> tuple[tuple[str, str], ...]:
    return ((tool, arguments(**values)),)


async def told(home: Path, count: int) -> list[str]:
    """The lines that the tools wrote, as soon as there are so many."""
    path = home / "told.txt"
    async with asyncio.timeout(20):
        while not path.exists() or len(path.read_text().splitlines()) < count:
            await asyncio.sleep(0.02)
    return path.read_text().splitlines()


async def say(desk: Desk, text: str, channel: str = "#general") -> str:
    return await desk.slack.person("alice").say(channel, f"@treadle {text}")


async def over(member: Member, seconds: float = 15.0) -> int:
    return await asyncio.wait_for(member.process.wait(), seconds)


async def test_threads_are_spread_over_the_workers_and_each_is_answered_once(
    cluster: Cluster,
) -> None:
    desk = cluster.desk
    desk.model.play(lambda request: Say("Here.", delay=0.2))
    roots = [(name, await say(desk, "hello", f"#{name}")) for name in FURTHER]
    for name, root in roots:
        assert await desk.answered(f"#{name}", root, covers=root) == "Here."
    await cluster.idle()

    rows = await cluster.ask("SELECT DISTINCT split_part(token, '-', 1) FROM journal")
    assert {str(pid) for (pid,) in rows} == {str(m.process.pid) for m in cluster.working}
    assert [len(desk.bot_replies(f"#{name}", root)) for name, root in roots] == [1] * len(roots)


async def test_an_intake_that_is_alone_says_so_and_says_when_it_no_longer_is(
    cluster: Cluster,
) -> None:
    intake = cluster.members[0]
    lonely = [line for line in intake.log if "No worker is alive" in line]
    assert len(lonely) <= 1
    for member in cluster.working:
        await member.kill()
    await cluster.until(lambda: intake.says("No worker is alive"))
    desk = cluster.desk
    desk.model.play([Say("Late.")])
    root = await say(desk, "is anybody there?")
    await cluster.start("WORK", turns=1)
    assert await desk.answered("#general", root, covers=root) == "Late."
    await cluster.until(lambda: intake.says("A worker is there again"))


async def test_a_message_meanwhile_reaches_the_worker_that_has_the_thread(
    cluster: Cluster,
) -> None:
    desk = cluster.desk
    gate = asyncio.Event()
    desk.model.play(
        [Say("I look.", calls=call("calculate", expression="1+1"), gate=gate), Say("Both.")]
    )
    root = await say(desk, "first")
    await desk.model.asked()
    second = await desk.slack.person("alice").reply("#general", root, "and second")
    await desk.slack.until_delivered()
    await cluster.until_rows("SELECT 1 FROM inbox WHERE ts = %s", second)
    gate.set()
    assert await desk.answered("#general", root, covers=second) == "Both."

    assert "and second" in str(desk.model.requests[1]["messages"])
    assert len(desk.model.requests) == 2


@pytest.mark.wall_clock
async def test_a_stop_reaches_the_worker_that_has_the_thread_within_a_second(
    cluster: Cluster,
) -> None:
    desk = cluster.desk
    desk.model.play([Say("Never.", delay=60)])
    root = await say(desk, "think")
    await desk.model.asked()
    at = time.monotonic()
    await desk.slack.person("alice").reply("#general", root, "stop")
    await desk.model.broken_off(SOON)
    notice = await desk.answered("#general", root, covers=root)

    assert notice.startswith("Stopped by alice.")
    assert time.monotonic() - at < 2 * SOON  # the notice is posted after that


async def test_a_stop_whose_ring_is_lost_is_found_by_looking(cluster: Cluster) -> None:
    desk = cluster.desk
    desk.model.play([Say("Never.", delay=60)])
    root = await say(desk, "think")
    await desk.model.asked()
    ((thread,),) = await cluster.ask("SELECT thread FROM threads WHERE busy")
    await cluster.ask(
        "INSERT INTO inbox (thread, kind, key, ts, body, received_at) "
        "SELECT thread, 'stop', 'no ring', %s, replace(replace(body, %s, %s), %s, %s), 0 "
        "FROM (SELECT thread, %s AS body FROM threads WHERE thread = %s) one RETURNING id",
        f"{float(root) + 1:.6f}",
        *("TS", f"{float(root) + 1:.6f}", "ROOT", root),
        STOP,
        thread,
    )
    assert (await desk.answered("#general", root, covers=root)).startswith("Stopped by alice.")


STOP = (
    '{"kind": "stop", "team": "T0LOCAL", "channel": "C0GENERAL", "root_ts": "ROOT", "ts": "TS",'
    ' "author": "U0ALICE", "text": "", "addressing": "open", "is_bot": false, "author_team": "",'
    ' "files": [], "event_id": null, "change": "", "about": "", "reply_url": ""}'
)


async def test_events_that_slack_repeats_make_one_turn(cluster: Cluster) -> None:
    desk = cluster.desk
    desk.slack.fail(
        FaultRule(Effect.REPEAT, "*", copies=2), FaultRule(Effect.REPEAT_NEW_ID, "*", copies=2)
    )
    desk.model.play(lambda request: Say("Once."))
    roots = [(name, await say(desk, "hello", f"#{name}")) for name in FURTHER[:3]]
    for name, root in roots:
        await desk.answered(f"#{name}", root, covers=root)
    await desk.slack.until_delivered()
    await cluster.idle()

    assert [desk.bot_replies(f"#{name}", root) for name, root in roots] == [["Once."]] * 3
    assert len(desk.model.requests) == 3


async def test_the_answer_to_a_question_wakes_the_thread(cluster: Cluster) -> None:
    desk = cluster.desk
    write = call("write_file", path="n.txt", content="seven")
    desk.model.play([Say("I write.", calls=write), Say("Written.")])
    root = await say(desk, "write seven")
    card = await desk.until(
        lambda: next((m for m in desk.slack.thread("#general", root) if "actions" in str(m)), None)
    )
    await cluster.idle()
    await desk.slack.person("ada").click(card, "treadle_approve")

    assert await desk.answered("#general", root, covers=root) == "Written."
    assert (desk.workspace() / "n.txt").read_text() == "seven"


async def test_posts_of_all_processes_keep_to_the_pace_of_their_channel(cluster: Cluster) -> None:
    """Somebody has used up the channel's slots for the next two seconds."""
    desk = cluster.desk
    desk.model.play(lambda request: Say("Here."))
    lane = "chat.postMessage C0OPS"
    ((used_up,),) = await cluster.ask(
        "INSERT INTO pacing VALUES (%s, extract(epoch from now()) + 4) RETURNING free_at", lane
    )
    at = time.monotonic()
    roots = [await say(desk, "hello", "#ops") for _ in range(2)]
    await desk.until(lambda: desk.slack.log.of("chat.postMessage"))
    assert time.monotonic() - at > 1.9
    for root in roots:
        await desk.answered("#ops", root, covers=root)

    ((after,),) = await cluster.ask("SELECT free_at FROM pacing WHERE lane = %s", lane)
    assert float(str(after)) - float(str(used_up)) > 1.9  # each took a slot of one second


async def test_when_slack_asks_one_process_to_wait_the_others_do(cluster: Cluster) -> None:
    desk, gate = cluster.desk, asyncio.Event()
    desk.model.play(script(one=[Say("One.")], two=[Say("Two.", gate=gate)]))
    desk.slack.fail(FaultRule(Effect.RATE_LIMIT, "chat.postMessage", count=1, seconds=2.0))
    roots = [await say(desk, "one", "#room0"), await say(desk, "two", "#room0")]
    await desk.model.asked(2)
    posts = desk.slack.log.of
    await cluster.until(lambda: any(one.status == 429 for one in posts("chat.postMessage")))
    await cluster.until_rows("SELECT 1 FROM pacing WHERE free_at > extract(epoch from now()) + 3")
    gate.set()
    for root in roots:
        await desk.answered("#room0", root, covers=root)

    refused, *taken = posts("chat.postMessage")
    assert [one.ok for one in taken] == [True, True]
    assert min(one.at for one in taken) - refused.at > 1.9


async def test_calls_that_change_a_workspace_s_files_wait_for_each_other(
    cluster: Cluster,
) -> None:
    desk = cluster.desk
    desk.model.play(
        script(
            one=[Say("", calls=call("rewrite", name="one", seconds=0.5)), Say("One.")],
            two=[Say("", calls=call("rewrite", name="two", seconds=0.5)), Say("Two.")],
        )
    )
    roots = [await say(desk, "one"), await say(desk, "two")]
    for root in roots:
        await desk.answered("#general", root, covers=root)

    lines = [line.split() for line in await told(desk.home, 4)]
    assert [line[0] for line in lines] == ["begin", "end", "begin", "end"]
    assert lines[0][1:] == lines[1][1:]
    assert lines[0][2] != lines[2][2]


@pytest.mark.needs("bwrap")
async def test_one_command_at_a_time_runs_in_a_workspace(cluster: Cluster) -> None:
    desk = cluster.desk
    command = "echo begin >> log; sleep 0.5; echo end >> log"
    run = call("run_command", command=command)
    desk.model.play(
        script(one=[Say("", calls=run), Say("One.")], two=[Say("", calls=run), Say("Two.")])
    )
    roots = [await say(desk, "one", "#ops"), await say(desk, "two", "#ops")]
    for root in roots:
        await desk.answered("#ops", root, covers=root)

    log = desk.workspace("T0LOCAL-C0OPS") / "log"
    assert log.read_text().split() == ["begin", "end", "begin", "end"]


async def test_a_worker_with_another_workspace_does_not_start(
    cluster: Cluster, tmp_path: Path
) -> None:
    stranger = await cluster.spawn("WORK", TREADLE_WORKSPACE=str(tmp_path / "elsewhere"))

    assert await over(stranger, 30) == 1
    assert stranger.says("is not the one that the other workers use")


async def test_what_a_killed_worker_had_begun_goes_on_elsewhere(cluster: Cluster) -> None:
    desk = cluster.desk
    deploy = call("deploy", name="v7", seconds=600)
    desk.model.play([Say("I deploy.", calls=deploy), Say("It was interrupted.")])
    root = await say(desk, "deploy")
    await told(desk.home, 1)
    await (await cluster.worker_of(root)).kill()

    assert await desk.answered("#general", root, covers=root) == "It was interrupted."
    assert len(await told(desk.home, 1)) == 1
    (first, last) = desk.model.requests
    assert "deploy was started, then Treadle was interrupted" in str(last["messages"])
    assert "interrupted" not in str(first["messages"])


async def test_a_frozen_worker_that_wakes_late_writes_and_posts_nothing_and_says_so(
    cluster: Cluster,
) -> None:
    desk = cluster.desk
    gate = asyncio.Event()
    desk.model.play([Say("From the frozen one.", gate=gate), Say("From its successor.")])
    root = await say(desk, "think")
    await desk.model.asked()
    frozen = await cluster.worker_of(root)
    frozen.send(signal.SIGSTOP)
    # If that was in a transaction, the server ends its session after ten seconds.
    await desk.until(lambda: desk.bot_replies("#general", root), timeout=30)
    await cluster.idle()
    gate.set()
    frozen.send(signal.SIGCONT)
    await cluster.until(lambda: frozen.says("Another runner has taken over the thread"))
    desk.model.play([Say("Still here."), Say("Still here.")])
    for name in FURTHER[:2]:  # both work on
        again = await say(desk, "again", f"#{name}")
        assert await desk.answered(f"#{name}", again, covers=again) == "Still here."

    assert desk.bot_replies("#general", root) == ["From its successor."]
    entries = await cluster.ask(
        "SELECT body FROM journal WHERE thread LIKE %s ORDER BY seq", f"%:{root}"
    )
    assert ["Resumed" in str(body) for (body,) in entries].count(True) == 1


async def test_a_worker_that_is_asked_to_end_hands_its_threads_on(cluster: Cluster) -> None:
    desk = cluster.desk
    desk.model.play([Say("Never.", delay=60), Say("From the next.")])
    root = await say(desk, "think")
    await desk.model.asked()
    leaving = await cluster.worker_of(root)
    leaving.send(signal.SIGTERM)

    assert await over(leaving) == 0
    assert await desk.answered("#general", root, covers=root) == "From the next."


async def test_a_worker_can_be_ended_while_the_database_is_away(
    cluster: Cluster, postgres_server: PostgresServer
) -> None:
    desk = cluster.desk
    desk.model.play([Say("Never.", delay=60), Say("From the next.")])
    root = await say(desk, "think")
    await desk.model.asked()
    leaving = await cluster.worker_of(root)
    with postgres_server.down():
        leaving.send(signal.SIGTERM)
        assert await over(leaving, 15) == 0

    assert await desk.answered("#general", root, covers=root) == "From the next."


async def test_a_turn_survives_the_restart_of_the_database(
    cluster: Cluster, postgres_server: PostgresServer
) -> None:
    desk = cluster.desk
    gate = asyncio.Event()
    deploy = call("deploy", name="v8", seconds=0.1)
    desk.model.play([Say("I deploy.", calls=deploy, gate=gate), Say("Deployed.")])
    root = await say(desk, "deploy")
    await desk.model.asked()
    await asyncio.to_thread(postgres_server.restart)
    gate.set()
    assert await desk.answered("#general", root, covers=root) == "Deployed."
    desk.model.play([Say("Still here."), Say("Still here.")])
    for name in FURTHER[:2]:
        again = await say(desk, "again", f"#{name}")
        assert await desk.answered(f"#{name}", again, covers=again) == "Still here."

    entries = await cluster.ask("SELECT body FROM journal WHERE thread LIKE %s", f"%:{root}")
    assert not any("Resumed" in str(body) for (body,) in entries)
    assert len(await told(desk.home, 2)) == 2
