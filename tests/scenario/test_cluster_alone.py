"""The commands on PostgreSQL: one process that does all, and a worker that has no server."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bot.cli import app
from tests.doubles.desk import Desk
from tests.doubles.model_endpoint import Say

pytestmark = pytest.mark.wall_clock
"""Processes are taken for dead after a second or two: a busy host may be slower."""

ROOT = Path(__file__).parents[2]


async def test_one_process_takes_in_and_works_where_it_is_asked_to(
    desk: Desk, postgres: str
) -> None:
    desk.model.play([Say("Hello.")])
    own = {"PATH": os.environ["PATH"], "HOME": str(desk.home), "PYTHONPATH": str(ROOT)}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bot", "run", "--work", "--turns", "2"),
        cwd=desk.home,
        env=desk.environment(TREADLE_DATABASE_URL=postgres, **own),
    )
    try:
        await desk.until(lambda: desk.slack.connected, timeout=30)
        ts = await desk.slack.person("alice").say("#general", "@treadle hi")
        assert await desk.answered("#general", ts, covers=ts) == "Hello."
    finally:
        process.send_signal(signal.SIGTERM)
        ended = await asyncio.wait_for(process.wait(), 15)

    assert ended == 0


def test_a_worker_needs_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given = {"SLACK_BOT_TOKEN": "xoxb-0000-1111-abcdefgh", "OPENAI_API_KEY": "sk-nobody-asks"}
    done = CliRunner().invoke(app, ["work"], env=given)

    assert done.exit_code == 1
    assert (
        "Workers share a PostgreSQL database, and TREADLE_DATABASE_URL names none." in done.output
    )
