"""Posts that Slack limits, refuses, loses or answers late: each appears once, or is let go."""

from __future__ import annotations

import asyncio
import re
import time
from pathlib import Path

import pytest
from aiohttp import web

from bot.local_slack.faults import Effect, FaultRule
from bot.local_slack.options import Options
from bot.slack.patience import Patience
from tests.doubles.desk import Desk, arguments, open_desk
from tests.doubles.model_endpoint import Say

POST = "chat.postMessage"
BRISK = Patience(look_up=0.2)


def posts(desk: Desk, channel: str = "C0GENERAL") -> list[bool]:
    """For each try to post in the channel: whether Slack took it."""
    return [call.ok for call in desk.slack.log.of(POST) if call.args["channel"] == channel]


@pytest.mark.wall_clock
async def test_a_rate_limit_is_waited_out_and_holds_up_no_other_channel(desk: Desk) -> None:
    desk.slack.fail(FaultRule(Effect.RATE_LIMIT, POST, channel="C0GENERAL", count=1, seconds=2))
    desk.model.play(lambda _: Say("Yes."))
    alice = desk.slack.person("alice")
    async with desk.treadle():
        limited = await alice.say("#general", "@treadle one")
        await desk.until(lambda: posts(desk) == [False])
        began = time.monotonic()
        free = await alice.say("#ops", "@treadle two")
        await desk.answered("#ops", free, covers=free)
        assert time.monotonic() - began < 1.5
        await desk.answered("#general", limited, covers=limited)
        assert time.monotonic() - began > 1.5

    assert posts(desk) == [False, True]
    assert desk.bot_replies("#general", limited) == ["Yes."]


async def test_slacks_own_limits_are_kept_by_a_busy_channel(tmp_path: Path) -> None:
    """With the published limits enforced, five questions at once are all answered."""
    async with open_desk(tmp_path, options=Options(rate_limits=True, post_burst=3)) as desk:
        desk.model.play(lambda _: Say("Yes."))
        alice = desk.slack.person("alice")
        async with desk.treadle():
            roots = [await alice.say("#general", f"@treadle {n}") for n in range(5)]
            for ts in roots:
                assert await desk.answered("#general", ts, covers=ts) == "Yes."

        assert posts(desk).count(True) == 5


@pytest.mark.wall_clock
async def test_one_channels_flood_does_not_delay_anothers_answer(desk: Desk) -> None:
    desk.model.play(lambda _: Say("Yes."))
    alice = desk.slack.person("alice")
    async with desk.treadle():
        flood = [await alice.say("#general", f"@treadle {n}") for n in range(12)]
        await desk.until(lambda: len(posts(desk)) >= 2)
        began = time.monotonic()
        ts = await alice.say("#ops", "@treadle quick")
        await desk.answered("#ops", ts, covers=ts)
        assert time.monotonic() - began < 1.0
        waiting = [root for root in flood if not desk.bot_replies("#general", root)]
        assert waiting


@pytest.mark.parametrize("effect", [Effect.LOSE_ANSWER, Effect.SERVER_ERROR, Effect.ERROR])
async def test_a_post_whose_outcome_is_unknown_is_looked_up_and_stands_there_once(
    desk: Desk, effect: Effect
) -> None:
    """Lost answer: it stands there. 5xx and internal_error: here it does not."""
    desk.patience = BRISK
    desk.slack.fail(FaultRule(effect, POST, count=1))
    desk.model.play([Say("Once.")])
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@treadle go")
        await desk.answered("#general", ts, covers=ts)
        await desk.until(lambda: desk.slack.log.of("conversations.replies"))
        await desk.until(lambda: not desk.slack.status("#general", ts))

    assert desk.bot_replies("#general", ts) == ["Once."]
    assert len(posts(desk)) == (1 if effect is Effect.LOSE_ANSWER else 2)


async def test_a_step_whose_outcome_is_unknown_is_not_repeated(desk: Desk) -> None:
    desk.patience = BRISK
    desk.slack.fail(FaultRule(Effect.LOSE_ANSWER, POST, count=1))
    step = Say("I multiply.", calls=(("calculate", arguments(expression="17 * 23")),))
    desk.model.play([step, Say("391.", delay=0.8)])
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@treadle go")
        assert await desk.answered("#general", ts, covers=ts) == "391."

    replies = desk.bot_replies("#general", ts)
    assert ["I multiply." in reply for reply in replies] == [True, False]


