"""What the commands print when they start."""

from __future__ import annotations


def door_socket() -> str:
    return "Socket Mode"


def door_http(host: str, port: int) -> str:
    return f"HTTP on {host}:{port}/slack/events"


def ready(bot: str, team: str, model: str, door: str) -> str:
    return (
        f"Treadle is @{bot} in {team}, by {door}, with the model {model}. "
        "Mention it in a channel; Ctrl-C stops."
    )


def demo_ready(address: str) -> str:
    return f"The demo is at {address}\nOpen it in a browser; Ctrl-C stops."


def banner_rehearsal() -> str:
    return (
        "Rehearsal model: it really uses the tools but understands only a few phrases. "
        "Set OPENAI_API_KEY and restart for a real model."
    )


def banner_model(model: str) -> str:
    return f"Model: {model}"


def chat_greeting() -> str:
    return "Write a message and press Enter; `exit` or Ctrl-D ends. Ctrl-C leaves at once."


def chat_question(*, thread: bool = False) -> str:
    more = ", a to approve for this thread" if thread else ""
    return (
        "A rule wants your yes before this call is made: y to approve, n to deny (with a reason "
        f"behind it if you like){more}."
    )


def more_lines(count: int) -> str:
    return f"({count:,} more lines)"
