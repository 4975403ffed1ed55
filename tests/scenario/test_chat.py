"""`treadle chat` as a person sees it: the program itself, its input and its output."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.doubles.desk import arguments
from tests.doubles.model_endpoint import ModelEndpoint, Reply, Say
from tests.doubles.shell import open_place

pytestmark = pytest.mark.needs("bwrap")

ROOT = Path(__file__).parents[2]


@pytest.fixture
def home() -> Iterator[Path]:
    with open_place() as place:
        yield place


async def chat(
    home: Path, lines: str, replies: Sequence[Reply], dialect: str = "auto", rule: str = ""
) -> str:
    """What `treadle chat` prints for these lines of input."""
    (home / "treadle.toml").write_text(f'[model]\ndialect = "{dialect}"\n{rule}', "utf-8")
    model = ModelEndpoint(replies)
    await model.start()
    environment = {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
        "OPENAI_BASE_URL": model.base_url,
        "OPENAI_API_KEY": "a-key-for-tests",
        "OPENAI_MODEL": "scripted",
    }
    try:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bot", "chat"),
            cwd=home,
            env=environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, errors = await asyncio.wait_for(process.communicate(lines.encode()), 60)
    finally:
        await model.stop()
    assert (process.returncode, errors.decode()) == (0, "")
    return out.decode()


async def test_each_part_of_a_turn_stands_there_once(home: Path) -> None:
    step = Say("I multiply.", calls=(("calculate", arguments(expression="17 * 23")),), chunk=3)

    out = await chat(home, "17 * 23?\n", [step, Say("It is 391.", chunk=2)])

    assert [out.count(part) for part in ("I multiply.", "→ 391", "It is 391.")] == [1, 1, 1]
    assert out.index("I multiply.") < out.index("→ 391") < out.index("It is 391.")


async def test_a_text_dialect_shows_thought_and_answer_without_its_marks(home: Path) -> None:
    step = Say("Thought: I multiply.\nAction: calculate: 17 * 23\nPAUSE\nObservation: 1", chunk=2)
    last = Say("Thought: Done.\nAnswer: It is 391.", chunk=2)

    out = await chat(home, "17 * 23?\n", [step, last], "text")

    assert [out.count(part) for part in ("  I multiply.", "→ 391", "It is 391.")] == [1, 1, 1]
    for mark in ("Thought:", "Action:", "PAUSE", "Observation", "Answer:"):
        assert mark not in out


async def test_a_reply_that_breaks_off_is_replaced(home: Path) -> None:
    cut = Say("It is certainly three hundred", cut=True, chunk=4)

    out = await chat(home, "17 * 23?\n", [cut, Say("It is 391.")])

    _, _, again = out.partition("(The reply broke off; it begins again.)")
    assert again.strip() == "It is 391."


async def test_a_reply_that_breaks_off_for_good_does_not_say_that_it_begins_again(
    home: Path,
) -> None:
    cut = Say("It is certainly three", cut=True, chunk=4)

    out = await chat(home, "17 * 23?\n", [cut, cut, cut])

    assert out.count("it begins again") == 2
    assert "\nIt is certainly three\nThe model's reply broke off several times." in out


async def test_what_was_shown_of_a_reply_that_fails_ends_its_line_and_is_forgotten(
    home: Path,
) -> None:
    half = Say("It is cert", finish="content_filter", chunk=3)

    out = await chat(home, "17 * 23?\nAnd now?\n", [half, Say("It is 391.", chunk=2)])

    assert "\nIt is cert\nThe model's provider filtered this reply." in out
    assert out.count("It is 391.") == 1


@pytest.mark.parametrize(("line", "result"), [("y", "→ 391"), ("no", "→ You said no to this call")])
async def test_a_rule_that_asks_is_answered_in_the_terminal(
    home: Path, line: str, result: str
) -> None:
    step = Say("I multiply.", calls=(("calculate", arguments(expression="17 * 23")),))
    rule = '[[policy]]\ntool = "calculate"\ndecision = "ask"\n'

    out = await chat(home, f"17 * 23?\n{line}\n", [step, Say("Ready.")], rule=rule)

    asked = "A rule wants your yes before this call is made: y to approve, n to deny"
    assert out.index("I multiply.") < out.index(asked) < out.index(result) < out.index("Ready.")


async def test_another_message_does_not_answer_the_question(home: Path) -> None:
    step = Say("I multiply.", calls=(("calculate", arguments(expression="17 * 23")),))
    rule = '[[policy]]\ntool = "calculate"\ndecision = "ask"\n'

    out = await chat(home, "17 * 23?\nwhy?\ny\n", [step, Say("Ready.")], rule=rule)

    assert out.count("A rule wants your yes") == 2
    assert out.count("→ 391") == out.count("Ready.") == 1


ASKS = '[[policy]]\ntool = "write_file"\ndecision = "ask"\nmatch = { path = ".*" }\n'


def write(content: str) -> Say:
    return Say("I write.", calls=(("write_file", arguments(path="n.txt", content=content)),))


async def test_the_diff_is_shown_and_the_reason_of_a_no_reaches_the_model(home: Path) -> None:
    out = await chat(
        home, "write\ny\nagain\nn: keep it seven\n",
        [write("seven\n"), Say("Ready."), write("eight\n"), Say("I leave it.")],
        rule=ASKS,
    )  # fmt: skip

    assert "May I use Write?" in out
    assert "Asked for by You." in out
    assert "Write n.txt (a new file)\n  @@ -1,0 +1,1 @@\n  +seven\n" in out
    assert "  -seven\n  +eight\n" in out
    assert "→ You said no to this call of write_file" in out
    assert "The reason given: “keep it seven”" in out


async def test_several_questions_are_answered_one_by_one(home: Path) -> None:
    both = tuple(("write_file", arguments(path=f"{n}.txt", content=str(n))) for n in (1, 2))

    out = await chat(home, "write\ny\nn\n", [Say("Both.", calls=both), Say("One.")], rule=ASKS)

    assert out.index("1. Write 1.txt") < out.index("2. Write 2.txt") < out.index("→ Created 1.txt")
    assert "→ You said no to this call of write_file" in out


async def test_a_yes_for_the_thread_is_asked_for_once(home: Path) -> None:
    out = await chat(
        home, "write\na\nagain\n",
        [write("seven\n"), Say("Ready."), write("eight\n"), Say("Again.")],
        rule=ASKS,
    )  # fmt: skip

    assert out.count("A rule wants your yes") == 1
    assert "a to approve for this thread" in out
    assert "where path matches .*" in out
    assert "→ Replaced n.txt" in out
