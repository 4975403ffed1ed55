"""A thread longer than the model's window goes on; a turn that finds no end is ended."""

from __future__ import annotations

import json

from tests.doubles.desk import Desk, arguments
from tests.doubles.model_endpoint import Request, Say
from tests.doubles.sessions import CHANNEL, ask, contents

SMALL = '[model]\ndialect = "native"\ncontext_tokens = 8000\n[tools]\nenabled = ["calculate"]\n'


def is_summary_request(request: Request) -> bool:
    return "Write a summary for yourself" in str(request["messages"][-1]["content"])


def summing_up(request: Request) -> Say:
    if is_summary_request(request):
        return Say("Alice told of her garden in many parts.", chunk=8)
    return Say(f"Noted, with {len(request['messages'])} messages.")


async def test_a_long_thread_is_folded_once_and_people_see_nothing_of_it(desk: Desk) -> None:
    desk.config(SMALL)
    desk.model.play(summing_up)
    parts = [f"part {n} of my garden: " + "roses and tulips " * 200 for n in range(6)]

    async with desk.treadle():
        thread, _ = await ask(desk, None, f"my first question, {parts[0]}")
        for part in parts[1:]:
            await ask(desk, thread, part)

    requests = desk.model.requests
    folds = [n for n, request in enumerate(requests) if is_summary_request(request)]
    assert len(folds) == 1
    assert "tools" not in requests[folds[0]]
    after = requests[folds[0] + 1]
    texts = contents(after, "user")
    assert "my first question" in texts[0]
    assert "Alice told of her garden in many parts." in texts[1]
    assert "part 1 of" not in json.dumps(after)
    assert texts[-1].endswith(parts[folds[0]].strip())
    shown = desk.bot_replies(CHANNEL, thread)
    assert len(shown) == len(parts)
    assert all(reply.startswith("Noted") for reply in shown)


async def test_the_summary_survives_a_restart(desk: Desk) -> None:
    desk.config(SMALL)
    desk.model.play(summing_up)
    long = "roses and tulips " * 260

    async with desk.treadle():
        thread, _ = await ask(desk, None, f"my first question {long}")
        while not any(map(is_summary_request, desk.model.requests)):
            await ask(desk, thread, f"more {long}")
    before = desk.model.requests[-1]["messages"]
    async with desk.treadle():
        await ask(desk, thread, "and now?")

    assert sum(map(is_summary_request, desk.model.requests)) == 1
    assert desk.model.requests[-1]["messages"][: len(before)] == before


async def test_after_a_message_that_was_too_long_the_thread_goes_on(desk: Desk) -> None:
    desk.config(SMALL.replace("8000", "4000"))
    desk.model.play(summing_up)

    async with desk.treadle():
        thread, refused = await ask(desk, None, "words " * 1_700)
        assert desk.model.requests == []
        _, answer = await ask(desk, thread, "then a short one")

    assert "This message is longer than the model can read at once." in refused
    assert answer.startswith("Noted")


async def test_a_model_in_circles_is_warned_then_stopped_and_a_reply_renews_it(
    desk: Desk,
) -> None:
    desk.config('[slack]\nverbosity = "quiet"\n')
    call = ("calculate", arguments(expression="1 + 1"))
    desk.model.play(lambda _: Say("Again.", calls=(call,)))

    async with desk.treadle():
        thread, stopped = await ask(desk, None, "count")
        asked = len(desk.model.requests)
        desk.model.play([Say("Once more.", calls=(call,)), Say("It is 2.")])
        _, answer = await ask(desk, thread, "it is enough to do it once")

    assert asked == 3
    assert "I stopped because I called calculate 3 times in a row" in stopped
    warning = desk.model.requests[2]["messages"][-1]
    assert warning["role"] == "user"
    assert "You have now called calculate 2 times in a row" in warning["content"]
    assert answer == "It is 2."
    assert len(desk.model.requests) == asked + 2
