"""The app's surfaces on the page: buttons, commands, Home, modals, Messages tab, stop."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import pytest
from playwright.async_api import Browser, Page, expect
from slack_bolt.async_app import AsyncAck, AsyncApp, AsyncRespond
from slack_sdk.web.async_client import AsyncWebClient

from bot.local_slack import LocalSlack

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

OpenWindow: TypeAlias = Callable[..., Awaitable[Page]]
WAIT_S = 8.0
Payload: TypeAlias = dict[str, Any]
"""A payload of Slack's: JSON, whose shape the assertions name."""


def plain(text: str) -> Payload:
    return {"type": "plain_text", "text": text}


def button(action_id: str, text: str, **more: object) -> Payload:
    return {"type": "button", "action_id": action_id, "text": plain(text), **more}


def option(value: str) -> Payload:
    return {"text": plain(value), "value": value}


CARD: list[Payload] = [
    {"type": "section", "text": {"type": "mrkdwn", "text": "May I run `make test`?"}},
    {
        "type": "actions",
        "block_id": "ask",
        "elements": [
            button("approve", "Approve", value="call-1", style="primary"),
            button(
                "deny",
                "Deny",
                value="call-1",
                style="danger",
                confirm={
                    "title": plain("Sure?"),
                    "text": plain("It will not run."),
                    "confirm": plain("Deny it"),
                    "deny": plain("Back"),
                },
            ),
            {
                "type": "static_select",
                "action_id": "remember",
                "placeholder": plain("Remember"),
                "options": [option("here"), option("everywhere")],
            },
        ],
    },
]


async def test_buttons_and_menus_reach_the_bot_as_block_actions(
    window: OpenWindow, bot: AsyncWebClient, bolt: AsyncApp
) -> None:
    """A click names the person and the message; a confirmation is asked before, not after."""
    clicks: asyncio.Queue[Payload] = asyncio.Queue()

    @bolt.action({"block_id": "ask"})
    async def clicked(ack: AsyncAck, body: Payload) -> None:
        await ack()
        await clicks.put(body)

    page = await window("U0BOB")
    posted = await bot.chat_postMessage(channel="C0GENERAL", text="May I?", blocks=CARD)
    await page.get_by_role("button", name="Approve").click()
    body = await asyncio.wait_for(clicks.get(), WAIT_S)
    assert body["type"] == "block_actions"
    assert body["user"]["id"] == "U0BOB"
    assert body["container"]["message_ts"] == posted["ts"]
    assert body["actions"][0]["value"] == "call-1"

    await page.get_by_role("button", name="Deny").click()
    dialog = page.get_by_role("dialog", name="Sure?")
    await expect(dialog).to_contain_text("It will not run.")
    await dialog.get_by_role("button", name="Back").click()
    await expect(dialog).to_have_count(0)
    await page.get_by_role("combobox", name="Remember").select_option("everywhere")
    body = await asyncio.wait_for(clicks.get(), WAIT_S)
    assert body["actions"][0]["selected_option"]["value"] == "everywhere"
    await page.get_by_role("button", name="Deny").click()
    await dialog.get_by_role("button", name="Deny it").click()
    body = await asyncio.wait_for(clicks.get(), WAIT_S)
    assert body["actions"][0]["action_id"] == "deny"
    await expect(page.get_by_role("button", name="Deny")).to_be_enabled()


async def test_a_command_is_answered_to_its_author_alone(
    window: OpenWindow, slack: LocalSlack, bolt: AsyncApp
) -> None:
    """`/treadle tools` shows an ephemeral message, once, also after a reload, until dismissed."""

    @bolt.command("/treadle")
    async def run(ack: AsyncAck, respond: AsyncRespond, command: dict[str, str]) -> None:
        await ack()
        await respond(f"You asked for *{command['text']}*.")

    alice, bob = await window("U0ALICE"), await window("U0BOB")
    await alice.keyboard.type("/tre")
    await alice.keyboard.press("Enter")
    await alice.keyboard.type("tools")
    await alice.keyboard.press("Enter")

    answer = alice.locator(".ephemeral")
    await expect(answer).to_contain_text("Only visible to you")
    await expect(answer).to_contain_text("You asked for tools.")
    await alice.reload()
    await expect(answer).to_have_count(1)
    await answer.get_by_role("button", name="Dismiss").click()
    await expect(answer).to_have_count(0)
    await slack.person("alice").say("#general", "done")
    await expect(bob.locator("#channel article")).to_have_count(1)


