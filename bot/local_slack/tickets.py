"""The single-use addresses of Socket Mode."""

import secrets
from collections.abc import Callable


class Tickets:
    """Tickets handed out by ``apps.connections.open``; each opens one socket, for a while."""

    def __init__(self, now: Callable[[], float], seconds: float) -> None:
        self._now = now
        self._seconds = seconds
        self._made: dict[str, float] = {}

    def issue(self) -> str:
        """A new ticket."""
        ticket = secrets.token_urlsafe(16)
        self._made[ticket] = self._now()
        return ticket

    def take(self, ticket: str) -> bool:
        """Use a ticket up; False if it was used before, is too old, or never was."""
        made = self._made.pop(ticket, None)
        return made is not None and self._now() - made <= self._seconds
