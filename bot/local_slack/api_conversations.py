"""conversations.* and users.conversations."""

from bot.local_slack import messages
from bot.local_slack.method import Call, Method, page
from bot.local_slack.options import BOT_USER_ID, TEAM_ID
from bot.local_slack.shapes import Json, PersonError, Refusal
from bot.local_slack.world import Channel

_KINDS = {"public_channel": "public", "private_channel": "private", "im": "im", "mpim": "mpim"}


def described(channel: Channel) -> Json:
    """Slack's channel object."""
    if channel.kind == "im":
        return {
            "id": channel.id,
            "created": 1_700_000_000,
            "is_im": True,
            "is_archived": False,
            "is_org_shared": False,
            "user": channel.user,
            "is_user_deleted": False,
            "context_team_id": TEAM_ID,
        }
    return {
        "id": channel.id,
        "name": channel.name,
        "name_normalized": channel.name,
        "is_channel": channel.kind == "public",
        "is_group": channel.kind == "private",
        "is_im": False,
        "is_mpim": False,
        "is_private": channel.kind == "private",
        "is_archived": channel.is_archived,
        "is_general": channel.name == "general",
        "is_shared": channel.is_ext_shared,
        "is_ext_shared": channel.is_ext_shared,
        "is_org_shared": False,
        "is_member": BOT_USER_ID in channel.members,
        "created": 1_700_000_000,
        "creator": "U0ADA",
        "context_team_id": TEAM_ID,
        "topic": {"value": channel.topic, "creator": "U0ADA", "last_set": 0},
        "purpose": {"value": "", "creator": "", "last_set": 0},
    }


def _info(call: Call) -> Json:
    channel = call.channel(family="read")
    found = described(channel)
    if call.flag("include_num_members"):
        found["num_members"] = len(channel.members)
    return {"ok": True, "channel": found}


def _listed(call: Call, channels: list[Channel]) -> Json:
    asked = call.text("types", "public_channel").replace(" ", "").split(",")
    if any(kind not in _KINDS for kind in asked):
        raise Refusal("invalid_types")
    kinds = {_KINDS[kind] for kind in asked}
    for kind in sorted(kinds - {"mpim"}):
        if not call.sees(kind):
            call.need({"public": "channels", "private": "groups", "im": "im"}[kind] + ":read")
    skip_archived = call.flag("exclude_archived")
    rows = [
        described(channel)
        for channel in channels
        if channel.kind in kinds and not (skip_archived and channel.is_archived)
    ]
    shown, cursor = page(rows, call)
    return {"ok": True, "channels": shown, "response_metadata": {"next_cursor": cursor}}


def _list(call: Call) -> Json:
    channels = call.world.channels.values()
    return _listed(call, [c for c in channels if c.kind == "public" or BOT_USER_ID in c.members])


def _users_conversations(call: Call) -> Json:
    user = call.member().id if call.text("user") else BOT_USER_ID
    return _listed(call, call.world.visible_to(user))


def _members(call: Call) -> Json:
    channel = call.channel(family="read")
    rows: list[Json] = [{"id": user} for user in sorted(channel.members)]
    shown, cursor = page(rows, call)
    ids = [row["id"] for row in shown]
    return {"ok": True, "members": ids, "response_metadata": {"next_cursor": cursor}}


def _readable(call: Call) -> Channel:
    channel = call.channel(family="history")
    if BOT_USER_ID not in channel.members:
        raise Refusal("not_in_channel")
    return channel


def _within(call: Call, rows: list[Json]) -> list[Json]:
    """The rows between ``oldest`` and ``latest``; the ends themselves only with ``inclusive``."""
    oldest, latest = _moment(call, "oldest"), _moment(call, "latest")
    inclusive = call.flag("inclusive")
    found = []
    for row in rows:
        moment = _micros(row["ts"])
        if oldest is not None and (moment < oldest or (moment == oldest and not inclusive)):
            continue
        if latest is not None and (moment > latest or (moment == latest and not inclusive)):
            continue
        found.append(row)
    return found


def _moment(call: Call, name: str) -> int | None:
    value = call.text(name)
    if not value or value == "0":
        return None
    try:
        return _micros(value)
    except ValueError:
        raise Refusal(f"invalid_ts_{name}") from None


def _micros(ts: str) -> int:
    seconds, _, rest = ts.partition(".")
    return int(seconds) * 1_000_000 + int(rest[:6].ljust(6, "0"))


def _shown(call: Call, rows: list[Json]) -> list[Json]:
    """Messages for reading: metadata only on request, as in Slack."""
    if call.flag("include_all_metadata"):
        return rows
    return [{key: value for key, value in row.items() if key != "metadata"} for row in rows]


def _paged(call: Call, rows: list[Json]) -> Json:
    shown, cursor = page(rows, call)
    answer: Json = {"ok": True, "messages": _shown(call, shown), "has_more": bool(cursor)}
    if cursor:
        answer["response_metadata"] = {"next_cursor": cursor}
    return answer


def _history(call: Call) -> Json:
    channel = _readable(call)
    top = [
        message
        for ts, message in channel.messages.items()
        if message.get("thread_ts", ts) == ts or message.get("subtype") == "thread_broadcast"
    ]
    rows = _within(call, top)
    rows.reverse()
    return {**_paged(call, rows), "pin_count": 0}


def _replies(call: Call) -> Json:
    channel = _readable(call)
    ts = call.required("ts")
    message = channel.messages.get(ts)
    if message is None:
        raise Refusal("thread_not_found")
    if message.get("thread_ts", ts) != ts:
        return _paged(call, [message])
    root, *replies = messages.thread(channel, ts)
    return _paged(call, [root, *_within(call, replies)])


def _open(call: Call) -> Json:
    call.need("im:write")
    users = call.text("users")
    if call.text("channel"):
        channel = call.channel()
    elif not users or "," in users:
        raise Refusal("users_list_not_supplied" if not users else "not_supported")
    else:
        try:
            channel = call.world.dm(call.member("users").id)
        except PersonError:
            raise Refusal("cannot_dm_bot") from None
    shown = described(channel) if call.flag("return_im") else {"id": channel.id}
    return {"ok": True, "no_op": True, "already_open": True, "channel": shown}


METHODS = (
    Method("conversations.info", _info, "", 50),
    Method("conversations.list", _list, "", 20),
    Method("conversations.members", _members, "", 100),
    Method("conversations.history", _history, "", 50),
    Method("conversations.replies", _replies, "", 50),
    Method("conversations.open", _open, "", 50),
    Method("users.conversations", _users_conversations, "", 50),
)
