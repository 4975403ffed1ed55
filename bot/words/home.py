"""The App Home and its windows."""

from __future__ import annotations

from bot.words.rules import moment

BUTTON_STOP, BUTTON_FORGET, BUTTON_CHANGE = "Stop", "Forget", "Change"
BUTTON_SAVE, BUTTON_CANCEL = "Save", "Cancel"
BUTTON_OFF, BUTTON_ON = "Switch off", "Switch on"
ADD_RULE = "Add a rule"
ADD_BUDGET = "More for today"
FORM_AMOUNT, FORM_UNIT = "How much more, for today only", "Of what"
FORM_PERSON, FORM_ONE_CHANNEL = "For this person", "Or in this channel (neither: everybody)"
CHANNEL_SETTINGS = "Channel settings"
HOME_PLACE = "Another channel"
HOME_DIRECT = "direct messages with me"


def home_intro() -> str:
    return (
        "Mention me in a channel, or write to me under Messages. I show each thought and each "
        "tool's result in the thread, then I answer; reply there to go on. `/treadle help` shows "
        "what you can type, `/treadle why` what a refusal was about."
    )


def home_rights(channel: str) -> str:
    return f"*What you may use in* {channel}"


def home_usage() -> str:
    return "*What you have used*"


def home_mine() -> str:
    return "*Your running work*"


def home_model(model: str) -> str:
    return f"Model: {model}"


def home_cut() -> str:
    return "There is more than this page can show. `/treadle rules` shows every rule."


def home_admins() -> str:
    return "Administration"


def home_turns() -> str:
    return "*Running now*"


def home_nothing() -> str:
    return "(nothing)"


def home_recent() -> str:
    return "*Lately asked and answered*"


def home_budgets() -> str:
    return "*Budgets*"


def home_more(count: int, command: str) -> str:
    return f"And {count} more: `/treadle {command}`."


def home_tools() -> str:
    return "*Tools*, for everybody and everywhere"


def home_tool(tool: str, on: bool) -> str:
    return f"`{tool}` is {'on' if on else 'off'}"


def home_rules(loosen: bool) -> str:
    how = (
        "Those made here come before the file's."
        if loosen
        else "Those made here can only tighten the file's."
    )
    return f"*Rules.* All are asked, and the strictest holds. {how}"


def home_channels() -> str:
    return "*Channel settings*, where they differ from the file"


def home_choice(setting: str, value: str, channel: str, name: str) -> str:
    return f"{SETTINGS_NAMED.get(setting, setting)} in {channel}: {value} (chosen by {name})"


SETTINGS_NAMED = {"verbosity": "What a thread shows", "reply_in_threads": "Replies without mention"}
DECISIONS = {"allow": "Allow", "ask": "Ask a person first", "deny": "Deny"}
ANY_TOOL = "Every tool"
FORM_DECISION, FORM_TOOL, FORM_CHANNEL = "Decision", "Tool", "Channel"
FORM_CHANNELS, FORM_WHERE = "Channels (none: everywhere)", "The rule holds"
FORM_PEOPLE, FORM_ROLES, FORM_WHO = "People (none: everybody)", "Or roles", "The rule is about"
FORM_ARGUMENT, FORM_PATTERN = "Argument, for example command", "Pattern, for example git .*"
SIDES_WHERE = ("only in these channels", "everywhere but in these channels")
SIDES_WHO = ("only these people or roles", "everybody but these people or roles")


def form_hint() -> str:
    return (
        "With a pattern the rule is only about calls whose argument matches it as a whole. "
        "Of several rules the strictest holds."
    )


def form_missing() -> str:
    return "Please fill this in."


def form_amount() -> str:
    return "Please write a number above 0, such as 5 or 2.50."


def form_person_or_channel() -> str:
    return "Name either a person or a channel; add to both one after the other."


def form_people_or_roles() -> str:
    return "Name either people or roles; make two rules for both."


def form_argument() -> str:
    return "Name the argument that the pattern is about, for example command or path."


def home_too_slow() -> str:
    return "Slack was too slow to open the window. Please click again."


def home_unknown() -> str:
    return "I could not find out who you are, so I can show nothing. Open this page again soon."


def home_silent() -> str:
    return "There is nothing here for you."


def answer_line(at: float, where: str, call: str, askers: str, name: str, *, allowed: bool) -> str:
    said = f"{name} said {'yes' if allowed else 'no'}" if name else "nobody answered"
    return f"{moment(at)}, {where}: {call} for {askers}: {said}"
