"""Makes the pictures of the documentation: `python -m tests.browser.picture`.

A scripted model works through some steps with the real tools; the page shows the thread.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from playwright.async_api import async_playwright

from tests.doubles.cards import asked
from tests.doubles.desk import arguments, open_desk
from tests.doubles.model_endpoint import Say

IMAGES = Path(__file__).parents[2] / "docs" / "images"
CHROMIUM = os.environ.get("TREADLE_CHROMIUM", "/usr/bin/chromium")
SALES = "month,units,price,total\nJan,120,9.50,1140.00\nFeb,98,9.50,931.00\nMar,143,9.50,1385.50\n"
REPORT = "# First quarter\n\nWe sold 361 units for 3456.50 in total.\n"
QUESTION = (
    "@treadle the report's total does not match sales.csv. Which month is wrong? Please fix it."
)


def step(thought: str, tool: str, **values: object) -> Say:
    return Say(thought, calls=((tool, arguments(**values)),), delay=0.7)


SCRIPT = [
    step("First I look at what there is.", "list_dir", path="."),
    step("The sales come first.", "read_file", path="sales.csv"),
    step("March looks high. 143 units at 9.50 should be:", "calculate", expression="143 * 9.50"),
    step(
        "So March is wrong: 1385.50 should be 1358.50. The right sum is:",
        "calculate",
        expression="1140.00 + 931.00 + 1358.50",
    ),
    step("Where does the old total stand?", "search_files", pattern="3456", path="."),
    step("I correct the month.", "edit_file", path="sales.csv", old="1385.50", new="1358.50"),
    step("And the report.", "edit_file", path="report.md", old="3456.50", new="3429.50"),
    step("A last look at the report.", "read_file", path="report.md"),
    Say(
        "**March was wrong:** two digits were swapped (1385.50 instead of 1358.50).\n\n"
        "- `sales.csv`: March is now 1358.50\n- `report.md`: the total is now **3429.50**",
        delay=0.7,
    ),
]


ASKS = """
[[policy]]
tool = "edit_file"
decision = "ask"
match = { path = "config/.*" }
"""
LIMITS = "[pool]\nworkers = 4\ntimeout_s = 30\n\n[retry]\ntimes = 3\n"
CAREFULLY = [
    step("First I read the limits.", "read_file", path="config/limits.toml"),
    step(
        "The jobs wait for a worker, so I double the workers.",
        "edit_file",
        path="config/limits.toml",
        old="workers = 4",
        new="workers = 8",
    ),
]


async def thread() -> None:
    """The README's: a turn from the question to the answer."""
    with tempfile.TemporaryDirectory() as home:
        async with open_desk(Path(home), SCRIPT) as desk, desk.treadle():
            (desk.workspace() / "sales.csv").write_text(SALES)
            (desk.workspace() / "report.md").write_text(REPORT)
            ts = await desk.slack.person("alice").say("#general", QUESTION)
            await desk.answered("#general", ts, covers=ts)
            address = f"{desk.slack.page_url}&user=U0ALICE#/C0GENERAL/{ts}"
            await shoot(address, "March was wrong", "thread.png", height=1200)


async def approval() -> None:
    """A card that asks about a change of a file."""
    with tempfile.TemporaryDirectory() as home:
        async with open_desk(Path(home), CAREFULLY) as desk:
            desk.config(ASKS)
            (desk.workspace() / "config").mkdir()
            (desk.workspace() / "config" / "limits.toml").write_text(LIMITS)
            async with desk.treadle():
                ts = await desk.slack.person("alice").say(
                    "#general", "@treadle jobs queue up every morning, can you fix that?"
                )
                await asked(desk, ts)
                address = f"{desk.slack.page_url}&user=U0ADA#/C0GENERAL/{ts}"
                await shoot(address, "May I use Edit?", "approval.png", height=960, unfold=True)


async def shoot(address: str, shown: str, name: str, height: int, *, unfold: bool = False) -> None:
    """The page with the thread, when it shows this text; `unfold` shows its last message whole."""
    IMAGES.mkdir(exist_ok=True)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        page = await browser.new_page(viewport={"width": 1280, "height": height})
        await page.goto(address)
        await page.get_by_text(shown).first.wait_for()
        if unfold:
            await page.get_by_text("Show more").last.click()
        await page.screenshot(path=IMAGES / name)
        await browser.close()


PICTURES = {"thread": thread, "approval": approval}


async def main(names: Sequence[str]) -> None:
    """Make the pictures of these names, or all."""
    for name in names or PICTURES:
        await PICTURES[name]()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
