"""What Slack refuses in blocks; plain functions, because benchmarks run them thousands of times.

The limits are those of slack_sdk 3.48's models and of docs/slack-contract.md; a test sends the
same blocks to both.
"""

from collections.abc import Callable, Iterator

from bot.local_slack.elements import (
    Invalid,
    element,
    image,
    items,
    length,
    optional,
    text_object,
)
from bot.local_slack.shapes import Json, Refusal

MESSAGE_BLOCKS = 50
VIEW_BLOCKS = 100
BLOCKS_TEXT = 12_000
VIEW_BYTES = 250_000
_CONTEXT_ACTIONS = frozenset({"feedback_buttons", "icon_button"})
_LEVELS = (None, "default", "info", "warning", "error", "success")
_STATUSES = ("pending", "in_progress", "complete", "error")


def _section(block: Json, at: str) -> None:
    if block.get("text") is None and not block.get("fields"):
        raise Invalid("missing required field: text or fields", at)
    if block.get("text") is not None:
        text_object(block["text"], 3000, f"{at}/text")
    if block.get("fields"):
        for n, field in enumerate(items(block, "fields", 10, at)):
            text_object(field, 2000, f"{at}/fields/{n}")
    if block.get("accessory") is not None:
        element(block["accessory"], f"{at}/accessory")


def _header(block: Json, at: str) -> None:
    text_object(block.get("text"), 150, f"{at}/text", plain=True)


def _markdown(block: Json, at: str) -> None:
    length(block.get("text"), BLOCKS_TEXT, f"{at}/text", least=1)


def _divider(block: Json, at: str) -> None:
    """A divider holds nothing that could be wrong."""


def _image(block: Json, at: str) -> None:
    image(block, at)
    if block.get("title") is not None:
        text_object(block["title"], 2000, f"{at}/title", plain=True)


def _actions(block: Json, at: str) -> None:
    seen: set[str] = set()
    for n, part in enumerate(items(block, "elements", 25, at)):
        element(part, f"{at}/elements/{n}")
        action_id = part.get("action_id")
        if action_id in seen:
            raise Invalid(f"action_id `{action_id}` already exists", f"{at}/elements/{n}/action_id")
        if action_id:
            seen.add(action_id)


def _context(block: Json, at: str) -> None:
    for n, part in enumerate(items(block, "elements", 10, at)):
        if part.get("type") == "image":
            image(part, f"{at}/elements/{n}")
        else:
            text_object(part, 3000, f"{at}/elements/{n}")


def _context_actions(block: Json, at: str) -> None:
    for n, part in enumerate(items(block, "elements", 5, at)):
        if part.get("type") not in _CONTEXT_ACTIONS:
            raise Invalid(f"unsupported type: {part.get('type')}", f"{at}/elements/{n}/type")
        element(part, f"{at}/elements/{n}")


def _input(block: Json, at: str) -> None:
    text_object(block.get("label"), 2000, f"{at}/label", plain=True)
    if not isinstance(block.get("element"), dict):
        raise Invalid("missing required field: element", at)
    element(block["element"], f"{at}/element")
    if block.get("hint") is not None:
        text_object(block["hint"], 2000, f"{at}/hint", plain=True)


def _rich_text(block: Json, at: str) -> None:
    for n, part in enumerate(items(block, "elements", 1000, at)):
        kind = str(part.get("type"))
        if kind not in (
            "rich_text_section",
            "rich_text_list",
            "rich_text_preformatted",
            "rich_text_quote",
        ):
            raise Invalid(f"unsupported type: {kind}", f"{at}/elements/{n}/type")
        items(part, "elements", 1000, f"{at}/elements/{n}", least=0)


def _table(block: Json, at: str) -> None:
    rows = block.get("rows")
    if not isinstance(rows, list) or not 1 <= len(rows) <= 100:
        raise Invalid("must have between 1 and 100 items", f"{at}/rows")
    for n, row in enumerate(rows):
        if not isinstance(row, list) or not 1 <= len(row) <= 20:
            raise Invalid("must have between 1 and 20 items", f"{at}/rows/{n}")
        for m, cell in enumerate(row):
            if cell.get("type") not in ("raw_text", "rich_text", "raw_number"):
                raise Invalid(f"unsupported type: {cell.get('type')}", f"{at}/rows/{n}/{m}/type")


