"""Slack blocks as plain dictionaries: types, small builders, and what a reader sees of them.

Format: https://docs.slack.dev/reference/block-kit/blocks. A `text` element of `rich_text` is shown
as it is: `<!channel>`, `<@U…>` or `#name` in it notify nobody. Only elements of other types
(`user`, `broadcast`, …) do, and nothing here makes those.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from bot.inert import inert

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
Block: TypeAlias = Mapping[str, Json]
Element: TypeAlias = Mapping[str, Json]

TEXT_OBJECT_LIMIT = 3000
"""Characters of a text object, as in a context block (docs: composition-objects/text-object)."""


def plain(text: str) -> Element:
    """A text element of a section, made inert."""
    return {"type": "text", "text": _filled(text)}


def bold(text: str) -> Element:
    """A bold text element of a section, made inert."""
    return {"type": "text", "text": _filled(text), "style": {"bold": True}}


def fixed(text: str) -> Element:
    """A text element in the fixed-width style, made inert."""
    return {"type": "text", "text": _filled(text), "style": {"code": True}}


def section(*elements: Element) -> Block:
    """One paragraph of text elements."""
    return rich_text([{"type": "rich_text_section", "elements": list(elements)}])


def code(text: str) -> Block:
    """A preformatted box, made inert. No language: slack_sdk 3.48 knows none for this element."""
    return rich_text([{"type": "rich_text_preformatted", "elements": [plain(text)]}])


def context(text: str) -> Block:
    """A small grey line of plain text, made inert; cut at 3,000 characters."""
    line = clip(_filled(text), TEXT_OBJECT_LIMIT)
    element: Element = {"type": "plain_text", "text": line, "emoji": False}
    return {"type": "context", "elements": [element]}


def rich_text(elements: Sequence[Element]) -> Block:
    """A block of the given sections, lists, quotes and preformatted boxes."""
    return {"type": "rich_text", "elements": elements}


def _filled(text: str) -> str:
    # Slack refuses an empty string ("must be more than 0 characters").
    return inert(text) or " "


def units(text: str) -> int:
    """Length in UTF-16 code units: an upper bound of what Slack counts, and 2 for an emoji."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def clip(text: str, limit: int) -> str:
    """The beginning of `text`, at most `limit` UTF-16 units, with an ellipsis where it was cut."""
    if units(text) <= limit:
        return text
    cut = text[:limit].encode("utf-16-le", "surrogatepass")[: 2 * (limit - 1)]
    return cut.decode("utf-16-le", "ignore") + "…"


def escape(text: str) -> str:
    """`text` for a mrkdwn field: `&`, `<` and `>` are the only characters that can be live there.

    Slack parses `<!channel>` and `<@U…>`; the plain words @channel, @here and @everyone notify
    only with `parse=full` or `link_names`, which Treadle never sends.
    """
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def visible_text(blocks: Iterable[Block]) -> str:
    """What a person reads in the blocks: one line per paragraph, list item or code line.

    List items carry their mark ("• ", "3. ") behind two spaces per level. A divider and an
    address hidden behind a link's text are not part of it.
    """
    return "\n".join(line for block in blocks for line in _lines(block))


def _lines(block: Block) -> Iterator[str]:
    match block.get("type"):
        case "rich_text":
            for element in _children(block, "elements"):
                yield from _element_lines(element)
        case "context":
            yield " ".join(_string(element, "text") for element in _children(block, "elements"))
        case "section" | "header":
            for text in _children({"text": [block.get("text")]}, "text"):
                yield _string(text, "text")
        case _:
            return


def _element_lines(element: Element) -> Iterator[str]:
    if element.get("type") != "rich_text_list":
        yield _joined(element)
        return
    ordered, offset, indent = (element.get(key) for key in ("style", "offset", "indent"))
    first = offset + 1 if isinstance(offset, int) else 1
    margin = "  " * (indent if isinstance(indent, int) else 0)
    for number, item in enumerate(_children(element, "elements"), start=first):
        mark = f"{number}. " if ordered == "ordered" else "• "
        yield f"{margin}{mark}{_joined(item)}"


def _joined(element: Element) -> str:
    leaves = _children(element, "elements")
    return "".join(_string(leaf, "text") or _string(leaf, "url") for leaf in leaves)


def _children(value: Mapping[str, Json], key: str) -> Iterator[Mapping[str, Json]]:
    children = value.get(key)
    if isinstance(children, Sequence):
        yield from (child for child in children if isinstance(child, Mapping))


def _string(value: Mapping[str, Json], key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""
