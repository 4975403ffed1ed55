"""What `treadle doctor` finds."""

from __future__ import annotations

from collections.abc import Sequence


def found_settings(name: str, *, there: bool) -> str:
    if there:
        return f"{name} and the variables are right."
    return f"there is no {name}, so its defaults hold; the variables are right."


def found_database(home: object) -> str:
    return f"the database under {home} can be used."


def found_server() -> str:
    return "the PostgreSQL database that TREADLE_DATABASE_URL names can be used."


def found_running(busy: str) -> str:
    return f"{busy} That is fine while Treadle runs."


def found_workspace(root: object) -> str:
    return f"{root} is writable."


def found_tools(on: Sequence[str], off: Sequence[str], missing: Sequence[str]) -> str:
    parts = [f"{', '.join(on) or 'none'} can be used"]
    if off:
        parts.append(f"not named in [tools] enabled, so off: {', '.join(off)}")
    return "; ".join([*parts, f"not in this release: {', '.join(missing)}"]) + "."


def found_shell(name: str, gaps: Sequence[str]) -> str:
    held = f"commands are held in by {name}; the self-test passed."
    return " ".join([held, *(f"Known gap: {gap}" for gap in gaps)])


def found_model(model: str) -> str:
    return f"{model} answered."


def found_model_format(chosen: str, found: str | None, refused: Sequence[str], gone: int) -> str:
    forgotten = f"{gone} findings were forgotten; " if gone else ""
    dialect = f"tools are called in the format {found or 'native' if chosen == 'auto' else chosen}"
    if chosen == "auto" and found:
        dialect += ", as was found out"
    without = f"; not sent, because it was refused: {', '.join(refused)}" if refused else ""
    reset = " (treadle doctor --forget-model tries again)" if found or refused else ""
    return f"{forgotten}{dialect}{without}{reset}."


def nothing_forgotten() -> str:
    return (
        "nothing was forgotten: Treadle is running and holds the database. Stop it, then run "
        "treadle doctor --forget-model again."
    )


def found_slack(bot: str, team: str) -> str:
    return f"the bot is @{bot} in {team}, with every scope of manifest.yml."


def agent_off(code: str) -> str:
    return (
        f"the app is not declared as an agent ({code}), so no status is shown; a reaction is used "
        "instead. Update the app from manifest.yml to get it."
    )


def found_agent() -> str:
    return "the status line can be shown."


def found_socket() -> str:
    return "Slack gives out an address."


def no_event(bot: str, seconds: int) -> str:
    return (
        f"no mention of @{bot} arrived within {seconds} s. If you sent one: check under Event "
        "Subscriptions that events are on and app_mention and message.channels are subscribed "
        "(manifest.yml has all of them), and that the bot is in the channel (/invite)."
    )


def found_events() -> str:
    return "a mention arrived."
