"""Begins a process's chain, keeps its head where the database is not, and ends it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from bot import words
from bot.audit.chain import Head
from bot.audit.records import Json
from bot.errors import StorageError
from bot.storage.audit import Audit
from bot.storage.audit_heads import HeadFiles
from bot.storage.audit_retention import prune
from bot.storage.writer import Writer

log = logging.getLogger(__name__)
heads = logging.getLogger("bot.audit.heads")
"""Where heads are logged, so that they can be switched on apart from everything else."""

FILE_SECONDS = 30.0
LOG_SECONDS = 3600.0
PRUNE_SECONDS = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Upkeep:
    """What is done beside the writing; `keep_days` None keeps everything."""

    writer: Writer
    audit: Audit
    files: HeadFiles
    keep_days: int | None = None
    every: float = FILE_SECONDS

    @asynccontextmanager
    async def running(self, about: Mapping[str, Json]) -> AsyncIterator[None]:
        """Meanwhile the process has a chain; `about` stands in its first row."""
        await self.audit.start(about)
        head = await self._write(None)
        task = asyncio.create_task(self._repeat(head))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await self._end()

    async def _end(self) -> None:
        try:
            await self.audit.stop()
            self._log(await self._write(None))
        except StorageError as error:
            log.error("%s", error)

    async def _repeat(self, head: Head | None) -> None:
        logged = pruned = float("-inf")
        while True:
            now = time.monotonic()
            try:
                head = await self._write(head)
                if self.keep_days is not None and now - pruned >= PRUNE_SECONDS:
                    await self._prune(self.keep_days)
                    pruned = now
            except StorageError as error:  # said again as long as it is so; the bot goes on
                log.error("%s", error)
            if now - logged >= LOG_SECONDS:
                self._log(head)
                logged = now
            await asyncio.sleep(self.every)

    async def _write(self, known: Head | None) -> Head | None:
        """Keep the newest head, if it is not the one that is known."""
        head = await self.audit.head()
        if head is not None and head != known:
            await asyncio.to_thread(self.files.write, head)
        return head

    async def _prune(self, days: int) -> None:
        before = round((time.time() - days * 24 * 3600) * 1_000_000)
        gone = await prune(self.writer, self.audit, before)
        await asyncio.to_thread(self.files.forget, gone)

    def _log(self, head: Head | None) -> None:
        if head is not None:
            heads.info("%s", words.audit_head(str(head)))
