"""Makes the picture of the README: `python -m tests.browser.picture`.

A scripted model works through eight steps with the real tools; the page shows the thread.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path

from playwright.async_api import async_playwright

from tests.doubles.desk import arguments, open_desk
from tests.doubles.model_endpoint import Say

TARGET = Path(__file__).parents[2] / "docs" / "images" / "thread.png"
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


async def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        async with open_desk(Path(home), SCRIPT) as desk, desk.treadle():
            (desk.workspace() / "sales.csv").write_text(SALES)
            (desk.workspace() / "report.md").write_text(REPORT)
            ts = await desk.slack.person("alice").say("#general", QUESTION)
            await desk.answered("#general", ts, covers=ts)
            await shoot(f"{desk.slack.page_url}&user=U0ALICE#/C0GENERAL/{ts}")


async def shoot(address: str) -> None:
    TARGET.parent.mkdir(exist_ok=True)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        page = await browser.new_page(viewport={"width": 1280, "height": 1200})
        await page.goto(address)
        await page.get_by_text("March was wrong").first.wait_for()
        await page.screenshot(path=TARGET)
        await browser.close()


if __name__ == "__main__":
    asyncio.run(main())
