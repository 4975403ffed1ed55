"""files.*: the two-step upload and files.info."""

from bot.local_slack import messages
from bot.local_slack.api_chat import writable
from bot.local_slack.files import MAX_BYTES, StoredFile
from bot.local_slack.method import Call, Method, invalid_argument
from bot.local_slack.options import BOT_USER_ID
from bot.local_slack.shapes import Json, Refusal
from bot.local_slack.world import Channel


def _upload_url(call: Call) -> Json:
    name = call.required("filename")
    length = call.number("length", 0, MAX_BYTES + 1)
    if not length:
        raise invalid_argument("missing required field: length")
    if length > MAX_BYTES:
        raise Refusal("file_upload_size_restricted")
    alt_text = call.text("alt_txt")
    if len(alt_text) > 1000:
        raise Refusal("alt_txt_too_large")
    file_id, address = call.world.files.expect(name, length, BOT_USER_ID, alt_text)
    return {"ok": True, "upload_url": address, "file_id": file_id}


def _complete(call: Call) -> Json:
    rows = call.json("files")
    if not isinstance(rows, list) or not rows or not all(isinstance(r, dict) for r in rows):
        raise invalid_argument("missing required field: files")
    found = [_arrived(call, str(row.get("id"))) for row in rows]
    names = [call.text("channel_id")] if call.text("channel_id") else []
    names += [name for name in call.text("channels").split(",") if name]
    channels = [_place(call, name) for name in names]
    for row, file in zip(rows, found, strict=True):
        file.object = {**file.object, "title": row.get("title") or file.object["name"]}
    for channel in channels:
        _share(call, channel, found)
    for file in found:
        file.shared = True
    return {"ok": True, "files": [file.object for file in found]}


def _arrived(call: Call, file_id: str) -> StoredFile:
    file = call.world.files.get(file_id)
    if file is None or file.shared:
        raise Refusal("file_not_found")
    return file


def _place(call: Call, name: str) -> Channel:
    channel = Call(call.world, call.tickets, {"channel": name}).channel()
    writable(channel)
    return channel


def _share(call: Call, channel: Channel, found: list[StoredFile]) -> None:
    """Post the message that carries the files."""
    body = {**messages.bot_author(), "subtype": "file_share", "upload": False,
            "text": call.text("initial_comment"), "files": [f.object for f in found]}  # fmt: skip
    if thread_ts := call.text("thread_ts"):
        body["thread_ts"] = thread_ts
    message = messages.post(call.world, channel, body)
    for file in found:
        share = {"ts": message["ts"], "channel_name": channel.name, "team_id": message["team"]}
        if thread_ts:
            share["thread_ts"] = thread_ts
        where = "public" if channel.kind == "public" else "private"
        file.object = {**file.object, "channels": [channel.id],
                       "shares": {where: {channel.id: [share]}}}  # fmt: skip


def _info(call: Call) -> Json:
    file = call.world.files.get(call.required("file"))
    if file is None:
        raise Refusal("file_not_found")
    return {"ok": True, "file": file.object, "comments": [], "response_metadata": {
        "next_cursor": ""}}  # fmt: skip


METHODS = (
    Method("files.getUploadURLExternal", _upload_url, "files:write", 100),
    Method("files.completeUploadExternal", _complete, "files:write", 100),
    Method("files.info", _info, "files:read", 100),
)
