"""Posting, changing, deleting and reacting: what happens to a message, whoever does it."""

from bot.local_slack.events import emit, emit_message, emit_new_message
from bot.local_slack.host import Change
from bot.local_slack.options import APP_ID, BOT_ID, BOT_NAME, BOT_USER_ID, TEAM_ID
from bot.local_slack.shapes import Json, Refusal
from bot.local_slack.world import Channel, World


def bot_author() -> Json:
    """The fields that mark a message as the app's."""
    return {
        "user": BOT_USER_ID,
        "bot_id": BOT_ID,
        "app_id": APP_ID,
        "bot_profile": {
            "id": BOT_ID,
            "app_id": APP_ID,
            "user_id": BOT_USER_ID,
            "name": BOT_NAME,
            "deleted": False,
            "team_id": TEAM_ID,
        },
    }


def post(world: World, channel: Channel, body: Json) -> Json:
    """Add a message and tell everybody; ``body`` holds all but type, ts and team."""
    thread_ts = body.get("thread_ts")
    root = _root(channel, str(thread_ts)) if thread_ts else None
    ts = world.clock.ts()
    message = {"type": "message", "ts": ts, "team": TEAM_ID, **body}
    if root is not None:
        message["parent_user_id"] = root.get("user")
    channel.messages[ts] = message
    if root is not None:
        _grow_thread(world, channel, root, message)
        if message.get("bot_id"):
            world.sessions.clear_status(channel.id, str(thread_ts))
    _tell(world, channel, message)
    emit_new_message(world, channel, message)
    return message


def find(channel: Channel, ts: str) -> Json:
    """The message with this ``ts``, or ``message_not_found``."""
    message = channel.messages.get(ts)
    if message is None or message.get("subtype") == "tombstone":
        raise Refusal("message_not_found")
    return message


def change(world: World, channel: Channel, ts: str, fields: Json, told: bool = True) -> Json:
    """Put changed fields (None removes one) under the same ``ts``.

    ``told`` sends ``message_changed`` to the app, as edits do and reactions do not.
    """
    before = find(channel, ts)
    after = {key: value for key, value in {**before, **fields}.items() if value is not None}
    channel.messages[ts] = after
    _tell(world, channel, after)
    if told:
        _tell_changed(world, channel, after, before)
    return after


def delete(world: World, channel: Channel, ts: str) -> None:
    """Take a message away. A root that has replies leaves a tombstone, as in Slack."""
    before = find(channel, ts)
    world.streams.close(channel.id, ts)
    if channel.threads.get(ts):
        kept = {key: before[key] for key in _TOMBSTONE if key in before}
        after = {**kept, "subtype": "tombstone", "text": "This message was deleted.",
                 "user": "USLACKBOT", "hidden": True}  # fmt: skip
        channel.messages[ts] = after
        _tell(world, channel, after)
        _tell_changed(world, channel, after, before)
        return
    del channel.messages[ts]
    if thread_ts := before.get("thread_ts"):
        _shrink_thread(world, channel, str(thread_ts), ts)
    world.notify(Change("deleted", {"channel": channel.id, "ts": ts}, channel=channel.id))
    stamp = world.clock.ts()
    event = {"type": "message", "subtype": "message_deleted", "hidden": True, "deleted_ts": ts,
             "previous_message": before, "ts": stamp, "event_ts": stamp}  # fmt: skip
    emit_message(world, channel, event)


_TOMBSTONE = ("type", "ts", "team", "thread_ts", "reply_count", "reply_users", "latest_reply")


def react(world: World, channel: Channel, ts: str, name: str, user: str) -> None:
    """Add a reaction, or ``already_reacted``."""
    message = find(channel, ts)
    rows = [dict(row) for row in message.get("reactions", ())]
    row = next((row for row in rows if row["name"] == name), None)
    if row is None:
        rows.append({"name": name, "users": [user], "count": 1})
    elif user in row["users"]:
        raise Refusal("already_reacted")
    else:
        row["users"] = [*row["users"], user]
        row["count"] = len(row["users"])
    change(world, channel, ts, {"reactions": rows}, told=False)
    _tell_reaction(world, channel, message, "reaction_added", name, user)


def unreact(world: World, channel: Channel, ts: str, name: str, user: str) -> None:
    """Take a reaction back, or ``no_reaction``."""
    message = find(channel, ts)
    rows = [dict(row) for row in message.get("reactions", ())]
    row = next((row for row in rows if row["name"] == name), None)
    if row is None or user not in row["users"]:
        raise Refusal("no_reaction")
    row["users"] = [one for one in row["users"] if one != user]
    row["count"] = len(row["users"])
    left = [row for row in rows if row["users"]]
    change(world, channel, ts, {"reactions": left or None}, told=False)
    _tell_reaction(world, channel, message, "reaction_removed", name, user)


def thread(channel: Channel, root_ts: str) -> list[Json]:
    """The root and its replies, oldest first; empty if there is no such root."""
    if root_ts not in channel.messages:
        return []
    replies = channel.threads.get(root_ts, ())
    return [channel.messages[root_ts], *(channel.messages[ts] for ts in replies)]


def _root(channel: Channel, thread_ts: str) -> Json:
    root = channel.messages.get(thread_ts)
    if root is None:
        raise Refusal("thread_not_found")
    if root.get("thread_ts", thread_ts) != thread_ts:
        raise Refusal("cannot_reply_to_message")
    return root


def _grow_thread(world: World, channel: Channel, root: Json, reply: Json) -> None:
    channel.threads.setdefault(root["ts"], []).append(reply["ts"])
    _count_replies(world, channel, root["ts"], reply["ts"], str(reply["user"]))


def _shrink_thread(world: World, channel: Channel, root_ts: str, ts: str) -> None:
    replies = channel.threads[root_ts]
    replies.remove(ts)
    _count_replies(world, channel, root_ts, replies[-1] if replies else None, "")


def _count_replies(
    world: World, channel: Channel, root_ts: str, latest: str | None, user: str
) -> None:
    """Keep the root's reply fields right; they change without an event."""
    root = channel.messages[root_ts]
    count = len(channel.threads[root_ts])
    users = root.get("reply_users", [])
    if user and user not in users:
        users = [*users, user]
    fields = {"thread_ts": root_ts, "reply_count": count, "reply_users": users,
              "reply_users_count": len(users), "latest_reply": latest}  # fmt: skip
    if not count:
        fields = {**dict.fromkeys(fields), "reply_count": 0}
    after = {key: value for key, value in {**root, **fields}.items() if value is not None}
    channel.messages[root_ts] = after
    _tell(world, channel, after)


def _tell(world: World, channel: Channel, message: Json) -> None:
    shown = world.page_message(channel.id, message)
    world.notify(Change("message", {"channel": channel.id, "message": shown}, channel=channel.id))


def _tell_changed(world: World, channel: Channel, after: Json, before: Json) -> None:
    stamp = world.clock.ts()
    event = {"type": "message", "subtype": "message_changed", "hidden": True, "message": after,
             "previous_message": before, "ts": stamp, "event_ts": stamp}  # fmt: skip
    emit_message(world, channel, event)


def _tell_reaction(
    world: World, channel: Channel, message: Json, kind: str, name: str, user: str
) -> None:
    item = {"type": "message", "channel": channel.id, "ts": message["ts"]}
    event = {"type": kind, "user": user, "reaction": name, "item_user": message.get("user"),
             "item": item, "event_ts": world.clock.ts()}  # fmt: skip
    emit(world, event, channel)
