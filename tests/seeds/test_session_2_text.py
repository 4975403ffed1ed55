"""Session 2: two dogs, with the tutorial's own tool loaded as an operator's."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.doubles.desk import Desk
from tests.doubles.model_endpoint import Say
from tests.doubles.sessions import contents, session
from tools.loading import load_tools

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "dog_weights.py"


@dataclass(frozen=True)
class Language:
    question: str
    thoughts: tuple[str, str, str]
    answer: str

    @property
    def replies(self) -> list[Say]:
        actions = (
            "average_dog_weight: Border Collie",
            "average_dog_weight: Scottish Terrier",
            "calculate: 37 + 20",
        )
        steps = [
            Say(f"Thought: {thought}\nAction: {action}\nPAUSE", delay=1.1, chunk=5)
            for thought, action in zip(self.thoughts, actions, strict=True)
        ]
        return [*steps, Say(f"Answer: {self.answer}", chunk=5)]


ENGLISH = Language(
    "I have 2 dogs, a border collie and a scottish terrier. What is their combined weight?",
    (
        "I need both weights. First the Border Collie.",
        "Now the Scottish Terrier.",
        "Add them.",
    ),
    "Together they weigh 57 lbs.",
)
CHINESE = Language(
    "我有两只狗,一只边境牧羊犬和一只苏格兰梗。它们一共多重?",
    ("我需要两只狗的体重。先查边境牧羊犬。", "现在查苏格兰梗。", "把它们加起来。"),
    "它们一共重 57 磅。",
)


def configure(desk: Desk, more: str = "") -> None:
    desk.config(f'[model]\ndialect = "text"\n[tools]\nmodules = ["{EXAMPLE}"]\n{more}')


@pytest.mark.parametrize("language", [ENGLISH, CHINESE], ids=["english", "chinese"])
async def test_two_weights_are_looked_up_and_added(desk: Desk, language: Language) -> None:
    configure(desk)

    *steps, answer = await session(desk, language.question, language.replies)

    assert answer == language.answer
    shown = "\n".join(steps)
    for thought in language.thoughts:
        assert thought in shown
    assert "PAUSE" not in shown
    assert "Action" not in shown
    second, third, fourth = desk.model.requests[1:]
    assert contents(second, "user")[-1] == "Observation: Border Collies average 37 lbs"
    assert contents(third, "user")[-1] == "Observation: Scottish Terriers average 20 lbs"
    assert contents(fourth, "user")[-1] == "Observation: 57"


async def test_the_prompt_shows_each_tool_with_an_example_and_a_session(desk: Desk) -> None:
    configure(desk)
    await session(desk, ENGLISH.question, ENGLISH.replies)

    (system,) = contents(desk.model.requests[0], "system")
    assert "average_dog_weight" in system
    assert "Say what dogs of a breed weigh on average" in system
    for marker in ("Thought:", "Action:", "PAUSE", "Observation:", "Answer:"):
        assert marker in system


async def test_max_steps_ends_what_the_original_ended_after_five_turns(desk: Desk) -> None:
    configure(desk, "[limits]\nmax_steps = 2\n")

    *_, last = await session(desk, ENGLISH.question, ENGLISH.replies)

    assert "I stopped after 2 steps without reaching an answer." in last
    assert len(desk.model.requests) == 2


@pytest.mark.parametrize(
    ("breed", "sentence"),
    [
        ("Border Collie", "Border Collies average 37 lbs"),
        ("scottish terriers", "Scottish Terriers average 20 lbs"),
        (" toy  poodle ", "Toy Poodles average 7 lbs"),
        ("Great Dane", "Dogs average 50 lbs"),
    ],
)
async def test_the_examples_tool_answers_in_a_sentence(
    breed: str, sentence: str, tmp_path: Path
) -> None:
    (tool,) = load_tools([str(EXAMPLE)], tmp_path, tmp_path / "workspace")
    output = await tool.run(None, {"breed": breed})  # type: ignore[arg-type]

    assert output.text == sentence
