"""The filter in the kernel of this machine: calls by their number, made inside the sandbox."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.doubles.bpf import verdict
from tests.doubles.shell import open_shell
from tools.sandbox.contract import SandboxSettings
from tools.sandbox.seccomp import MACHINES, Sockets, filter_program
from tools.sandbox.syscalls import ATTACKED, KEYS, MACHINE, MOUNTS, NODES, OTHERS

HERE = os.uname().machine
pytestmark = [
    pytest.mark.needs("bwrap"),
    pytest.mark.skipif(HERE not in MACHINES, reason="this machine is no x86_64 or aarch64"),
]

CALLER = """
import ctypes, json, os, sys
libc = ctypes.CDLL(None, use_errno=True)
answers = {}
for name, number, arguments in json.loads(sys.argv[1]):
    if os.fork() == 0:
        ctypes.set_errno(0)
        words = [ctypes.c_ulong(a & 2**64 - 1) for a in arguments]
        result = libc.syscall(ctypes.c_long(number), *words)
        os._exit(ctypes.get_errno() if result == -1 else 0)
    answers[name] = os.waitstatus_to_exitcode(os.wait()[1])
print(json.dumps(answers))
"""
Call = tuple[str, int, Sequence[int]]

PATH_AT = 0
"""A null pointer: a call that is let through fails by EFAULT and does nothing."""


async def ask(place: Path, calls: Sequence[Call]) -> dict[str, int]:
    """The error of each call, 0 for none, as a process in the sandbox gets it."""
    with open_shell(place, SandboxSettings(mode="bwrap")) as shell:
        shell.workspace.write_text("caller.py", CALLER)
        text = await shell.text(f"python3 caller.py '{json.dumps(calls)}'")
    answers: dict[str, int] = json.loads(text)
    return answers


async def test_every_denied_call_is_denied_by_the_kernel(place: Path) -> None:
    column = MACHINES[HERE].column
    named = {**OTHERS, **MOUNTS, **KEYS, **ATTACKED, **MACHINE, **NODES}
    calls: list[Call] = [
        (name, number, [2**40] * 6)
        for name, numbers in named.items()
        if (number := numbers[column]) is not None
    ]
    answers = await ask(place, calls)

    assert len(answers) == len(calls)
    assert set(answers.values()) == {errno.EPERM}


X86_CALLS: list[Call] = [
    ("clone3", 435, [0, 0]),
    ("openat2", 437, [0, 0, 0, 0]),
    ("socket unix", 41, [1, 1, 0]),
    ("socket inet", 41, [2, 1, 0]),
    ("socket netlink", 41, [16, 3, 0]),
    ("socket vsock", 41, [40, 1, 0]),
    ("socket alg", 41, [38, 5, 0]),
    ("socketpair inet", 53, [2, 1, 0, 0]),
    ("clone user", 56, [0x10000000 | 17, 0, 0, 0, 0]),
    ("ioctl sti", 16, [0, 0x5412, 0]),
    ("ioctl sti high", 16, [0, 0xDEADBEEF00005412, 0]),
    ("chmod suid", 90, [PATH_AT, 0o4755]),
    ("chmod", 90, [PATH_AT, 0o755]),
    ("open suid", 2, [PATH_AT, 0o101, 0o4755]),
    ("openat tmpfile suid", 257, [-100, PATH_AT, 0o20200002, 0o4755]),
    ("mknod block", 133, [PATH_AT, 0o060600, 0]),
    ("mknod fifo", 133, [PATH_AT, 0o010600, 0]),
    ("x32 mount", 0x40000000 | 165, [0, 0, 0, 0, 0]),
]


@pytest.mark.skipif(HERE != "x86_64", reason="this machine is no x86_64")
async def test_the_kernel_and_the_interpreter_agree(place: Path) -> None:
    """The program that the tests interpret is the one that the kernel runs."""
    program = filter_program("x86_64", Sockets.UNIX)
    audit = MACHINES["x86_64"].audit
    expected = {name: verdict(program, audit, n, args) for name, n, args in X86_CALLS}
    answers = await ask(place, X86_CALLS)

    for name, result in expected.items():
        if result == 0x7FFF0000:
            assert answers[name] in (0, errno.EFAULT), name
        else:
            assert answers[name] == result & 0xFFFF, name
    assert {name for name, result in expected.items() if result == 0x7FFF0000} == {
        *("socket unix", "chmod", "mknod fifo")
    }


@pytest.mark.skipif(HERE != "x86_64", reason="this machine is no x86_64")
async def test_a_32_bit_call_ends_the_process(place: Path) -> None:
    """`int 0x80` from 64-bit code enters the kernel as an i386 call: getpid."""
    code = (
        "import ctypes, mmap\n"
        "page = mmap.mmap(-1, 4096, prot=7)\n"
        "page.write(bytes.fromhex('b814000000cd80c3'))\n"
        "at = ctypes.addressof(ctypes.c_char.from_buffer(page))\n"
        "print('before', flush=True)\n"
        "print('after', ctypes.CFUNCTYPE(ctypes.c_int)(at)())\n"
    )
    with open_shell(place, SandboxSettings(mode="bwrap")) as shell:
        shell.workspace.write_text("legacy.py", code)
        done = await shell.run("python3 legacy.py")

    assert "before" in done.text
    assert "after" not in done.text
    assert done.exit_code in (128 + 31, 128 + 11)  # SIGSYS; SIGSEGV where there are no such calls
