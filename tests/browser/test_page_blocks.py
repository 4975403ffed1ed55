"""Every kind of block that the bot may send is drawn on the page of the stand-in."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import pytest
from playwright.async_api import Locator, Page, expect
from slack_sdk.web.async_client import AsyncWebClient

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

OpenWindow: TypeAlias = Callable[..., Awaitable[Page]]
Block: TypeAlias = dict[str, Any]
"""A Block Kit block or a part of one."""


def text(value: str, **style: bool) -> Block:
    return {"type": "text", "text": value, **({"style": style} if style else {})}


def line(*elements: Block) -> Block:
    return {"type": "rich_text_section", "elements": list(elements)}


def items(style: str, indent: int, *values: str, **more: int) -> Block:
    rows = [line(text(value)) for value in values]
    return {"type": "rich_text_list", "style": style, "indent": indent, "elements": rows, **more}


def rich_text(*elements: Block) -> Block:
    return {"type": "rich_text", "elements": list(elements)}


def mrkdwn(value: str) -> Block:
    return {"type": "mrkdwn", "text": value}


async def shown(page: Page, bot: AsyncWebClient, *blocks: Block) -> Locator:
    """The body of a message of the bot with these blocks."""
    await bot.chat_postMessage(channel="C0GENERAL", text="blocks", blocks=list(blocks))
    body = page.locator("#channel article .message-body")
    await expect(body).to_be_visible()
    return body


async def test_rich_text_shows_styles_lists_code_and_people(
    window: OpenWindow, bot: AsyncWebClient
) -> None:
    """Nested lists are indented and numbered per level; one's own name is marked."""
    body = await shown(
        await window("U0BOB"),
        bot,
        rich_text(
            line(
                text("bold", bold=True),
                text("slant", italic=True),
                text("gone", strike=True),
                text("fixed", code=True),
                {"type": "link", "url": "https://example.com/a?b=1", "text": "there"},
                {"type": "user", "user_id": "U0BOB"},
                {"type": "user", "user_id": "U0ADA"},
                {"type": "channel", "channel_id": "C0OPS"},
                {"type": "broadcast", "range": "here"},
                {"type": "emoji", "name": "eyes"},
                {"type": "emoji", "name": "no_such_emoji"},
            ),
            items("ordered", 0, "one", "two"),
            items("ordered", 1, "deeper"),
            items("bullet", 0, "point", border=1),
            items("ordered", 0, "three", offset=2),
            {"type": "rich_text_preformatted", "elements": [text("a  <b>\n  c")]},
            {"type": "rich_text_quote", "elements": [text("said")]},
        ),
    )
    for tag, value in {"strong": "bold", "em": "slant", "s": "gone", "code": "fixed"}.items():
        await expect(body.locator(tag).first).to_have_text(value)
    await expect(body.get_by_role("link")).to_have_attribute("href", "https://example.com/a?b=1")
    assert await body.locator(".mention").all_inner_texts() == ["@Bob", "@Ada", "#ops", "@here"]
    assert await body.locator(".mention-me").all_inner_texts() == ["@Bob", "@here"]
    await expect(body.locator("[data-emoji=eyes] svg")).to_have_count(1)
    await expect(body.get_by_text(":no_such_emoji:")).to_be_visible()
    markers = [mark.strip() for mark in await body.locator(".list-marker").all_inner_texts()]
    assert markers == ["1.", "2.", "a.", "•", "3."]
    await expect(body.locator("ol").nth(1)).to_have_css("margin-left", "26px")
    assert await body.locator("pre").inner_text() == "a  <b>\n  c"
    await expect(body.locator("blockquote")).to_have_text("said")


async def test_the_other_blocks_are_drawn_in_order(window: OpenWindow, bot: AsyncWebClient) -> None:
    """Header, section with fields, context, divider, table, Markdown, plan, alert and card."""
    cells = [["Tool", "Runs"], ["read_file", "12"]]
    plain = {"type": "plain_text", "text": "The report"}
    body = await shown(
        await window(),
        bot,
        {"type": "header", "text": plain},
        {"type": "section", "text": mrkdwn("*Yes* &lt;3"), "fields": [mrkdwn("left")]},
        {"type": "context", "elements": [mrkdwn("asked by <@U0ADA>")]},
        {"type": "divider"},
        {
            "type": "table",
            "rows": [[{"type": "raw_text", "text": cell} for cell in row] for row in cells],
            "column_settings": [{"align": "left"}, {"align": "right"}],
        },
        {
            "type": "markdown",
            "text": "# Title\n\n1. **one** `x < y`\n\n```py\na = 1\n```\n\n> said",
        },
        {
            "type": "plan",
            "title": "Steps",
            "tasks": [
                {"type": "task_card", "task_id": "1", "title": "Look", "status": "complete"},
                {"type": "task_card", "task_id": "2", "title": "Fix", "status": "in_progress"},
            ],
        },
        {"type": "alert", "level": "warning", "text": mrkdwn("careful")},
        {"type": "card", "title": mrkdwn("A card"), "body": mrkdwn("with a body")},
    )
    await expect(body.get_by_role("heading", name="The report")).to_be_visible()
    await expect(body.locator(".section-body strong")).to_have_text("Yes")
    await expect(body.locator(".section-body")).to_contain_text("Yes <3")
    await expect(body.locator(".context")).to_have_text("asked by @Ada")
    await expect(body.locator("td").last).to_have_css("text-align", "right")
    await expect(body.locator(".markdown li")).to_contain_text("one x < y")
    assert await body.locator(".markdown pre").inner_text() == "a = 1"
    await expect(body.get_by_role("img", name="Running")).to_be_visible()
    await expect(body.locator(".alert")).to_have_text("careful")
    kinds = "nodes => nodes.map(node => node.className.split(' ')[0])"
    order = await body.locator(":scope > .block").evaluate_all(kinds)
    assert order == [
        *("block-header", "section-body", "context", "block", "table-frame"),
        *("markdown", "plan", "alert", "card"),
    ]


async def test_an_unknown_block_is_a_grey_note(window: OpenWindow) -> None:
    """A newer kind of block is named, never silently missing."""
    page = await window()
    said = await page.evaluate(
        """async () => {
          const { renderBlock } = await import("/static/blocks.js");
          return renderBlock({ type: "hologram", block_id: "b" }, {}).textContent;
        }"""
    )
    assert said == "This page does not draw blocks of type “hologram”."


UNCLOSED = ["*", "*a ", "**a ", "_a", "~~a", "`", "``a", "[", "[a](", "<", "<@U", ":a", "h", "&lt;"]
UNCLOSED += [
    "http://",
    "\\",
    "> ",
    "- ",
    "|-|",
    "|-",
    "#",
    "* * x",
    "```\n",
    "a_b_",
    "***a** ",
    " ",
]


@pytest.mark.parametrize("renderer", ["mrkdwn", "markdown"])
async def test_markup_that_never_closes_costs_little(window: OpenWindow, renderer: str) -> None:
    """The longest text that Slack takes is drawn in well under a second, whatever stands in it."""
    page = await window()
    slow = await page.evaluate(
        """async ([units, renderer]) => {
          const draw = (await import(`/static/${renderer}.js`))[renderer];
          const ctx = { users: new Map(), channels: new Map(), me: { id: "U" } };
          return units.filter((unit) => {
            const begun = performance.now();
            draw(unit.repeat(40_000 / unit.length), ctx);
            return performance.now() - begun > 1_000;
          });
        }""",
        [UNCLOSED, renderer],
    )
    assert slow == []
