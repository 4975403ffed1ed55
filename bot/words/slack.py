"""Slack: its tokens and Web API, `/treadle` and App Home."""

from __future__ import annotations

from datetime import UTC, datetime


def slack_unreachable() -> str:
    return "Slack cannot be reached. Check the network (or SLACK_API_URL)."


def not_acknowledged(why: str) -> str:
    return f"What Slack sent was not stored, so Slack is told to send it again: {why}"


def slack_no_answer(method: str) -> str:
    return f"Slack did not answer {method}, so it may or may not have happened."


def slack_refused(method: str, code: str, needed: str) -> str:
    known = SLACK_CODES.get(code, "")
    scope = f" (scope {needed})" if needed else ""
    return f"Slack refused {method}: {code}{scope}. {known}".strip()


SLACK_CODES = {
    "missing_scope": "Reinstall the app from manifest.yml so that it gets every scope.",
    "not_in_channel": "Invite the bot to the channel with /invite.",
    "channel_not_found": "The channel is gone, or the bot was removed from it.",
    "is_archived": "The channel is archived; unarchive it or ask elsewhere.",
    "restricted_action": "A workspace setting keeps apps from posting there; ask an admin.",
    "restricted_action_read_only_channel": "Only some people may post there; ask elsewhere.",
    "restricted_action_thread_locked": "The thread is locked; ask in a new one.",
    "thread_not_found": "The thread is gone; ask in a new one.",
    "cannot_reply_to_message": "The thread is gone; ask in a new one.",
    "msg_too_long": "Ask for a shorter answer.",
    "invalid_auth": "Copy the Bot User OAuth Token anew into SLACK_BOT_TOKEN.",
    "token_revoked": "Reinstall the app and copy its new token into SLACK_BOT_TOKEN.",
    "account_inactive": "Reinstall the app and copy its new token into SLACK_BOT_TOKEN.",
    "not_allowed_token_type": "SLACK_BOT_TOKEN must be a bot token that begins with xoxb-.",
}


def not_posted(code: str) -> tuple[str, str]:
    """Two halves; the channel's name stands between them."""
    known = SLACK_CODES.get(code, "Ask again elsewhere, or tell the operator this word.")
    why = f", where you asked me something: Slack refuses it ({code}). {known}"
    return "I cannot post in ", why


def token_refused(code: str) -> str:
    known = SLACK_CODES.get(code, "Copy the Bot User OAuth Token anew into SLACK_BOT_TOKEN.")
    return f"Slack refused SLACK_BOT_TOKEN ({code}). {known}"


def not_a_bot_token() -> str:
    return (
        "SLACK_BOT_TOKEN belongs to a person, not to a bot. Copy the Bot User OAuth Token, which "
        "begins with xoxb-."
    )


def app_token_refused(code: str) -> str:
    return (
        f"Slack refused SLACK_APP_TOKEN ({code}). Make an app-level token with the scope "
        "connections:write (Basic Information, App-Level Tokens) and copy it: it begins with xapp-."
    )


def socket_mode_off(code: str) -> str:
    return (
        f"Slack gives this app no Socket Mode connection ({code}). Turn Socket Mode on in the "
        "app's settings, or remove SLACK_APP_TOKEN and set SLACK_SIGNING_SECRET to use HTTP."
    )


def socket_retry(why: str, seconds: float) -> str:
    return f"No connection to Slack ({why.rstrip('.')}); trying again in {seconds:.0f} s."


def scopes_missing(scopes: tuple[str, ...]) -> str:
    return (
        f"The app was installed without {', '.join(scopes)}. Update it from manifest.yml and "
        "reinstall it, or some things will not work."
    )


def clock_off(seconds: float) -> str:
    way = "ahead of" if seconds > 0 else "behind"
    return (
        f"This machine's clock is {abs(seconds):.0f} s {way} Slack's. Set it right: from 5 minutes "
        "on, Slack's signed requests are refused."
    )


def events_held_back(team: str, minute: float) -> str:
    return (
        f"Slack sends {team} no more events until the hour is over (from {_utc(minute)} on): an "
        "app gets 30,000 an hour. What is written meanwhile is not answered; take the bot out of "
        "busy channels that do not need it."
    )


def events_were_held_back(minutes: int, last: float) -> str:
    return (
        f"Slack held events back in {minutes} minute(s) of the last day, at last at {_utc(last)}: "
        "an app gets 30,000 an hour. Take the bot out of busy channels that do not need it."
    )


def found_no_event_limit() -> str:
    return "Slack held no events back during the last day."


def _utc(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")


def place_of(channel: str) -> str:
    if channel.startswith("D"):
        return "a direct message"
    return "a Slack channel thread"
