"""Tools of one's own that block, spin or hoard: their own thread waits, and nobody else."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.doubles.desk import Desk, arguments, open_desk
from tests.doubles.model_endpoint import Request, Say
from tests.doubles.shell import open_place

ACKNOWLEDGED = 3.0
"""Seconds: so long does Slack wait. The stand-in, whose clock this is, shares the process."""
MORE_THAN_ANY_POOL = 12
"""Python's own pool of threads has four more than there are processors, at most 32."""
OWN = '''
"""Tools that are written as badly as tools can be."""

import time
from pathlib import Path

from tools.base import ToolContext, tool

LET_GO, HOARD = Path("let_go.txt"), []


@tool()
def block(number: int) -> str:
    """Sleep until a file is there.

    Args:
        number: which one
    """
    Path(f"begun-{number}.txt").touch()
    while not LET_GO.exists():
        time.sleep(0.05)
    return "Let go."


@tool()
async def hold_the_loop(number: int) -> str:
    """The same in an async function, which never yields.

    Args:
        number: which one
    """
    Path(f"begun-{number}.txt").touch()
    while not LET_GO.exists():
        time.sleep(0.05)
    return "Let go."


@tool()
def spin(number: int) -> str:
    """Keep a processor busy until a file is there.

    Args:
        number: which one
    """
    Path(f"begun-{number}.txt").touch()
    while not LET_GO.exists():
        sum(range(20_000))
    return "Let go."


@tool()
def hoard(number: int) -> str:
    """Leak 2 MB again and again until a file is there, at most 200 MB.

    Args:
        number: which one
    """
    Path(f"begun-{number}.txt").touch()
    while not LET_GO.exists():
        if len(HOARD) < 100:
            HOARD.append(bytearray(b"x") * 2_000_000)
        time.sleep(0.01)
    HOARD.clear()
    return "Let go."


@tool()
def exhaust(number: int) -> str:
    """Want more memory than there is.

    Args:
        number: how many exbibytes
    """
    return str(len(bytearray(number << 60)))


@tool()
async def shout(context: ToolContext, number: int) -> str:
    """Use the sandbox from an async tool.

    Args:
        number: what is said
    """
    done = await context.sandbox.run(context.workspace, f"echo {number} >said.txt; cat said.txt")
    return done.text
'''


@pytest.fixture
def place() -> Iterator[Path]:
    with open_place() as path:
        yield path


@pytest.fixture
async def desk(place: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    (place / "own.py").write_text(OWN, "utf-8")
    monkeypatch.chdir(place)
    async with open_desk(place) as opened:
        opened.config('[tools]\nmodules = ["own.py"]')
        try:
            yield opened
        finally:
            (place / "let_go.txt").touch()


def reply(request: Request) -> Say:
    """Whoever says "use NAME NUMBER" gets that tool called, who says "count" a sum."""
    messages = request["messages"]
    if messages[-1]["role"] == "tool":
        return Say(f"Done: {messages[-1]['content'][:40]}")
    words = str(messages[-1]["content"]).split()
    if "use" in words:
        name, number = words[words.index("use") + 1 :][:2]
        return Say("I use it.", calls=((name, arguments(number=int(number))),))
    if "count" in words:
        return Say("I count.", calls=(("calculate", arguments(expression="6 * 7")),))
    return Say("Hello.")


async def begun(desk: Desk, count: int) -> None:
    async with asyncio.timeout(15):
        while len(list(desk.home.glob("begun-*.txt"))) < count:
            await asyncio.sleep(0.02)


@pytest.mark.wall_clock
@pytest.mark.parametrize("name", ["block", "hold_the_loop", "spin", "hoard"])
async def test_a_tool_that_blocks_does_not_keep_others_from_being_heard_and_answered(
    desk: Desk, name: str
) -> None:
    desk.model.play(reply)
    alice, bob = desk.slack.person("alice"), desk.slack.person("bob")
    async with desk.treadle():
        stuck = await alice.say("#general", f"@treadle use {name} 1")
        await begun(desk, 1)
        desk.slack.courier.records.clear()
        others = [await bob.say("#general", f"@treadle hello {n}") for n in range(3)]
        for root in others:
            assert await desk.answered("#general", root, covers=root) == "Hello."
        await desk.slack.until_delivered()
        late = [r for r in desk.slack.courier.records if not r.ok or r.seconds > ACKNOWLEDGED]
        assert late == []
        (desk.home / "let_go.txt").touch()
        assert await desk.answered("#general", stuck, covers=stuck) == "Done: Let go."


async def test_ever_so_many_blocking_tools_leave_the_other_threads_their_tools(desk: Desk) -> None:
    desk.model.play(reply)
    alice, bob = desk.slack.person("alice"), desk.slack.person("bob")
    async with desk.treadle():
        for number in range(MORE_THAN_ANY_POOL):
            await alice.say("#general", f"@treadle use block {number}")
        await begun(desk, MORE_THAN_ANY_POOL)
        root = await bob.say("#general", "@treadle count")
        assert await desk.answered("#general", root, covers=root) == "Done: 42"
        (desk.home / "let_go.txt").touch()


@pytest.mark.wall_clock
@pytest.mark.parametrize("name", ["block", "hold_the_loop"])
async def test_a_tool_that_blocks_is_left_behind_by_a_stop(desk: Desk, name: str) -> None:
    desk.model.play(reply)
    alice = desk.slack.person("alice")
    async with desk.treadle():
        root = await alice.say("#general", f"@treadle use {name} 1")
        await begun(desk, 1)
        at = time.monotonic()
        await alice.reply("#general", root, "stop")
        notice = await desk.answered("#general", root, covers=root)
        assert time.monotonic() - at < 1.0

    assert notice.startswith(
        f"Stopped by alice. Broken off, so it may or may not have happened: {name}."
    )


async def test_a_tool_that_wants_more_memory_than_there_is_fails_by_itself(desk: Desk) -> None:
    desk.model.play(reply)
    alice = desk.slack.person("alice")
    async with desk.treadle():
        root = await alice.say("#general", "@treadle use exhaust 4")
        said = await desk.answered("#general", root, covers=root)

    assert said.startswith("Done: The tool exhaust failed by a fault")


@pytest.mark.needs("bwrap")
async def test_an_async_tool_may_use_the_sandbox(desk: Desk) -> None:
    desk.model.play(reply)
    alice = desk.slack.person("alice")
    async with desk.treadle():
        roots = [await alice.say("#general", f"@treadle use shout {n}") for n in range(2)]
        said = [await desk.answered("#general", root, covers=root) for root in roots]

    assert said == ["Done: 0", "Done: 1"]
