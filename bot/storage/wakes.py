"""What reaches other processes together with the work that it is about: calls and rings.

A call wakes one worker, whichever is free, for a thread at which nobody is. A ring tells all of
them, so that whoever is at the thread looks again; it may be lost (a connection that breaks), and
therefore whoever listens also looks by itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

import psycopg

from bot.storage.schema import Addition
from bot.storage.statements import News, Statement

log = logging.getLogger(__name__)

QUEUE = "treadle"
TASK = "treadle:work"
CHANNEL = "treadle_bell"
AGAIN_SECONDS = 0.5
_STOP = "stop "
_CALL = f"""
SELECT procrastinate_defer_jobs_v1(ARRAY[ROW(
  '{QUEUE}', CAST(:task AS text), 0, NULL, NULL,
  jsonb_build_object('thread', CAST(:thread AS text)), NULL
)::procrastinate_job_to_defer_v1])
"""
"""What procrastinate's own `defer` sends; its version is pinned, and a test compares."""


def call(thread: str) -> Statement:
    """One worker is to look at the thread."""
    return Statement(_CALL, {"task": TASK, "thread": thread})


def ring(thread: str, *, stop: bool) -> Statement:
    """Whoever is at the thread is to look again; `stop`: something may end what is going on."""
    note = f"{_STOP if stop else ''}{thread}"
    return Statement(f"SELECT pg_notify('{CHANNEL}', CAST(:note AS text))", {"note": note})


def on_stored(news: News) -> Sequence[Statement]:
    """`bot.storage.statements.OnStored` for many processes."""
    return [call(news.thread) if news.began else ring(news.thread, stop=news.ending)]


def queue_schema() -> Addition:
    """procrastinate's own tables, which it makes only in an empty place."""

    def sql() -> str:
        from procrastinate.schema import SchemaManager

        return str(SchemaManager.get_schema())

    return Addition("idx_procrastinate_workers_last_heartbeat", sql)


async def listen(address: str, heard: Callable[[str, bool], None]) -> None:
    """Hand each ring (thread, stop) to `heard`, until cancelled; a lost connection is made anew."""
    while True:
        try:
            async with await psycopg.AsyncConnection.connect(address, autocommit=True) as line:
                await line.execute(f"LISTEN {CHANNEL}".encode())
                async for note in line.notifies():
                    heard(note.payload.removeprefix(_STOP), note.payload.startswith(_STOP))
        except psycopg.Error as error:
            log.info("no rings for a moment: %s", type(error).__name__)
        await asyncio.sleep(AGAIN_SECONDS)
