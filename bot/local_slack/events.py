"""Events to the app: their envelopes, and which the app is told."""

from bot.local_slack.options import APP_ID, BOT_USER_ID, TEAM_ID
from bot.local_slack.shapes import Json
from bot.local_slack.world import Channel, World

_MESSAGE_EVENTS = {"public": "message.channels", "private": "message.groups", "im": "message.im"}


def emit(world: World, event: Json, channel: Channel | None = None, named: str = "") -> None:
    """Send an event, if the app subscribes to it and is in the channel.

    ``named`` is the subscription's name where it differs from the event's type.
    """
    if (named or event["type"]) not in world.options.subscriptions:
        return
    if channel is not None and BOT_USER_ID not in channel.members:
        return
    world.on_event(envelope(world, event, channel))


def emit_message(world: World, channel: Channel, event: Json) -> None:
    """Send a message event (new, changed or deleted) under the name for its kind of channel."""
    full = {**event, "channel": channel.id, "channel_type": channel.type}
    emit(world, full, channel, _MESSAGE_EVENTS[channel.kind])


def emit_new_message(world: World, channel: Channel, message: Json) -> None:
    """What Slack sends for a new message: ``message``, and ``app_mention`` beside it."""
    event = {**message, "event_ts": message["ts"]}
    if channel.kind != "im" and message["user"] != BOT_USER_ID and mentions_bot(message):
        kept = ("user", "client_msg_id", "text", "team", "thread_ts", "parent_user_id", "ts",
                "blocks", "files", "event_ts", "bot_id", "app_id", "bot_profile")  # fmt: skip
        mention = {key: event[key] for key in kept if key in event}
        emit(world, {"type": "app_mention", **mention, "channel": channel.id}, channel)
    emit_message(world, channel, event)


def about(event: Json) -> tuple[str, str]:
    """The channel and the ``ts`` of the message that a message event is about."""
    message = event.get("message", event)
    return str(event.get("channel", "")), str(event.get("deleted_ts") or message.get("ts", ""))


def mentions_bot(message: Json) -> bool:
    """Whether the text names the app's user."""
    return f"<@{BOT_USER_ID}" in str(message.get("text", ""))


def envelope(world: World, event: Json, channel: Channel | None = None) -> Json:
    """The outer event, as the Events API and Socket Mode both deliver it."""
    return {
        "token": "local-verification-token",
        "team_id": TEAM_ID,
        "context_team_id": TEAM_ID,
        "context_enterprise_id": None,
        "api_app_id": APP_ID,
        "event": event,
        "type": "event_callback",
        "event_id": world.new_id("Ev"),
        "event_time": int(world.clock.now()),
        "authorizations": [
            {
                "enterprise_id": None,
                "team_id": TEAM_ID,
                "user_id": BOT_USER_ID,
                "is_bot": True,
                "is_enterprise_install": False,
            }
        ],
        "is_ext_shared_channel": bool(channel and channel.is_ext_shared),
        "event_context": world.new_id("4-"),
    }
