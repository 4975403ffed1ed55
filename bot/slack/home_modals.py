"""The windows of the Home tab, and what was filled in: a rule, a choice, more of a budget. Pure.

Format: docs.slack.dev, "Modals" and "Block Kit" input elements: titles 24 characters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bot import words
from bot.admin.grammar import DEFAULT, VALUES, read_amount
from bot.admin.live import Setting
from bot.admin.requests import AddBudget
from bot.agent.budgets import Cap, Scope, Unit
from bot.patterns import Pattern
from bot.policy import Role, Rule, Verdict
from bot.slack.blocks import Block, Element, Json
from bot.slack.inbound import Payload, mapping_of, text_of

RULE, CHOICE, BUDGET = "treadle_home_rule", "treadle_home_choice", "treadle_home_budget"
"""The windows, by `callback_id`."""
EVERYTHING = "*"
ONLY, BUT = "only", "but"


@dataclass(frozen=True, slots=True)
class Filled:
    """What was filled in, or what is wrong with it by block."""

    rule: Rule | None = None
    choices: tuple[tuple[Setting, str, str | None], ...] = ()
    more: AddBudget | None = None
    problems: Mapping[str, str] = field(default_factory=dict)


def rule_modal(tools: Sequence[str], place: str) -> Mapping[str, Json]:
    """The window for a new rule; `place` is the channel that the Home shows."""
    named = [_option(tool, tool) for tool in tools[:99]]
    channels: dict[str, Json] = {"type": "multi_conversations_select", "filter": _CHANNELS}
    if not place.startswith("D") and place:
        channels["initial_conversations"] = [place]
    return _modal(
        RULE,
        words.ADD_RULE,
        [
            _input("decision", words.FORM_DECISION, _select(_verdicts())),
            _input("tool", words.FORM_TOOL, _select([_option(words.ANY_TOOL, EVERYTHING), *named])),
            _input("channels", words.FORM_CHANNELS, channels, optional=True),
            _input("where", words.FORM_WHERE, _select(_sides(words.SIDES_WHERE), first=True)),
            _input("people", words.FORM_PEOPLE, {"type": "multi_users_select"}, optional=True),
            _input("roles", words.FORM_ROLES, _several(_roles()), optional=True),
            _input("who", words.FORM_WHO, _select(_sides(words.SIDES_WHO), first=True)),
            _input("argument", words.FORM_ARGUMENT, {"type": "plain_text_input"}, optional=True),
            _input("pattern", words.FORM_PATTERN, {"type": "plain_text_input"}, optional=True),
            _hint(words.form_hint()),
        ],
    )


def choice_modal(place: str) -> Mapping[str, Json]:
    """The window for a channel's settings."""
    channel: dict[str, Json] = {"type": "conversations_select", "filter": _CHANNELS}
    if not place.startswith("D") and place:
        channel["initial_conversation"] = place
    fields = [
        _input(setting.value, words.SETTINGS_NAMED[setting.value], _select(_values(setting)), True)
        for setting in Setting
    ]
    return _modal(
        CHOICE, words.CHANNEL_SETTINGS, [_input("channel", words.FORM_CHANNEL, channel), *fields]
    )


def budget_modal() -> Mapping[str, Json]:
    """The window for more of a budget today."""
    units = [_option(unit.value, unit.value) for unit in Unit]
    channel: Mapping[str, Json] = {"type": "conversations_select", "filter": _CHANNELS}
    return _modal(
        BUDGET,
        words.ADD_BUDGET,
        [
            _input("amount", words.FORM_AMOUNT, {"type": "plain_text_input"}),
            _input("unit", words.FORM_UNIT, _select(units, first=True)),
            _input("person", words.FORM_PERSON, {"type": "users_select"}, optional=True),
            _input("channel", words.FORM_ONE_CHANNEL, channel, optional=True),
        ],
    )


def read_submission(body: Payload) -> Filled:
    """What a submitted window says; never raises, whatever the payload holds."""
    view = mapping_of(body, "view")
    values = mapping_of(mapping_of(view, "state"), "values")
    match text_of(view, "callback_id"):
        case name if name == RULE:
            return _rule(values)
        case name if name == CHOICE:
            return _choice(values)
        case name if name == BUDGET:
            return _budget(values)
    return Filled()


