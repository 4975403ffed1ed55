"""chat.* without the streams."""

from bot.local_slack import messages
from bot.local_slack.limits import check_markdown, check_message_blocks, check_metadata, check_text
from bot.local_slack.method import Call, Method, invalid_argument
from bot.local_slack.options import BOT_ID, BOT_USER_ID
from bot.local_slack.responses import show_ephemeral
from bot.local_slack.shapes import Json, PersonError, Refusal
from bot.local_slack.views import with_ids
from bot.local_slack.world import Channel


def target(call: Call) -> Channel:
    """The channel to post in: an id, a ``#name``, or a user id for that person's DM."""
    wanted = call.text("channel")
    if wanted in call.world.members and wanted != BOT_USER_ID:
        try:
            return call.world.dm(wanted)
        except PersonError:
            raise Refusal("channel_not_found") from None
    channel = call.channel()
    writable(channel)
    return channel


def writable(channel: Channel) -> None:
    """Refuse a channel that the app may not write to."""
    if channel.is_archived:
        raise Refusal("is_archived")
    if BOT_USER_ID not in channel.members:
        raise Refusal("not_in_channel")


def content(call: Call, update: bool = False) -> Json:
    """Text, blocks and metadata of a message, checked; ``no_text`` when there is nothing."""
    text = check_text(call.text("text"), update)
    blocks = call.json("blocks", "invalid_blocks_format")
    markdown = call.text("markdown_text")
    if markdown and (text or blocks):
        raise Refusal("markdown_text_conflict")
    body: Json = {"text": text}
    if markdown:
        check_markdown(markdown)
        body = {"text": markdown}
        blocks = [{"type": "markdown", "text": markdown}]
    if blocks is not None:
        body["blocks"] = with_ids(check_message_blocks(blocks), call.world)
    attachments = call.json("attachments")
    if isinstance(attachments, list) and attachments:
        body["attachments"] = attachments
    if not body["text"] and not body.get("blocks") and not attachments and not update:
        raise Refusal("no_text")
    metadata = call.json("metadata", "invalid_metadata_format")
    if metadata is not None:
        body["metadata"] = check_metadata(metadata)
    return body


def _post_message(call: Call) -> Json:
    channel = target(call)
    body = {**messages.bot_author(), **content(call)}
    if thread_ts := call.text("thread_ts"):
        body["thread_ts"] = thread_ts
        if call.flag("reply_broadcast"):
            body["subtype"] = "thread_broadcast"
    message = messages.post(call.world, channel, body)
    return {"ok": True, "channel": channel.id, "ts": message["ts"], "message": message}


def _own(call: Call, channel: Channel, refusal: str) -> Json:
    """The app's own message that ``ts`` names."""
    message = messages.find(channel, call.required("ts"))
    if message.get("bot_id") != BOT_ID:
        raise Refusal(refusal)
    return message


def _update(call: Call) -> Json:
    channel = target(call)
    message = _own(call, channel, "cant_update_message")
    ts = str(message["ts"])
    if call.world.streams.is_open(channel.id, ts):
        raise Refusal("streaming_state_conflict")
    given = content(call, update=True)
    if call.args.get("text") is None and not call.args.get("markdown_text"):
        if "blocks" not in given and "attachments" not in given and "metadata" not in given:
            raise Refusal("no_text")
        del given["text"]
    given["edited"] = {"user": BOT_ID, "ts": call.world.clock.ts()}
    if given.get("blocks") == []:
        given["blocks"] = None
    after = messages.change(call.world, channel, ts, given)
    text = after.get("text", "")
    return {"ok": True, "channel": channel.id, "ts": ts, "text": text, "message": after}


def _delete(call: Call) -> Json:
    channel = target(call)
    message = _own(call, channel, "cant_delete_message")
    if call.world.streams.is_open(channel.id, str(message["ts"])):
        raise Refusal("cant_delete_message")
    messages.delete(call.world, channel, str(message["ts"]))
    return {"ok": True, "channel": channel.id, "ts": message["ts"]}


def _post_ephemeral(call: Call) -> Json:
    channel = target(call)
    user = call.text("user")
    if user not in call.world.members:
        raise Refusal("user_not_found")
    if user not in channel.members:
        raise Refusal("user_not_in_channel")
    body = content(call)
    shown = show_ephemeral(call.world, channel, user, body, call.text("thread_ts"))
    return {"ok": True, "message_ts": shown["id"]}


def _permalink(call: Call) -> Json:
    channel = call.channel()
    ts = call.text("message_ts")
    if not ts:
        raise invalid_argument("missing required field: message_ts")
    message = messages.find(channel, ts)
    link = f"{call.world.base_url}/archives/{channel.id}/p{ts.replace('.', '')}"
    if message.get("thread_ts", ts) != ts:
        link += f"?thread_ts={message['thread_ts']}&cid={channel.id}"
    return {"ok": True, "channel": channel.id, "permalink": link}


METHODS = (
    Method("chat.postMessage", _post_message, "chat:write", 0),
    Method("chat.update", _update, "chat:write", 50),
    Method("chat.delete", _delete, "chat:write", 50),
    Method("chat.postEphemeral", _post_ephemeral, "chat:write", 100),
    Method("chat.getPermalink", _permalink, "", 0),
)
