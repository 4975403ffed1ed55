"""What `treadle runs` says of threads."""

from __future__ import annotations

from collections.abc import Mapping

RUN_OPEN = "unfinished"
RUN_WAITS = "waits for a person's answer"
RUN_UNREADABLE = "cannot be read"
RUN_STATES: Mapping[str, str] = {
    "Answered": "answered",
    "Stopped": "stopped",
    "Failed": "failed",
    "Refused": "refused",
}


def no_such_thread(thread: str) -> str:
    return (
        f"There is no thread {thread!r} here. `treadle runs list` shows those that there are; "
        "a thread is named TEAM:CHANNEL:TS."
    )
