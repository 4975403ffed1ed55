"""The Home tab as blocks: what somebody may use, and for admins what they can change. Pure.

Format: docs.slack.dev, App Home views: 100 blocks; a section's text takes 3,000 characters.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bot import words
from bot.admin.commands import turn_line
from bot.admin.explain import in_words
from bot.admin.house import Running
from bot.admin.rights import Right, right_line
from bot.policy import Rule
from bot.slack.blocks import Block, Element, Json
from bot.slack.mrkdwn import MARKS, shown
from bot.storage.rules import Choice, SlackRule

PLACE, STOP, FORGET = "treadle_home_place", "treadle_home_stop", "treadle_home_forget"
SWITCH, ADD, SETTINGS = "treadle_home_switch", "treadle_home_add", "treadle_home_settings"
MORE = "treadle_home_more"
"""What can be clicked, by `action_id`."""
MOST_BLOCKS, VIEW_BYTES = 100, 230_000
"""Slack takes 100 blocks and 250 kB of JSON (docs.slack.dev, App Home views)."""
TEXT = 2900
"""Characters of a section; Slack takes 3,000."""
MOST_TURNS, MOST_RULES, MOST_TOOLS = 10, 20, 20
"""Lines with a button each; what is more is named with the command that shows it."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool's switch."""

    name: str
    on: bool


@dataclass(frozen=True, slots=True)
class Office:
    """What only admins see."""

    status: Sequence[str]
    turns: Sequence[Running]
    tools: Sequence[Tool]
    file: Sequence[Rule]
    rules: Sequence[SlackRule]
    choices: Sequence[Choice]
    recent: Sequence[str]
    budgets: Sequence[str]
    loosen: bool


@dataclass(frozen=True, slots=True)
class Facts:
    """What a person's Home shows. `place` is the channel that the rights are shown for.

    `refusal` stands alone where the person may not speak at all. `notice` is what came of the last
    click.
    """

    place: str
    notice: str = ""
    refusal: str = ""
    rights: Sequence[Right] = ()
    usage: Sequence[str] = ()
    mine: Sequence[Running] = ()
    model: str = ""
    office: Office | None = None


def home_view(facts: Facts) -> Mapping[str, Json]:
    """The view for `views.publish`."""
    blocks = [_header("Treadle"), *_everybody(facts)]
    if facts.office is not None:
        blocks += _admins(facts.office)
    fitting = _fitting(blocks)
    if len(fitting) < len(blocks):
        fitting.append(_small(words.home_cut()))
    state = json.dumps({"place": facts.place})
    return {"type": "home", "private_metadata": state, "blocks": fitting}


def _fitting(blocks: Sequence[Block]) -> list[Block]:
    """The first of the blocks, so many that one more still fits."""
    found: list[Block] = []
    room = VIEW_BYTES
    for block in blocks[:MOST_BLOCKS]:
        room -= len(json.dumps(block))
        if room < 0:
            break
        found.append(block)
    return found if len(blocks) <= MOST_BLOCKS else found[: MOST_BLOCKS - 1]


def place_of(view: Mapping[str, object]) -> str:
    """The channel that a Home shows; "" for any other view."""
    try:
        data = json.loads(str(view.get("private_metadata") or "{}"))
    except ValueError:
        return ""
    return str(data.get("place", "")) if isinstance(data, dict) else ""


def _everybody(facts: Facts) -> Iterator[Block]:
    if facts.notice:
        yield _text(facts.notice)
    if facts.refusal:
        yield _text(facts.refusal)
        return
    yield _text(words.home_intro())
    yield {"type": "divider"}
    yield _text(words.home_rights(_place_name(facts.place)), _places(facts.place))
    yield from _texts([right_line(right) for right in facts.rights] or [words.no_tools()])
    yield _text(words.home_usage())
    yield from _texts(facts.usage)
    if facts.mine and facts.office is None:
        yield from _turns(words.home_mine(), facts.mine)
    yield _small(words.home_model(facts.model))


def _admins(office: Office) -> Iterator[Block]:
    yield {"type": "divider"}
    yield _header(words.home_admins())
    yield from _texts(office.status)
    yield from _turns(words.home_turns(), office.turns)
    if office.recent:
        yield _text(words.home_recent())
        yield from _texts(office.recent)
    if office.budgets:
        yield _text(words.home_budgets(), _button(MORE, words.ADD_BUDGET, "budget"))
        yield from _texts(office.budgets)
    yield from _tools(office.tools)
    yield from _rules(office)
    yield from _choices(office.choices)


