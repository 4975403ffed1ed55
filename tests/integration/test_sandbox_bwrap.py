"""Commands under the real bubblewrap: what they see, how they end, and that nothing is left."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from tests.doubles.shell import Shell, open_shell, running, within
from tools.sandbox.contract import Limit, SandboxSettings

pytestmark = pytest.mark.needs("bwrap")

SETTINGS = SandboxSettings(mode="bwrap", timeout_s=30, memory_mb=256, processes=64, disk_mb=20_000)


@pytest.fixture
def shell(place: Path) -> Iterator[Shell]:
    with open_shell(place, SETTINGS) as opened:
        yield opened


async def test_both_streams_come_in_order_with_the_exit_code(shell: Shell) -> None:
    done = await shell.run("echo one; echo two >&2; echo three; exit 7")

    assert (done.text, done.exit_code, done.stopped_for) == ("one\ntwo\nthree\n", 7, None)


async def test_a_command_finds_its_workspace_no_input_and_a_short_environment(
    shell: Shell,
) -> None:
    assert await shell.text("pwd; id -un; wc -c; test -t 0 || echo no terminal") == (
        "/workspace\nagent\n0\nno terminal\n"
    )
    names = (await shell.text("env | cut -d= -f1 | sort")).split()
    assert set(names) == {
        *("PATH", "LANG", "TERM", "HOME", "TMPDIR", "USER", "PWD", "SHLVL", "_", "PAGER"),
        *("GIT_CONFIG_NOSYSTEM", "GIT_TERMINAL_PROMPT"),
    }


async def test_the_output_can_be_opened_by_its_name(shell: Shell) -> None:
    """As root the pipe is given to the command's user, else this would be refused."""
    assert await shell.text("echo out > /dev/stdout; echo err > /dev/stderr") == "out\nerr\n"


async def test_files_of_the_shell_and_of_the_file_tools_belong_together(shell: Shell) -> None:
    shell.workspace.write_text("made/by/tool.txt", "from the tool\n")
    await shell.text("echo more >> made/by/tool.txt && mkdir -p sub && echo shell > sub/shell.txt")
    shell.workspace.write_text("sub/shell.txt", "edited\n")
    shell.workspace.write_text("sub/new.txt", "new\n")

    assert shell.workspace.read_text("made/by/tool.txt") == "from the tool\nmore\n"
    assert await shell.text("echo again >> sub/shell.txt; cat sub/*.txt") == "new\nedited\nagain\n"
    await shell.text("rm -r made sub")
    assert list(shell.path.iterdir()) == []
    if os.geteuid() == 0:
        assert shell.path.stat().st_uid == SETTINGS.uid


async def test_the_host_is_not_there(shell: Shell, place: Path) -> None:
    (place / "secret").write_text("hidden")
    done = await shell.run(
        f"cat {place}/secret; ls /root /home /var /etc/shadow; ls /workspace/..; cat /etc/passwd"
    )

    assert "hidden" not in done.text
    assert done.text.count("No such file or directory") == 5
    assert "root:x:0:0:root:/:/bin/sh" in done.text


@pytest.mark.parametrize(
    "attempt",
    [
        "echo x > /usr/x",
        "echo x > /etc/x",
        "echo x > /x",
        "echo x > /dev/x",
        ": >> /proc/sys/kernel/core_pattern",
        "unshare -U true",
        "mount -t tmpfs none /tmp",
        "chmod u+s file",
        "mknod dev b 7 0",
        ": < /dev/tcp/127.0.0.1/22",
        "renice -n -5 $$",
        "ulimit -n 4096",
    ],
)
async def test_what_a_command_must_not_do_fails(shell: Shell, attempt: str) -> None:
    assert (await shell.run(f"touch file; {attempt}")).exit_code != 0


async def test_a_directory_that_the_operator_names_can_be_read_only(place: Path) -> None:
    extra = place / "extra"
    extra.mkdir()
    (extra / "tool").write_text("content")
    settings = SandboxSettings(mode="bwrap", read_only=(extra,))
    with open_shell(place, settings) as shell:
        done = await shell.run(f"cat {extra}/tool; echo x > {extra}/tool")

    assert done.text.startswith("content")
    assert done.exit_code != 0
    assert (extra / "tool").read_text() == "content"


@pytest.mark.wall_clock
@pytest.mark.parametrize(
    "left",
    [
        "sleep {mark}",
        "(trap '' TERM INT HUP; sleep {mark})",
        "setsid sleep {mark}",
        "nohup bash -c '(setsid sleep {mark} &) ' > /dev/null; sleep {mark}",
        "sleep {mark} & sleep {mark} & wait",
    ],
)
async def test_when_the_time_is_over_nothing_is_left(shell: Shell, left: str) -> None:
    mark = f"{7000 + uuid.uuid4().int % 10**9}"
    done = await shell.run(left.format(mark=mark), timeout_s=0.4)

    assert (done.stopped_for, done.exit_code) == (Limit.TIME, None)
    assert done.seconds < 2
    assert within(1.0, lambda: not running(mark))