def _task_card(block: Json, at: str) -> None:
    length(block.get("task_id"), 255, f"{at}/task_id", least=1)
    length(block.get("title"), 255, f"{at}/title", least=1)
    if block.get("status") not in (None, *_STATUSES):
        raise Invalid(f"must be one of {', '.join(_STATUSES)}", f"{at}/status")


def _plan(block: Json, at: str) -> None:
    length(block.get("title"), 255, f"{at}/title", least=1)
    if block.get("tasks"):
        for n, task in enumerate(items(block, "tasks", 50, at)):
            _task_card(task, f"{at}/tasks/{n}")


def _alert(block: Json, at: str) -> None:
    text_object(block.get("text"), 3000, f"{at}/text")
    if block.get("level") not in _LEVELS:
        raise Invalid("must be default, info, warning, error or success", f"{at}/level")


def _card(block: Json, at: str) -> None:
    if not any(block.get(key) for key in ("hero_image", "title", "actions", "body")):
        raise Invalid("missing required field: hero_image, title, actions or body", at)
    for key, most in (("title", 150), ("subtitle", 150), ("body", 200)):
        if block.get(key) is not None:
            text_object(block[key], most, f"{at}/{key}")
    for n, part in enumerate(block.get("actions") or ()):
        element(part, f"{at}/actions/{n}")


def _carousel(block: Json, at: str) -> None:
    for n, card in enumerate(items(block, "elements", 10, at)):
        _card(card, f"{at}/elements/{n}")


def _container(block: Json, at: str) -> None:
    if block.get("title") is None and block.get("rich_text_title") is None:
        raise Invalid("missing required field: title or rich_text_title", at)
    for key in ("title", "subtitle"):
        if block.get(key) is not None:
            text_object(block[key], 150, f"{at}/{key}", plain=True)
    for n, child in enumerate(items(block, "child_blocks", 10, at)):
        check_block(child, f"{at}/child_blocks/{n}")


_CHECKS: dict[str, Callable[[Json, str], None]] = {
    "actions": _actions, "alert": _alert, "card": _card, "carousel": _carousel,
    "container": _container, "context": _context, "context_actions": _context_actions,
    "divider": _divider, "header": _header, "image": _image, "input": _input,
    "markdown": _markdown, "plan": _plan, "rich_text": _rich_text, "section": _section,
    "table": _table, "task_card": _task_card,
}  # fmt: skip


def check_block(block: object, at: str) -> None:
    """Raise ``Invalid`` for a block that Slack refuses."""
    if not isinstance(block, dict):
        raise Invalid("must be an object", at)
    check = _CHECKS.get(str(block.get("type")))
    if check is None:
        raise Invalid(f"unsupported type: {block.get('type')}", f"{at}/type")
    optional(block, "block_id", 255, at)
    check(block, at)


def check_blocks(blocks: object, most: int = MESSAGE_BLOCKS, at: str = "/blocks") -> list[Json]:
    """The blocks, if Slack takes them; else ``Refusal("invalid_blocks")`` with the pointers."""
    problems: list[str] = []
    if not isinstance(blocks, list):
        problems.append(f"[ERROR] must be an array [json-pointer:{at}]")
        raise _invalid_blocks(problems)
    if len(blocks) > most:
        problems.append(f"[ERROR] no more than {most} items allowed [json-pointer:{at}]")
    seen: set[str] = set()
    for n, block in enumerate(blocks):
        try:
            check_block(block, f"{at}/{n}")
            block_id = block.get("block_id")
            if block_id in seen:
                raise Invalid(f"`block_id` {block_id} already exists", f"{at}/{n}/block_id")
            if block_id:
                seen.add(block_id)
        except Invalid as problem:
            problems.append(str(problem))
    if problems:
        raise _invalid_blocks(problems)
    return blocks


def _invalid_blocks(problems: list[str]) -> Refusal:
    return Refusal("invalid_blocks", errors=problems, response_metadata={"messages": problems})


def text_length(node: object) -> int:
    """All characters of text inside blocks (what ``msg_blocks_too_long`` counts)."""
    return sum(_text_lengths(node))


def _text_lengths(node: object) -> Iterator[int]:
    if isinstance(node, list):
        for part in node:
            yield from _text_lengths(part)
    elif isinstance(node, dict):
        for key, value in node.items():
            if isinstance(value, str):
                if key in ("text", "title", "details", "output"):
                    yield len(value)
            else:
                yield from _text_lengths(value)
