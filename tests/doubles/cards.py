"""Cards that ask people, as a scenario sees and uses them."""

from __future__ import annotations

from copy import deepcopy

from bot.local_slack.shapes import Json
from tests.doubles.desk import Desk
from tests.doubles.model_endpoint import Request


def has_buttons(message: Json) -> bool:
    return any(block["type"] == "actions" for block in message.get("blocks") or ())


def cards(desk: Desk, root: str) -> list[Json]:
    """The bot's messages with buttons."""
    found = [m for m in desk.slack.thread("#general", root) if m.get("bot_id")]
    return [deepcopy(message) for message in found if has_buttons(message)]


async def asked(desk: Desk, root: str, count: int = 1) -> Json:
    """The card with buttons, as soon as so many stand there."""
    return (await desk.until(lambda: cards(desk, root)[count - 1 :]))[0]


async def asked_anew(desk: Desk, root: str, before: Json) -> Json:
    """The card with buttons that is another one than this."""
    return (await desk.until(lambda: [c for c in cards(desk, root) if c["ts"] != before["ts"]]))[0]


async def question(desk: Desk, text: str = "@treadle write seven") -> tuple[str, Json]:
    """Alice asks for something about which a person is asked."""
    root = await desk.slack.person("alice").say("#general", text)
    return root, await asked(desk, root)


def now_shown(desk: Desk, card: Json, channel: str = "#general") -> Json:
    """The card as it stands there now."""
    message = desk.slack.message(channel, card["ts"])
    assert message is not None
    return message


async def decided(desk: Desk, card: Json) -> str:
    """What the card says when it has no buttons any more."""
    await desk.until(lambda: not has_buttons(now_shown(desk, card)))
    return desk.slack.visible_text(now_shown(desk, card))


def lines(card: Json) -> list[str]:
    """The blocks with the buttons of each of its calls, in order."""
    ids = [block["block_id"] for block in card["blocks"] if block["type"] == "actions"]
    return [block_id for block_id in ids if block_id.startswith("q")]


def actions(card: Json, line: int = 0) -> list[str]:
    """What can be clicked on at one of its calls."""
    block = next(block for block in card["blocks"] if block.get("block_id") == lines(card)[line])
    return [element["action_id"] for element in block["elements"]]


async def deny_because(desk: Desk, who: str, card: Json, reason: str) -> None:
    """Deny in the window for a reason."""
    person = desk.slack.person(who)
    await person.click(card, "treadle_deny_why")
    window = await desk.until(person.modal)
    assert await person.submit(window["id"], {"treadle_reason": {"treadle_reason": reason}}) == {}


def told(desk: Desk, who: str) -> list[str]:
    """What only this person was told."""
    return [one["text"] for one in desk.slack.person(who).ephemeral()]


def observations(request: Request) -> list[str]:
    """What the model was told of its calls."""
    return [str(m["content"]) for m in request["messages"] if m["role"] == "tool"]
