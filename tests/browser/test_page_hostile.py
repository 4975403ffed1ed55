"""Hostile names and texts on the page of the stand-in stay text."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import pytest
from playwright.async_api import Page, expect
from slack_sdk.web.async_client import AsyncWebClient

from bot.local_slack import LocalSlack
from bot.local_slack.world import Member

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

OpenWindow: TypeAlias = Callable[..., Awaitable[Page]]

HOSTILE = [
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "*<img src=https://evil.example/a.png onerror=alert(1)>*",
    "see javascript:alert(1) and data:text/html,<script>alert(1)</script>",
    "<!channel> @channel <!here|x>",
    "W" * 3000,
    "`" * 501 + "*_~" * 400 + "<" * 400,
]


async def test_hostile_texts_stay_text(
    window: OpenWindow, slack: LocalSlack, bot: AsyncWebClient
) -> None:
    """No dialog, no script, no request elsewhere, no broken layout (the fixture looks too)."""
    page = await window()
    channel = page.locator("#channel")
    articles = channel.locator("article.message")
    for text in HOSTILE:
        await slack.person("bob").say("#general", text)
    evil = "javascript:alert(1)"
    link = {"type": "link", "url": evil, "text": "click me"}
    section = {"type": "rich_text_section", "elements": [link]}
    await bot.chat_postMessage(
        channel="C0GENERAL",
        text="hostile",
        blocks=[
            {"type": "rich_text", "elements": [section]},
            {"type": "markdown", "text": f"[a]({evil}) <img src=x onerror=alert(1)> ![i](//e.x/i)"},
            {"type": "section", "text": {"type": "mrkdwn", "text": f"<{evil}|b> &lt;!channel&gt;"}},
            {"type": "image", "image_url": "https://evil.example/p.png", "alt_text": "<b>alt</b>"},
        ],
    )

    await expect(articles).to_have_count(len(HOSTILE) + 1)
    await expect(channel.locator("script, img, iframe, .broadcast")).to_have_count(0)
    links = channel.locator("article a")
    await expect(links).to_have_attribute("href", "https://evil.example/a.png")
    await expect(links).to_have_attribute("rel", "noopener noreferrer")
    await expect(articles.first).to_contain_text(HOSTILE[0])
    await expect(articles.last).to_contain_text("click me (javascript:alert(1))")
    await expect(articles.last).to_contain_text("<b>alt</b>: https://evil.example/p.png")
    too_wide = "node => node.scrollWidth > node.clientWidth"
    for place in ("html", "#channel .scroll:not([hidden])"):
        assert not await page.locator(place).evaluate(too_wide), place


async def test_hostile_names_stay_text(
    window: OpenWindow, slack: LocalSlack, bot: AsyncWebClient
) -> None:
    """A name, a status, a file name and a prompt are shown letter by letter."""
    tag = "<img src=x onerror=alert(1)>"
    slack.world.add_member(Member("U0MAL", "mal", tag))
    slack.channel("#general").members.add("U0MAL")
    ts = await slack.person("mal").say("#general", "hello", files=[(f"{tag}.txt", b"x")])
    await bot.assistant_threads_setStatus(channel_id="C0GENERAL", thread_ts=ts, status=tag)
    await bot.chat_postEphemeral(channel="C0GENERAL", user="U0MAL", text=f"for &lt;{tag[1:]}")

    page = await window("U0MAL")

    article = page.locator(f"article[data-ts='{ts}']")
    await expect(article.locator(".author")).to_have_text(tag)
    await expect(article.locator(".file strong")).to_have_text(f"{tag}.txt")
    await expect(article.locator(".status")).to_contain_text(f"Treadle {tag}")
    await expect(page.locator(".ephemeral")).to_contain_text(f"for {tag}")
    await page.get_by_role("button", name="You are").click()
    await expect(page.get_by_role("menuitemradio", name=f"{tag} (member)")).to_be_visible()
    await expect(page.locator("#app img")).to_have_count(0)
