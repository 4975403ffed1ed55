"""What Slack refuses in a text object or a block element (limits of slack_sdk 3.48's models)."""

from bot.local_slack.shapes import Json


class Invalid(Exception):
    """One thing wrong in a block, with its JSON pointer, in Slack's own wording."""

    def __init__(self, problem: str, pointer: str) -> None:
        super().__init__(f"[ERROR] {problem} [json-pointer:{pointer}]")


_TEXTS = frozenset({"plain_text", "mrkdwn"})
_SELECT = frozenset({"static_select", "multi_static_select", "external_select", "users_select",
    "conversations_select", "channels_select", "multi_external_select", "multi_users_select",
    "multi_conversations_select", "multi_channels_select"})  # fmt: skip
_OPTIONS = {"checkboxes": (1, 10), "radio_buttons": (1, 10), "overflow": (1, 5)}
_PLAIN = frozenset({"datepicker", "timepicker", "datetimepicker", "plain_text_input",
    "rich_text_input", "email_text_input", "url_text_input", "number_input", "file_input",
    "workflow_button"})  # fmt: skip


def length(value: object, most: int, pointer: str, least: int = 0) -> None:
    """Refuse a value that is no text or has not between ``least`` and ``most`` characters."""
    if not isinstance(value, str):
        raise Invalid("must be a string", pointer)
    if len(value) < least:
        raise Invalid(f"must be more than {least - 1} characters", pointer)
    if len(value) > most:
        raise Invalid(f"must be less than {most + 1} characters", pointer)


def optional(node: Json, key: str, most: int, pointer: str) -> None:
    """The same for a key that may be absent."""
    if node.get(key) is not None:
        length(node[key], most, f"{pointer}/{key}")


def items(node: Json, key: str, most: int, pointer: str, least: int = 1) -> list[Json]:
    """The list under ``key`` with between ``least`` and ``most`` objects in it."""
    value = node.get(key)
    where = f"{pointer}/{key}"
    if not isinstance(value, list):
        raise Invalid(f"missing required field: {key}", pointer)
    if not least <= len(value) <= most:
        raise Invalid(f"must have between {least} and {most} items", where)
    if not all(isinstance(item, dict) for item in value):
        raise Invalid("must hold objects", where)
    return value


def text_object(node: object, most: int, pointer: str, plain: bool = False) -> None:
    """Refuse what is no text object of at most ``most`` characters."""
    if not isinstance(node, dict):
        raise Invalid("must be an object", pointer)
    kind = node.get("type")
    if kind not in _TEXTS or (plain and kind != "plain_text"):
        raise Invalid(f"unsupported type: {kind}", f"{pointer}/type")
    length(node.get("text"), most, f"{pointer}/text", least=1)


def _button(node: Json, pointer: str) -> None:
    text_object(node.get("text"), 75, f"{pointer}/text", plain=True)
    optional(node, "value", 2000, pointer)
    optional(node, "url", 3000, pointer)
    optional(node, "accessibility_label", 75, pointer)
    if node.get("style") not in (None, "primary", "danger"):
        raise Invalid("must be primary or danger", f"{pointer}/style")


def _options(node: Json, key: str, least: int, most: int, pointer: str) -> None:
    for at, option in enumerate(items(node, key, most, pointer, least)):
        where = f"{pointer}/{key}/{at}"
        text_object(option.get("text"), 75, f"{where}/text")
        length(option.get("value"), 150, f"{where}/value", least=1)


def _select(node: Json, pointer: str) -> None:
    if node.get("placeholder") is not None:
        text_object(node["placeholder"], 150, f"{pointer}/placeholder", plain=True)
    if node["type"] in ("static_select", "multi_static_select"):
        if node.get("option_groups"):
            for at, group in enumerate(items(node, "option_groups", 100, pointer)):
                where = f"{pointer}/option_groups/{at}"
                text_object(group.get("label"), 75, f"{where}/label", plain=True)
                _options(group, "options", 1, 100, where)
        else:
            _options(node, "options", 1, 100, pointer)


def _feedback(node: Json, pointer: str) -> None:
    for key in ("positive_button", "negative_button"):
        button = node.get(key)
        if not isinstance(button, dict):
            raise Invalid(f"missing required field: {key}", pointer)
        text_object(button.get("text"), 75, f"{pointer}/{key}/text", plain=True)
        length(button.get("value"), 2000, f"{pointer}/{key}/value", least=1)


def _icon_button(node: Json, pointer: str) -> None:
    if node.get("icon") != "trash":
        raise Invalid("must be trash", f"{pointer}/icon")
    text_object(node.get("text"), 75, f"{pointer}/text", plain=True)
    optional(node, "value", 2000, pointer)


def image(node: Json, pointer: str) -> None:
    """Refuse an image (block or element) without an address or a description."""
    if node.get("slack_file") is None:
        length(node.get("image_url"), 3000, f"{pointer}/image_url", least=1)
    length(node.get("alt_text"), 2000, f"{pointer}/alt_text", least=1)


def element(node: Json, pointer: str) -> None:
    """Refuse a block element that Slack refuses."""
    kind = node.get("type")
    optional(node, "action_id", 255, pointer)
    if kind == "button":
        _button(node, pointer)
    elif kind == "image":
        image(node, pointer)
    elif kind in _SELECT:
        _select(node, pointer)
    elif kind in _OPTIONS:
        least, most = _OPTIONS[str(kind)]
        _options(node, "options", least, most, pointer)
    elif kind == "feedback_buttons":
        _feedback(node, pointer)
    elif kind == "icon_button":
        _icon_button(node, pointer)
    elif kind not in _PLAIN:
        raise Invalid(f"unsupported type: {kind}", f"{pointer}/type")
