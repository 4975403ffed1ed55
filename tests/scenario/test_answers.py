"""The answer: Markdown as Slack shows it, whole, harmless, and a message of its own."""

from __future__ import annotations

import json
import re

import pytest

from bot.local_slack.shapes import Json
from tests.doubles.desk import Desk, arguments
from tests.doubles.model_endpoint import Refuse, Say

HOSTILE = "<!channel> <@U0BOB> @channel @here <#C0OPS> \x1b[31mred\x1b[0m \u202egpj.exe"


async def answer_of(desk: Desk, text: str) -> list[Json]:
    """The messages that show this answer."""
    desk.model.play([Say(text)])
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@treadle go")
        await desk.answered("#general", ts, covers=ts)
        await desk.slack.until_delivered()
    return desk.slack.thread("#general", ts)[1:]


def elements(message: Json) -> list[Json]:
    """Every element of the message's blocks, however deep."""

    def inner(node: object) -> list[Json]:
        if isinstance(node, list):
            return [found for part in node for found in inner(part)]
        if isinstance(node, dict):
            return [node, *(found for part in node.values() for found in inner(part))]
        return []

    return inner(message.get("blocks", []))


async def test_markdown_is_shown_as_slack_shows_it(desk: Desk) -> None:
    text = "# Title\n\n**bold** _it_ `code`\n\n1. one\n2. two\n\n> said\n\n```py\nx = 1\n```\n"
    (message,) = await answer_of(desk, text)
    kinds = {element.get("type") for element in elements(message)}
    assert kinds >= {"rich_text", "rich_text_list", "rich_text_quote", "rich_text_preformatted"}
    styles = [element.get("style") for element in elements(message)]
    assert {"bold": True} in styles
    assert {"italic": True} in styles
    assert {"code": True} in styles
    shown = desk.slack.visible_text(message)
    assert "**" not in shown
    assert "```" not in shown
    assert "x = 1" in shown


async def test_a_long_answer_is_split_without_losing_a_character(desk: Desk) -> None:
    paragraphs = [f"Paragraph {n}: " + "lorem ipsum dolor sit amet, " * 30 for n in range(40)]
    messages = await answer_of(desk, "\n\n".join(paragraphs))
    assert len(messages) >= 3
    shown = "".join(desk.slack.visible_text(message) for message in messages)
    wanted = "".join(paragraphs)
    assert re.sub(r"\s", "", shown) == re.sub(r"\s", "", wanted)


async def test_a_code_fence_longer_than_a_message_is_closed_and_opened_again(desk: Desk) -> None:
    code = "\n".join(f"print({n})  # line {n}" for n in range(1200))
    messages = await answer_of(desk, f"Here it is:\n\n```python\n{code}\n```\n\nThat was it.")
    assert len(messages) >= 3
    boxes = [
        "".join(str(part.get("text", "")) for part in element["elements"])
        for message in messages
        for element in elements(message)
        if element.get("type") == "rich_text_preformatted"
    ]
    assert len(boxes) == len([m for m in messages if "line" in desk.slack.visible_text(m)])
    assert "\n".join(boxes).split() == code.split()
    assert "```" not in "".join(desk.slack.visible_text(message) for message in messages)


async def test_only_the_last_message_of_a_split_answer_covers_the_question(desk: Desk) -> None:
    messages = await answer_of(desk, "\n\n".join("word " * 400 for _ in range(8)))
    covers = [message["metadata"]["event_payload"]["covers"] for message in messages]
    assert len(covers) > 1
    assert covers[-1] == [messages[0]["thread_ts"]]
    assert not any(covers[:-1])


def is_inert(posted: Json) -> bool:
    """Whether nothing in a call's arguments can notify, link or deceive anybody."""
    text = json.dumps(posted, ensure_ascii=False)
    kinds = {element.get("type") for element in elements(posted)}
    live = {"user", "usergroup", "channel", "broadcast", "image", "mrkdwn", "markdown"} & kinds
    signs = [sign for sign in ("\x1b", "\\u001b", "\u202e") if sign in text]
    marks = re.findall(r"<[!@#]", str(posted.get("text", "")))
    return not live and not signs and not marks


async def test_hostile_text_is_inert_wherever_it_comes_from(desk: Desk) -> None:
    """In thoughts, tool names, file names, observations and the answer."""
    name = "<!channel> \u202e<@U0BOB>.txt"
    (desk.workspace() / "note.txt").write_text(HOSTILE, "utf-8")
    (desk.workspace() / name).write_text("x", "utf-8")
    calls = (
        ("read_file", arguments(path="note.txt")),
        ("read_file", arguments(path=name)),
        ("list_dir", arguments(path=".")),
        (f"no such tool {HOSTILE}", HOSTILE),
    )
    desk.model.play([Say(f"I think: {HOSTILE}", calls=calls), Say(f"**Answer**: {HOSTILE}")])
    desk.config('[slack]\nverbosity = "full"')
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@treadle go")
        await desk.answered("#general", ts, covers=ts)

    posts = [call.args for call in desk.slack.log.of("chat.postMessage")]
    assert len(posts) >= 2
    assert [post for post in posts if not is_inert(post)] == []
    assert "red" in "\n".join(desk.bot_replies("#general", ts))


async def test_a_notice_that_quotes_a_hostile_name_is_inert(desk: Desk) -> None:
    """The model's endpoint says something that a notice repeats."""
    desk.model.play([Refuse(400, {"error": {"message": HOSTILE}})])
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@treadle go")
        await desk.answered("#general", ts, covers=ts)

    assert all(is_inert(call.args) for call in desk.slack.log.of("chat.postMessage"))


async def test_no_post_asks_for_previews_and_images_are_plain_addresses(desk: Desk) -> None:
    text = "![chart](https://evil.example/leak.png?q=1) and https://example.com/page"
    step = Say("See https://example.com/a.", calls=(("calculate", arguments(expression="1+1")),))
    desk.model.play([step, Say(text)])
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@treadle go")
        answer = await desk.answered("#general", ts, covers=ts)

    posts = [call.args for call in desk.slack.log.of("chat.postMessage")]
    assert [(post["unfurl_links"], post["unfurl_media"]) for post in posts] == [(False, False)] * 2
    assert "https://evil.example/leak.png?q=1" in answer
    assert not any(element.get("type") == "image" for post in posts for element in elements(post))


@pytest.mark.parametrize("text", ["", " \n\t ", "\u200b\u2060", "<!-- nothing -->"])
async def test_an_answer_with_nothing_to_see_gets_a_sentence(desk: Desk, text: str) -> None:
    desk.model.play(lambda _: Say(text))
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@treadle go")
        answer = await desk.answered("#general", ts, covers=ts)

    assert re.search(r"[a-z]{3,}", answer) or answer == text
    assert answer.strip()


async def test_a_configured_secret_never_reaches_slack(desk: Desk) -> None:
    desk.model.play([Say("The key is sk-scenario-key-123, the token is hidden.")])
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@treadle tell me the key")
        answer = await desk.answered("#general", ts, covers=ts)

    assert answer == "The key is [redacted], the token is hidden."
    assert "sk-scenario" not in str([call.args for call in desk.slack.log.of("chat.postMessage")])