@pytest.mark.wall_clock
async def test_what_stays_in_the_background_ends_with_the_command(shell: Shell) -> None:
    mark = f"{7000 + uuid.uuid4().int % 10**9}"
    done = await shell.run(f"sleep {mark} & setsid sleep {mark} & echo done")

    assert (done.text, done.exit_code) == ("done\n", 0)
    assert done.seconds < 1
    assert within(0.5, lambda: not running(mark))


async def test_a_cancelled_command_leaves_nothing(shell: Shell) -> None:
    mark = f"{7000 + uuid.uuid4().int % 10**9}"
    task = asyncio.create_task(shell.run(f"setsid sleep {mark} & sleep {mark}"))
    while len(running(mark)) < 3:  # bubblewrap and bash hold it in their arguments too
        await asyncio.sleep(0.01)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task

    assert task.cancelled()
    assert within(0.5, lambda: not running(mark))
    assert await shell.text("echo next") == "next\n"


BOT = """
import asyncio, sys
from pathlib import Path
from tests.doubles.shell import open_shell
from tools.sandbox.contract import SandboxSettings

with open_shell(Path(sys.argv[1]), SandboxSettings(mode="bwrap")) as shell:
    asyncio.run(shell.run(sys.argv[2]))
"""


async def test_nothing_is_left_when_the_bot_itself_is_killed(place: Path) -> None:
    mark = f"{7000 + uuid.uuid4().int % 10**9}"
    bot = await asyncio.create_subprocess_exec(
        sys.executable, "-c", BOT, str(place), f"setsid sleep {mark} & sleep {mark}", cwd=Path.cwd()
    )
    sleeping = f"sleep\0{mark}"
    while len(running(sleeping)) < 2:
        assert bot.returncode is None
        await asyncio.sleep(0.01)
    bot.send_signal(signal.SIGKILL)
    await bot.wait()

    assert within(1.0, lambda: not running(mark))


@pytest.mark.wall_clock
async def test_output_beyond_the_cap_ends_the_command_at_once(shell: Shell) -> None:
    done = await shell.run("yes; echo never")

    assert (done.stopped_for, done.exit_code) == (Limit.OUTPUT, None)
    assert len(done.text) == SETTINGS.output_kb * 1024
    assert done.seconds < 2


async def test_a_command_that_ends_while_it_prints_too_much_is_cut_as_well(shell: Shell) -> None:
    done = await shell.run("head -c 400000 /dev/zero | tr '\\0' x")

    assert done.stopped_for is Limit.OUTPUT
    assert len(done.text) == SETTINGS.output_kb * 1024


async def test_one_process_gets_no_more_memory_than_allowed(shell: Shell) -> None:
    done = await shell.run("python3 -c 'x = bytearray(400 << 20)' && echo got it")

    assert "MemoryError" in done.text
    assert "got it" not in done.text


@pytest.mark.wall_clock
async def test_several_processes_together_get_no_more_memory_than_allowed(shell: Shell) -> None:
    hungry = "python3 -c 'x = bytearray(150 << 20); import time; time.sleep(20)'"
    done = await shell.run(f"{hungry} & {hungry} & {hungry} & wait")

    assert done.stopped_for is Limit.MEMORY
    assert done.seconds < 10


@pytest.mark.wall_clock
@pytest.mark.parametrize(
    "hungry",
    [
        "held.append(mmap.mmap(-1, size)); held[-1].write(one)",
        (
            "held.append(mmap.mmap(-1, size)); held[-1].write(one); "
            "held[-1].madvise(mmap.MADV_DONTNEED)"
        ),
    ],
    ids=["resident", "not resident"],
)
async def test_memory_that_belongs_to_no_process_is_held_as_well(shell: Shell, hungry: str) -> None:
    begin = "import mmap, time\nsize = 100 << 20\none, held = bytes(size), []\n"
    script = f"{begin}for _ in range(20):\n    {hungry}\ntime.sleep(20)\n"
    shell.workspace.write_text("hungry.py", script)
    done = await shell.run("python3 hungry.py")

    assert done.stopped_for is Limit.MEMORY
    assert done.seconds < 15


async def test_a_fork_bomb_is_held_to_the_number_of_processes(shell: Shell) -> None:
    """Bounded, in case nothing holds it."""
    done = await shell.run(
        "python3 - <<'E'\n"
        "import os, time\n"
        "born = 0\n"
        "for _ in range(400):\n"
        "    try:\n"
        "        if os.fork() == 0: time.sleep(5); os._exit(0)\n"
        "        born += 1\n"
        "    except OSError: break\n"
        "print(born)\n"
        "E"
    )

    assert int(done.text) <= SETTINGS.processes


async def test_one_file_grows_no_larger_than_allowed(shell: Shell) -> None:
    done = await shell.run("head -c 300M /dev/zero > big; echo $?; stat -c %s big")

    code, size = map(int, done.text.split()[-2:])
    assert code == 128 + signal.SIGXFSZ
    assert size == SETTINGS.file_mb * 1024 * 1024
    await shell.run("rm -f big")


