"""What the stand-in refuses, beside what slack_sdk's own block models refuse."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from slack_sdk.errors import SlackApiError, SlackObjectFormationError
from slack_sdk.models.blocks import Block
from slack_sdk.web.async_client import AsyncWebClient

from bot.local_slack import LocalSlack, Options
from bot.local_slack.blocks import check_block, check_blocks
from bot.local_slack.elements import Invalid
from bot.local_slack.shapes import Refusal

Json = dict[str, Any]


def plain(text: str) -> Json:
    return {"type": "plain_text", "text": text}


def mrkdwn(text: str) -> Json:
    return {"type": "mrkdwn", "text": text}


def button(**more: object) -> Json:
    return {"type": "button", "action_id": "a", "text": plain("Go"), **more}


def actions(*elements: Json) -> Json:
    return {"type": "actions", "elements": list(elements)}


def menu(count: int) -> Json:
    options = [{"text": plain(f"o{n}"), "value": f"v{n}"} for n in range(count)]
    return {
        "type": "static_select",
        "action_id": "m",
        "placeholder": plain("?"),
        "options": options,
    }


def rich(text: str) -> Json:
    section = {"type": "rich_text_section", "elements": [{"type": "text", "text": text}]}
    return {"type": "rich_text", "elements": [section]}


FEEDBACK = {
    "type": "feedback_buttons",
    "action_id": "f",
    "positive_button": {"text": plain("Good"), "value": "1"},
    "negative_button": {"text": plain("Bad"), "value": "0"},
}
GOOD: list[Json] = [
    {"type": "divider"},
    {"type": "section", "text": mrkdwn("x" * 3000)},
    {"type": "section", "fields": [mrkdwn("f")] * 10},
    {"type": "section", "text": mrkdwn("x"), "accessory": button()},
    {"type": "header", "text": plain("x" * 150)},
    {"type": "markdown", "text": "x" * 12000},
    {"type": "context", "elements": [mrkdwn("c")] * 10},
    actions(*[button(action_id=f"a{n}") for n in range(25)]),
    actions(button(style="danger", value="v" * 2000)),
    actions(menu(100)),
    actions({"type": "overflow", "action_id": "o", "options": menu(5)["options"]}),
    {"type": "context_actions", "elements": [FEEDBACK]},
    {"type": "image", "image_url": "https://example.com/i.png", "alt_text": "i"},
    {"type": "input", "label": plain("L"), "element": {"type": "plain_text_input"}},
    rich("hello"),
    {"type": "table", "rows": [[{"type": "raw_text", "text": "a"}] * 20] * 3},
    {"type": "task_card", "task_id": "1", "title": "t", "status": "complete", "output": rich("o")},
    {"type": "plan", "title": "p", "tasks": [{"task_id": "1", "title": "t", "status": "pending"}]},
    {"type": "alert", "text": mrkdwn("careful"), "level": "warning"},
    {"type": "card", "title": mrkdwn("c"), "body": mrkdwn("b")},
    {"type": "carousel", "elements": [{"type": "card", "title": mrkdwn("c")}]},
    {"type": "container", "title": plain("c"), "child_blocks": [{"type": "divider"}]},
]
BAD: list[Json] = [
    {"type": "section"},
    {"type": "section", "text": mrkdwn("x" * 3001)},
    {"type": "section", "fields": [mrkdwn("f")] * 11},
    {"type": "header", "text": plain("x" * 151)},
    {"type": "markdown", "text": "x" * 12001},
    {"type": "context", "elements": [mrkdwn("c")] * 11},
    actions(*[button(action_id=f"a{n}") for n in range(26)]),
    actions(button(text=plain("x" * 76))),
    actions(button(value="v" * 2001)),
    actions(button(style="green")),
    actions(menu(101)),
    actions({"type": "overflow", "action_id": "o", "options": menu(6)["options"]}),
    {"type": "context_actions", "elements": [FEEDBACK] * 6},
    {"type": "image", "image_url": "https://e.com/" + "x" * 3000, "alt_text": "i"},
    {"type": "image", "image_url": "https://e.com/i.png", "alt_text": "x" * 2001},
    {"type": "input", "label": plain("x" * 2001), "element": {"type": "plain_text_input"}},
    {"type": "task_card", "task_id": "1", "title": "t", "status": "done"},
    {"type": "alert", "text": mrkdwn("x"), "level": "panic"},
    {"type": "card"},
    {"type": "card", "title": mrkdwn("x" * 151)},
    {"type": "carousel", "elements": []},
    {"type": "carousel", "elements": [{"type": "card", "title": mrkdwn("c")}] * 11},
    {"type": "container", "title": plain("c"), "child_blocks": [{"type": "divider"}] * 11},
    {"type": "section", "text": mrkdwn("x"), "block_id": "b" * 256},
]
ONLY_SLACK_REFUSES: list[Json] = [
    {"type": "section", "text": mrkdwn("")},
    {"type": "section", "text": {"type": "text", "text": "x"}},
    {"type": "section", "text": "just a string"},
    {"type": "header", "text": mrkdwn("h")},
    {"type": "hologram"},
    {"type": "table", "rows": [[{"type": "raw_text", "text": "a"}] * 21]},
    {"type": "table", "rows": [[{"type": "raw_text", "text": "a"}]] * 101},
    actions(button(action_id="same"), button(action_id="same")),
    actions({"type": "lever", "action_id": "l"}),
    {"type": "rich_text", "elements": [{"type": "rich_text_song", "elements": []}]},
    {"type": "context_actions", "elements": [button()]},
]


def slack_sdk_takes(block: Json) -> bool:
    """Whether slack_sdk's model of the block finds it valid."""
    try:
        parsed = Block.parse(block)
        assert parsed is not None
        parsed.validate_json()
    except SlackObjectFormationError:
        return False
    return True


