"""What the stores (sessions, streams, views, files) need from the workspace that holds them."""

from dataclasses import dataclass
from typing import Protocol

from bot.local_slack.clock import Clock
from bot.local_slack.options import Options
from bot.local_slack.shapes import Json


@dataclass(frozen=True, slots=True)
class Change:
    """What the page is told: for one user, else for a channel's members, else for everybody."""

    type: str
    data: Json
    channel: str = ""
    user: str = ""


class Host(Protocol):
    """The workspace, as its stores see it."""

    options: Options
    clock: Clock
    base_url: str

    def notify(self, change: Change) -> None:
        """Tell the page and everybody who waits."""

    def new_id(self, prefix: str) -> str:
        """An id that nothing else has."""
