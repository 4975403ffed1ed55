"""`treadle chat`: the same loop in a terminal, run as a user runs it."""

from __future__ import annotations

import asyncio
import os
import pty
import signal
import sqlite3
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.agent.entries import Answered, ModelReply, Observation, User
from bot.agent.records import load
from bot.terminal import Lines
from tests.doubles.desk import open_desk
from tests.doubles.model_endpoint import ModelEndpoint, Refuse, Say
from tests.doubles.shell import open_place

ROOT = Path(__file__).parents[2]
KEY = "sk-chat-secret-key-1"
CALCULATE = ("calculate", '{"expression": "6 * 7"}')
SECONDS = 30


def hear_ctrl_c() -> None:
    """In the child: whatever started the tests in the background made it deaf to Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@dataclass
class Place:
    """A project directory in which the command runs, and the model that it talks to."""

    home: Path
    model: ModelEndpoint

    @property
    def environ(self) -> dict[str, str]:
        return {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "OPENAI_BASE_URL": self.model.base_url,
            "OPENAI_API_KEY": KEY,
            "OPENAI_MODEL": "scripted",
        }

    @asynccontextmanager
    async def running(self, stdin: int = PIPE) -> AsyncIterator[Process]:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bot", "chat"),
            cwd=self.home,
            env=self.environ,
            stdin=stdin,
            stdout=PIPE,
            stderr=PIPE,
            preexec_fn=hear_ctrl_c,
        )
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
            await process.communicate()

    async def chat(self, typed: str) -> tuple[int, str, str]:
        """What it prints and says on stderr when all of this is typed and the input ends."""
        async with self.running() as process:
            out, err = await asyncio.wait_for(process.communicate(typed.encode()), SECONDS)
        assert process.returncode is not None
        return process.returncode, out.decode(), err.decode()

    def journals(self) -> dict[str, list[object]]:
        """What stands in the database, thread by thread."""
        found: dict[str, list[object]] = {}
        rows = sqlite3.connect(self.home / ".treadle" / "treadle.db")
        for thread, body in rows.execute("SELECT thread, body FROM journal ORDER BY thread, seq"):
            found.setdefault(thread, []).append(load(body))
        rows.close()
        return found


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    model = ModelEndpoint()
    await model.start()
    with open_place() as home:
        yield Place(home, model)
    await model.stop()


@pytest.mark.needs("bwrap")
async def test_a_thought_a_tool_its_observation_and_the_answer_are_printed(place: Place) -> None:
    place.model.play([Say("I multiply.", calls=(CALCULATE,)), Say("It is **42**.")])

    code, out, err = await place.chat("what is 6 * 7?\nexit\nnever said\n")

    assert (code, err) == (0, "")
    assert len(place.model.requests) == 2
    greeting, thought, call, observation, *answer = [line for line in out.splitlines() if line]
    assert "Ctrl-D ends" in greeting
    assert thought == "I multiply.", "as it arrived, before it could be known for a thought"
    assert call == "  Calculate 6 * 7"
    assert observation == "  → 42"
    assert answer == ["It is **42**."]


async def test_each_line_goes_on_with_the_conversation_until_the_input_ends(place: Place) -> None:
    place.model.play([Say("One."), Say("Two.")])

    code, out, _ = await place.chat("first\n\n   \nsecond")

    assert code == 0
    assert "One." in out
    assert "Two." in out
    said = [m["content"] for m in place.model.requests[-1]["messages"] if m["role"] == "user"]
    assert [text.splitlines()[1] for text in said] == ["first", "second"]
    assert len(place.model.requests) == 2


async def test_the_conversation_stands_in_the_journal_afterwards(place: Place) -> None:
    place.model.play([Say("I multiply.", calls=(CALCULATE,)), Say("It is 42.")])
    await place.chat("what is 6 * 7?\n")

    (entries,) = place.journals().values()
    kinds = [type(entry) for entry in entries]
    assert kinds[0] is User
    assert kinds[-1] is Answered
    assert Observation in kinds
    (user,) = [entry for entry in entries if isinstance(entry, User)]
    assert (user.text, user.role) == ("what is 6 * 7?", "admin")

    place.model.play([Say("Hello again.")])
    await place.chat("hi\n")
    assert len(place.journals()) == 2, "a second chat is another thread, and the first one stays"


HOSTILE = "a\x1b[2J\x1b]0;owned\x07b\x9b31mc\u202ed\re\x08f\u200b"


async def test_what_is_written_can_neither_move_the_terminal_nor_show_a_secret(
    place: Place,
) -> None:
    (place.home / "workspace" / "TLOCAL-DTERMINAL").mkdir(parents=True)
    (place.home / "workspace" / "TLOCAL-DTERMINAL" / "evil.txt").write_text(HOSTILE)
    read = ("read_file", '{"path": "evil.txt"}')
    odd = ("read_file", '{"path": "x\\u001b[2Jy"}')
    place.model.play([Say(f"T {HOSTILE}", calls=(read, odd)), Say(f"A {HOSTILE} {KEY}")])

    _, out, _ = await place.chat("read it\n")

    assert not [c for c in out if (ord(c) < 32 and c not in "\n\t") or 127 <= ord(c) < 160]
    assert "\u202e" not in out
    assert "T abcd" in out
    assert "A abcd" in out
    assert "→ abcd" in out
    assert KEY not in out
    assert "[redacted]" in out


async def test_a_long_observation_says_how_much_is_not_shown(place: Place) -> None:
    (place.home / "workspace" / "TLOCAL-DTERMINAL").mkdir(parents=True)
    lines = "".join(f"line {n}\n" for n in range(40))
    (place.home / "workspace" / "TLOCAL-DTERMINAL" / "long.txt").write_text(lines)
    place.model.play([Say("Look.", calls=(("read_file", '{"path": "long.txt"}'),)), Say("Long.")])

    _, out, _ = await place.chat("read\n")

    assert "more lines)" in out
    assert "line 39" not in out


@pytest.mark.needs("bwrap")
async def test_a_model_that_refuses_is_a_sentence_and_the_chat_goes_on(place: Place) -> None:
    place.model.play([Refuse(401, {"error": {"message": "no"}}), Say("Now it works.")])

    code, out, err = await place.chat("one\ntwo\n")

    assert (code, err) == (0, ""), "what the conversation says is not logged into it once more"
    assert "refused the key. Put a valid OPENAI_API_KEY into .env" in out
    assert "Now it works." in out


async def test_a_wrong_setting_is_a_sentence_and_another_exit_code(place: Place) -> None:
    (place.home / "treadle.toml").write_text("[limits]\nmax_stepps = 3\n")

    code, out, err = await place.chat("")

    assert (code, out) == (2, "")
    assert "max_stepps" in err
    assert "Traceback" not in err


async def test_a_second_chat_in_the_same_home_is_told_who_has_it(place: Place) -> None:
    async with place.running() as first:
        assert first.stdout is not None
        await asyncio.wait_for(first.stdout.readline(), SECONDS)

        code, _, err = await place.chat("hi\n")

    assert code == 1
    assert f"process {first.pid} on " in err
    assert "Traceback" not in err


async def test_ctrl_c_leaves_at_once_also_while_it_waits_for_a_line(place: Place) -> None:
    mine, theirs = pty.openpty()
    try:
        async with place.running(stdin=theirs) as process:
            assert process.stdout is not None
            await asyncio.wait_for(process.stdout.readuntil(b"you> "), SECONDS)
            process.send_signal(signal.SIGINT)

            out, err = await asyncio.wait_for(process.communicate(), SECONDS)
    finally:
        os.close(mine)
        os.close(theirs)

    assert process.returncode == 130
    assert b"Traceback" not in out + err


async def test_ctrl_c_in_the_middle_of_a_turn_leaves_a_whole_journal(place: Place) -> None:
    place.model.play([Say("never said", gate=asyncio.Event())])
    async with place.running() as process:
        assert process.stdin is not None
        process.stdin.write(b"think\n")
        await place.model.asked(timeout=SECONDS)
        process.send_signal(signal.SIGINT)
        _, err = await asyncio.wait_for(process.communicate(), SECONDS)

    assert process.returncode == 130
    assert b"Traceback" not in err
    (entries,) = place.journals().values()
    assert not [entry for entry in entries if isinstance(entry, ModelReply)]

    async with open_desk(place.home, lambda _: Say("Hello.")) as desk, desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@treadle hi")
        await desk.answered("#general", ts, covers=ts)
        said = [request["messages"][1]["content"] for request in desk.model.requests]
    assert len(said) == 1, "Slack's side does not go on with a conversation of the terminal"
    assert said[0].endswith("\nhi")


async def test_lines_can_come_from_a_file_and_in_any_pieces(tmp_path: Path) -> None:
    path = tmp_path / "typed"
    path.write_bytes("eins\n\nzwölf\xff".encode("latin-1"))
    with path.open("rb") as file:
        lines = Lines(file.fileno())
        assert [await lines.next() for _ in range(4)] == ["eins", "", "zw\ufffdlf\ufffd", None]

    reading, writing = os.pipe()
    lines = Lines(reading)
    pending = asyncio.create_task(lines.next())
    for piece in (b"ha", b"lf a li", b"ne\nnext"):
        os.write(writing, piece)
        await asyncio.sleep(0)
    assert await pending == "half a line"
    os.close(writing)
    assert [await lines.next(), await lines.next(), await lines.next()] == ["next", None, None]
    os.close(reading)
