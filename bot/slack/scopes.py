"""Which permission each Web API method and event needs. A test holds it against manifest.yml.

Source: docs.slack.dev, the page of each method and event.
"""

from __future__ import annotations

from collections.abc import Mapping

METHOD_SCOPES: Mapping[str, tuple[str, ...]] = {
    "agents.sessions.setStatus": ("chat:write",),
    "apps.connections.open": (),  # the app-level token's own scope, connections:write
    "assistant.threads.setStatus": ("chat:write",),
    "auth.test": (),
    "chat.appendStream": ("chat:write",),
    "chat.postMessage": ("chat:write",),
    "chat.startStream": ("chat:write",),
    "chat.stopStream": ("chat:write",),
    "chat.update": ("chat:write",),
    "conversations.replies": (
        "channels:history",
        "groups:history",
        "im:history",
        "mpim:history",
    ),
    "reactions.add": ("reactions:write",),
    "reactions.remove": ("reactions:write",),
    "users.info": ("users:read",),
    "views.open": (),
    "views.publish": (),
}
"""The scopes that each method called anywhere needs, with one for each kind of conversation."""

EVENT_SCOPES: Mapping[str, tuple[str, ...]] = {
    "agent_session_stopped": ("chat:write",),
    "app_context_changed": ("assistant:write",),
    "app_home_opened": (),
    "app_mention": ("app_mentions:read",),
    "member_joined_channel": ("channels:read", "groups:read"),
    "message.channels": ("channels:history",),
    "message.groups": ("groups:history",),
    "message.im": ("im:history",),
    "message.mpim": ("mpim:history",),
    "reaction_added": ("reactions:read",),
    "reaction_removed": ("reactions:read",),
}
"""The scopes that each event of the manifest needs."""

BOT_EVENTS = tuple(EVENT_SCOPES)

BOT_SCOPES = (
    "app_mentions:read",
    "assistant:write",
    "channels:history",
    "channels:read",
    "chat:write",
    "commands",
    "files:read",
    "files:write",
    "groups:history",
    "groups:read",
    "im:history",
    "im:read",
    "im:write",
    "mpim:history",
    "mpim:read",
    "reactions:read",
    "reactions:write",
    "usergroups:read",
    "users:read",
)
"""Every scope of the manifest, so that later releases need no reinstallation."""
