"""A mention in a channel becomes a thought, a tool call, an observation and an answer."""

from __future__ import annotations

from tests.doubles.desk import Desk, arguments
from tests.doubles.model_endpoint import Say


async def test_a_mention_becomes_a_step_and_an_answer_in_its_thread(desk: Desk) -> None:
    desk.model.play(
        [
            Say("I multiply.", calls=(("calculate", arguments(expression="17 * 23")),)),
            Say("It is **391**."),
        ]
    )
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@treadle what is 17 * 23?")
        answer = await desk.answered("#general", ts, covers=ts)

    assert answer == "It is 391."
    step, _ = desk.bot_replies("#general", ts)
    assert "I multiply." in step
    assert "Calculate 17 * 23" in step
    assert "391" in step
