"""Who may speak."""

from __future__ import annotations

from bot.policy import Refusal


def person_unknown(user: str, why: str) -> str:
    return (
        f"I could not find out who {user} is ({why}), so I can't take orders from them. "
        "Ask again in a minute."
    )


REFUSALS = {
    Refusal.GUEST: "I don't take questions from guests here. Ask a member to ask for you.",
    Refusal.EXTERNAL: "I don't take questions from other organisations. A member can ask for you.",
    Refusal.BOT: "I don't answer bots. An admin can name this one under [access] bots.",
    Refusal.CHANNEL: "I don't work in this channel. An admin can add it under [access] channels.",
    Refusal.UNKNOWN_PERSON: "I could not tell who you are here, so I can't take your question.",
}


ACCESS_SETTINGS = {
    Refusal.GUEST: "[access] guests is false",
    Refusal.EXTERNAL: "[access] external is false",
    Refusal.BOT: "[access] bots does not name it",
    Refusal.CHANNEL: "[access] channels does not name this one",
}


def access_why(refusal: Refusal) -> str:
    """A refusal with the setting that it comes from."""
    setting = ACCESS_SETTINGS.get(refusal)
    origin = f" (treadle.toml: {setting}; only the operator can change that.)" if setting else ""
    return f"{REFUSALS[refusal]}{origin}"