@pytest.mark.parametrize("block", GOOD, ids=lambda block: block["type"])
def test_both_take_a_good_block(block: Json) -> None:
    check_block(block, "/blocks/0")
    assert slack_sdk_takes(block)


@pytest.mark.parametrize("block", BAD, ids=lambda block: block["type"])
def test_both_refuse_a_bad_block(block: Json) -> None:
    with pytest.raises(Invalid, match=r"\[ERROR\] .+ \[json-pointer:/blocks/0"):
        check_block(block, "/blocks/0")
    assert not slack_sdk_takes(block) or _inside_only(block)


def _inside_only(block: Json) -> bool:
    """slack_sdk checks a block's own fields, not the elements inside: then check those."""
    from slack_sdk.models.blocks import BlockElement

    inner = [e for e in block.get("elements", ()) if e.get("type") != "card"]
    for element in inner:
        parsed = BlockElement.parse(element)
        try:
            if parsed is not None:
                parsed.validate_json()
        except SlackObjectFormationError:
            return True
    return any(card == {"type": "card"} for card in [block])


@pytest.mark.parametrize("block", ONLY_SLACK_REFUSES)
def test_the_stand_in_also_refuses_what_the_models_leave_to_slack(block: Json) -> None:
    with pytest.raises(Refusal) as caught:
        check_blocks([block])
    assert caught.value.word == "invalid_blocks"
    [message] = caught.value.fields["response_metadata"]["messages"]  # type: ignore[index]
    assert message.startswith("[ERROR]")


def test_two_blocks_may_not_share_an_id() -> None:
    with pytest.raises(Refusal):
        check_blocks([{"type": "divider", "block_id": "b"}, {"type": "divider", "block_id": "b"}])


@pytest.fixture
async def slack() -> AsyncIterator[LocalSlack]:
    async with LocalSlack(Options(retry_scale=0.0, ack_seconds=0.05)) as running:
        yield running


@pytest.fixture
def web(slack: LocalSlack) -> AsyncWebClient:
    return AsyncWebClient(token=slack.options.bot_token, base_url=slack.api_url)


async def word(call: object) -> str:
    with pytest.raises(SlackApiError) as caught:
        await call  # type: ignore[misc]
    return str(caught.value.response["error"])


