"""Assistant status lines and agent sessions of threads."""

import asyncio
from dataclasses import dataclass

from bot.local_slack.host import Change, Host
from bot.local_slack.shapes import Json

Thread = tuple[str, str]
WORKING = "is working…"


@dataclass(frozen=True, slots=True)
class Status:
    """A status line under a thread and when it was set (seconds since the epoch)."""

    text: str
    since: float


@dataclass(frozen=True, slots=True)
class Session:
    """An agent session: active, processing, suspended or closed."""

    status: str
    title: str


class Sessions:
    """What threads show about the app's work besides messages."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._status: dict[Thread, Status] = {}
        self._session: dict[Thread, Session] = {}
        self._timers: dict[Thread, asyncio.TimerHandle] = {}

    def set_status(self, channel: str, thread_ts: str, text: str) -> None:
        """Show a status line; an empty text takes it away. It goes by itself after a while."""
        if not text:
            self.clear_status(channel, thread_ts)
            return
        thread = (channel, thread_ts)
        self._status[thread] = Status(text, self._host.clock.now())
        self._cancel(thread)
        delay = self._host.options.status_seconds
        loop = asyncio.get_running_loop()
        self._timers[thread] = loop.call_later(delay + 0.01, self.sweep)
        self._tell(thread)

    def clear_status(self, channel: str, thread_ts: str) -> None:
        """Take the status line away, if there is one (the app posted, or asked for it)."""
        thread = (channel, thread_ts)
        self._cancel(thread)
        if self._status.pop(thread, None):
            self._tell(thread)

    def sweep(self) -> None:
        """Take away every status line that is older than the limit."""
        now, limit = self._host.clock.now(), self._host.options.status_seconds
        for thread, status in list(self._status.items()):
            if now - status.since >= limit:
                self.clear_status(*thread)

    def session(self, channel: str, thread_ts: str) -> Session | None:
        """The agent session of a thread, if the app made one."""
        return self._session.get((channel, thread_ts))

    def set_session(self, channel: str, thread_ts: str, status: str, title: str = "") -> Session:
        """Make the session or change its status; a title counts only when it is made."""
        thread = (channel, thread_ts)
        before = self._session.get(thread)
        self._session[thread] = session = Session(status, before.title if before else title)
        self._tell(thread)
        return session

    def rename(self, channel: str, thread_ts: str, title: str) -> bool:
        """Give an existing session another title; False where there is none."""
        thread = (channel, thread_ts)
        before = self._session.get(thread)
        if before is None:
            return False
        self._session[thread] = Session(before.status, title)
        self._tell(thread)
        return True

    def shown(self, channel: str, thread_ts: str) -> Json:
        """What the page shows for a thread: the status text and whether there is a stop button."""
        status = self._status.get((channel, thread_ts))
        session = self._session.get((channel, thread_ts))
        busy = session is not None and session.status == "processing"
        return {
            "channel": channel,
            "thread_ts": thread_ts,
            "status": status.text if status else WORKING if busy else "",
            "stoppable": busy and "agent_session_stopped" in self._host.options.subscriptions,
        }

    def all_shown(self) -> list[Json]:
        """``shown`` of every thread that shows something."""
        threads = {**self._status, **self._session}
        return [line for line in (self.shown(*thread) for thread in threads) if line["status"]]

    def saved(self) -> list[Json]:
        """The sessions, for the state file."""
        return [
            {"channel": c, "thread_ts": t, "status": s.status, "title": s.title}
            for (c, t), s in self._session.items()
        ]

    def load(self, saved: list[Json]) -> None:
        """Put back what ``saved`` gave."""
        for row in saved:
            thread = (str(row["channel"]), str(row["thread_ts"]))
            self._session[thread] = Session(str(row["status"]), str(row["title"]))

    def close(self) -> None:
        """Cancel every timer."""
        for thread in list(self._timers):
            self._cancel(thread)

    def _cancel(self, thread: Thread) -> None:
        if timer := self._timers.pop(thread, None):
            timer.cancel()

    def _tell(self, thread: Thread) -> None:
        self._host.notify(Change("status", self.shown(*thread), channel=thread[0]))
