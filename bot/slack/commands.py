"""`/treadle`: answered in the acknowledgement itself, so it needs no call."""

from __future__ import annotations

from bot import words
from bot.slack.inbound import Payload


def answer_command(command: Payload) -> str:
    """The ephemeral answer to a slash command."""
    text = str(command.get("text", "")).strip()
    word = text.split()[0].lower() if text else "help"
    if word == "help":
        return words.command_help()
    return words.command_unknown(word)