async def test_where_the_thread_cannot_be_read_an_answer_in_doubt_comes_again_and_says_so(
    desk: Desk,
) -> None:
    desk.patience = BRISK
    desk.slack.fail(
        FaultRule(Effect.SERVER_ERROR, POST, count=1),
        FaultRule(Effect.ERROR, "conversations.replies", error="missing_scope"),
    )
    desk.model.play([Say("The answer.")])
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@treadle go")
        answer = await desk.answered("#general", ts, covers=ts)

    assert answer.splitlines() == ["(possibly repeated)", "The answer."]


async def test_an_answer_waits_while_slack_cannot_be_reached(tmp_path: Path) -> None:
    """The connection is refused, nothing can have happened: it is simply tried again."""
    port = 0
    gate = asyncio.Event()
    async with open_desk(tmp_path) as desk:
        port = int(desk.slack.base_url.rpartition(":")[2])
        desk.model.play([Say("Patient.", gate=gate)])
        async with desk.treadle():
            ts = await desk.slack.person("alice").say("#general", "@treadle go")
            await desk.model.asked()
            await desk.slack.until_delivered()
            runner = desk.slack._runner
            assert runner is not None
            (site,) = runner.sites
            await site.stop()
            desk.slack.sockets.cut()
            gate.set()
            await until_refused(port)
            await web.TCPSite(runner, "127.0.0.1", port).start()
            assert await desk.answered("#general", ts, covers=ts) == "Patient."

        assert desk.bot_replies("#general", ts) == ["Patient."]


async def until_refused(port: int) -> None:
    """Return when the port takes no connection any more."""
    async with asyncio.timeout(5):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except ConnectionRefusedError:
                return
            writer.close()
            await writer.wait_closed()


@pytest.mark.parametrize("code", ["msg_too_long", "invalid_blocks", "msg_blocks_too_long"])
async def test_an_answer_that_slack_refuses_as_blocks_comes_as_plain_text_without_loss(
    desk: Desk, code: str
) -> None:
    desk.slack.fail(FaultRule(Effect.ERROR, POST, error=code, count=1))
    lines = [f"Line {n}: 2 * 3 * 4, snake_case_name, R&D and <tags>." for n in range(120)]
    desk.model.play([Say("# Report\n\n" + "\n".join(lines) + "\n\nThe end.")])
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@treadle report")
        await desk.answered("#general", ts, covers=ts)

    replies = desk.bot_replies("#general", ts)
    assert len(replies) >= 2
    assert "\n".join(replies).split() == ["Report", *"\n".join(lines).split(), "The", "end."]
    plain = [call.args for call in desk.slack.log.of(POST) if call.ok]
    assert all(not args.get("blocks") and args["mrkdwn"] is False for args in plain)
    covers = [args["metadata"]["event_payload"]["covers"] for args in plain]
    assert covers == [*([] for _ in plain[1:]), [ts]]


async def test_a_refused_long_answer_in_plain_pieces_survives_lost_answers_once_each(
    desk: Desk,
) -> None:
    desk.patience = BRISK
    desk.slack.fail(
        FaultRule(Effect.ERROR, POST, error="invalid_blocks", count=1),
        FaultRule(Effect.LOSE_ANSWER, POST, skip=1, count=1),
        FaultRule(Effect.SERVER_ERROR, POST, skip=2, count=1),
    )
    text = "\n".join(f"Sentence number {n} of the long report." for n in range(170))
    desk.model.play([Say(text)])
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@treadle report")
        await desk.answered("#general", ts, covers=ts)

    shown = " ".join(desk.bot_replies("#general", ts))
    assert [int(n) for n in re.findall(r"number (\d+) of", shown)] == list(range(170))


