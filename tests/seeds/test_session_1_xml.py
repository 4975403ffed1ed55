"""Session 1: the model writes a program and runs it, in tags, in two languages."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.doubles.desk import Desk
from tests.doubles.model_endpoint import Say
from tests.doubles.sessions import contents, session

pytestmark = pytest.mark.needs("bwrap")

WRITE = r'<action>write_to_file("hello.py", "print(\"hello world\")\n")</action>'
RUN = '<action>run_terminal_command("python3 hello.py")</action>'


@dataclass(frozen=True)
class Language:
    question: str
    write: str
    run: str
    done: str
    answer: str

    @property
    def replies(self) -> list[Say]:
        end = f"<final_answer>{self.answer}</final_answer>"
        return [
            Say(f"<thought>{thought}</thought>\n{rest}", delay=1.1, chunk=7)
            for thought, rest in ((self.write, WRITE), (self.run, RUN), (self.done, end))
        ]


ENGLISH = Language(
    "make a hello world program",
    "I will write the file first.",
    "Now run it.",
    "It works.",
    "hello.py is there and prints: hello world",
)
CHINESE = Language(
    "写一个 hello world 程序",
    "我先写文件。",
    "现在运行它。",
    "成功了。",
    "hello.py 已写好,运行后输出:hello world",
)


def configure(desk: Desk) -> None:
    desk.config('[model]\ndialect = "xml"\n')


@pytest.mark.parametrize("language", [ENGLISH, CHINESE], ids=["english", "chinese"])
async def test_a_program_is_written_and_run(desk: Desk, language: Language) -> None:
    configure(desk)

    step_1, step_2, answer = await session(desk, language.question, language.replies)

    assert language.write in step_1
    assert "Write hello.py" in step_1
    assert language.run in step_2
    assert "python3 hello.py" in step_2
    assert "hello world" in step_2
    assert answer == language.answer
    assert (desk.workspace() / "hello.py").read_text() == 'print("hello world")\n'
    first, second, third = desk.model.requests
    assert "tools" not in first
    (question,) = contents(first, "user")
    assert question.startswith("<question>")
    assert language.question in question
    assert contents(second, "user")[-1].startswith("<observation>")
    seen = contents(third, "user")[-1]
    assert seen.startswith("<observation>")
    assert seen.endswith("</observation>")
    assert "hello world" in seen
    assert "Exit code 0" in seen
    assert contents(third, "assistant") == [reply.text for reply in language.replies[:2]]


@pytest.mark.parametrize("language", [ENGLISH, CHINESE], ids=["english", "chinese"])
async def test_a_reply_with_neither_action_nor_answer_is_corrected(
    desk: Desk, language: Language
) -> None:
    configure(desk)
    aimless = Say(f"<thought>{language.write}</thought>")

    *_, answer = await session(desk, language.question, [aimless, *language.replies])

    assert answer == language.answer
    correction = contents(desk.model.requests[1], "user")[-1]
    assert "<action>" in correction
    assert "<final_answer>" in correction