def _turns(title: str, turns: Sequence[Running]) -> Iterator[Block]:
    yield _text(title if turns else f"{title} {words.home_nothing()}")
    for turn in turns[:MOST_TURNS]:
        stop = _button(STOP, words.BUTTON_STOP, turn.thread, danger=True)
        yield {**_text(turn_line(turn, MARKS), stop), "block_id": f"stop {turn.thread}"}
    if len(turns) > MOST_TURNS:
        yield _small(words.home_more(len(turns) - MOST_TURNS, "stop all"))


def _tools(tools: Sequence[Tool]) -> Iterator[Block]:
    yield _text(words.home_tools())
    for tool in tools[:MOST_TOOLS]:
        label = words.BUTTON_OFF if tool.on else words.BUTTON_ON
        switch = _button(SWITCH, label, f"{tool.name} {'off' if tool.on else 'on'}")
        yield {
            **_text(words.home_tool(tool.name, tool.on), switch),
            "block_id": f"tool {tool.name}",
        }
    if len(tools) > MOST_TOOLS:
        yield _small(words.home_more(len(tools) - MOST_TOOLS, "switch TOOL off"))


def _rules(office: Office) -> Iterator[Block]:
    yield _text(words.home_rules(office.loosen), _button(ADD, words.ADD_RULE, "rule", primary=True))
    yield from _texts([words.rule_line(rule.place, in_words(rule, MARKS)) for rule in office.file])
    for made in office.rules[-MOST_RULES:]:
        said = words.rule_line(made.rule.place, in_words(made.rule, MARKS))
        forget = _button(FORGET, words.BUTTON_FORGET, str(made.number))
        yield {**_text(said, forget), "block_id": f"rule {made.number}"}
    if len(office.rules) > MOST_RULES:
        yield _small(words.home_more(len(office.rules) - MOST_RULES, "rules"))


def _choices(choices: Sequence[Choice]) -> Iterator[Block]:
    yield _text(words.home_channels(), _button(SETTINGS, words.BUTTON_CHANGE, "settings"))
    for choice in choices:
        channel = MARKS.channel(choice.scope)
        yield _text(words.home_choice(choice.name, choice.value, channel, choice.by.name))


def _place_name(place: str) -> str:
    return MARKS.channel(place) if place[:1] in ("C", "G") else words.HOME_DIRECT


def _places(place: str) -> Element:
    chosen = {} if place.startswith("D") or not place else {"initial_conversation": place}
    return {
        "type": "conversations_select",
        "action_id": PLACE,
        "placeholder": {"type": "plain_text", "text": words.HOME_PLACE},
        "filter": {"include": ["public", "private"], "exclude_bot_users": True},
        **chosen,
    }


def _button(
    action: str, label: str, value: str, *, primary: bool = False, danger: bool = False
) -> Element:
    style = {"style": "primary"} if primary else {"style": "danger"} if danger else {}
    text = {"type": "plain_text", "text": label}
    return {"type": "button", "action_id": action, "text": text, "value": value, **style}


def _header(text: str) -> Block:
    return {"type": "header", "text": {"type": "plain_text", "text": text}}


def _text(text: str, accessory: Element | None = None) -> Block:
    block: dict[str, Json] = {"type": "section", "text": _mrkdwn(text)}
    if accessory is not None:
        block["accessory"] = accessory
    return block


def _texts(lines: Sequence[str]) -> Iterator[Block]:
    """The lines in as few sections as they fit into."""
    part = ""
    for line in lines:
        if part and len(shown(f"{part}\n{line}", 2 * TEXT)) > TEXT:
            yield _text(part)
            part = ""
        part = f"{part}\n{line}" if part else line
    if part:
        yield _text(part)


def _small(text: str) -> Block:
    return {"type": "context", "elements": [_mrkdwn(text)]}


def _mrkdwn(text: str) -> Mapping[str, Json]:
    # Slack refuses an empty text.
    return {"type": "mrkdwn", "text": shown(text, TEXT) or " "}
