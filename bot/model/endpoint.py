"""Where the model is, and how it is spoken to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bot.agent.ports import Json

OPENAI = "https://api.openai.com/v1"
"""What the client library uses where no address is given."""

RETRIES = 4
"""After the first try, with 0.5 to 8 s between them or what Retry-After says."""
FIRST_PAUSE = 0.5


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the model is. `api_key` may be empty for a local server; time-outs are in seconds.

    `dialect` is "auto" or the name of one in `bot.agent.dialects.detect.DIALECTS`. `options` go
    into each request (such as `temperature`) until the endpoint refuses them.
    """

    model: str
    api_key: str = field(repr=False, default="")
    base_url: str | None = None
    connect_timeout: float = 10.0
    read_timeout: float = 180.0
    retries: int = RETRIES
    first_pause: float = FIRST_PAUSE
    dialect: str = "auto"
    options: Mapping[str, Json] = field(default_factory=dict)

    @property
    def address(self) -> str:
        """What is known of an endpoint is remembered under its address."""
        return (self.base_url or OPENAI).rstrip("/")
