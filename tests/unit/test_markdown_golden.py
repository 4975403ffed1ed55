"""Answers as models write them, and how each must look in Slack.

`golden/markdown.txt` holds the cases: a name, the Markdown, and after "=====>" one line for each
element. `p` paragraph, `-N` bullet and `K.N` numbered item at level N, `"` quotation, `code`
preformatted box, `rule` divider; `|` before the text marks a border (inside a quotation). Styled
text stands in «b:…», b bold, i italic, s strike, c code; a link is «text→address»; ⏎ is a newline.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

import pytest
from slack_sdk.models.blocks import Block as SdkBlock

from bot.slack.blocks import Block, Json
from bot.slack.markdown import to_messages

GOLDEN = Path(__file__).parent / "golden" / "markdown.txt"
MARKS = {"rich_text_section": "p", "rich_text_quote": '"', "rich_text_preformatted": "code"}

Node = Mapping[str, Json]


def cases() -> dict[str, tuple[str, str]]:
    found = {}
    for part in GOLDEN.read_text("utf-8").split("##### ")[1:]:
        name, _, rest = part.partition("\n")
        source, _, expected = rest.partition("=====>\n")
        found[name] = (source.removesuffix("\n"), expected.rstrip("\n"))
    return found


def nodes(node: Node, key: str = "elements") -> list[Node]:
    return cast("list[Node]", node[key])


def leaf(node: Node) -> str:
    text = str(node["text"]).replace("\n", "⏎")
    style = "".join(sorted(name[0] for name in cast("Node", node.get("style", {}))))
    shown = f"{text}→{node['url']}" if node["type"] == "link" else text
    if style:
        return f"«{style}:{shown}»"
    return f"«{shown}»" if node["type"] == "link" else shown


def leaves(node: Node) -> str:
    return "".join(map(leaf, nodes(node)))


def drawn(block: Block) -> Iterator[str]:
    if block["type"] == "divider":
        yield "rule"
        return
    for element in nodes(block):
        border = "|" if element.get("border") else ""
        if element["type"] != "rich_text_list":
            yield f"{MARKS[str(element['type'])]} {border}{leaves(element)}"
            continue
        first = cast(int, element.get("offset", 0)) + 1
        for number, item in enumerate(nodes(element), start=first):
            mark = f"{number}." if element["style"] == "ordered" else "-"
            yield f"{mark}{element['indent']} {border}{leaves(item)}"


@pytest.mark.parametrize("name", cases())
def test_an_answer_looks_as_in_the_golden_file(name: str) -> None:
    source, expected = cases()[name]

    messages = to_messages(source)

    assert expected == "\n".join(
        line for message in messages for block in message.blocks for line in drawn(block)
    )
    for message in messages:
        for block in message.blocks:
            parsed = SdkBlock.parse(dict(block))
            assert parsed is not None
            parsed.validate_json()


def test_the_golden_file_holds_at_least_forty_cases() -> None:
    assert len(cases()) >= 40
