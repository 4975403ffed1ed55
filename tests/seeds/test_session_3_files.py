"""Session 3: look at files, change one, remember a name; in two dialects and two languages."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from tests.doubles.desk import Desk
from tests.doubles.model_endpoint import Reply, Request, Say
from tests.doubles.sessions import ask, assert_prefixes, contents, observed

HELLO, CHANGED = 'print("hello world!")', 'print("hello agent!")'
FILES = {"recv.txt": "received\n", "send.txt": "sent\n", "test.py": HELLO, "中文笔记.txt": "笔记\n"}
DIALECTS = ("bare-json", "native")


@dataclass(frozen=True)
class Language:
    look: str
    listed: str
    what: str
    prints: str
    change: str
    before_fence: str
    changed: str
    name: str
    greeting: str
    who: str
    you: str
    unknown: str


ENGLISH = Language(
    look="what is in this directory",
    listed="It holds recv.txt, send.txt, test.py and 中文笔记.txt.",
    what="what does test.py do",
    prints="It prints hello world!",
    change="make it print hello agent!",
    before_fence="I read it first.",
    changed="Done: test.py now prints hello agent!",
    name="I am ljw",
    greeting="Hello ljw, nice to meet you.",
    who="do you know who I am",
    you="You are ljw.",
    unknown="No, you have not told me.",
)
CHINESE = Language(
    look="这个目录里有什么",
    listed="目录里有 recv.txt、send.txt、test.py 和 中文笔记.txt。",
    what="test.py 是做什么的",
    prints="它输出 hello world!",
    change="让它输出 hello agent!",
    before_fence="我先读一下。",
    changed="好了:test.py 现在输出 hello agent!",
    name="我是 ljw",
    greeting="你好,ljw,很高兴认识你。",
    who="你知道我是谁吗",
    you="你是 ljw。",
    unknown="不知道,你还没有告诉我。",
)


def bare(name: str, **arguments: str) -> str:
    return json.dumps({"tool_name": name, "tool_args": arguments}, ensure_ascii=False)


def fenced(name: str, **arguments: str) -> str:
    return f"```json\n{bare(name, **arguments)}\n```"


def native(name: str, **arguments: str) -> Say:
    return Say(calls=((name, json.dumps(arguments, ensure_ascii=False)),))


def in_bare_json(language: Language) -> list[Reply]:
    return [
        Say(bare("list_dir", path="."), chunk=6),
        Say(language.listed),
        Say(fenced("read_file", path="test.py"), chunk=6),
        Say(language.prints),
        Say(f"{language.before_fence}\n{fenced('read_file', path='test.py')}"),
        Say(bare("read_file", path="test.py")),
        Say(bare("write_file", path="test.py", content=CHANGED)),
        Say(language.changed),
    ]


def in_native(language: Language) -> list[Reply]:
    return [
        native("list_dir", path="."),
        Say(language.listed),
        native("read_file", path="test.py"),
        Say(language.prints),
        native("read_file", path="test.py"),
        native("write_file", path="test.py", content=CHANGED),
        Say(language.changed),
    ]


SCRIPTS = {"bare-json": in_bare_json, "native": in_native}


def prepare(desk: Desk, dialect: str) -> None:
    desk.config(f'[model]\ndialect = "{dialect}"\n')
    for name, text in FILES.items():
        (desk.workspace() / name).write_text(text, "utf-8")


def heard(requests: list[Request], text: str) -> bool:
    return any(text in content for content in contents(requests[-1], "user"))


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("language", [ENGLISH, CHINESE], ids=["english", "chinese"])
async def test_a_directory_is_looked_at_and_a_script_changed(
    desk: Desk, language: Language, dialect: str
) -> None:
    prepare(desk, dialect)
    desk.model.play(SCRIPTS[dialect](language))

    async with desk.treadle():
        thread, listed = await ask(desk, None, language.look)
        seen = observed(desk.model.requests[1])
        _, prints = await ask(desk, thread, language.what)
        source = observed(desk.model.requests[3])
        _, changed = await ask(desk, thread, language.change)

    assert (listed, prints, changed) == (language.listed, language.prints, language.changed)
    assert all(name in seen for name in FILES)
    assert HELLO in source
    assert (desk.workspace() / "test.py").read_text() == CHANGED
    assert_prefixes(desk.model.requests)
    shown = "\n".join(desk.bot_replies("#general", thread))
    assert "tool_name" not in shown
    for done in ("List .", "Read test.py", "Write test.py"):
        assert done in shown


async def test_bare_json_asks_for_the_result_to_be_considered(desk: Desk) -> None:
    prepare(desk, "bare-json")
    desk.model.play(in_bare_json(ENGLISH))
    async with desk.treadle():
        await ask(desk, None, ENGLISH.look)

    *_, call, result, request = desk.model.requests[1]["messages"]
    assert call == {"role": "assistant", "content": bare("list_dir", path=".")}
    assert "recv.txt" in result["content"]
    assert "decide" in request["content"]
    (system,) = contents(desk.model.requests[0], "system")
    for fact in ("Linux", "Python 3", '"tool_name"', '"tool_args"', "list_dir"):
        assert fact in system


async def test_a_sentence_before_the_fence_is_corrected_and_not_run(desk: Desk) -> None:
    prepare(desk, "bare-json")
    desk.model.play(in_bare_json(ENGLISH)[4:])
    async with desk.treadle():
        await ask(desk, None, ENGLISH.change)

    assert len(desk.model.requests) == 4
    correction = contents(desk.model.requests[1], "user")[-1]
    assert '{"tool_name"' in correction
    assert HELLO not in observed(desk.model.requests[1])
    assert HELLO in observed(desk.model.requests[2])


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_path_outside_is_answered_with_where_paths_begin(desk: Desk, dialect: str) -> None:
    prepare(desk, dialect)
    outside = {
        "bare-json": Say(bare("list_dir", path="~/Downloads")),
        "native": native("list_dir", path="~/Downloads"),
    }
    desk.model.play([outside[dialect], Say("I cannot look there.")])
    async with desk.treadle():
        await ask(desk, None, "what is in ~/Downloads")

    assert "Paths are relative to the workspace" in observed(desk.model.requests[1])


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("language", [ENGLISH, CHINESE], ids=["english", "chinese"])
async def test_a_name_is_remembered_in_its_thread_and_nowhere_else(
    desk: Desk, language: Language, dialect: str
) -> None:
    prepare(desk, dialect)
    desk.model.play([Say(language.greeting), Say(language.you), Say(language.unknown)])

    async with desk.treadle():
        thread, greeting = await ask(desk, None, language.name)
        _, you = await ask(desk, thread, language.who)
        knew = heard(desk.model.requests, language.name)
        other, unknown = await ask(desk, None, language.who)

    assert (greeting, you, unknown) == (language.greeting, language.you, language.unknown)
    assert knew
    assert "ljw" in you
    assert other != thread
    assert "ljw" not in json.dumps(desk.model.requests[-1], ensure_ascii=False)


KINDS = '''
from __future__ import annotations

from enum import Enum

from tools.base import tool


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@tool()
def paint(name: str, width: int, price: float, glossy: bool, tags: list[str], colour: Colour,
          note: str | None = None, coats: int = 2) -> str:
    """Paint a wall.

    Args:
        name: whose wall it is
    """
    return "painted"
'''


async def test_in_native_each_tools_schema_comes_from_signature_and_docstring(desk: Desk) -> None:
    (desk.home / "kinds.py").write_text(KINDS)
    desk.config('[model]\ndialect = "native"\n[tools]\nmodules = ["kinds.py"]\n')
    desk.model.play([Say("ok")])
    async with desk.treadle():
        await ask(desk, None, "hi")

    functions = {t["function"]["name"]: t["function"] for t in desk.model.requests[0]["tools"]}
    paint = functions["paint"]
    assert paint["description"] == "Paint a wall."
    properties = paint["parameters"]["properties"]
    assert properties["name"] == {"type": "string", "description": "whose wall it is"}
    assert {name: properties[name] for name in ("width", "price", "glossy", "tags", "colour")} == {
        "width": {"type": "integer"},
        "price": {"type": "number"},
        "glossy": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "colour": {"type": "string", "enum": ["red", "blue"]},
    }
    assert properties["note"]["anyOf"] == [{"type": "string"}, {"type": "null"}]
    assert properties["coats"] == {"type": "integer", "default": 2}
    required = ["name", "width", "price", "glossy", "tags", "colour"]
    assert paint["parameters"]["required"] == required
    assert functions["read_file"]["parameters"]["required"] == ["path"]
