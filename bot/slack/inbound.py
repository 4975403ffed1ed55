"""Slack's payloads as inbox items. Pure: nothing here calls anybody.

Shapes: docs.slack.dev, events app_mention, message and its subtypes.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from bot.storage.items import Addressing, Item, Kind

Payload: TypeAlias = Mapping[str, object]

STOP_WORDS = frozenset({"stop", "!stop"})
"""As the whole message, with or without the mention."""
SPOKEN_SUBTYPES = frozenset({"", "file_share", "thread_broadcast", "me_message", "bot_message"})
_TS = re.compile(r"[0-9]{1,12}\.[0-9]{1,9}")
_TOKEN = re.compile(r"<([^<>\n]+)>")
_FIRST_MENTION = re.compile(r"\s*<@([UW][A-Z0-9]+)(?:\|[^>]*)?>")


class Self:
    """Which user and bot the app is: its own messages are never read.

    Nor are those of other bots, unless `[access] bots` names them.
    """

    def __init__(self, user_id: str, bot_id: str, bots: frozenset[str] = frozenset()) -> None:
        self.user_id, self.bot_id, self._bots = user_id, bot_id, bots

    def wrote(self, message: Payload) -> bool:
        return text_of(message, "user") == self.user_id or (
            bool(self.bot_id) and text_of(message, "bot_id") == self.bot_id
        )

    def hears(self, message: Payload) -> bool:
        """Whether the message's author is one to be read at all."""
        return not self.wrote(message) and (not _is_bot(message) or bool(self.author(message)))

    def author(self, message: Payload) -> str:
        """Who wrote it; "" for a bot that is not to be read.

        A bot has up to three ids: it is known by the one that `[access] bots` names it by.
        """
        if not _is_bot(message):
            return text_of(message, "user")
        ids = [text_of(message, name) for name in ("bot_id", "user", "app_id")]
        return next((found for found in ids if found in self._bots), "")


def read_event(body: Payload, me: Self) -> Item | None:
    """The inbox item of an `app_mention` or `message` event; None for what is not for us."""
    event = mapping_of(body, "event")
    subtype = text_of(event, "subtype")
    if subtype == "message_changed":
        return _changed(body, event, me)
    if subtype == "message_deleted":
        return _deleted(body, event, me)
    if subtype not in SPOKEN_SUBTYPES:
        return None
    return _spoken(body, event, event, Kind.MESSAGE, me)


def read_limit(body: Payload) -> float | None:
    """From when on Slack holds events back (epoch seconds), if the payload says so.

    Source: docs.slack.dev, app_rate_limited: 30,000 events an hour for an app in a workspace.
    """
    minute = body.get("minute_rate_limited")
    if text_of(body, "type") != "app_rate_limited" or not isinstance(minute, int | float):
        return None
    return float(minute)


def _spoken(
    body: Payload, event: Payload, message: Payload, kind: Kind, me: Self, change: str = ""
) -> Item | None:
    ts, channel = ts_of(message, "ts"), text_of(event, "channel")
    is_bot, author = _is_bot(message), me.author(message)
    if not (ts and channel and author and me.hears(message)):
        return None
    text, files = text_of(message, "text"), _files(message)
    if kind is Kind.MESSAGE and not files and _says_stop(text, me):
        kind = Kind.STOP
    return Item(
        kind=kind,
        team=team_of(body),
        channel=channel,
        root_ts=ts_of(message, "thread_ts") or ts,
        ts=ts,
        author=author,
        text=readable(text, me.user_id),
        addressing=_addressing(text, event, me),
        is_bot=is_bot,
        author_team=text_of(message, "user_team") or text_of(message, "team"),
        files=files,
        event_id=text_of(body, "event_id") or None,
        change=change,
    )


