"""Calls from the queue: procrastinate brings each one to a worker that has a place free."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from procrastinate import App, PsycopgConnector

from bot import words
from bot.storage.claims import FORGOTTEN_SECONDS
from bot.storage.wakes import QUEUE, TASK

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0
"""How often calls are looked for that were not announced."""
AWAY_SECONDS = 3.0
"""How long the queue waits for a connection: also when this process is to end, which has ten."""
AGAIN_SECONDS = 0.5
"""After the worker has ended by itself, before it is started again."""


class Calls:
    """Takes calls for threads, `places` at a time, from `take` until it is cancelled.

    A call keeps its place until `attend` returns. `beat`: seconds between signs of life.
    """

    def __init__(
        self, address: str, attend: Callable[[str], Awaitable[None]], places: int, beat: float
    ) -> None:
        self._address, self._attend = address, attend
        self._places, self._beat = places, beat

    async def take(self) -> None:
        """Run until cancelled.

        The worker ends, with or without an error, when one of its connections breaks; what it had
        begun goes on meanwhile, and it is started again.
        """
        for library in ("procrastinate", "psycopg.pool"):  # what counts is said here
            logging.getLogger(library).setLevel(logging.CRITICAL)
        while True:
            try:
                await self._work()
                log.warning("%s", words.queue_again("it ended"))
            except Exception as error:
                task = asyncio.current_task()
                if task is not None and task.cancelling():  # it broke while it was being ended
                    raise asyncio.CancelledError from error
                log.warning("%s", words.queue_again(type(error).__name__))
            await asyncio.sleep(AGAIN_SECONDS)

    async def _work(self) -> None:
        async with self._app().open_async() as app:
            await app.run_worker_async(
                queues=[QUEUE],
                name="treadle",
                concurrency=self._places,
                fetch_job_polling_interval=POLL_SECONDS,
                abort_job_polling_interval=3600.0,  # nobody asks for that
                shutdown_graceful_timeout=0.0,  # a call only waits for what goes on without it
                delete_jobs="always",
                install_signal_handlers=False,
                update_heartbeat_interval=self._beat,
                stalled_worker_timeout=FORGOTTEN_SECONDS,
            )

    def _app(self) -> App:
        connector = PsycopgConnector(
            conninfo=self._address, min_size=1, max_size=2, timeout=AWAY_SECONDS
        )
        app = App(connector=connector)

        @app.task(name=TASK)
        async def work(thread: str) -> None:
            await self._attend(thread)

        # Without any periodic task, procrastinate does not notice when a connection breaks.
        @app.periodic(cron="0 4 * * *")
        @app.task(name="treadle:nothing", queue=QUEUE)
        async def nothing(timestamp: int) -> None:
            """Keeps the worker's watch on its own connections going."""

        return app
