"""Socket Mode under stress: whatever happens to the connection, each message is answered once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from bot.local_slack.faults import Effect, FaultRule
from bot.local_slack.options import Options
from bot.slack.patience import Patience
from tests.doubles.desk import Desk, open_desk
from tests.doubles.model_endpoint import Say

BRISK = Patience(hello=0.3, heartbeat=0.4, reconnect=0.05)
RETRIES = Options(ack_seconds=1.0, retry_scale=0.005)


async def cut(desk: Desk) -> None:
    desk.slack.sockets.cut()


async def refresh(desk: Desk) -> None:
    await desk.slack.sockets.refresh()


async def mute(desk: Desk) -> None:
    desk.slack.sockets.mute()


@pytest.mark.parametrize("happens", [cut, refresh, mute])
async def test_messages_around_a_lost_connection_are_each_answered_once(
    tmp_path: Path, happens: Callable[[Desk], Awaitable[None]]
) -> None:
    async with open_desk(tmp_path, options=RETRIES) as desk:
        desk.patience = BRISK
        desk.model.play(lambda _: Say("Yes."))
        alice = desk.slack.person("alice")
        async with desk.treadle():
            before = await alice.say("#general", "@treadle before")
            await happens(desk)
            after = await alice.say("#general", "@treadle after")
            for ts in (before, after):
                assert await desk.answered("#general", ts, covers=ts) == "Yes."
            await desk.slack.until_delivered()
            await desk.until(lambda: desk.slack.sockets.opened >= 2)

    assert not desk.slack.courier.lost
    assert len(desk.model.requests) == 2
    assert desk.bot_replies("#general", before) == ["Yes."]
    assert desk.bot_replies("#general", after) == ["Yes."]


async def test_a_warning_of_a_coming_disconnect_is_followed_by_a_new_connection(
    tmp_path: Path,
) -> None:
    async with open_desk(tmp_path, options=RETRIES) as desk:
        desk.patience = BRISK
        desk.model.play(lambda _: Say("Yes."))
        async with desk.treadle():
            await desk.slack.sockets.refresh("warning")
            await desk.until(lambda: desk.slack.sockets.opened >= 2)
            ts = await desk.slack.person("alice").say("#general", "@treadle hi")
            assert await desk.answered("#general", ts, covers=ts) == "Yes."


async def test_while_two_connections_are_open_no_turn_is_doubled(tmp_path: Path) -> None:
    """During a refresh each event comes by the old connection and by the new one."""
    async with open_desk(tmp_path, options=RETRIES) as desk:
        desk.patience = BRISK
        desk.model.play(lambda _: Say("Yes."))
        alice, sockets = desk.slack.person("alice"), desk.slack.sockets
        desk.slack.fail(FaultRule(Effect.REPEAT, "*", channel="C0GENERAL", copies=2))
        both: set[int] = set()
        desk.slack.world.subscribe(lambda _: both.add(len(sockets.sockets)))
        async with desk.treadle():
            before = await alice.say("#general", "@treadle before")
            await sockets.refresh("warning")
            await desk.until(lambda: sockets.opened >= 2)
            roots = [before, *[await alice.say("#general", f"@treadle {n}") for n in range(2)]]
            for ts in roots:
                assert await desk.answered("#general", ts, covers=ts) == "Yes."
            await desk.slack.until_delivered()

        assert 2 in both
        assert not desk.slack.courier.lost
        assert len(desk.model.requests) == len(roots)
        assert [len(desk.bot_replies("#general", ts)) for ts in roots] == [1] * len(roots)


async def test_a_refused_socket_is_tried_again_on_an_address_of_its_own(tmp_path: Path) -> None:
    """An address works once: asking anew each time is the only way to get in again."""
    async with open_desk(tmp_path, options=RETRIES) as desk:
        desk.patience = BRISK
        desk.slack.fail(FaultRule(Effect.REFUSE_SOCKET, "socket", count=2, status=503))
        desk.model.play(lambda _: Say("Yes."))
        async with desk.treadle():
            ts = await desk.slack.person("alice").say("#general", "@treadle hi")
            assert await desk.answered("#general", ts, covers=ts) == "Yes."
        assert len(desk.slack.log.of("apps.connections.open")) == 3


async def test_a_socket_that_never_says_hello_is_given_up(tmp_path: Path) -> None:
    async with open_desk(tmp_path, options=RETRIES) as desk:
        desk.patience = BRISK
        desk.slack.fail(FaultRule(Effect.MUTE_SOCKET, "socket", count=1))
        desk.model.play(lambda _: Say("Yes."))
        async with desk.treadle():
            ts = await desk.slack.person("alice").say("#general", "@treadle hi")
            assert await desk.answered("#general", ts, covers=ts) == "Yes."
        assert len(desk.slack.log.of("apps.connections.open")) == 2


async def test_addresses_that_cannot_be_had_for_a_while_lose_nothing(tmp_path: Path) -> None:
    """The connection drops while apps.connections.open answers 500, then 429."""
    async with open_desk(tmp_path, options=Options(ack_seconds=3, retry_scale=0.02)) as desk:
        desk.patience = BRISK
        desk.model.play(lambda _: Say("Yes."))
        async with desk.treadle():
            desk.slack.fail(
                FaultRule(Effect.SERVER_ERROR, "apps.connections.open", count=2),
                FaultRule(Effect.RATE_LIMIT, "apps.connections.open", skip=2, count=1),
            )
            desk.slack.sockets.cut()
            ts = await desk.slack.person("alice").say("#general", "@treadle hi")
            assert await desk.answered("#general", ts, covers=ts) == "Yes."
            await desk.slack.until_delivered()
        assert not desk.slack.courier.lost


async def test_sockets_that_keep_dropping_cost_no_message_and_no_second_answer(
    tmp_path: Path,
) -> None:
    async with open_desk(tmp_path, options=Options(ack_seconds=1, retry_scale=0.01)) as desk:
        desk.patience = BRISK
        desk.slack.fail(
            FaultRule(Effect.CUT_SOCKET, "socket", seconds=0.15, count=6),
            FaultRule(Effect.REPEAT_NEW_ID, "message", channel="C0GENERAL"),
        )
        desk.model.play(lambda _: Say("Yes."))
        alice = desk.slack.person("alice")
        async with desk.treadle():
            roots = [await alice.say("#general", f"@treadle {n}") for n in range(3)]
            for ts in roots:
                assert await desk.answered("#general", ts, covers=ts) == "Yes."
            await desk.slack.until_delivered()
        assert not desk.slack.courier.lost
        assert [len(desk.bot_replies("#general", ts)) for ts in roots] == [1, 1, 1]
        assert len(desk.model.requests) == 3
