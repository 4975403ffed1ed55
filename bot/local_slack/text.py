"""Text as people type it, as Slack stores it, and as people read it."""

import html
import re
from collections.abc import Iterator, Mapping

from bot.local_slack.shapes import Json

Names = Mapping[str, str]

_WORD = re.compile(r"(?<![\w@])@([\w.-]+)|(?<![\w#&])#([\w-]+)")
_MARK = re.compile(r"<([@#!]?)([^<>|]+)(?:\|([^<>]*))?>")
_FENCE = re.compile(r"```\n?(.*?)\n?```", re.DOTALL)
_NODE_TEXT = ("title", "text", "subtitle", "body", "details", "output", "fields", "elements",
              "accessory", "rows", "tasks", "sources", "alt_text", "label", "hint", "placeholder",
              "options", "positive_button", "negative_button", "child_blocks", "actions",
              "description", "initial_value")  # fmt: skip


def escaped(text: str) -> str:
    """Text with ``& < >`` as Slack stores them."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def as_stored(typed: str, people: Names, channels: Names) -> str:
    """What Slack stores for a typed text: escaped, ``@name`` and ``#name`` as ids.

    ``people`` and ``channels`` map lower-case names to ids; unknown names stay as typed.
    """

    def mark(match: re.Match[str]) -> str:
        person, channel = match.group(1), match.group(2)
        if person:
            stem = person.rstrip(".-")
            found = people.get(person.lower()) or people.get(stem.lower())
            used = person if people.get(person.lower()) else stem
            return f"<@{found}>{person[len(used) :]}" if found else match.group(0)
        found = channels.get(channel.lower())
        return f"<#{found}|{channel}>" if found else match.group(0)

    return _WORD.sub(mark, escaped(typed))


def rich_text(stored: str, block_id: str) -> list[Json]:
    """The ``rich_text`` block that Slack adds to a person's message."""
    elements: list[Json] = []
    position = 0
    for fence in _FENCE.finditer(stored):
        _section(stored[position : fence.start()], elements)
        code = {"type": "text", "text": html.unescape(fence.group(1))}
        elements.append({"type": "rich_text_preformatted", "elements": [code], "border": 0})
        position = fence.end()
    _section(stored[position:], elements)
    return [{"type": "rich_text", "block_id": block_id, "elements": elements}]


def _section(stored: str, into: list[Json]) -> None:
    """Append one ``rich_text_section`` for a stretch of stored text, if it holds anything."""
    parts: list[Json] = []
    position = 0
    for mark in _MARK.finditer(stored):
        if before := stored[position : mark.start()]:
            parts.append({"type": "text", "text": html.unescape(before)})
        parts.append(_rich_mark(mark))
        position = mark.end()
    if rest := stored[position:]:
        parts.append({"type": "text", "text": html.unescape(rest)})
    if parts:
        into.append({"type": "rich_text_section", "elements": parts})


def _rich_mark(mark: re.Match[str]) -> Json:
    kind, target, label = mark.group(1), html.unescape(mark.group(2)), mark.group(3)
    if kind == "@":
        return {"type": "user", "user_id": target}
    if kind == "#":
        return {"type": "channel", "channel_id": target}
    if kind == "!":
        return {"type": "broadcast", "range": target}
    return {"type": "link", "url": target, **({"text": html.unescape(label)} if label else {})}


def readable(stored: str, names: Names) -> str:
    """Stored text as a person reads it: marks shown by name, entities decoded."""

    def shown(mark: re.Match[str]) -> str:
        kind, target, label = mark.group(1), mark.group(2), mark.group(3)
        if kind == "@":
            return "@" + (label or names.get(target, target))
        if kind == "#":
            return "#" + (label or names.get(target, target))
        if kind == "!":
            return label or "@" + target.partition("^")[0]
        return label or target

    return html.unescape(_MARK.sub(shown, stored))


def visible_text(message: Json, names: Names) -> str:
    """Everything a person reads in a message: its blocks if there are any, else its text.

    ``names`` maps user and channel ids to the names shown. Files add their titles.
    """
    blocks = message.get("blocks") or []
    if blocks:
        lines = [line for block in blocks for line in _lines(block, names)]
    else:
        lines = [readable(str(message.get("text") or ""), names)]
    lines += [str(file.get("title") or file.get("name") or "") for file in message.get("files", ())]
    return "\n".join(line for line in lines if line)


def _lines(node: object, names: Names) -> Iterator[str]:
    """The lines of a block or of any part of it, in reading order."""
    if isinstance(node, list):
        for part in node:
            yield from _lines(part, names)
        return
    if not isinstance(node, dict):
        return
    kind = str(node.get("type", ""))
    if kind.startswith("rich_text_") and kind != "rich_text_list":
        yield "".join(_inline(part, names) for part in node.get("elements", ()))
    elif kind == "mrkdwn" or kind == "markdown":
        yield readable(str(node.get("text", "")), names)
    elif isinstance(node.get("rows"), list) and kind == "table":
        for row in node["rows"]:
            yield " | ".join(" ".join(_lines(cell, names)) for cell in row)
    else:
        for key in _NODE_TEXT:
            value = node.get(key)
            if isinstance(value, str):
                yield html.unescape(value)
            elif value is not None:
                yield from _lines(value, names)


def _inline(part: Json, names: Names) -> str:
    """One element of a rich text line."""
    kind = part.get("type")
    if kind == "user":
        return "@" + names.get(str(part.get("user_id")), str(part.get("user_id")))
    if kind == "channel":
        return "#" + names.get(str(part.get("channel_id")), str(part.get("channel_id")))
    if kind == "broadcast":
        return "@" + str(part.get("range"))
    if kind == "emoji":
        return f":{part.get('name')}:"
    if kind == "link":
        return str(part.get("text") or part.get("url") or "")
    return str(part.get("text") or "")