async def test_many_files_fill_no_more_of_the_disk_than_allowed(place: Path) -> None:
    with open_shell(place, replace(SETTINGS, disk_mb=150)) as shell:
        fill = "for i in $(seq 60); do head -c 20M /dev/urandom > f$i; done; sleep 1"
        done = await shell.run(fill)
        left = shell.workspace.usage()

    assert done.stopped_for is Limit.DISK
    assert left < 600 * 1024 * 1024


async def test_a_quota_ends_what_grows_beyond_it(place: Path) -> None:
    with open_shell(place, SandboxSettings(mode="bwrap", quota_mb=20)) as shell:
        grow = "for i in $(seq 100); do head -c 2M /dev/urandom > f$i; sleep 0.05; done"
        done = await shell.run(grow)
        held = shell.workspace.usage()

    assert done.stopped_for is Limit.DISK
    assert 20 << 20 < held < 60 << 20


@pytest.mark.wall_clock  # it fills its workspace before the quota is looked at
async def test_over_its_quota_a_workspace_lets_files_be_deleted_and_nothing_else(
    place: Path,
) -> None:
    with open_shell(place, SandboxSettings(mode="bwrap", quota_mb=5)) as shell:
        filled = await shell.run("head -c 9M /dev/urandom > big")
        grown = await shell.run("echo x > small; ulimit -f 100; echo x > small; echo said")
        left = shell.workspace.usage()
        freed = await shell.run("rm big; echo freed")
        again = await shell.run("echo x > small; cat small")

    assert (filled.exit_code, filled.over_quota) == (0, False)
    assert grown.over_quota
    assert "said" in grown.text or grown.exit_code == 128 + signal.SIGXFSZ
    assert left < 10 << 20
    assert (freed.text, freed.over_quota) == ("freed\n", True)
    assert (again.text, again.over_quota) == ("x\n", False)


@pytest.mark.parametrize("options", ["-n -l 100M", "-l 4M", "-n -o 8M -l 8M"])
async def test_no_disk_can_be_taken_without_writing_to_it(place: Path, options: str) -> None:
    """`fallocate -n` would pass by the largest size of a file."""
    with open_shell(place, SandboxSettings(mode="bwrap", quota_mb=20, file_mb=5)) as shell:
        done = await shell.run(f"touch a; fallocate {options} a; echo $?")
        written = await shell.text(
            "python3 -c 'import os; os.posix_fallocate(os.open(\"b\", 66), 0, 1 << 20)'; "
            "stat -c %s b"
        )
        held = shell.workspace.usage()

    assert done.text.startswith("fallocate: fallocate failed: ")
    assert done.text.endswith("\n1\n")
    assert written == "1048576\n"
    assert held < 3 << 20


FILL_HOLES = """
import mmap, time
for number in range(8):
    with open(f"sparse{number}", "r+b") as file, mmap.mmap(file.fileno(), 0) as held:
        held[:] = b"x" * len(held)
        held.flush()
    time.sleep(0.3)
"""


async def test_over_its_quota_a_workspace_does_not_grow_by_holes_that_are_filled(
    place: Path,
) -> None:
    """They are in the file's size already, so that no limit of a process is in the way."""
    with open_shell(place, SandboxSettings(mode="bwrap", quota_mb=5)) as shell:
        shell.workspace.write_text("fill.py", FILL_HOLES)
        await shell.text("for n in 0 1 2 3 4 5 6 7; do truncate -s 20M sparse$n; done")
        await shell.text("head -c 9M /dev/urandom > big")
        done = await shell.run("python3 fill.py")
        held = shell.workspace.usage()
        freed = await shell.run("rm big sparse*; echo freed")

    assert done.over_quota
    assert done.stopped_for is Limit.DISK
    assert held < 60 << 20
    assert freed.text == "freed\n"


async def test_two_commands_in_one_workspace_run_one_after_the_other(shell: Shell) -> None:
    command = "echo begin >> log; sleep 0.2; echo end >> log"
    await asyncio.gather(*(shell.run(command) for _ in range(3)))

    assert shell.workspace.read_text("log") == "begin\nend\n" * 3


async def test_what_people_use_works(shell: Shell) -> None:
    """Git, process substitution, a pool of processes, SQLite, asyncio and a local socket pair."""
    script = (
        "import asyncio, multiprocessing, sqlite3\n"
        "def square(n): return n * n\n"
        "if __name__ == '__main__':\n"
        "    print(sum(multiprocessing.Pool(3).map(square, range(5))))\n"
        "    base = sqlite3.connect('base.db'); base.execute('create table t (a)'); base.commit()\n"
        "    asyncio.run(asyncio.sleep(0))\n"
    )
    shell.workspace.write_text("work.py", script)
    assert await shell.text("python3 work.py") == "30\n"
    assert await shell.text("cat <(echo a) <(echo b)") == "a\nb\n"
    if Path("/usr/bin/git").exists():
        text = await shell.text(
            "git init -q repo && cd repo && git config user.email a@b.c && git config user.name a"
            " && echo x > f && git add f && git commit -qm first && git log --format=%s"
        )
        assert text == "first\n"
