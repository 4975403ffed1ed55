"""Holds one command in by Landlock, a system call filter and limits. A program of its own:

    python -I -S -B landlock_launcher.py DESCRIPTOR

reads its orders (the JSON object that `tools.sandbox.landlock` writes) from the descriptor. It
imports nothing but the standard library and its two siblings, and nothing at all once it has read
its orders. Three processes: the leash (here), which the bot knows; the keeper below it, which
inherits every orphan and ends them all when the command ends, or the leash does (SIGTERM, SIGKILL,
or the bot's death); and the command itself.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import suppress
from typing import NoReturn

ROOT = __file__.rsplit("/", 3)[0]
"""Of the packages; behind the standard library, so that it replaces none of it."""
if __name__ == "__main__":
    sys.path.append(ROOT)

from tools.sandbox.landlock_keeper import (  # noqa: E402
    AWAITED,
    Orders,
    ended,
    exit_code,
    keep,
    refuse,
    sweep,
)
from tools.sandbox.landlock_kernel import (  # noqa: E402
    Refused,
    die_with,
    inherit_orphans,
    no_new_privileges,
    set_dumpable,
)


def main() -> NoReturn:
    """The leash: starts the keeper, hands it SIGTERM, ends with its exit code."""
    try:
        orders = _orders(int(sys.argv[1]))
        _become(orders["owner"])
        no_new_privileges()
        inherit_orphans()
        set_dumpable(False)  # this process has read rights that the command must not borrow
        die_with(orders["bot"], signal.SIGKILL)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_BLOCK, AWAITED)
        leash = os.getpid()
        keeper = os.fork()
        if keeper == 0:
            keep(orders, leash)
        code = _hold(keeper)
        sweep()
    except (Refused, OSError) as error:
        refuse(error)
    os._exit(code)


def _hold(keeper: int) -> int:
    while True:
        for pid, status in ended():
            if pid == keeper:
                return exit_code(status)
        if signal.sigwait(AWAITED) == signal.SIGTERM:
            os.kill(keeper, signal.SIGTERM)


def _orders(descriptor: int) -> Orders:
    with open(descriptor, "rb") as file:
        orders: Orders = json.load(file)
    return orders


def _become(owner: tuple[int, int] | None) -> None:
    if owner is not None:
        uid, gid = owner
        with suppress(OSError):
            os.fchown(1, uid, gid)  # so that the command can open /dev/stdout
        os.setgroups([])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
    if 0 in os.getresuid():
        raise Refused("it would run as root")


if __name__ == "__main__":
    main()
