"""Posts that Slack limits, refuses, loses or answers late: each appears once, or is let go."""

from __future__ import annotations

import asyncio
import re
import time
from pathlib import Path

import pytest
from aiohttp import web

from bot.local_slack.faults import Effect, FaultRule
from bot.local_slack.options import BOT_USER_ID, Options
from bot.local_slack.shapes import Json
from bot.slack.patience import Patience
from tests.doubles.desk import Desk, arguments, open_desk
from tests.doubles.model_endpoint import Say

pytestmark = pytest.mark.usefixtures("slacks_pace")

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


async def test_a_clock_that_is_set_back_keeps_no_post_in_doubt(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The answer may not stand there: nobody is to wait until the clock is where it was."""
    desk.patience = Patience(look_up=1.0)
    desk.slack.fail(FaultRule(Effect.SERVER_ERROR, POST, count=1))
    desk.model.play([Say("Once.")])
    right = time.time
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@treadle go")
        await desk.until(lambda: "It will be looked up." in caplog.text)
        monkeypatch.setattr(time, "time", lambda: right() - 3600)
        desk.slack.advance(3600)
        assert await desk.answered("#general", ts, covers=ts) == "Once."


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


REFUSALS = {
    "is_archived": "The channel is archived; unarchive it or ask elsewhere.",
    "not_in_channel": "Invite the bot to the channel with /invite.",
    "channel_not_found": "The channel is gone, or the bot was removed from it.",
    "restricted_action": "A workspace setting keeps apps from posting there; ask an admin.",
    "restricted_action_thread_locked": "The thread is locked; ask in a new one.",
    "thread_not_found": "The thread is gone; ask in a new one.",
    "a_word_of_tomorrow": "Ask again elsewhere, or tell the operator this word.",
}


@pytest.mark.parametrize("code", REFUSALS)
async def test_whoever_asked_is_told_in_a_direct_message_what_cannot_be_posted(
    desk: Desk, code: str
) -> None:
    desk.slack.fail(FaultRule(Effect.ERROR, POST, error=code, channel="C0OPS"))
    text = "\n\n".join(f"Paragraph {n} " + "of many words " * 40 for n in range(30))
    desk.model.play([Say(text)])
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#ops", "@treadle report")
        letter = await desk.until(lambda: letter_to(desk, "D0ALICE"))
        await desk.nothing_is_left_to_do()

    assert desk.slack.visible_text(letter) == (
        f"I cannot post in #ops, where you asked me something: Slack refuses it ({code}). "
        f"{REFUSALS[code]}"
    )
    assert letter["metadata"]["event_payload"]["covers"] == [ts]
    assert posts(desk, "C0OPS") == [False]


def letter_to(desk: Desk, channel: str) -> Json | None:
    """The bot's only message in the direct messages."""
    found = [m for m in desk.slack.messages(channel) if m.get("bot_id")]
    return found[0] if found else None


async def test_a_letter_that_cannot_be_sent_either_is_let_go(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.slack.fail(FaultRule(Effect.ERROR, POST, error="is_archived"))
    desk.model.play([Say("Lost.")])
    async with desk.treadle():
        await desk.slack.person("alice").say("#ops", "@treadle report")
        await desk.until(lambda: posts(desk, "U0ALICE"))
        await desk.nothing_is_left_to_do()

    assert posts(desk, "C0OPS") == posts(desk, "U0ALICE") == [False]
    assert "U0ALICE could not be told either" in caplog.text


async def test_in_direct_messages_there_is_nobody_else_to_tell(desk: Desk) -> None:
    desk.slack.fail(FaultRule(Effect.ERROR, POST, error="restricted_action"))
    desk.model.play([Say("Lost.")])
    async with desk.treadle():
        await desk.slack.person("alice").say("dm", "report")
        await desk.until(lambda: posts(desk, "D0ALICE"))
        await desk.nothing_is_left_to_do()

    assert len(desk.slack.log.of(POST)) == 1


async def test_everybody_who_asked_in_the_turn_is_told_and_one_letter_answers(desk: Desk) -> None:
    gate = asyncio.Event()
    desk.model.play([Say("Never asked again.", gate=gate), Say("Both.")])
    alice, bob = desk.slack.person("alice"), desk.slack.person("bob")
    async with desk.treadle():
        root = await alice.say("#ops", "@treadle one")
        await desk.model.asked()
        more = await bob.reply("#ops", root, "@treadle two")
        await desk.slack.until_delivered()
        desk.slack.fail(FaultRule(Effect.ERROR, POST, error="is_archived", channel="C0OPS"))
        gate.set()
        first = await desk.until(lambda: letter_to(desk, "D0ALICE"))
        second = await desk.until(lambda: letter_to(desk, "D0BOB"))
        await desk.nothing_is_left_to_do()

    covers = [m["metadata"]["event_payload"]["covers"] for m in (first, second)]
    assert sorted(ts for listed in covers for ts in listed) == sorted([root, more])


async def test_an_answer_that_even_as_plain_text_is_too_long_for_slack_is_told_of(
    desk: Desk,
) -> None:
    desk.slack.fail(FaultRule(Effect.ERROR, POST, error="msg_too_long", channel="C0OPS"))
    desk.model.play([Say("Long.")])
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#ops", "@treadle report")
        letter = await desk.until(lambda: letter_to(desk, "D0ALICE"))
        await desk.nothing_is_left_to_do()

    assert "Ask for a shorter answer." in desk.slack.visible_text(letter)
    assert letter["metadata"]["event_payload"]["covers"] == [ts]
    assert posts(desk, "C0OPS") == [False, False]


async def test_a_letter_is_sent_once_though_treadle_is_restarted(desk: Desk) -> None:
    desk.slack.fail(FaultRule(Effect.ERROR, POST, error="is_archived", channel="C0OPS"))
    desk.model.play([Say("Lost."), Say("Lost again.")])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        root = await alice.say("#ops", "@treadle one")
        await desk.until(lambda: letter_to(desk, "D0ALICE"))
        await desk.nothing_is_left_to_do()
    async with desk.treadle():
        await alice.reply("#ops", root, "@treadle two")
        await desk.until(lambda: len(posts(desk, "C0OPS")) == 2)
        await desk.nothing_is_left_to_do()

    letters = [m for m in desk.slack.messages("D0ALICE") if m.get("bot_id")]
    assert len(letters) == 2


async def test_steps_that_wait_for_slack_do_not_hold_the_answer_up(desk: Desk) -> None:
    """The step was refused for now: it is posted later, with the next ones, after the answer."""
    desk.patience = Patience(pace=4.0)
    step = Say("I multiply.", calls=(("calculate", arguments(expression="17 * 23")),))
    desk.model.play([step, step, Say("391."), *[Say("Yes.")] * 4])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        desk.slack.fail(FaultRule(Effect.RATE_LIMIT, POST, seconds=2, count=1))
        root = await alice.say("#general", "@treadle go")
        await desk.model.asked(3)
        for n in range(4):
            await alice.say("#general", f"@treadle {n}")
        await desk.answered("#general", root, covers=root)
        await desk.nothing_is_left_to_do()

    answer, steps = desk.bot_replies("#general", root)
    assert answer == "391."
    assert steps.count("→ 391") == 2


async def test_a_message_after_the_answer_does_not_wait_for_the_steps(desk: Desk) -> None:
    """Twelve other answers keep the channel busy meanwhile."""
    desk.patience = Patience(pace=4.0)
    step = Say("I multiply.", calls=(("calculate", arguments(expression="17 * 23")),))
    desk.model.play([step, Say("391."), *[Say("Yes.")] * 13])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        desk.slack.fail(FaultRule(Effect.RATE_LIMIT, POST, seconds=2, count=1))
        root = await alice.say("#general", "@treadle go")
        await desk.model.asked(2)
        for n in range(12):
            await alice.say("#general", f"@treadle {n}")
        await desk.model.asked(14)
        await desk.answered("#general", root, covers=root)
        again = await alice.reply("#general", root, "and now?")
        await desk.model.asked(15)
        assert desk.bot_replies("#general", root) == ["391."]
        await desk.answered("#general", root, covers=again)
        await desk.nothing_is_left_to_do()

    replies = desk.bot_replies("#general", root)
    assert replies[0] == "391."
    assert sorted(["→ 391" in reply for reply in replies]) == [False, False, True]


@pytest.mark.parametrize(("happens", "code"), [("archived", "is_archived"), ("removed", "not_in_")])
async def test_a_channel_that_closes_while_the_model_thinks(
    desk: Desk, happens: str, code: str
) -> None:
    gate = asyncio.Event()
    step = Say("I multiply.", calls=(("calculate", arguments(expression="17 * 23")),))
    desk.model.play([step, Say("391.", gate=gate)])
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#ops", "@treadle go")
        await desk.replies("#ops", ts, 1)
        channel = desk.slack.world.channel("#ops")
        if happens == "archived":
            channel.is_archived = True
        else:
            channel.members.discard(BOT_USER_ID)
        gate.set()
        letter = await desk.until(lambda: letter_to(desk, "D0ALICE"))
        await desk.nothing_is_left_to_do()

    assert code in desk.slack.visible_text(letter)
    assert letter["metadata"]["event_payload"]["covers"] == [ts]
    assert posts(desk, "C0OPS") == [True, False]