HOME = {
    "type": "home",
    "blocks": [
        {"type": "header", "text": plain("Your tools")},
        {
            "type": "section",
            "text": {"type": "mrkdwn", "text": "*9 tools* are allowed."},
            "accessory": button("new-rule", "New rule"),
        },
    ],
}
MODAL = {
    "type": "modal",
    "callback_id": "rule",
    "title": plain("New rule"),
    "submit": plain("Save"),
    "blocks": [
        {
            "type": "input",
            "block_id": "tool",
            "label": plain("Tool"),
            "element": {
                "type": "static_select",
                "action_id": "v",
                "options": [option("read_file"), option("run_command")],
            },
        },
        {
            "type": "input",
            "block_id": "why",
            "label": plain("Why"),
            "element": {"type": "plain_text_input", "action_id": "v"},
        },
    ],
}


async def serve_rules(bolt: AsyncApp) -> asyncio.Queue[Payload]:
    """A Home tab with a button that opens a modal; gives the values that were accepted."""
    saved: asyncio.Queue[Payload] = asyncio.Queue()

    @bolt.event("app_home_opened")
    async def opened(event: dict[str, str], client: AsyncWebClient) -> None:
        if event["tab"] == "home":
            await client.views_publish(user_id=event["user"], view=HOME)

    @bolt.action("new-rule")
    async def new_rule(ack: AsyncAck, body: dict[str, str], client: AsyncWebClient) -> None:
        await ack()
        await client.views_open(trigger_id=body["trigger_id"], view=MODAL)

    @bolt.view("rule")
    async def save(ack: AsyncAck, view: Payload) -> None:
        values = view["state"]["values"]
        if len(str(values["why"]["v"]["value"])) < 10:
            await ack(response_action="errors", errors={"why": "Say a little more."})
            return
        await ack()
        await saved.put(values)

    return saved


async def test_a_command_that_nobody_has_is_told_and_what_was_written_stays(
    browser: Browser, slack: LocalSlack
) -> None:
    page = await browser.new_page()
    await page.goto(f"{slack.page_url}&user=U0ALICE#/C0GENERAL")
    box = page.locator("#channel .composer textarea")
    await box.fill("/nonsense please")
    await box.press("Enter")

    await expect(page.locator(".toast")).to_contain_text("/nonsense is not a valid command.")
    await expect(box).to_have_value("/nonsense please")

    await box.fill(" /nonsense please")
    await box.press("Enter")
    await expect(page.locator("#channel article")).to_contain_text("/nonsense please")
    assert [m["text"] for m in slack.messages("#general")] == ["/nonsense please"]
    await page.close()


async def test_home_is_published_also_where_the_address_was_changed_by_hand(
    window: OpenWindow, slack: LocalSlack, bot: AsyncWebClient, bolt: AsyncApp
) -> None:
    @bolt.event("app_home_opened")
    async def opened(event: dict[str, str]) -> None:
        text = {"type": "plain_text", "text": f"Home of {event['user']}, tab {event['tab']}"}
        blocks = [{"type": "section", "text": text}]
        await bot.views_publish(user_id=event["user"], view={"type": "home", "blocks": blocks})

    page = await window("U0ALICE")
    await page.evaluate("location.hash = '#/app/home'")

    await expect(page.locator("#channel")).to_contain_text("Home of U0ALICE, tab home")