async def test_the_parts_of_a_long_answer_keep_their_order_though_one_is_lost(desk: Desk) -> None:
    desk.patience = BRISK
    desk.slack.fail(FaultRule(Effect.SERVER_ERROR, POST, count=1))
    text = "\n\n".join(f"Paragraph {n} " + "of many words " * 40 for n in range(30))
    desk.model.play([Say(text)])
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@treadle report")
        await desk.answered("#general", ts, covers=ts)

    replies = desk.bot_replies("#general", ts)
    assert len(replies) >= 2
    shown = " ".join(replies)
    assert [int(n) for n in re.findall(r"Paragraph (\d+) of", shown)] == list(range(30))


async def test_a_step_that_slack_refuses_as_blocks_comes_as_plain_text(desk: Desk) -> None:
    desk.slack.fail(FaultRule(Effect.ERROR, POST, error="invalid_blocks", count=1))
    step = Say("I *multiply*.", calls=(("calculate", arguments(expression="17 * 23")),))
    desk.model.play([step, Say("391.", delay=0.8)])
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@treadle go")
        await desk.answered("#general", ts, covers=ts)

    plain, answer = desk.bot_replies("#general", ts)
    assert plain.splitlines() == ["I *multiply*.", "🔧 Calculate 17 * 23", "→ 391"]
    assert answer == "391."


@pytest.mark.parametrize("code", ["channel_not_found", "is_archived", "not_in_channel"])
async def test_what_slack_will_never_take_is_let_go_and_the_bot_works_on(
    desk: Desk, code: str
) -> None:
    desk.slack.fail(FaultRule(Effect.ERROR, POST, error=code, channel="C0OPS"))
    desk.model.play(lambda _: Say("Yes."))
    alice = desk.slack.person("alice")
    async with desk.treadle():
        lost = await alice.say("#ops", "@treadle one")
        await desk.until(lambda: posts(desk, "C0OPS") == [False])
        ts = await alice.say("#general", "@treadle two")
        assert await desk.answered("#general", ts, covers=ts) == "Yes."
        desk.slack.fail()
        again = await alice.reply("#ops", lost, "and now?")
        assert await desk.answered("#ops", lost, covers=again) == "Yes."

    assert posts(desk, "C0OPS") == [False, True]
    assert desk.bot_replies("#ops", lost) == ["Yes."]


@pytest.mark.parametrize("code", ["ratelimited", "invalid_auth", "missing_scope"])
async def test_an_answer_waits_for_what_time_or_the_operator_can_mend(
    desk: Desk, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    header = FaultRule(Effect.RATE_LIMIT, POST, count=1, seconds=1)
    rule = FaultRule(Effect.ERROR, POST, error=code, count=1)
    desk.slack.fail(header if code == "ratelimited" else rule)
    desk.model.play([Say("Here.")])
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@treadle go")
        assert await desk.answered("#general", ts, covers=ts) == "Here."

    assert posts(desk) == [False, True]
    assert (code in caplog.text) is (code != "ratelimited")


async def test_every_message_is_covered_exactly_once(tmp_path: Path) -> None:
    """The lists in the metadata partition the accepted messages, whatever goes wrong."""
    async with open_desk(tmp_path, options=Options(ack_seconds=1, retry_scale=0.005)) as desk:
        desk.patience = BRISK
        desk.slack.fail(
            FaultRule(Effect.LOSE_ANSWER, POST, probability=0.3),
            FaultRule(Effect.SERVER_ERROR, POST, probability=0.2),
            FaultRule(Effect.REPEAT_NEW_ID, "*", channel="C0GENERAL"),
        )
        desk.model.play(lambda _: Say("Yes."))
        alice, bob = desk.slack.person("alice"), desk.slack.person("bob")
        accepted = []
        async with desk.treadle():
            root = await alice.say("#general", "@treadle zero")
            accepted.append(root)
            for person in (alice, bob, alice):
                accepted.append(await person.reply("#general", root, "@treadle more"))
            for ts in accepted:
                await desk.answered("#general", root, covers=ts)
            await desk.slack.until_delivered()

        covers = [
            ts
            for message in desk.slack.thread("#general", root)
            for ts in (message.get("metadata") or {}).get("event_payload", {}).get("covers", [])
        ]
        assert sorted(covers) == sorted(accepted)
