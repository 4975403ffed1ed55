"""Which permission each Web API method and event needs. A test holds it against manifest.yml.

Source: docs.slack.dev, the page of each method and event.
"""

from __future__ import annotations

from collections.abc import Mapping

METHOD_SCOPES: Mapping[str, str | None] = {
    "apps.connections.open": None,  # the app-level token's own scope, connections:write
    "assistant.threads.setStatus": "chat:write",
    "auth.test": None,
    "chat.postMessage": "chat:write",
    "conversations.replies": "channels:history",
    "reactions.add": "reactions:write",
    "reactions.remove": "reactions:write",
    "users.info": "users:read",
    "views.publish": None,
}
"""The scope that each method called anywhere needs; None: any token of the app will do."""

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

BOT_EVENTS = (
    "agent_session_stopped",
    "app_context_changed",
    "app_home_opened",
    "app_mention",
    "member_joined_channel",
    "message.channels",
    "message.groups",
    "message.im",
    "message.mpim",
    "reaction_added",
    "reaction_removed",
)