async def test_home_opens_a_modal_whose_errors_show_until_it_is_right(
    window: OpenWindow, bolt: AsyncApp
) -> None:
    """The Home tab is published when it opens; what was typed survives a refused submission."""
    saved = await serve_rules(bolt)
    page = await window("U0ADA")
    await page.locator("[data-place=app]").click()
    await expect(page.get_by_role("heading", name="Your tools")).to_be_visible()
    await page.get_by_role("button", name="New rule").click()
    modal = page.get_by_role("dialog", name="New rule")
    await modal.get_by_role("button", name="Save").click()
    await expect(modal.get_by_text("Please complete this required field.")).to_have_count(2)
    await modal.get_by_label("Tool").select_option("run_command")
    await modal.get_by_label("Why").fill("short")

    await modal.get_by_role("button", name="Save").click()

    await expect(modal.get_by_text("Say a little more.")).to_be_visible()
    await expect(modal.get_by_label("Why")).to_have_value("short")
    await modal.get_by_label("Why").fill("because it changes files")
    await modal.get_by_role("button", name="Save").click()
    values = await asyncio.wait_for(saved.get(), WAIT_S)
    assert values["tool"]["v"]["selected_option"]["value"] == "run_command"
    await expect(modal).to_have_count(0)
    await page.get_by_role("button", name="New rule").click()
    await expect(modal).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(modal).to_have_count(0)


async def test_prompts_stand_in_the_messages_tab_and_send_at_a_click(
    window: OpenWindow, slack: LocalSlack, bot: AsyncWebClient
) -> None:
    """The Messages tab is the person's conversation with the bot; no mention is needed."""
    page = await window("U0ALICE", "app/home")
    await page.get_by_role("tab", name="Messages").click()
    await bot.assistant_threads_setSuggestedPrompts(
        channel_id="D0ALICE",
        thread_ts="",
        prompts=[{"title": "Do a sum", "message": "what is 17 * 23?"}],
    )

    await page.get_by_role("button", name="Do a sum").click()

    await expect(page.locator("#channel article")).to_contain_text("what is 17 * 23?")
    assert [m["text"] for m in slack.messages("D0ALICE")] == ["what is 17 * 23?"]


async def test_the_empty_channel_says_what_to_try(window: OpenWindow, slack: LocalSlack) -> None:
    """A chip fills the message box and does not send; the banner is always on top."""
    page = await window()
    slack.world.set_banner("Rehearsal model: answers are canned.")
    await expect(page.get_by_role("note")).to_have_text("Rehearsal model: answers are canned.")
    await page.get_by_role("button", name="@treadle what is 17 * 23?").click()
    box = page.locator("#channel .composer textarea")
    await expect(box).to_have_value("@treadle what is 17 * 23?")
    await expect(box).to_be_focused()
    assert slack.messages("#general") == []
    await box.press("Enter")
    root = (await slack.until(lambda: slack.messages("#general")))[0]
    assert root["text"] == "<@U0TREADLE> what is 17 * 23?"


async def test_stop_reaches_the_bot_and_the_page_says_whether_it_is_connected(
    window: OpenWindow, slack: LocalSlack, bot: AsyncWebClient, bolt: AsyncApp
) -> None:
    """Slack's own stop button stands under a thread while the app's session is processing."""
    stopped: asyncio.Queue[dict[str, str]] = asyncio.Queue()

    @bolt.event("agent_session_stopped")
    async def stop(event: dict[str, str]) -> None:
        await stopped.put(event)

    page = await window("U0BOB")
    await expect(page.locator(".connection")).to_have_text("Treadle is connected")
    ts = await slack.person("bob").say("#general", "@treadle count to a million")
    await bot.api_call(
        "agents.sessions.setStatus",
        json={"channel_id": "C0GENERAL", "thread_ts": ts, "status": "processing"},
    )

    await page.get_by_role("button", name="Stop").click()

    event = await asyncio.wait_for(stopped.get(), WAIT_S)
    assert (event["thread_ts"], event["user"]) == (ts, "U0BOB")
    await bot.api_call(
        "agents.sessions.setStatus",
        json={"channel_id": "C0GENERAL", "thread_ts": ts, "status": "active"},
    )
    await expect(page.get_by_role("button", name="Stop")).to_have_count(0)


async def test_a_file_can_be_downloaded(window: OpenWindow, slack: LocalSlack) -> None:
    page = await window()
    await slack.person("bob").say("#general", "the list", files=[("list.txt", b"one\ntwo\n")])
    async with page.expect_download() as started:
        await page.get_by_role("link", name="list.txt").click()
    download = await started.value
    assert download.suggested_filename == "list.txt"
    assert (await download.path()).read_bytes() == b"one\ntwo\n"
