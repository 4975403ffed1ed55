"""The small block builders: valid for Slack, inert, readable back."""

from __future__ import annotations

import pytest
from slack_sdk.models.blocks import Block as SdkBlock

from bot.slack import blocks
from bot.slack.blocks import Block

HOSTILE = "<!channel> \x1b[31mred\u202e"


@pytest.mark.parametrize(
    ("block", "shown"),
    [
        (blocks.section(blocks.bold("run_command"), blocks.plain(" ls")), "run_command ls"),
        (blocks.section(blocks.plain(HOSTILE), blocks.fixed("x")), "<!channel> redx"),
        (blocks.code("one\n  two"), "one\n  two"),
        (blocks.code(""), " "),
        (blocks.context(HOSTILE), "<!channel> red"),
        (blocks.context("x" * 4000), "x" * 2999 + "…"),
        ({"type": "header", "text": {"type": "plain_text", "text": "Head"}}, "Head"),
        ({"type": "divider"}, ""),
    ],
)
def test_a_built_block_is_valid_and_says_what_it_was_given(block: Block, shown: str) -> None:
    parsed = SdkBlock.parse(dict(block))

    assert parsed is not None
    parsed.validate_json()
    assert shown == blocks.visible_text([block])


def test_styles_are_those_of_rich_text() -> None:
    assert blocks.bold("a") == {"type": "text", "text": "a", "style": {"bold": True}}
    assert blocks.fixed("a") == {"type": "text", "text": "a", "style": {"code": True}}


def test_escaping_leaves_no_live_character() -> None:
    assert blocks.escape("<!here> & <@U1>") == "&lt;!here&gt; &amp; &lt;@U1&gt;"


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("👍👍", 4, "👍👍"),
        ("👍👍👍", 4, "👍…"),
        ("a", 1, "a"),
    ],
)
def test_clipping_counts_utf16_units_and_splits_no_pair(
    text: str, limit: int, expected: str
) -> None:
    assert expected == blocks.clip(text, limit)
    assert blocks.units(expected) <= limit
