"""“Deny with a reason…”: the window that it opens, and what comes back from it.

Format: docs.slack.dev, views.open, modal view and view_submission. A trigger_id lives for three
seconds, so the window is opened at once, by a task of its own: no listener waits for the Web API.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping

from bot import words
from bot.agent.consent import Choice
from bot.errors import DeliveryError
from bot.slack.blocks import Block
from bot.slack.inbound import Payload, mapping_of, text_of, ts_of
from bot.slack.people import SlackPeople
from bot.slack.web import SlackClient, call
from bot.storage.items import Item, Kind

log = logging.getLogger(__name__)

REASON = "treadle_reason"
"""The window's `callback_id`, and the id of its only block and input."""
LONGEST = 1_000
"""Characters that can be typed."""
OPEN_SECONDS = 2.0


def reason_view(click: Item) -> Block:
    """The window for the reason of this no; it carries with it what was clicked on."""
    kept = {
        "channel": click.channel,
        "root": click.root_ts,
        "ts": click.ts,
        "seq": click.change,
        "digest": click.about,
        "url": click.reply_url,
    }
    field: Block = {
        "type": "input",
        "block_id": REASON,
        "optional": True,
        "label": _plain(words.REASON_LABEL),
        "element": {
            "type": "plain_text_input",
            "action_id": REASON,
            "multiline": True,
            "max_length": LONGEST,
        },
    }
    return {
        "type": "modal",
        "callback_id": REASON,
        "private_metadata": json.dumps(kept),
        "title": _plain(words.REASON_TITLE),
        "submit": _plain(words.DENY),
        "close": _plain(words.REASON_CANCEL),
        "blocks": [field],
    }


def read_reason(body: Payload, team: str) -> Item | None:
    """The item of a window that was submitted: the click that opened it, with its reason.

    So a window that is submitted twice counts once. None for what this release did not make.
    """
    view, user = mapping_of(body, "view"), mapping_of(body, "user")
    try:
        kept = json.loads(text_of(view, "private_metadata"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(kept, Mapping) or text_of(view, "callback_id") != REASON:
        return None
    channel, root, ts = text_of(kept, "channel"), ts_of(kept, "root"), ts_of(kept, "ts")
    author, seq = text_of(user, "id"), position(text_of(kept, "seq"))
    if not (channel and root and ts and author):
        return None
    values = mapping_of(mapping_of(view, "state"), "values")
    reason = text_of(mapping_of(mapping_of(values, REASON), REASON), "value")
    return Item(
        Kind.CLICK,
        team,
        channel,
        root,
        ts,
        author,
        text=Choice.NO,
        author_team=text_of(user, "team_id"),
        change=seq,
        about=text_of(kept, "digest"),
        reply_url=text_of(kept, "url"),
        reason=reason[:LONGEST],
    )


def position(text: str) -> str:
    """A journal position that came from outside; "0", where no question ever is, for any other."""
    return text if text.isascii() and text.isdecimal() and len(text) < 10 else "0"


class Windows:
    """Opens windows in the background."""

    def __init__(self, client: SlackClient, people: SlackPeople) -> None:
        self._client, self._people = client, people
        self._tasks: set[asyncio.Task[None]] = set()

    def ask_reason(self, trigger_id: str, click: Item) -> None:
        """Open the window for the reason of this no; returns at once."""
        task = asyncio.create_task(self._open(trigger_id, click))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _open(self, trigger_id: str, click: Item) -> None:
        view = {"trigger_id": trigger_id, "view": reason_view(click)}
        try:
            async with asyncio.timeout(OPEN_SECONDS):
                await call(self._client, "views.open", view, patience=OPEN_SECONDS)
        except (DeliveryError, TimeoutError) as error:
            log.warning("the window for a reason was not opened: %s", error)
            self._people.whisper(click, words.no_window())


def _plain(text: str) -> Block:
    return {"type": "plain_text", "text": text}
