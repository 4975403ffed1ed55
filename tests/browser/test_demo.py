"""The demo as a person tries it: each example that its page offers does what it promises."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from bot.demo import demo_home
from bot.main import demo_settings, run_demo

pytestmark = [
    pytest.mark.browser,
    pytest.mark.needs("bwrap"),
    pytest.mark.asyncio(loop_scope="session"),
]

PROMISED = {
    "@treadle what is 17 * 23?": ["17 * 23 = 391"],
    "@treadle write notes.txt: hello then read notes.txt": ["notes.txt says:", "hello"],
    "@treadle run ls -l": ["Exit code 0", "notes.txt"],
}
"""Every example, and what the answer to it holds."""


@asynccontextmanager
async def demo(project: Path) -> AsyncIterator[str]:
    """The demo of this directory at work; the value is its page's address."""
    stop: asyncio.Event = asyncio.Event()
    address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    settings = demo_settings({}, project)
    task = asyncio.create_task(run_demo(settings, stop=stop, ready=address.set_result, port=0))
    try:
        either: set[asyncio.Future[Any]] = {task, address}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        yield address.result()
    finally:
        stop.set()
        await task
        shutil.rmtree(demo_home(project, os.geteuid()), ignore_errors=True)


async def test_every_example_that_the_page_offers_works(browser: Browser, tmp_path: Path) -> None:
    async with demo(tmp_path) as address, await browser.new_page() as page:
        await page.goto(address)
        chips = page.locator(".chip")
        await expect(chips).to_have_count(len(PROMISED))
        assert await chips.all_inner_texts() == list(PROMISED)

        await page.get_by_role("button", name="@treadle run ls -l").click()
        composer = page.locator("#channel .composer textarea")
        await expect(composer).to_have_value("@treadle run ls -l")

        for text, said in PROMISED.items():
            await composer.fill(text)
            await composer.press("Enter")
            answer = page.locator("#thread article.message").last
            for part in [*said, "Rehearsal model"]:
                await expect(answer).to_contain_text(part)