def _changed(body: Payload, event: Payload, me: Self) -> Item | None:
    message, before = mapping_of(event, "message"), mapping_of(event, "previous_message")
    if text_of(message, "subtype") == "tombstone":
        return _deleted(body, {**event, "deleted_ts": text_of(message, "ts")}, me)
    if text_of(message, "text") == text_of(before, "text"):
        return None  # a preview was added, a reply was counted: nothing that a person wrote
    change = ts_of(mapping_of(message, "edited"), "ts") or ts_of(event, "ts")
    return _spoken(body, event, message, Kind.EDIT, me, change)


def _deleted(body: Payload, event: Payload, me: Self) -> Item | None:
    message, ts = mapping_of(event, "previous_message"), ts_of(event, "deleted_ts")
    if not (ts and text_of(event, "channel")) or not me.hears(message):
        return None
    return Item(
        kind=Kind.DELETION,
        team=team_of(body),
        channel=text_of(event, "channel"),
        root_ts=ts_of(message, "thread_ts") or ts,
        ts=ts,
        author=me.author(message),
        event_id=text_of(body, "event_id") or None,
    )


def _is_bot(message: Payload) -> bool:
    return bool(text_of(message, "bot_id")) or text_of(message, "subtype") == "bot_message"


def team_of(body: Payload) -> str:
    """The workspace that the app is installed in; `team_id` may be a partner's.

    Source: docs.slack.dev, "Using the Events API", the outer event.
    """
    return text_of(body, "context_team_id") or text_of(body, "team_id")


def _addressing(text: str, event: Payload, me: Self) -> Addressing:
    if text_of(event, "channel_type") == "im" or text_of(event, "channel").startswith("D"):
        return Addressing.DIRECT
    if re.search(rf"<@{re.escape(me.user_id)}(?:\|[^>]*)?>", text):
        return Addressing.MENTION
    if text_of(event, "type") == "app_mention":
        return Addressing.MENTION
    return Addressing.ELSEWHERE if _FIRST_MENTION.match(text) else Addressing.OPEN


def _says_stop(text: str, me: Self) -> bool:
    without = re.sub(rf"<@{re.escape(me.user_id)}(?:\|[^>]*)?>", " ", text)
    return without.strip().casefold() in STOP_WORDS


def readable(text: str, bot_user: str) -> str:
    """Slack's markup as plain text, without the mentions that call the bot.

    Other people's mentions stay as `<@U…>` for whoever knows their names.
    Source: docs.slack.dev, "Formatting message text", section on retrieving messages.
    """
    while (first := _FIRST_MENTION.match(text)) and first[1] == bot_user:
        text = text[first.end() :]
    plain = _TOKEN.sub(lambda match: _token(match[1], bot_user), text)
    return html.unescape(plain).strip()


def _token(inner: str, bot_user: str) -> str:
    target, _, label = inner.partition("|")
    if target.startswith("@"):
        return "@me" if target[1:] == bot_user else f"<{target}>"
    if target.startswith("#"):
        return f"#{label or target[1:]}"
    if target.startswith("!"):
        return label or f"@{target[1:].split('^')[0]}"
    address = target.removeprefix("mailto:")
    return address if not label or label in (address, target) else f"{label} ({address})"


def _files(message: Payload) -> tuple[str, ...]:
    files = message.get("files")
    if not isinstance(files, Sequence) or isinstance(files, str):
        return ()
    return tuple(text_of(file, "name") or "a file" for file in files if isinstance(file, Mapping))


def ts_of(payload: Payload, name: str) -> str:
    """A message's time, by which threads are sorted; "" for anything else."""
    value = text_of(payload, name)
    return value if _TS.fullmatch(value) else ""


def text_of(payload: Payload, name: str) -> str:
    """A text field; "" where there is none."""
    value = payload.get(name)
    return value if isinstance(value, str) else ""


def mapping_of(payload: Payload, name: str) -> Payload:
    """An object field; an empty one where there is none."""
    value = payload.get(name)
    return value if isinstance(value, Mapping) else {}
