"""Commands in a thread: what people read, what the model gets, and a host without a sandbox."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.checks import examine_host
from tests.doubles.desk import Desk, arguments, open_desk
from tests.doubles.model_endpoint import Say
from tests.doubles.shell import open_place

pytestmark = pytest.mark.needs("bwrap")


@pytest.fixture
async def reachable() -> AsyncIterator[Desk]:
    """A desk whose home the sandbox's user can reach."""
    with open_place() as place:
        async with open_desk(place) as desk:
            yield desk


def command(text: str, **more: object) -> tuple[tuple[str, str], ...]:
    return (("run_command", arguments(command=text, **more)),)


async def observe(desk: Desk, *steps: Say) -> tuple[list[str], list[str]]:
    """The steps that people read in the thread, and the observations that the model got."""
    desk.model.play([*steps, Say("Done.")])
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@treadle go")
        await desk.answered("#general", ts, covers=ts)
    messages = desk.model.requests[-1]["messages"]
    assert isinstance(messages, list)
    observations = [m["content"] for m in messages if m["role"] == "tool"]
    return desk.bot_replies("#general", ts), observations


async def test_a_command_its_exit_code_and_its_output_stand_in_one_step(reachable: Desk) -> None:
    step = Say("I look.", calls=command("echo hello; echo oops >&2; exit 3"))
    replies, observations = await observe(reachable, step)

    assert "Run echo hello; echo oops >&2; exit 3" in replies[0]
    assert "Exit code 3 after" in replies[0]
    assert "hello ⏎ oops" in replies[0]
    assert observations[0].endswith("s\nhello\noops")


async def test_an_escape_fails_like_any_command_and_tells_nothing(reachable: Desk) -> None:
    (reachable.home / "secret.txt").write_text("the-secret")
    step = Say("I try.", calls=command(f"cat {reachable.home}/secret.txt /etc/shadow"))
    replies, observations = await observe(reachable, step)

    assert "the-secret" not in observations[0]
    assert "Exit code 1 after" in replies[0]
    assert "No such file or directory" in replies[0]


async def test_a_time_out_reads_as_one_sentence(reachable: Desk) -> None:
    step = Say("I wait.", calls=command("sleep 50", timeout_s=1))
    replies, _ = await observe(reachable, step)

    assert any("it ran longer than 1 s" in reply for reply in replies)


async def test_output_that_would_ring_and_paint_is_inert_in_the_thread(reachable: Desk) -> None:
    step = Say("I print.", calls=command(r"printf '\033[31m<!channel> <@U0BOB>\033[0m\a\n'"))
    replies, _ = await observe(reachable, step)

    assert "<!channel> <@U0BOB>" in replies[0]
    assert "\x1b" not in replies[0]


async def test_files_of_one_channel_cannot_be_reached_from_another(reachable: Desk) -> None:
    other = reachable.workspace("T0LOCAL-C0OTHER")
    (other / "private.txt").write_text("of-another-channel")
    (other / "private.txt").chmod(0o644)
    step = Say("I look.", calls=command(f"cat {other}/private.txt ../*/private.txt; ls -la .."))
    _, observations = await observe(reachable, step)

    assert "of-another-channel" not in observations[0]
    assert "C0OTHER" not in observations[0].replace(f"{other}/private.txt", "")


async def test_without_a_sandbox_the_model_is_told_and_nothing_runs(
    reachable: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    """A directory to show that does not exist stands for whatever is wrong with a host."""
    reachable.config('[sandbox]\nread_only = ["/opt/not-there"]\n')
    with caplog.at_level(logging.WARNING):
        step = Say("I touch.", calls=command("touch ran"))
        _, observations = await observe(reachable, step)
    request = reachable.model.requests[0]

    assert "run_command" not in str(request.get("tools"))
    assert "The tool run_command is not available: run_command is off" in str(request["messages"])
    assert "Commands are never run without one." in observations[0]
    assert "/opt/not-there is not there" in observations[0]
    assert "/opt/not-there is not there" in caplog.text
    assert not (reachable.workspace() / "ran").exists()


async def test_switched_off_it_does_not_exist(reachable: Desk) -> None:
    reachable.config('[sandbox]\nmode = "off"\n')
    _, observations = await observe(reachable, Say("I touch.", calls=command("touch ran")))
    request = reachable.model.requests[0]

    assert "run_command" not in str(request.get("tools"))
    assert "run_command" not in str(request["messages"])
    assert '[sandbox] mode is "off"' in observations[0]


@pytest.mark.parametrize(
    ("toml", "found"),
    [
        ("", "ok    shell: commands are held in by bwrap; the self-test passed."),
        (
            '[sandbox]\nmode = "bwrap-hostproc"\n',
            "Known gap: Commands see the names and command lines of the host's processes.",
        ),
        ('[sandbox]\nmode = "off"\n', "ok    shell: run_command is switched off here"),
        (
            '[sandbox]\nread_only = ["/opt/not-there"]\n',
            "FAIL  shell: run_command is off: no sandbox is available on this host.",
        ),
    ],
)
async def test_doctor_says_how_commands_are_held_in(reachable: Desk, toml: str, found: str) -> None:
    reachable.config(toml)
    reachable.model.play([Say("ok")])
    findings = await examine_host(reachable.environment(), reachable.home, 0)

    assert found in "\n".join(map(str, findings))


async def test_what_a_command_planted_is_never_read_by_treadle(
    reachable: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    """Settings, code and hooks in a workspace stay files: a start below it is refused."""
    plant = (
        "echo 'TREADLE_WORKSPACE=/elsewhere' > .env; echo '[sandbox]' > treadle.toml; "
        "echo 'raise SystemExit(1)' | tee sitecustomize.py > typer.py; "
        "echo 'import os; os.abort()' > evil.pth"
    )
    await observe(reachable, Say("I plant.", calls=command(plant)))
    workspace: Path = reachable.workspace()
    assert (workspace / ".env").exists()
    findings = await examine_host(reachable.environment(), workspace, 0)

    assert len(findings) == 1
    assert "where agents write, so nothing in it is read" in findings[0].text
