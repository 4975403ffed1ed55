"""Conversations on the page of the stand-in: messages, threads, reactions, edits, hostile texts."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

import pytest
from playwright.async_api import Browser, Error, Locator, Page, expect
from slack_sdk.web.async_client import AsyncWebClient

from bot.local_slack import LocalSlack, Options

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

OpenWindow: TypeAlias = Callable[..., Awaitable[Page]]
LINE_PX = 22
STEP = "treadle_delivery"


def messages(page: Page, pane: str = "#channel") -> Locator:
    return page.locator(f"{pane} article.message")


def composer(page: Page, pane: str = "#channel") -> Locator:
    return page.locator(f"{pane} .composer textarea")


async def send(page: Page, text: str, pane: str = "#channel") -> None:
    await composer(page, pane).fill(text)
    await composer(page, pane).press("Enter")


def rich_text(*lines: str) -> list[dict[str, object]]:
    elements = [{"type": "text", "text": "\n".join(lines)}]
    section = {"type": "rich_text_section", "elements": elements}
    return [{"type": "rich_text", "elements": [section]}]


async def test_two_windows_are_two_people_who_see_each_other_write(window: OpenWindow) -> None:
    """A message appears in the other window at once; where nobody looks, the channel is bold."""
    alice = await window("U0ALICE", "C0GENERAL")
    bob = await window("U0BOB", "C0OPS")
    general = bob.locator("[data-place=C0GENERAL]")
    await expect(general).to_have_css("font-weight", "400")

    await send(alice, "Good morning, *Bob* & all")

    await expect(general).to_have_css("font-weight", "800")
    await general.click()
    await expect(messages(bob).last).to_contain_text("Good morning, Bob & all")
    await expect(messages(bob).last.locator("strong")).to_have_text("Bob")
    await expect(general).to_have_css("font-weight", "400")
    await send(bob, "Morning!")
    await expect(messages(alice).last).to_contain_text("Morning!")
    await expect(messages(alice).last.locator(".author")).to_have_text("Bob")


async def test_a_thread_opens_at_the_bots_first_reply_and_grows_live(
    window: OpenWindow, slack: LocalSlack, bot: AsyncWebClient
) -> None:
    """The asker's pane opens by itself, another person's by a click; both stay live."""
    alice, bob = await window("U0ALICE"), await window("U0BOB")
    await send(alice, "@treadle how many files are here?")
    root = (await slack.until(lambda: slack.messages("#general")))[0]
    await bot.assistant_threads_setStatus(
        channel_id="C0GENERAL", thread_ts=root["ts"], status="is thinking…"
    )
    await expect(alice.get_by_text("Treadle is thinking…")).to_be_visible()

    await bot.chat_postMessage(
        channel="C0GENERAL", thread_ts=root["ts"], text="one", blocks=rich_text("I will look.")
    )

    await expect(messages(alice, "#thread")).to_have_count(2)
    await expect(messages(alice, "#thread").last).to_contain_text("I will look.")
    await expect(messages(alice, "#thread").last.locator(".badge")).to_have_text("APP")
    await expect(alice.get_by_text("Treadle is thinking…")).to_have_count(0)
    await expect(bob.locator("#thread")).to_be_hidden()
    await bob.get_by_role("button", name="1 reply").click()
    await bot.chat_postMessage(channel="C0GENERAL", thread_ts=root["ts"], text="There are *12*.")
    for page in (alice, bob):
        await expect(messages(page, "#thread").last).to_contain_text("There are 12.")
    await send(bob, "Thanks", "#thread")
    await expect(messages(alice, "#thread").last).to_contain_text("Thanks")
    await alice.keyboard.press("Escape")
    await composer(alice, "#thread").press("Escape")
    await expect(alice.locator("#thread")).to_be_hidden()
    await expect(alice.get_by_role("button", name="3 replies")).to_be_visible()


async def test_a_step_reads_in_three_lines_until_it_is_unfolded(
    window: OpenWindow, slack: LocalSlack, bot: AsyncWebClient
) -> None:
    """Thought, tool and gist are one line each; "Show more" shows the whole."""
    page = await window()
    ts = await slack.person("alice").say("#general", "@treadle look around")
    await bot.chat_postMessage(
        channel="C0GENERAL",
        thread_ts=ts,
        text="a step",
        blocks=rich_text("I think. " * 60, "🔧 Run command", "→ " + "output " * 40),
        metadata={"event_type": STEP, "event_payload": {"key": f"T:C:{ts}#c3", "covers": []}},
    )
    step = messages(page, "#thread").last.locator(".message-body")
    await expect(step).to_be_visible()
    more = page.locator("#thread").get_by_role("button", name="Show more")
    await expect(more).to_be_visible()
    folded = await step.bounding_box()
    assert folded is not None
    assert folded["height"] <= 3 * LINE_PX + 2
    await expect(step.get_by_text("Run command")).to_be_visible()

    await more.click()

    unfolded = await step.bounding_box()
    assert unfolded is not None
    assert unfolded["height"] > 6 * LINE_PX
    await page.locator("#thread").get_by_role("button", name="Show less").click()
    assert await step.bounding_box() == folded


async def test_a_reaction_is_seen_by_others_and_taken_back(
    window: OpenWindow, slack: LocalSlack
) -> None:
    ts = await slack.person("bob").say("#general", "Ship it?")
    alice, bob = await window("U0ALICE"), await window("U0BOB")
    await messages(alice).last.hover()
    await messages(alice).last.get_by_role("button", name="Add reaction").click()

    await alice.get_by_role("menuitem", name="white check mark").click()

    pill = messages(bob).last.locator("[data-reaction=white_check_mark]")
    await expect(pill).to_have_text("1")
    await expect(pill).to_have_attribute("aria-pressed", "false")
    await pill.click()
    await expect(messages(alice).last.locator(".reaction")).to_have_text("2")
    await messages(alice).last.locator(".reaction").click()
    await expect(pill).to_have_text("1")
    reactions = (slack.message("#general", ts) or {})["reactions"]
    assert reactions == [{"name": "white_check_mark", "users": ["U0BOB"], "count": 1}]


async def test_an_edit_is_marked_and_a_deletion_disappears_for_everybody(
    window: OpenWindow, slack: LocalSlack
) -> None:
    await slack.person("alice").say("#general", "@treadle a < b & c, see #ops")
    alice, bob = await window("U0ALICE"), await window("U0BOB")
    await messages(bob).last.hover()
    await expect(messages(bob).last.get_by_role("button", name="Edit message")).to_have_count(0)
    await messages(alice).last.hover()
    await messages(alice).last.get_by_role("button", name="Edit message").click()
    box = alice.get_by_label("Edit message")
    await expect(box).to_have_value("@treadle a < b & c, see #ops")

    await box.fill("@treadle never mind")
    await box.press("Enter")

    await expect(messages(bob).last).to_contain_text("@Treadle never mind(edited)")
    assert slack.messages("#general")[0]["text"] == "<@U0TREADLE> never mind"
    await messages(alice).last.hover()
    await messages(alice).last.get_by_role("button", name="Delete message").click()
    await alice.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(messages(bob)).to_have_count(0)
    await expect(messages(alice)).to_have_count(0)


async def test_a_reload_keeps_person_channel_thread_and_draft(
    window: OpenWindow, slack: LocalSlack, bot: AsyncWebClient
) -> None:
    ts = await slack.person("ada").say("#ops", "@treadle check the disk")
    await bot.chat_postMessage(channel="C0OPS", thread_ts=ts, text="All fine.")
    page = await window("U0BOB", "C0GENERAL")
    await page.get_by_role("button", name="You are").click()
    await page.get_by_role("menuitemradio", name="Ada (admin)").click()
    await expect(page.get_by_role("button", name="You are")).to_contain_text("Ada (admin)")
    await page.locator("[data-place=C0OPS]").click()
    await page.get_by_role("button", name="1 reply").click()
    await composer(page, "#thread").fill("And the backup?")
    await composer(page).fill("half a thought")

    await page.reload()

    await expect(page.get_by_role("button", name="You are")).to_contain_text("Ada (admin)")
    await expect(page.locator("#channel h1")).to_have_text("ops")
    await expect(messages(page, "#thread").last).to_contain_text("All fine.")
    await expect(composer(page, "#thread")).to_have_value("And the backup?")
    await expect(composer(page)).to_have_value("half a thought")


async def test_a_guest_sees_only_the_channels_of_a_guest(window: OpenWindow) -> None:
    """A place that a person cannot see falls back to one that they can."""
    page = await window("U0GUS", "C0OPS")
    await expect(page.locator("#channel h1")).to_have_text("general")
    await expect(page.locator("[data-place=C0OPS]")).to_have_count(0)


async def test_the_keyboard_alone_is_enough_to_write_and_to_use_a_thread(
    window: OpenWindow, slack: LocalSlack, bot: AsyncWebClient
) -> None:
    """Focus stands in the message box; "@" completes; Enter sends; Tab reaches the replies."""
    page = await window()
    await page.keyboard.type("hello @tre")
    await expect(page.get_by_role("option", name="Treadle (app)")).to_be_visible()
    await page.keyboard.press("Tab")
    await page.keyboard.type("first")
    await page.keyboard.press("Shift+Enter")
    await page.keyboard.type("second")
    await page.keyboard.press("Enter")
    root = (await slack.until(lambda: slack.messages("#general")))[0]
    assert root["text"] == "hello <@U0TREADLE> first\nsecond"
    await expect(composer(page)).to_have_value("")
    await slack.person("bob").reply("#general", root["ts"], "I am here too")
    replies = page.get_by_role("button", name="1 reply")
    await expect(replies).to_be_visible()
    for _ in range(12):
        await page.keyboard.press("Shift+Tab")
        if await replies.evaluate("node => node === document.activeElement"):
            break
    await expect(replies).to_be_focused()

    await page.keyboard.press("Enter")

    await expect(composer(page, "#thread")).to_be_focused()
    await page.keyboard.type("good")
    await page.keyboard.press("Enter")
    await expect(messages(page, "#thread").last).to_contain_text("good")
    await page.keyboard.press("Escape")
    await expect(page.locator("#thread")).to_be_hidden()
    await expect(composer(page)).to_be_focused()


async def test_the_page_comes_back_by_itself_when_the_server_was_away(
    browser: Browser, tmp_path: Path
) -> None:
    """After a restart the window reconnects and shows what was written meanwhile."""
    first = await LocalSlack.start(Options(state_file=tmp_path / "state.json"))
    await first.person("bob").say("#general", "before")
    page = await browser.new_page()
    crashes: list[Error] = []
    page.on("pageerror", lambda error: crashes.append(error))
    await page.goto(first.page_url)
    await expect(messages(page)).to_have_count(1)
    port = int(first.base_url.rpartition(":")[2])
    token = first.options.page_token
    await first.stop()
    await expect(page.locator("#link")).to_be_visible()

    options = Options(port=port, page_token=token, state_file=tmp_path / "state.json")
    async with LocalSlack(options) as second:
        await second.person("bob").say("#general", "while you were away")

        await expect(messages(page)).to_have_count(2)
        await expect(page.locator("#link")).to_be_hidden()
        await second.person("bob").say("#general", "and live again")
        await expect(messages(page).last).to_contain_text("and live again")
    async with LocalSlack(Options(port=port)):
        await expect(page.locator("#link")).to_contain_text("This address is not valid any more")
        await page.close()
    assert crashes == []
