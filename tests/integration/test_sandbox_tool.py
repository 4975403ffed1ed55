"""run_command as a model meets it: observations that say how it ended and what to do next."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.doubles.shell import Shell, open_shell
from tools.base import ToolContext
from tools.catalog import builtin_tools
from tools.sandbox.contract import Completed, Limit, SandboxSettings
from tools.shell import headline
from tools.toolset import Ran, Toolset

pytestmark = pytest.mark.needs("bwrap")

SETTINGS = SandboxSettings(mode="bwrap", timeout_s=20, output_kb=64)


@pytest.fixture
def shell(place: Path) -> Iterator[Shell]:
    with open_shell(place, SETTINGS) as opened:
        yield opened


async def call(shell: Shell, name: str = "run_command", /, **arguments: object) -> Ran:
    toolset = Toolset(builtin_tools(), ToolContext(shell.workspace, shell.sandbox))
    return await toolset.run(name, json.dumps(arguments))


async def test_the_first_line_is_the_exit_code_and_the_time(shell: Shell) -> None:
    ran = await call(shell, command="echo out; echo err >&2; exit 3")

    assert re.fullmatch(r"Exit code 3 after \d+\.\d s\nout\nerr", ran.text)
    assert not ran.is_error


async def test_it_has_the_other_name_that_models_use(shell: Shell) -> None:
    ran = await call(shell, "run_terminal_command", command="echo out")

    assert ran.text.endswith("\nout")


async def test_silence_is_said(shell: Shell) -> None:
    assert (await call(shell, command="true")).text.endswith("\n(no output)")


async def test_a_time_out_says_how_much_time_there_could_be(shell: Shell) -> None:
    ran = await call(shell, command="echo begun; sleep 30", timeout_s=1)

    assert re.match(
        r"Stopped after 1\.\d s: it ran longer than 1 s\. timeout_s may be up to 20;", ran.text
    )
    assert ran.text.endswith("\nbegun")


async def test_no_command_gets_more_time_than_the_operator_gives(place: Path) -> None:
    with open_shell(place, replace(SETTINGS, timeout_s=1)) as shell:
        ran = await call(shell, command="sleep 30", timeout_s=600)

    assert "nothing may run longer than 1 s here" in ran.text


async def test_a_long_output_is_cut_in_the_middle_and_kept_where_read_file_finds_it(
    shell: Shell,
) -> None:
    ran = await call(shell, command="for i in $(seq 3000); do echo line number $i; done")
    kept = re.search(r"The whole is in (\.outputs/\S+): page it with read_file", ran.text)
    assert kept is not None
    page = await call(shell, "read_file", path=kept[1], start_line=2001, max_lines=2)

    assert "line number 1\n" in ran.text
    assert ran.text.endswith("line number 3000")
    assert page.text.startswith("line number 2000\nline number 2001\n")
    assert ran.text.count("read_file") == 1
    assert [entry.name for entry in shell.path.iterdir()] == [".outputs"]
    assert len(list((shell.path / ".outputs").iterdir())) == 1


async def test_a_long_output_that_cannot_be_kept_is_still_shown(shell: Shell) -> None:
    """The command planted a link where the output would go; it is not followed."""
    ran = await call(shell, command="ln -s /tmp .outputs; seq 10000")

    assert "could not be kept" in ran.text
    assert ran.text.endswith("\n10000")
    assert not ran.is_error


async def test_too_much_output_says_how_to_look_at_it(shell: Shell) -> None:
    ran = await call(shell, command="yes")

    assert "it printed more than 64 kB. Send the output to a file" in ran.text


async def test_what_only_a_terminal_understands_is_not_in_the_observation(shell: Shell) -> None:
    ran = await call(shell, command=r"printf '\033[31mred\033[0m\a 10%%\r100%%\n'")

    assert ran.text.endswith("\n100%")
    assert "\x1b" not in ran.text


async def test_bytes_that_are_no_text_show_as_replacement_characters(shell: Shell) -> None:
    assert (await call(shell, command=r"printf 'a\xffb'")).text.endswith("\na\ufffdb")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"command": " \n"}, "command is empty"),
        ({"command": "a\0b"}, "NUL"),
        ({"command": "#" * 100_001}, "longer than 100,000 bytes"),
        ({"command": "true", "timeout_s": 0}, "timeout_s must be 1 or more"),
        ({}, "command is missing"),
    ],
)
async def test_a_call_that_cannot_run_says_why(
    shell: Shell, arguments: dict[str, str | int], said: str
) -> None:
    ran = await call(shell, **arguments)

    assert ran.is_error
    assert said in ran.text


async def test_the_longest_command_runs(shell: Shell) -> None:
    command = "echo ran #" + "x" * 99_990
    assert (await call(shell, command=command)).text.endswith("\nran")


async def test_a_call_from_an_old_conversation_gets_the_reason_as_its_observation(
    shell: Shell,
) -> None:
    why = "run_command is off: bubblewrap is not installed."
    toolset = Toolset(builtin_tools(), ToolContext(shell.workspace), off={"run_command": why})

    for name in ("run_command", "run_terminal_command"):
        ran = await toolset.run(name, '{"command": "true"}')
        assert ran.is_error
        assert ran.text.startswith(why)
    assert "run_command" not in [tool.name for tool in toolset.specs()]


@pytest.mark.parametrize(
    ("done", "said"),
    [
        (Completed("", 0, 0.12), "Exit code 0 after 0.1 s"),
        (Completed("", 127, 0.0), "nothing can be installed"),
        (Completed("", 137, 0.0), "perhaps for want of memory"),
        (Completed("", 152, 0.0), "60 s of processor time"),
        (Completed("", 153, 0.0), "A file grew beyond 200 MB"),
        (Completed("", 0, 1.0, over_quota=True), "over its quota of"),
        (Completed("", 0, 1.0, uncountable=True), "too deep, so that nobody knows what it takes"),
        (Completed("", None, 1.0, signal=9), "Killed by SIGKILL after 1.0 s"),
        (Completed("", None, 1.0, Limit.MEMORY), "more than 1024 MB of memory"),
        (Completed("", None, 1.0, Limit.PROCESSES), "more than 128 processes"),
        (Completed("", None, 1.0, Limit.DISK), "it filled the disk or its quota"),
    ],
)
def test_every_end_has_its_words_and_its_advice(done: Completed, said: str) -> None:
    line = headline(done, 20, SETTINGS)

    assert said in line
    assert "\n" not in line


@pytest.mark.parametrize(
    "done",
    [Completed("", 153, 0.0, over_quota=True), Completed("", 153, 0.0, uncountable=True)],
)
def test_a_write_that_is_refused_over_the_quota_is_no_file_that_grew_too_large(
    done: Completed,
) -> None:
    line = headline(done, 20, SETTINGS)

    assert line.startswith("Exit code 153")
    assert "grew beyond" not in line


async def test_a_tree_too_deep_to_count_is_said_to_be_that(place: Path) -> None:
    with open_shell(place, replace(SETTINGS, quota_mb=20)) as shell:
        deep = "/".join(["d"] * 120)
        await call(shell, command=f"mkdir -p {deep}")
        ran = await call(shell, command="echo x > small")
        freed = await call(shell, command="rm -r d small; echo freed")
        again = await call(shell, command="echo x > small")

    assert "is too deep, so that nobody knows what it takes" in ran.text
    assert "quota" not in ran.text
    assert "grew beyond" not in ran.text
    assert freed.text.endswith("\nfreed")
    assert re.match(r"Exit code 0 after \d+\.\d s\n", again.text)
