"""The Home tab as an admin uses it on the page: a rule by the window, a switch, a stop."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.doubles.desk import Desk, arguments, open_desk
from tests.doubles.model_endpoint import Say

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@pytest_asyncio.fixture(loop_scope="session")
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_desk(tmp_path) as opened:
        yield opened


async def home(desk: Desk, page: Page, user: str) -> None:
    await page.goto(f"{desk.slack.page_url}&user={user}#/app/home")
    await expect(page.locator(".home-view")).to_contain_text("What you may use in")


async def test_an_admin_makes_a_rule_and_forgets_it_with_clicks_alone(
    browser: Browser, desk: Desk
) -> None:
    call = ("write_file", arguments(path="n.txt", content="seven"))
    desk.model.play([Say("I write.", calls=(call,)), Say("I may not.")])
    async with desk.treadle(), await browser.new_page() as page:
        await home(desk, page, "U0ADA")
        view = page.locator(".home-view")
        await page.get_by_role("button", name="Add a rule").click()
        dialog = page.get_by_role("dialog", name="Add a rule")
        await dialog.get_by_role("button", name="Save").click()
        await dialog.get_by_label("Decision").select_option(label="Deny")
        await dialog.get_by_label("Tool").select_option(label="write_file")
        await dialog.get_by_label("Bob").check()
        await dialog.get_by_role("button", name="Save").click()
        await expect(dialog).to_have_count(0)
        await expect(view).to_contain_text("Done: rule 1 says deny write_file for @Bob.")

        ts = await desk.slack.person("bob").say("#general", "@treadle write seven")
        assert await desk.answered("#general", ts, covers=ts) == "I may not."
        await page.get_by_role("button", name="Forget").click()
        await expect(view).to_contain_text("no longer holds")
        await page.get_by_role("button", name="Switch off").first.click()
        await expect(view).to_contain_text("is off for everybody, everywhere")


async def test_a_member_sees_their_rights_in_another_channel_and_no_administration(
    browser: Browser, desk: Desk
) -> None:
    desk.config('[[policy]]\ntool = "write_file"\ndecision = "deny"\nchannel = "C0OPS"')
    async with desk.treadle(), await browser.new_page() as page:
        await home(desk, page, "U0BOB")
        view = page.locator(".home-view")
        await expect(view).to_contain_text("What you may use in direct messages with me")
        await page.get_by_role("combobox").select_option(label="#ops")
        await expect(view).to_contain_text("write_file: denied, as treadle.toml line 1 says")
        await expect(view).not_to_contain_text("Administration")
