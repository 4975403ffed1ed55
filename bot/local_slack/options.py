"""The settings of one stand-in, and the fixed identities of its workspace."""

from dataclasses import dataclass, field
from pathlib import Path

TEAM_ID = "T0LOCAL"
TEAM_NAME = "Treadle demo"
TEAM_DOMAIN = "treadle-demo"
OTHER_TEAM_ID = "T0OTHER"
APP_ID = "A0TREADLE"
BOT_USER_ID = "U0TREADLE"
BOT_NAME = "treadle"
BOT_ID = "B0TREADLE"

EVERY_SCOPE = frozenset(
    {
        "app_mentions:read", "assistant:write", "bot", "channels:history", "channels:read",
        "chat:write", "commands", "files:read", "files:write", "groups:history", "groups:read",
        "im:history", "im:read", "im:write", "mpim:history", "mpim:read", "reactions:read",
        "reactions:write", "team:read", "usergroups:read", "users:read",
    }
)  # fmt: skip

EVERY_EVENT = frozenset(
    {
        "agent_session_stopped", "agent_session_title_changed", "app_context_changed",
        "app_home_opened", "app_mention", "member_joined_channel", "message.channels",
        "message.groups", "message.im", "message.mpim", "reaction_added", "reaction_removed",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Options:
    """How one stand-in behaves. Times are seconds; empty tokens are drawn at random.

    ``commands`` are the app's slash commands, as its manifest declares them.
    ``request_url`` switches from Socket Mode to signed HTTP. ``retry_scale`` multiplies Slack's
    waits between deliveries (0, 60 and 300 s). ``hold_while_offline`` keeps an event until the
    app connects instead of counting the absence as a failed attempt. ``absent_methods`` answer
    ``unknown_method``, as an older Slack would. ``rate_limits`` enforces the published tiers;
    ``pace`` makes them so many times faster.
    """

    port: int = 0
    bot_token: str = ""
    app_token: str = ""
    page_token: str = ""
    signing_secret: str = ""
    scopes: frozenset[str] = EVERY_SCOPE
    subscriptions: frozenset[str] = EVERY_EVENT
    commands: frozenset[str] = frozenset({"/treadle"})
    absent_methods: frozenset[str] = frozenset()
    agent_app: bool = True
    request_url: str | None = None
    ack_seconds: float = 3.0
    retry_scale: float = 1.0
    hold_while_offline: bool = False
    ping_seconds: float = 20.0
    ticket_seconds: float = 30.0
    trigger_seconds: float = 3.0
    stream_seconds: float = 300.0
    status_seconds: float = 120.0
    response_url_seconds: float = 1800.0
    rate_limits: bool = False
    pace: float = 1.0
    post_burst: int = 5
    max_calls: int = 20_000
    seed: int = 1
    state_file: Path | None = None
    banner: str | None = None
    user_token: str = field(default="xoxp-local-person")
