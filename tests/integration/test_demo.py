"""`treadle demo` as a person starts it: where its page is, and what it says if it cannot start."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import aiohttp
import pytest

from bot.demo import USUAL_PORT, demo_home

ROOT = Path(__file__).parents[2]
SECONDS = 50


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    """A directory to start the demo in; what it keeps elsewhere (as root) is removed."""
    yield tmp_path
    shutil.rmtree(demo_home(tmp_path, os.geteuid()), ignore_errors=True)


@asynccontextmanager
async def demo(project: Path, *arguments: str) -> AsyncIterator[Process]:
    own = {name: text for name, text in os.environ.items() if not name.startswith("OPENAI_")}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bot", "demo", "--no-browser", *arguments),
        cwd=project,
        env={**own, "PYTHONPATH": str(ROOT)},
        stdout=PIPE,
        stderr=PIPE,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.communicate()


async def refusal(project: Path, *arguments: str) -> str:
    """What the demo says on stderr when it does not start."""
    async with demo(project, *arguments) as process:
        out, err = await asyncio.wait_for(process.communicate(), SECONDS)
    assert (process.returncode, out) == (1, b"")
    return err.decode()


@contextmanager
def taken(port: int = 0) -> Iterator[int]:
    """A port of this machine that another program has."""
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with suppress(OSError):  # then it is taken already
            other.bind(("127.0.0.1", port))
            other.listen()
            port = other.getsockname()[1]
        yield port


@pytest.mark.needs("bwrap")
async def test_where_its_usual_port_is_taken_it_picks_a_free_one_and_says_the_address(
    project: Path,
) -> None:
    with taken(USUAL_PORT):
        async with demo(project) as process:
            assert process.stdout is not None
            line = await asyncio.wait_for(process.stdout.readline(), SECONDS)
            found = re.search(r"http://127\.0\.0\.1:(\d+)/\?token=\S+", line.decode())
            assert found is not None, line
            assert int(found[1]) != USUAL_PORT
            async with aiohttp.ClientSession() as http, http.get(found[0]) as page:
                assert page.status == 200

            process.send_signal(signal.SIGTERM)
            _, err = await asyncio.wait_for(process.communicate(), SECONDS)
    assert (process.returncode, err) == (0, b"")


async def test_a_port_that_was_asked_for_and_is_taken_is_one_sentence(project: Path) -> None:
    with taken() as port:
        said = await refusal(project, "--port", str(port))

    assert said == (
        f"Treadle cannot listen on 127.0.0.1:{port} (address already in use). "
        "Name another port with --port.\n"
    )


async def test_a_saved_state_that_cannot_be_read_is_one_sentence(project: Path) -> None:
    home = demo_home(project, os.geteuid())
    home.mkdir(parents=True)
    (home / "slack.json").write_text("{")

    said = await refusal(project, "--port", "0")

    assert said.startswith(f"The saved workspace {home}/slack.json cannot be read (")
    assert said.endswith("); move it away to start with an empty one.\n")
    assert said.count("\n") == 1


async def test_a_place_where_it_cannot_write_is_one_sentence(project: Path) -> None:
    home = demo_home(project, os.geteuid())
    home.parent.mkdir(parents=True, exist_ok=True)
    home.write_text("a file where the directory belongs")
    try:
        async with demo(project) as process:
            out, err = await asyncio.wait_for(process.communicate(), SECONDS)
    finally:
        home.unlink()

    assert (process.returncode, out) == (2, b"")
    assert err.decode() == (
        f"The demo cannot keep its state in {home} (File exists). "
        "Start it in a directory where you may write.\n"
    )


@pytest.mark.parametrize("port", ["-1", "65536"])
async def test_a_number_that_is_no_port_is_refused_as_an_option(project: Path, port: str) -> None:
    async with demo(project, "--port", port) as process:
        _, err = await asyncio.wait_for(process.communicate(), SECONDS)

    assert process.returncode == 2
    assert b"Invalid value" in err
    assert b"Traceback" not in err
