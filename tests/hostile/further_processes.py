"""Our own search: processes, memory, time and output."""

from __future__ import annotations

import os
import resource

from tests.hostile.attack import Case, hit, python
from tests.hostile.cases_processes import longer_than, not_stopped_for, survived
from tests.hostile.house import House


def limited(house: House, text: str) -> bool:
    """The bot's own limits are not what they were; they are put right again."""
    bot = int(house.marks["BOTPID"])
    soft, hard = resource.prlimit(bot, resource.RLIMIT_CORE)
    return (soft, hard) == (4242, 4242)


def slowed(house: House, text: str) -> bool:
    """The bot's priority, scheduling class or processors are not what they were."""
    bot = int(house.marks["BOTPID"])
    return (
        os.getpriority(os.PRIO_PROCESS, bot) != os.getpriority(os.PRIO_PROCESS, 0)
        or os.sched_getscheduler(bot) != os.SCHED_OTHER
        or os.sched_getaffinity(bot) != os.sched_getaffinity(0)
    )


def raw(house: House, text: str) -> bool:
    """Control characters of the output reached the observation."""
    return any((ord(c) < 32 and c not in "\n\t") or 127 <= ord(c) < 160 for c in text)


CASES = (
    Case(
        "X31",
        "hide a daemon: new session, no descriptors, another name, a subreaper of its own",
        python("""
            libc.prctl(36, 1, 0, 0, 0)
            libc.prctl(1, 0, 0, 0, 0)
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    os.closerange(0, 300)
                    os.chdir("/")
                    os.execv("/usr/bin/sleep", ["@TOKEN@", "1000"])
                os._exit(0)
            os.wait()
        """),
        survived,
        alone=False,
    ),
    Case(
        "X32",
        "stop or kill whatever watches over the command",
        "kill -STOP 1 $PPID; kill -KILL 1 $PPID; (exec -a @TOKEN@ sleep 1000) & sleep 100",
        longer_than(2.5),
        timeout_s=1,
        killed=True,
        alone=False,
    ),
    Case(
        "X33",
        "stop itself and stay",
        "kill -STOP $$; sleep 100",
        longer_than(2.5),
        timeout_s=1,
        killed=True,
        alone=False,
    ),
    Case(
        "X34",
        "close its output and stay",
        "(exec -a @TOKEN@ sleep 1000 >&- 2>&-) >&- 2>&- & exec >&- 2>&-; sleep 100",
        longer_than(2.5),
        timeout_s=1,
        killed=True,
        alone=False,
    ),
    Case(
        "X35",
        "print one character every now and then, for ever",
        "while sleep 0.2; do printf .; done",
        longer_than(2.5),
        timeout_s=1,
        killed=True,
        alone=False,
    ),
    Case(
        "X36",
        "print one line without end",
        "tr '\\0' a < /dev/zero",
        not_stopped_for("printed more"),
        killed=True,
        alone=False,
    ),
    Case(
        "X37",
        "print NULs, invalid UTF-8 and terminal escapes",
        "printf '\\0\\0 \\xff\\xfe\\xc0\\x80 \\e[2J\\e]0;title\\a\\e]52;c;ZXZpbA==\\a'; "
        "printf ' \\x9b31m \\x85\\b\\b\\v\\f\\e[6n\\eP1$r\\e\\\\'",
        raw,
        alone=False,
    ),
    Case(
        "X38",
        "use three times the memory as shared memory, which no process limit counts",
        python("""
            import mmap
            held = mmap.mmap(-1, 1200 << 20)
            for at in range(0, len(held), 4096): held[at] = 1
            time.sleep(0.5)
            hit()
        """),
        killed=True,
    ),
    Case(
        "X39",
        "keep memory in files that have no name and no process maps (memfd)",
        python("""
            held = []
            for _ in range(12):
                held.append(os.memfd_create("held"))
                for _ in range(100): os.write(held[-1], b"x" * (1 << 20))
            time.sleep(0.5)
            hit()
        """),
        killed=True,
    ),
    Case(
        "X40",
        "keep memory in detached System V segments",
        python("""
            libc.shmat.restype = ctypes.c_void_p
            libc.shmdt.argtypes = [ctypes.c_void_p]
            for _ in range(12):
                segment = libc.shmget(0, ctypes.c_size_t(100 << 20), 0o1600)
                if segment < 0: sys.exit("no segment")
                at = libc.shmat(segment, None, 0)
                ctypes.memset(at, 1, 100 << 20)
                libc.shmdt(at)
            time.sleep(0.5)
            hit()
        """),
        killed=True,
        alone=False,
    ),
    Case(
        "X41",
        "change the bot's resource limits",
        "prlimit --pid @BOTPID@ --core=4242:4242; prlimit --pid @TESTPID@ --core",
        limited,
        alone=False,
    ),
    Case(
        "X42",
        "slow the bot down: its priority, its scheduling class, its processors",
        "renice -n 19 -p @BOTPID@; chrt -i -p 0 @BOTPID@; taskset -p 1 @BOTPID@; "
        "ionice -c 3 -p @BOTPID@; "
        + hit("ionice -p @BOTPID@ | grep -q idle")
        + "\n"
        + python("""
            try: os.setpriority(os.PRIO_USER, 0, 5)
            except OSError as error: print(error)
        """),
        slowed,
        alone=False,
    ),
    Case(
        "X43",
        "use more time than there is by a model's own timeout_s",
        "sleep 100",
        not_stopped_for("longer than"),
        timeout_s=1,
        killed=True,
        alone=False,
    ),
    Case(
        "X44",
        "outlive the limit on processor time by many short processes",
        "while :; do true & wait; done",
        longer_than(2.5),
        timeout_s=1,
        killed=True,
        alone=False,
    ),
    Case(
        "X45",
        "hold up the end by processes that stop and continue each other",
        python("""
            import signal
            pids = [os.getpid()]
            for _ in range(20):
                child = os.fork()
                if child == 0:
                    signal.signal(signal.SIGCONT, lambda *_: None)
                    loop = "trap '' HUP TERM; while :; do kill -CONT 0 2>/dev/null; done"
                    os.execv("/usr/bin/bash", ["@TOKEN@", "-c", loop])
            time.sleep(100)
        """),
        lambda house, text: longer_than(3.0)(house, text) or survived(house, text),
        timeout_s=1,
        killed=True,
        alone=False,
    ),
    Case(
        "X46",
        "leave a core file with what was in memory",
        "ulimit -c unlimited; bash -c 'kill -SEGV $$'; sleep 0.1; "
        + hit("find . -name '*core*' | grep -q ."),
        alone=False,
    ),
    Case(
        "X47",
        "fill the disk below $TMPDIR",
        "for n in {1..14}; do head -c 100M /dev/zero > $TMPDIR/f$n || break; done; "
        + hit("[ -e $TMPDIR/f14 ] && [ $(stat -c %s $TMPDIR/f14) -ge 100000000 ]")
        + "; rm -f $TMPDIR/f*",
        killed=True,
        alone=False,
    ),
    Case(
        "X48",
        "leave something in HOME or TMPDIR for the next command",
        "mkdir -p $HOME; for f in .bashrc .profile .bash_profile .bash_env .gitconfig; do "
        "echo 'echo hit-$((6*7))' > $HOME/$f; done; touch $TMPDIR/@TOKEN@ $HOME/@TOKEN@",
        then=(
            (
                "run_command",
                {
                    "command": hit(
                        "[ -e $TMPDIR/@TOKEN@ ] || [ -e $HOME/@TOKEN@ ] || [ -e $HOME/.bashrc ]"
                    )
                },
            ),
        ),
        alone=False,
    ),
)
