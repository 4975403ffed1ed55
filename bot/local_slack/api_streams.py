"""chat.startStream, chat.appendStream and chat.stopStream."""

from dataclasses import replace

from bot.local_slack import messages
from bot.local_slack.api_chat import target, writable
from bot.local_slack.blocks import BLOCKS_TEXT, text_length
from bot.local_slack.limits import (
    POST_TEXT,
    check_chunks,
    check_markdown,
    check_message_blocks,
    check_metadata,
)
from bot.local_slack.method import Call, Method
from bot.local_slack.shapes import Json, Refusal
from bot.local_slack.streams import Stream
from bot.local_slack.views import with_ids
from bot.local_slack.world import Channel

STREAM_BLOCKS = 100
SESSION_STATUSES = ("active", "processing", "suspended", "closed")


def _parts(call: Call) -> tuple[str, list[Json]]:
    """The text and the chunks of a call; both at once are refused."""
    text = check_markdown(call.text("markdown_text"))
    chunks = call.json("chunks", "invalid_chunks")
    if text and chunks:
        raise Refusal("cannot_provide_both_markdown_text_and_chunks")
    # The SDK's stream helper sends an empty list when it has nothing left.
    return text, check_chunks(chunks) if chunks not in (None, []) else []


def _start(call: Call) -> Json:
    channel = target(call)
    thread_ts = call.text("thread_ts")
    if channel.kind == "im" and not thread_ts:
        raise Refusal("channel_type_not_supported")
    if channel.kind != "im":
        for name in ("recipient_user_id", "recipient_team_id"):
            if not call.text(name):
                raise Refusal(f"missing_{name}")
        call.member("recipient_user_id")
    mode = call.text("task_display_mode", "timeline")
    if mode not in ("timeline", "plan"):
        raise Refusal("invalid_arguments")
    text, chunks = _parts(call)
    started = call.world.clock.now()
    stream = Stream(channel.id, "", thread_ts, started, mode).grown(text, chunks)
    body = {**messages.bot_author(), **_shown(call, stream)}
    if thread_ts:
        body["thread_ts"] = thread_ts
    ts = str(messages.post(call.world, channel, body)["ts"])
    call.world.streams.put(replace(stream, ts=ts))
    messages.change(call.world, channel, ts, {}, told=False)
    return {"ok": True, "channel": channel.id, "ts": ts}


def _shown(call: Call, stream: Stream, more: list[Json] | None = None) -> Json:
    """Text and blocks of the message as the stream stands, if Slack would still take them."""
    blocks = stream.shown() + (more or [])
    if len(blocks) > STREAM_BLOCKS:
        raise Refusal("invalid_blocks")
    if text_length([block for block in blocks if block["type"] != "markdown"]) > BLOCKS_TEXT:
        raise Refusal("msg_blocks_too_long")
    if len(stream.text) > POST_TEXT:
        raise Refusal("msg_too_long")
    return {"text": stream.text, "blocks": with_ids(blocks, call.world)}


def _open(call: Call) -> tuple[Channel, Stream]:
    channel = call.channel()
    writable(channel)
    ts = call.required("ts")
    messages.find(channel, ts)
    return channel, call.world.streams.get(channel.id, ts)


def _append(call: Call) -> Json:
    channel, stream = _open(call)
    text, chunks = _parts(call)
    if not text and not chunks:
        raise Refusal("no_text")
    grown = stream.grown(text, chunks)
    fields = _shown(call, grown)
    call.world.streams.put(grown)
    messages.change(call.world, channel, stream.ts, fields, told=False)
    return {"ok": True, "channel": channel.id, "ts": stream.ts}


def _stop(call: Call) -> Json:
    channel, stream = _open(call)
    text, chunks = _parts(call)
    blocks = call.json("blocks", "invalid_blocks_format")
    final = check_message_blocks(blocks) if blocks is not None else []
    metadata = call.json("metadata", "invalid_metadata_format")
    fields: Json = {} if metadata is None else {"metadata": check_metadata(metadata)}
    session_status = call.text("session_status", "active")
    if session_status not in SESSION_STATUSES:
        raise Refusal("invalid_arguments")
    fields |= _shown(call, stream.grown(text, chunks), final)
    call.world.streams.close(channel.id, stream.ts)
    if call.world.sessions.session(channel.id, stream.thread_ts):
        call.world.sessions.set_session(channel.id, stream.thread_ts, session_status)
    message = messages.change(call.world, channel, stream.ts, fields)
    return {"ok": True, "channel": channel.id, "ts": stream.ts, "message": message}


METHODS = (
    Method("chat.startStream", _start, "chat:write", 20),
    Method("chat.appendStream", _append, "chat:write", 100),
    Method("chat.stopStream", _stop, "chat:write", 20),
)
