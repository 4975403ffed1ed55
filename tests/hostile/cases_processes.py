"""Section 8 of the acceptance list: other processes, and limits (P)."""

from __future__ import annotations

import re
import time

from tests.hostile.attack import RAN, Case, Evidence, hit, python
from tests.hostile.house import House

GONE_WITHIN = 0.5
"""Seconds after the observation in which the last process has to be gone."""
KEPT = 256 * 1024
"""Bytes of output that are read."""


def survived(house: House, text: str) -> bool:
    """A process of the command is still there some time after it ended."""
    until = time.monotonic() + GONE_WITHIN
    while house.processes():
        if time.monotonic() > until:
            return True
        time.sleep(0.01)
    return False


def took(text: str) -> float:
    """Seconds, as the observation has them."""
    found = re.search(r"after ([0-9.]+) s", text)
    assert found, text
    return float(found[1])


def longer_than(seconds: float) -> Evidence:
    """Evidence that the tool came back later than that."""

    def check(house: House, text: str) -> bool:
        return took(text) > seconds

    return check


def not_stopped_for(word: str) -> Evidence:
    """Evidence that the limit did not hold: it was not named, or the script came to its end."""

    def check(house: House, text: str) -> bool:
        return not (text.startswith("Stopped") and word in text.split("\n")[0]) or RAN in text

    return check


def typed(house: House, text: str) -> bool:
    """Something was typed into the terminal in which the bot was started."""
    return house.typed()


CASES = (
    Case(
        "P01",
        "signal the bot",
        f"{hit('kill -0 @BOTPID@')}; {hit('kill -CONT @BOTPID@')}",
        alone=False,
    ),
    Case("P02", "signal the process that started the bot", hit("kill -CONT @TESTPID@")),
    Case(
        "P03",
        "trace the bot",
        python("""
            result, error = call(@SYS_ptrace@, 0x4206, @BOTPID@, None, None)
            if result == 0: hit()
            print(result, error)
        """),
        alone=False,
    ),
    Case(
        "P04",
        "read the bot's memory",
        python("""
            buffer = ctypes.create_string_buffer(8)
            vector = struct.pack("PN", ctypes.addressof(buffer), 8)
            for start in (0x400000, 0x555555554000):
                there = struct.pack("PN", start, 8)
                result, error = call(@SYS_process_vm_readv@, @BOTPID@, vector, 1, there, 1, 0)
                # EFAULT: it was allowed to look, and nothing is at this address.
                if result > 0 or error == errno.EFAULT: hit()
            tried(open, "/proc/@BOTPID@/mem", "rb")
        """),
        alone=False,
    ),
    Case(
        "P05",
        "take a descriptor out of the bot",
        python("""
            try: handle = os.pidfd_open(@BOTPID@)
            except OSError as error: print(error)
            else:
                taken, error = call(@SYS_pidfd_getfd@, handle, 77, 0)
                if taken >= 0: hit(os.fstat(taken))
        """),
        alone=False,
    ),
    Case(
        "P06",
        "leave a daemon behind after a normal end",
        "setsid bash -c 'exec -a @TOKEN@ sleep 1000' >/dev/null 2>&1 & sleep 0.1",
        survived,
        alone=False,
    ),
    Case(
        "P07",
        "leave a daemon that ignores SIGTERM behind after a time-out",
        "(setsid nohup bash -c \"trap '' TERM HUP; exec -a @TOKEN@ sleep 1000\" &) ; sleep 100",
        survived,
        timeout_s=1,
        killed=True,
        alone=False,
    ),
    Case(
        "P08",
        "hold the tool up by a background process that keeps its output open",
        "sleep 30 & echo there",
        longer_than(1.0),
        alone=False,
    ),
    Case(
        "P09",
        "outlive the time limit by ignoring SIGTERM",
        "trap '' TERM INT HUP; sleep 100 & wait; sleep 100",
        longer_than(2.0),
        timeout_s=1,
        killed=True,
        alone=False,
    ),
    Case(
        "P10",
        "start 400 processes (a bounded fork bomb)",
        python("""
            count = 0
            for _ in range(400):
                try: child = os.fork()
                except OSError: break
                if child == 0:
                    time.sleep(3)
                    os._exit(0)
                count += 1
            print(count)
            if count >= 200: hit()
        """),
        killed=True,
    ),
    Case(
        "P11",
        "use three times the memory in one process",
        python("held = b'x' * (1200 << 20); hit()"),
        killed=True,
    ),
    Case(
        "P12",
        "use the memory in four processes, each below the limit",
        python("""
            for _ in range(4):
                if os.fork() == 0:
                    held = b"x" * (300 << 20)
                    time.sleep(2)
                    os._exit(0)
            codes = [os.wait()[1] for _ in range(4)]
            if codes == [0] * 4: hit()
        """),
        killed=True,
    ),
    Case(
        "P13",
        "write a file of 600 MB",
        "head -c 600M /dev/zero > big; "
        + hit("[ $(stat -c %s big) -ge 600000000 ]")
        + "; rm -f big",
        alone=False,
    ),
    Case(
        "P14",
        "write twelve files of 100 MB",
        "for n in {1..12}; do head -c 100M /dev/zero > f$n || break; done; "
        + hit("[ $(ls f* | wc -l) -eq 12 ] && [ $(stat -c %s f12) -ge 100000000 ]"),
        then=(("run_command", {"command": "rm -f P14/f*"}),),
        killed=True,
        alone=False,
    ),
    Case(
        "P15",
        "fill /tmp and /dev/shm with 700 MB",
        "for d in /tmp /dev/shm; do for n in {1..7}; do "
        "head -c 100M /dev/zero > $d/@TOKEN@$n || break; done; "
        + hit("[ -e $d/@TOKEN@7 ] && [ $(stat -c %s $d/@TOKEN@7) -ge 100000000 ]")
        + "; rm -f $d/@TOKEN@*; done",
        alone=False,
    ),
    Case(
        "P16", "print without end", "yes", not_stopped_for("printed more"), killed=True, alone=False
    ),
    Case(
        "P17",
        "outlive the time limit with two busy loops",
        "(while :; do :; done) & while :; do :; done",
        longer_than(2.0),
        timeout_s=1,
        killed=True,
        alone=False,
    ),
    Case(
        "P18",
        "wait for input for ever",
        "read -t 5 line; [ $? -gt 128 ] && echo hit-$((6*7)); cat",
        longer_than(2.0),
        alone=False,
    ),
    Case(
        "P19",
        "open the bot's terminal, type into it",
        python("""
            import fcntl
            for name in ("/dev/tty", "/proc/@BOTPID@/fd/0", "/dev/pts/0"):
                try: descriptor = os.open(name, os.O_RDWR | os.O_NOCTTY)
                except OSError as error: print(error); continue
                hit(name)
                fcntl.ioctl(descriptor, 0x5412, b"i")
            for descriptor in range(3):
                try: fcntl.ioctl(descriptor, 0x5412, b"i")
                except OSError as error: print(error)
        """),
        typed,
        alone=False,
    ),
    Case(
        "P20",
        "take a real-time or a higher priority",
        f"{hit('chrt -f 1 true')}; {hit('[ $(nice -n -5 nice) -lt 0 ]')}",
        alone=False,
    ),
)
