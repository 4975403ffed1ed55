"""Reactions, Slack's own stop button and clicks as inbox items. Pure, like `bot.slack.inbound`.

Shapes: docs.slack.dev, events reaction_added and agent_session_stopped, payload block_actions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bot.agent.consent import Choice
from bot.slack.card import BUTTONS, DENY_WHY
from bot.slack.inbound import Payload, Self, mapping_of, team_of, text_of, ts_of
from bot.slack.reasons import position
from bot.storage.items import Item, Kind

STOP_REACTIONS = frozenset({"x", "octagonal_sign", "no_entry"})
STOP_BUTTON = "treadle_stop"
"""The `action_id` of a button that stops the turn of the thread in which it stands."""


def read_reaction(body: Payload, me: Self) -> Item | None:
    """A stop, for a ✖ that a person puts on a message; None for every other reaction.

    Slack does not say in which thread the message stands (`Inbox.store` finds out).
    """
    event = mapping_of(body, "event")
    on = mapping_of(event, "item")
    if text_of(event, "reaction").partition("::")[0] not in STOP_REACTIONS:
        return None
    if text_of(event, "user") == me.user_id or text_of(on, "type") != "message":
        return None
    return _stop(body, on, event, "", ts_of(on, "ts"))


def read_session_stop(body: Payload) -> Item | None:
    """A stop, for Slack's own button under a thread that the app works on."""
    event = mapping_of(body, "event")
    return _stop(body, event, event, ts_of(event, "thread_ts"))


def read_click(body: Payload, team: str) -> Item | None:
    """The item of a click on a button of ours; None for what is not for us.

    `team` is the workspace that the app is installed in, where its messages stand: who clicks may
    be from another one. “Deny with a reason…” is read as the no that it may become.
    """
    actions = body.get("actions")
    action = actions[0] if isinstance(actions, Sequence) and actions else {}
    if not isinstance(action, dict):
        return None
    name = text_of(action, "action_id")
    if name not in (STOP_BUTTON, DENY_WHY) and name not in BUTTONS:
        return None
    container = mapping_of(body, "container")
    root = ts_of(container, "thread_ts") or ts_of(container, "message_ts")
    who = {"user": text_of(mapping_of(body, "user"), "id"), "event_ts": action.get("action_ts")}
    place = {"channel": text_of(container, "channel_id")}
    item = _stop({"team_id": team}, place, who, root)
    if item is None or name == STOP_BUTTON:
        return item
    seq, _, digest = text_of(action, "value").partition(":")
    return replace(
        item,
        kind=Kind.CLICK,
        text=Choice.NO if name == DENY_WHY else BUTTONS[name][0],
        change=position(seq),
        about=digest,
        author_team=text_of(mapping_of(body, "user"), "team_id"),
        reply_url=text_of(body, "response_url"),
    )


def _stop(
    body: Payload, place: Payload, event: Payload, root_ts: str, about: str = ""
) -> Item | None:
    channel, author, ts = (
        text_of(place, "channel"),
        text_of(event, "user"),
        ts_of(event, "event_ts"),
    )
    if not (channel and author and ts and (root_ts or about)):
        return None
    return Item(
        kind=Kind.STOP,
        team=team_of(body),
        channel=channel,
        root_ts=root_ts,
        ts=ts,
        author=author,
        event_id=text_of(body, "event_id") or None,
        about=about,
    )
