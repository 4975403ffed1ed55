"""One attempt to get out of the sandbox, and how it is judged."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.hostile.house import House

HIT = "hit-42"
"""What an attempt prints when it has reached its aim; scripts only ever build it by arithmetic."""
RAN = "ran-42"
"""What a script prints when it came to its end: an attempt that broke off proves nothing."""

Evidence = Callable[["House", str], bool]
"""Whether the host, or the text of the observations, shows that the aim was reached."""

PYTHON = """
import ctypes, errno, os, socket, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def hit(*why): print("hit-%d" % (6 * 7), *why, flush=True)
def call(number, *arguments):
    ctypes.set_errno(0)
    return libc.syscall(ctypes.c_long(number), *[
        ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]), ctypes.get_errno()
def tried(function, *arguments, **named):
    try: function(*arguments, **named)
    except (OSError, ValueError) as error: return print(function, error)
    hit(function)
"""


@dataclass(frozen=True, slots=True)
class Case:
    """An attempt by `script`, run as one command; `then` are further calls (tool, arguments).

    In every text, @NAME@ stands for what the `House` knows by that name, and @SYS_name@ for the
    number of a system call. The script starts in an empty directory of its own.
    """

    id: str
    attempt: str
    """In plain words, for the table of docs/security.md."""
    script: str
    evidence: Evidence | None = None
    then: tuple[tuple[str, dict[str, object]], ...] = ()
    timeout_s: int = 20
    killed: bool = False
    """The script does not come to its end: a limit is what stops it."""
    alone: bool = True
    """Without any sandbox the attempt succeeds for an ordinary user, and does no harm."""
    needs: str = ""
    """A program that the host must have."""
    only: str = ""
    """The machine that it is written for, as in os.uname()."""
    works: bool = False
    """No attempt but a use that has to work."""


def hit(command: str) -> str:
    """Bash that says so when `command` succeeds."""
    return f"{{ {command}; }} && echo hit-$((6*7))"


def python(code: str) -> str:
    """Bash that runs Python code with `hit`, `call` and `tried` at hand."""
    return f"python3 -I - <<'END'\n{PYTHON}\n{textwrap.dedent(code)}\nEND"


def judged(case: Case, text: str, host: bool) -> str:
    """The result of a case: `stopped` or `reached`; of a use: `works` or `fails`.

    `broken` if the script neither reached its aim nor came to its end: a fault of the test.
    """
    reached = HIT in text or host
    if case.works:
        return "works" if reached else "fails"
    if reached:
        return "reached"
    ended = RAN in text or (
        case.killed and any(sign in text for sign in ("Stopped", "Killed", "process was killed"))
    )
    return "stopped" if ended else "broken"