async def test_a_message_takes_fifty_blocks_and_about_twelve_thousand_characters(
    web: AsyncWebClient,
) -> None:
    fifty = [{"type": "divider"}] * 50
    await web.chat_postMessage(channel="C0OPS", text="t", blocks=fifty)
    too_many = web.chat_postMessage(channel="C0OPS", text="t", blocks=[*fifty, {"type": "divider"}])
    assert await word(too_many) == "invalid_blocks"
    section = {"type": "section", "text": mrkdwn("x" * 3000)}
    await web.chat_postMessage(channel="C0OPS", text="t", blocks=[section] * 4)
    too_long = web.chat_postMessage(channel="C0OPS", text="t", blocks=[section] * 5)
    assert await word(too_long) == "msg_blocks_too_long"


async def test_long_texts_are_refused_and_updates_sooner_than_posts(web: AsyncWebClient) -> None:
    ts = (await web.chat_postMessage(channel="C0OPS", text="x" * 40_000))["ts"]
    long = web.chat_postMessage(channel="C0OPS", text="x" * 40_001)
    assert await word(long) == "msg_too_long"
    await web.chat_update(channel="C0OPS", ts=ts, text="x" * 4000)
    assert await word(web.chat_update(channel="C0OPS", ts=ts, text="x" * 4001)) == "msg_too_long"
    wide = web.chat_update(channel="C0OPS", ts=ts, text="é" * 2001)
    assert await word(wide) == "msg_too_long"


async def test_markdown_text_is_bounded_and_stands_alone(web: AsyncWebClient) -> None:
    posted = await web.chat_postMessage(channel="C0OPS", markdown_text="**hi**")
    assert posted["message"]["blocks"][0]["type"] == "markdown"
    long = web.chat_postMessage(channel="C0OPS", markdown_text="x" * 12_001)
    assert await word(long) == "msg_too_long"
    both = web.chat_postMessage(channel="C0OPS", markdown_text="x", text="y")
    assert await word(both) == "markdown_text_conflict"


async def test_metadata_needs_its_two_fields(web: AsyncWebClient) -> None:
    call = web.chat_postMessage(channel="C0OPS", text="t", metadata={"event_type": "x"})
    assert await word(call) == "invalid_metadata_format"


async def test_a_view_takes_a_hundred_blocks_and_short_titles(
    slack: LocalSlack, web: AsyncWebClient
) -> None:
    home: Json = {"type": "home", "blocks": [{"type": "divider"}] * 100}
    await web.views_publish(user_id="U0ALICE", view=home)
    assert slack.person("alice").home() is not None
    more = {**home, "blocks": [{"type": "divider"}] * 101}
    assert await word(web.views_publish(user_id="U0ALICE", view=more)) == "invalid_arguments"
    noted = {**home, "private_metadata": "x" * 3001}
    assert await word(web.views_publish(user_id="U0ALICE", view=noted)) == "invalid_arguments"
    modal = {"type": "modal", "title": plain("x" * 25), "blocks": []}
    assert await word(web.views_open(trigger_id="t", view=modal)) == "invalid_arguments"
    inputs = {
        "type": "modal",
        "title": plain("T"),
        "blocks": [{"type": "input", "label": plain("L"), "element": {"type": "plain_text_input"}}],
    }
    assert await word(web.views_open(trigger_id="t", view=inputs)) == "invalid_arguments"
    heavy = {**home, "blocks": [{"type": "section", "text": mrkdwn("é" * 3000)}] * 50}
    assert await word(web.views_publish(user_id="U0ALICE", view=heavy)) == "view_too_large"


async def test_blocks_can_be_validated_without_posting(
    slack: LocalSlack, web: AsyncWebClient
) -> None:
    assert (await web.blocks_validate(blocks=[{"type": "divider"}]))["ok"]
    assert (await web.blocks_validate(message={"text": "t", "blocks": [{"type": "divider"}]}))["ok"]
    assert await word(web.blocks_validate(blocks=[{"type": "section"}])) == "invalid_blocks"
    neither = web.api_call("blocks.validate", params={})
    assert await word(neither) == "invalid_arguments"
    assert slack.messages("#ops") == []
