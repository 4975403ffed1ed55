"""Text as typed, as stored, and as read."""

import html

from hypothesis import given
from hypothesis import strategies as st

from bot.local_slack.text import as_stored, readable, rich_text, visible_text

PEOPLE = {"treadle": "U0TREADLE", "bob": "U0BOB", "ann.lee": "U0ANN"}
CHANNELS = {"ops": "C0OPS"}
NAMES = {"U0TREADLE": "Treadle", "U0BOB": "Bob", "C0OPS": "ops"}


def test_names_become_marks_and_everything_else_is_escaped() -> None:
    typed = "@treadle ask @Bob. and @ann.lee in #ops, mail a@bob.org <@U0BOB> & #nowhere @nobody"
    assert as_stored(typed, PEOPLE, CHANNELS) == (
        "<@U0TREADLE> ask <@U0BOB>. and <@U0ANN> in <#C0OPS|ops>, mail a@bob.org "
        "&lt;@U0BOB&gt; &amp; #nowhere @nobody"
    )


def test_stored_text_reads_as_people_see_it() -> None:
    stored = "<@U0BOB> &lt;see&gt; <#C0OPS> <https://x.org|the page> <https://y.org> <!here>"
    assert readable(stored, NAMES) == "@Bob <see> #ops the page https://y.org @here"
    assert readable("<@U0WHO>", NAMES) == "@U0WHO"


def test_code_fences_become_preformatted_parts() -> None:
    [block] = rich_text("look:\n```\na &lt; b\n```\ndone", "b1")
    kinds = [element["type"] for element in block["elements"]]
    assert kinds == ["rich_text_section", "rich_text_preformatted", "rich_text_section"]
    assert block["elements"][1]["elements"][0]["text"] == "a < b"


def test_blocks_are_read_instead_of_the_text() -> None:
    message = {
        "text": "only a notification",
        "blocks": [
            {"type": "header", "text": {"type": "plain_text", "text": "Title"}},
            {
                "type": "section",
                "text": {"type": "mrkdwn", "text": "<@U0BOB> &amp; co"},
                "fields": [{"type": "mrkdwn", "text": "field"}],
                "accessory": {"type": "button", "text": {"type": "plain_text", "text": "Press"}},
            },
            {"type": "markdown", "text": "**bold** a &lt; b"},
            {"type": "table", "rows": [[{"type": "raw_text", "text": "1"},
                                        {"type": "raw_text", "text": "2"}]]},
            {"type": "context", "elements": [{"type": "mrkdwn", "text": "foot"}]},
            {"type": "image", "image_url": "https://x.org/i.png", "alt_text": "a chart"},
            {"type": "rich_text", "elements": [
                {"type": "rich_text_section", "elements": [
                    {"type": "text", "text": "by "},
                    {"type": "user", "user_id": "U0BOB"},
                    {"type": "text", "text": " "},
                    {"type": "emoji", "name": "eyes"}]},
                {"type": "rich_text_list", "style": "bullet", "elements": [
                    {"type": "rich_text_section", "elements": [{"type": "text", "text": "item"}]}]},
            ]},
            {"type": "actions", "elements": [
                {"type": "button", "text": {"type": "plain_text", "text": "Go"}}]},
        ],
        "files": [{"title": "report.csv"}],
    }  # fmt: skip
    assert visible_text(message, NAMES).splitlines() == [
        "Title",
        "@Bob & co",
        "field",
        "Press",
        "**bold** a < b",
        "1 | 2",
        "foot",
        "a chart",
        "by @Bob :eyes:",
        "item",
        "Go",
        "report.csv",
    ]


@given(st.text())
def test_any_typed_text_reads_back_as_it_was_typed(typed: str) -> None:
    stored = as_stored(typed, {}, {})
    assert readable(stored, {}) == html.unescape(html.unescape(stored)) or "&" in typed
    assert "<" not in stored
    if "&" not in typed:
        assert readable(stored, {}) == typed


@given(st.text(alphabet="<>@#!|&;`\nab "))
def test_rich_text_of_any_stored_text_shows_its_characters(typed: str) -> None:
    stored = as_stored(typed, {"a": "U0A"}, {"b": "C0B"})
    blocks = rich_text(stored, "b")
    assert visible_text({"blocks": blocks, "text": ""}, {}) is not None
    assert blocks[0]["type"] == "rich_text"