def _rule(values: Payload) -> Filled:
    decision, tool = _one(values, "decision"), _one(values, "tool")
    people, roles = _many(values, "people"), _many(values, "roles")
    argument, pattern = _written(values, "argument"), _written(values, "pattern")
    problems: dict[str, str] = {}
    if decision not in list(Verdict):
        problems["decision"] = words.form_missing()
    if not tool:
        problems["tool"] = words.form_missing()
    if people and roles:
        problems["roles"] = words.form_people_or_roles()
    if pattern and not argument.isidentifier():
        problems["argument"] = words.form_argument()
    if argument and not pattern:
        problems["pattern"] = words.form_missing()
    try:
        match = (Pattern(argument, pattern),) if pattern and argument else ()
    except ValueError as error:
        problems["pattern"] = words.pattern_wrong(pattern, str(error))
    if problems:
        return Filled(problems=problems)
    channel = _marked(_many(values, "channels"), _one(values, "where"))
    user, role = (_marked(items, _one(values, "who")) for items in (people, roles))
    return Filled(Rule(tool, Verdict(decision), channel, role, user, match))


def _marked(items: Sequence[str], side: str) -> tuple[str, ...] | None:
    """A selector; none where nothing was picked."""
    mark = "!" if side == BUT else ""
    return tuple(mark + item for item in items) or None


def _choice(values: Payload) -> Filled:
    channel = _one(values, "channel")
    if not channel:
        return Filled(problems={"channel": words.form_missing()})
    found: list[tuple[Setting, str, str | None]] = []
    for setting in Setting:
        value = _one(values, setting.value)
        if value == DEFAULT:
            found.append((setting, channel, None))
        elif value in VALUES[setting]:
            found.append((setting, channel, value))
    return Filled(choices=tuple(found))


def _budget(values: Payload) -> Filled:
    amount, unit = read_amount(_written(values, "amount")), _one(values, "unit")
    person, channel = text_of(_state(values, "person"), "selected_user"), _one(values, "channel")
    problems: dict[str, str] = {}
    if not amount:
        problems["amount"] = words.form_amount()
    if unit not in list(Unit):
        problems["unit"] = words.form_missing()
    if person and channel:
        problems["channel"] = words.form_person_or_channel()
    if problems:
        return Filled(problems=problems)
    scope = Scope.USER if person else Scope.CHANNEL if channel else Scope.ALL
    return Filled(more=AddBudget(Cap(scope, Unit(unit), amount), person or channel))


def _state(values: Payload, block: str) -> Payload:
    return mapping_of(mapping_of(values, block), block)


def _one(values: Payload, block: str) -> str:
    """What was picked in a menu; "" for nothing."""
    state = _state(values, block)
    picked = text_of(state, "selected_conversation")
    return picked or text_of(mapping_of(state, "selected_option"), "value")


def _many(values: Payload, block: str) -> list[str]:
    """Everything that was picked, without what is no text."""
    state = _state(values, block)
    for name in ("selected_conversations", "selected_users", "selected_options"):
        items = state.get(name)
        if isinstance(items, list):
            plain = [item.get("value") if isinstance(item, Mapping) else item for item in items]
            return [item for item in plain if isinstance(item, str) and item]
    return []


def _written(values: Payload, block: str) -> str:
    return text_of(_state(values, block), "value").strip()


_CHANNELS: Mapping[str, Json] = {"include": ["public", "private"], "exclude_bot_users": True}


def _verdicts() -> Sequence[Element]:
    return [_option(words.DECISIONS[verdict.value], verdict.value) for verdict in Verdict]


def _roles() -> Sequence[Element]:
    return [_option(f"{role.value}s", role.value) for role in Role]


def _sides(labels: tuple[str, str]) -> Sequence[Element]:
    return [_option(labels[0], ONLY), _option(labels[1], BUT)]


def _values(setting: Setting) -> Sequence[Element]:
    return [_option(value, value) for value in (*VALUES[setting], DEFAULT)]


def _option(label: str, value: str) -> Element:
    return {"text": {"type": "plain_text", "text": label[:75]}, "value": value[:150]}


def _select(options: Sequence[Element], *, first: bool = False) -> Mapping[str, Json]:
    chosen: Mapping[str, Json] = {"initial_option": options[0]} if first else {}
    return {"type": "static_select", "options": list(options), **chosen}


def _several(options: Sequence[Element]) -> Mapping[str, Json]:
    return {"type": "multi_static_select", "options": list(options)}


def _input(name: str, label: str, element: Mapping[str, Json], optional: bool = False) -> Block:
    return {
        "type": "input",
        "block_id": name,
        "optional": optional,
        "label": {"type": "plain_text", "text": label},
        "element": {**element, "action_id": name},
    }


def _hint(text: str) -> Block:
    return {"type": "context", "elements": [{"type": "plain_text", "text": text}]}


def _modal(callback: str, title: str, blocks: Sequence[Block]) -> Mapping[str, Json]:
    return {
        "type": "modal",
        "callback_id": callback,
        "title": {"type": "plain_text", "text": title},
        "submit": {"type": "plain_text", "text": words.BUTTON_SAVE},
        "close": {"type": "plain_text", "text": words.BUTTON_CANCEL},
        "blocks": list(blocks),
    }
