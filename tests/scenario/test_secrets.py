"""Configured secrets leave by no door and are written nowhere."""

from __future__ import annotations

import base64

from bot.local_slack.faults import Effect, FaultRule
from tests.doubles.desk import Desk, arguments
from tests.doubles.model_endpoint import Say

SECRET = "sk-scenario-key-123"


async def test_a_secret_in_replies_files_and_questions_is_neither_posted_nor_stored(
    desk: Desk,
) -> None:
    encoded = base64.b64encode(SECRET.encode()).decode()
    (desk.workspace() / "leak.txt").write_text(f"the key is {SECRET}, or {encoded}\n")
    desk.model.play(
        [
            Say(f"I know {SECRET}.", calls=(("read_file", arguments(path="leak.txt")),)),
            Say(f"It is {SECRET} and {encoded}."),
        ]
    )
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", f"@treadle is it {SECRET}?")
        await desk.answered("#general", ts, covers=ts)

    posted = "\n".join(desk.bot_replies("#general", ts))
    stored = b"".join(
        path.read_bytes() for path in (desk.home / ".treadle").rglob("*") if path.is_file()
    )
    sent = str(desk.model.requests)
    assert "the key is" in posted
    for form in (SECRET, encoded):
        assert form not in posted
        assert form.encode() not in stored
        assert form not in sent


async def test_a_secret_in_a_message_that_was_read_from_the_thread_is_not_stored(
    desk: Desk,
) -> None:
    """The reply came before the mention that made the thread the bot's, so it is fetched."""
    desk.model.play(lambda _: Say("Noted."))
    alice = desk.slack.person("alice")
    async with desk.treadle():
        holds = [FaultRule(Effect.HOLD, kind, count=1) for kind in ("app_mention", "message")]
        desk.slack.fail(*holds)
        root = await alice.say("#general", "@treadle hello")
        ts = await alice.reply("#general", root, f"the key is {SECRET}")
        await desk.slack.until_delivered()
        desk.slack.courier.release()
        await desk.answered("#general", root, covers=ts)
        stored = b"".join(
            path.read_bytes() for path in (desk.home / ".treadle").rglob("*") if path.is_file()
        )

    assert b"the key is" in stored
    assert SECRET.encode() not in stored
