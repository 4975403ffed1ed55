"""Makes the pictures of docs/admin.md: `python -m tests.browser.picture_admin`.

An admin's Home with a few rules, the window for a new rule, and a refusal with its explanation.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import Page, async_playwright

from tests.doubles.desk import Desk, arguments, open_desk
from tests.doubles.model_endpoint import Say

TARGET = Path(__file__).parents[2] / "docs" / "images"
CHROMIUM = os.environ.get("TREADLE_CHROMIUM", "/usr/bin/chromium")
RULES = """
[[policy]]
tool = "run_command"
decision = "deny"
channel = "!C0OPS"
"""
LINES = (
    "ask write_file for members",
    "allow write_file when path matches reports/.*",
    "deny everything for guests",
    "verbosity full in #ops",
)


async def main() -> None:
    async with picture_desk() as desk, desk.treadle(), chromium() as page:
        for line in LINES:
            await desk.command("ada", line)
        gate = asyncio.Event()
        desk.model.play(lambda _: Say("Soon.", gate=gate))
        await desk.slack.person("bob").say("#ops", "@treadle which disk is full?")
        await desk.model.asked()
        await home(desk, page)
        gate.set()
        await refusal(desk, page)


@asynccontextmanager
async def picture_desk() -> AsyncIterator[Desk]:
    """A desk in a place that the sandbox's user can reach."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as home:
        Path(home).chmod(0o755)
        async with open_desk(Path(home)) as desk:
            desk.config(RULES)
            yield desk


@asynccontextmanager
async def chromium() -> AsyncIterator[Page]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        yield await browser.new_page(viewport={"width": 1180, "height": 1560})
        await browser.close()


async def home(desk: Desk, page: Page) -> None:
    await page.goto(f"{desk.slack.page_url}&user=U0ADA#/app/home")
    await page.get_by_text("Administration").wait_for()
    await page.screenshot(path=TARGET / "home.png")
    await page.get_by_role("button", name="Add a rule").click()
    await page.get_by_role("dialog", name="Add a rule").wait_for()
    await page.set_viewport_size({"width": 1180, "height": 1150})
    await page.screenshot(path=TARGET / "rule.png")


async def refusal(desk: Desk, page: Page) -> None:
    call = ("run_command", arguments(command="df -h"))
    desk.model.play(
        [
            Say("I look at the disks.", calls=(call,)),
            Say("I may not run commands in this channel. Ask me again in #ops."),
        ]
    )
    bob = desk.slack.person("bob")
    ts = await bob.say("#general", "@treadle which disk of db1 is full?")
    await desk.answered("#general", ts, covers=ts)
    why = await bob.reply("#general", ts, "@treadle !why")
    await desk.answered("#general", ts, covers=why)
    await page.set_viewport_size({"width": 1180, "height": 700})
    await page.goto("about:blank")
    await page.goto(f"{desk.slack.page_url}&user=U0BOB#/C0GENERAL/{ts}")
    await page.get_by_text("decided it").first.wait_for()
    await page.screenshot(path=TARGET / "refusal.png")


if __name__ == "__main__":
    asyncio.run(main())
