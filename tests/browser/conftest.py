"""A real Chromium, a fresh stand-in for every test, and windows that must stay harmless."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Dialog, Page, async_playwright, expect
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from bot.local_slack import LocalSlack

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WAIT_MS = 15_000
LOOPBACK = {"127.0.0.1", "localhost"}


@dataclass
class Window:
    """One person's window, and everything in it that must not happen."""

    page: Page
    dialogs: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    def watch(self) -> None:
        """Note dialogs, script errors and requests that leave this machine."""
        self.page.on("dialog", self._dialog)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("console", lambda message: self._console(message.type, message.text))
        self.page.on("request", lambda request: self._request(request.url))

    async def _dialog(self, dialog: Dialog) -> None:
        self.dialogs.append(dialog.message)
        await dialog.dismiss()

    def _console(self, kind: str, text: str) -> None:
        if kind == "error":
            self.problems.append(text)

    def _request(self, url: str) -> None:
        if urlsplit(url).hostname not in LOOPBACK:
            self.foreign.append(url)


OpenWindow: TypeAlias = Callable[..., Awaitable[Page]]

expect.set_options(timeout=WAIT_MS)


def chromium() -> str:
    """Where Chromium is; skips without one, fails without one in CI."""
    path = os.environ.get("TREADLE_CHROMIUM", "/usr/bin/chromium")
    if not Path(path).exists():
        reason = f"There is no Chromium at {path}; name one in TREADLE_CHROMIUM."
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return path


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    path = chromium()
    async with async_playwright() as playwright:
        found = await playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield found
        await found.close()


@pytest_asyncio.fixture(loop_scope="session")
async def slack() -> AsyncIterator[LocalSlack]:
    running = await LocalSlack.start()
    yield running
    await running.stop()


@pytest_asyncio.fixture(loop_scope="session")
async def window(browser: Browser, slack: LocalSlack) -> AsyncIterator[OpenWindow]:
    """Opens a window as a person at a place; afterwards none of them may have misbehaved."""
    opened: list[tuple[BrowserContext, Window]] = []

    async def open_window(
        user: str = "U0ALICE", place: str = "C0GENERAL", width: int = 1280, height: int = 800
    ) -> Page:
        context = await browser.new_context(viewport={"width": width, "height": height})
        context.set_default_timeout(WAIT_MS)
        shown = Window(await context.new_page())
        shown.watch()
        opened.append((context, shown))
        await shown.page.goto(f"{slack.page_url}&user={user}#/{place}")
        await shown.page.locator("#app").wait_for()
        return shown.page

    yield open_window
    for context, _ in opened:
        await context.close()
    assert [text for _, one in opened for text in one.dialogs] == []
    assert [text for _, one in opened for text in one.problems] == []
    assert [url for _, one in opened for url in one.foreign] == []


@pytest.fixture
def bot(slack: LocalSlack) -> AsyncWebClient:
    """The Web API with the bot's token."""
    return AsyncWebClient(slack.options.bot_token, base_url=slack.api_url)


@pytest_asyncio.fixture(loop_scope="session")
async def bolt(slack: LocalSlack, bot: AsyncWebClient) -> AsyncIterator[AsyncApp]:
    """A bolt app, connected by Socket Mode; a test adds its listeners."""
    app = AsyncApp(client=bot)
    handler = AsyncSocketModeHandler(app, slack.options.app_token, web_client=bot)
    await handler.connect_async()  # type: ignore[no-untyped-call]
    await slack.until_connected()
    yield app
    await handler.close_async()  # type: ignore[no-untyped-call]
