"""Answers of commands and of the Home tab as mrkdwn: names are live, nothing else is. Pure."""

from __future__ import annotations

import re

from bot.admin.explain import Naming
from bot.inert import inert
from bot.slack.blocks import clip, escape

MARKS = Naming(
    lambda channel: f"<#{channel}>", lambda person: f"<@{person}>", lambda text: f"`{text}`"
)
"""Channels and people as Slack shows them by name; in what one person alone sees, that tells
nobody."""
_MARK = re.compile(r"&lt;([#@][A-Z][A-Z0-9]+)&gt;")


def shown(text: str, limit: int) -> str:
    """At most `limit` characters of `text`, in which nothing is live but the names it means."""
    return clip(_MARK.sub(r"<\1>", escape(inert(text))), limit)
