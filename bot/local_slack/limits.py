"""Lengths that Slack refuses in messages, streams and views; sources in docs/slack-contract.md."""

import json

from bot.local_slack.blocks import (
    BLOCKS_TEXT,
    MESSAGE_BLOCKS,
    VIEW_BLOCKS,
    VIEW_BYTES,
    check_blocks,
    text_length,
)
from bot.local_slack.elements import Invalid, text_object
from bot.local_slack.shapes import Json, Refusal

POST_TEXT = 40_000
UPDATE_TEXT_BYTES = 4_000
MARKDOWN_TEXT = 12_000
PRIVATE_METADATA = 3_000
METADATA_BYTES = 16_000
CHUNK_TEXT = 256
_CHUNKS = {
    "markdown_text": ("text",),
    "task_update": ("id", "title", "status"),
    "plan_update": ("title",),
    "blocks": ("blocks",),
}


def check_message_blocks(blocks: object, most: int = MESSAGE_BLOCKS) -> list[Json]:
    """Blocks that one message may carry: count, kinds, and the text of all of them together."""
    checked = check_blocks(blocks, most)
    if text_length(checked) > BLOCKS_TEXT:
        raise Refusal("msg_blocks_too_long")
    return checked


def check_text(text: str, update: bool = False) -> str:
    """A message's text, or ``msg_too_long``. Updates are held to fewer bytes than posts."""
    if len(text) > POST_TEXT or (update and len(text.encode()) > UPDATE_TEXT_BYTES):
        raise Refusal("msg_too_long")
    return text


def check_markdown(text: str) -> str:
    """A ``markdown_text`` argument, or ``msg_too_long`` above 12,000 characters."""
    if len(text) > MARKDOWN_TEXT:
        raise Refusal("msg_too_long")
    return text


def check_metadata(metadata: object) -> Json:
    """Message metadata: an object with ``event_type`` and ``event_payload``."""
    if not isinstance(metadata, dict):
        raise Refusal("invalid_metadata_format")
    kind, payload = metadata.get("event_type"), metadata.get("event_payload")
    if not isinstance(kind, str) or not kind or not isinstance(payload, dict):
        raise Refusal("invalid_metadata_format")
    if len(json.dumps(payload)) > METADATA_BYTES:
        raise Refusal("metadata_too_large")
    return {"event_type": kind, "event_payload": payload}


def check_chunks(chunks: object) -> list[Json]:
    """The chunks of a stream call, or ``invalid_chunks``; their text counts like blocks do."""
    if not isinstance(chunks, list) or not chunks:
        raise Refusal("invalid_chunks")
    for chunk in chunks:
        needed = _CHUNKS.get(str(chunk.get("type"))) if isinstance(chunk, dict) else None
        if needed is None or any(not chunk.get(key) for key in needed):
            raise Refusal("invalid_chunks")
        if chunk["type"] == "blocks":
            check_blocks(chunk["blocks"])
        if chunk["type"] == "task_update" and chunk["status"] not in (
            "pending",
            "in_progress",
            "complete",
            "error",
        ):
            raise Refusal("invalid_chunks")
        if chunk["type"] != "blocks" and chunk["type"] != "markdown_text":
            fields = ("title", "details", "output")
            if any(len(str(chunk.get(key) or "")) > CHUNK_TEXT for key in fields):
                raise Refusal("invalid_chunks")
    if text_length(chunks) > BLOCKS_TEXT:
        raise Refusal("msg_blocks_too_long")
    return chunks


def check_view(view: object, modal: bool) -> Json:
    """A view that Slack takes, or ``invalid_arguments`` / ``view_too_large``."""
    if not isinstance(view, dict):
        raise _invalid_view("must be an object", "/view")
    kind = view.get("type")
    if kind != ("modal" if modal else "home"):
        raise _invalid_view(f"unsupported type: {kind}", "/view/type")
    try:
        if modal:
            text_object(view.get("title"), 24, "/view/title", plain=True)
            for key in ("submit", "close"):
                if view.get(key) is not None:
                    text_object(view[key], 24, f"/view/{key}", plain=True)
    except Invalid as problem:
        raise Refusal("invalid_arguments", response_metadata={"messages": [str(problem)]}) from None
    if len(str(view.get("private_metadata") or "")) > PRIVATE_METADATA:
        raise _invalid_view("must be less than 3001 characters", "/view/private_metadata")
    if len(str(view.get("callback_id") or "")) > 255:
        raise _invalid_view("must be less than 256 characters", "/view/callback_id")
    try:
        blocks = check_blocks(view.get("blocks"), VIEW_BLOCKS, "/view/blocks")
    except Refusal as refusal:
        raise Refusal("invalid_arguments", **refusal.fields) from None
    if modal and any(block["type"] == "input" for block in blocks) and not view.get("submit"):
        raise _invalid_view("missing required field: submit", "/view")
    if len(json.dumps(view).encode()) > VIEW_BYTES:
        raise Refusal("view_too_large")
    return view


def _invalid_view(problem: str, pointer: str) -> Refusal:
    message = f"[ERROR] {problem} [json-pointer:{pointer}]"
    return Refusal("invalid_arguments", response_metadata={"messages": [message]})
