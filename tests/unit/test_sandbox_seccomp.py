"""The system call filter: its numbers against the kernel's headers, its verdicts by interpreter."""

from __future__ import annotations

import errno
import re
import struct
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.doubles.bpf import verdict
from tools.errors import SandboxUnavailable
from tools.sandbox.seccomp import MACHINES, Sockets, filter_program
from tools.sandbox.syscalls import (
    ATTACKED,
    BURSTS,
    JUDGED,
    KEYS,
    MACHINE,
    MOUNTS,
    NODES,
    OTHERS,
    PRIORITIES,
    QUEUES,
    SOCKETS,
    UNCOUNTED,
    WATCHES,
    Numbers,
)

ALLOW, KILL = 0x7FFF0000, 0x80000000
EPERM, ENOSYS = 0x50000 | errno.EPERM, 0x50000 | errno.ENOSYS
EOPNOTSUPP = 0x50000 | errno.EOPNOTSUPP
EAFNOSUPPORT = 0x50000 | errno.EAFNOSUPPORT
I386, ARM = 0x40000003, 0x40000028
ALWAYS_DENIED = {**OTHERS, **MOUNTS, **KEYS, **ATTACKED, **MACHINE, **NODES}
ALL: dict[str, Numbers] = {
    **ALWAYS_DENIED,
    **QUEUES,
    **SOCKETS,
    **UNCOUNTED,
    **WATCHES,
    **BURSTS,
    **PRIORITIES,
    **JUDGED,
}

HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}
_DEFINED = re.compile(r"#\s*define\s+__NR(?:3264)?_(\w+)\s+(\d+)")


def number(machine: str, name: str) -> int:
    found = ALL[name][MACHINES[machine].column]
    assert found is not None, f"{name} does not exist on {machine}"
    return found


def judge(machine: str, name: str, *arguments: int, sockets: Sockets = Sockets.UNIX) -> int:
    program = filter_program(machine, sockets)
    return verdict(program, MACHINES[machine].audit, number(machine, name), arguments)


@pytest.mark.parametrize("machine", MACHINES)
def test_every_number_is_the_one_in_the_kernels_header(machine: str) -> None:
    if not HEADERS[machine].exists():
        pytest.skip("linux-libc-dev is not installed")
    defined = {name: int(n) for name, n in _DEFINED.findall(HEADERS[machine].read_text())}
    newest = max(defined.values())
    ours = {name: numbers[MACHINES[machine].column] for name, numbers in ALL.items()}

    unknown = {n for n, found in ours.items() if found is not None and n not in defined}
    assert all(found == defined.get(n) for n, found in ours.items() if n not in unknown)
    assert all(number(machine, name) > newest for name in unknown), unknown
    assert unknown <= {"fchmodat2", "open_tree_attr", "memfd_secret", "set_mempolicy_home_node"}


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("sockets", Sockets)
def test_a_program_is_what_the_kernel_accepts(machine: str, sockets: Sockets) -> None:
    """At most 4,096 instructions, every jump lands inside, and the last one returns."""
    program = filter_program(machine, sockets)
    steps = [struct.unpack_from("<HBBI", program, at) for at in range(0, len(program), 8)]

    assert len(program) % 8 == 0
    assert len(steps) <= 4096
    for place, (code, if_true, if_false, _) in enumerate(steps):
        if code in (0x15, 0x35, 0x45):
            assert place + 1 + max(if_true, if_false) < len(steps)
    assert steps[-1][0] == 0x06


def test_a_machine_that_the_table_does_not_have_is_refused() -> None:
    with pytest.raises(SandboxUnavailable, match="riscv64"):
        filter_program("riscv64", Sockets.UNIX)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("audit", [I386, ARM, 0, 0xFFFFFFFF])
def test_a_call_of_another_architecture_ends_the_process(machine: str, audit: int) -> None:
    program = filter_program(machine, Sockets.UNIX)

    assert verdict(program, audit, 1) == KILL


def test_numbers_of_the_x32_calls_are_refused_on_x86_64() -> None:
    program = filter_program("x86_64", Sockets.UNIX)
    audit = MACHINES["x86_64"].audit

    for call in (0x40000000, 0x40000000 | 165, 0x40000200, 0xFFFFFFFF):
        assert verdict(program, audit, call) == EPERM


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", ALWAYS_DENIED)
@pytest.mark.parametrize("sockets", Sockets)
def test_what_no_command_needs_is_denied(machine: str, name: str, sockets: Sockets) -> None:
    if ALL[name][MACHINES[machine].column] is not None:
        assert judge(machine, name, 0, 0, 0, sockets=sockets) == EPERM


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", [*QUEUES, *SOCKETS])
def test_what_name_spaces_keep_apart_is_denied_only_without_them(machine: str, name: str) -> None:
    assert judge(machine, name, sockets=Sockets.NONE) == EPERM
    assert judge(machine, name, sockets=Sockets.UNIX) == ALLOW


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("sockets", Sockets)
def test_every_call_that_the_table_does_not_name_is_allowed(machine: str, sockets: Sockets) -> None:
    program, column = filter_program(machine, sockets), MACHINES[machine].column
    named = {numbers[column] for numbers in ALL.values()}
    found = {
        call: verdict(program, MACHINES[machine].audit, call)
        for call in range(500)
        if call not in named
    }

    assert len(found) > 350
    assert set(found.values()) == {ALLOW}


UNIX, INET, INET6, NETLINK, PACKET, ALG, VSOCK = 1, 2, 10, 16, 17, 38, 40
FAMILIES = (UNIX, INET, INET6, NETLINK, PACKET, ALG, VSOCK, 0, 44, 1 << 31)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("sockets", "allowed"),
    [(Sockets.UNIX, {UNIX}), (Sockets.INET, {UNIX, INET, INET6}), (Sockets.NONE, set())],
)
def test_only_the_named_families_of_sockets_exist(
    machine: str, sockets: Sockets, allowed: set[int]
) -> None:
    found = {f for f in FAMILIES if judge(machine, "socket", f, 1, 0, sockets=sockets) == ALLOW}

    assert found == allowed
    assert judge(machine, "socket", VSOCK, sockets=sockets) == EAFNOSUPPORT


STREAM, DATAGRAM, SEQUENCED, CLOEXEC, NONBLOCK = 1, 2, 5, 0o2000000, 0o4000


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("sockets", Sockets)
@pytest.mark.parametrize("kind", [STREAM, SEQUENCED, STREAM | CLOEXEC, STREAM | NONBLOCK | CLOEXEC])
def test_pairs_of_connected_unix_sockets_are_always_there(
    machine: str, sockets: Sockets, kind: int
) -> None:
    assert judge(machine, "socketpair", UNIX, kind, sockets=sockets) == ALLOW
    assert judge(machine, "socketpair", INET, kind, sockets=sockets) == EAFNOSUPPORT


@pytest.mark.parametrize("machine", MACHINES)
def test_a_datagram_pair_which_could_be_sent_elsewhere_needs_a_network_name_space(
    machine: str,
) -> None:
    kind = DATAGRAM | CLOEXEC
    assert judge(machine, "socketpair", UNIX, kind, sockets=Sockets.UNIX) == ALLOW
    assert judge(machine, "socketpair", UNIX, kind, sockets=Sockets.NONE) == EAFNOSUPPORT


SIGCHLD, THREAD = 17, 0x3D0F00
O_CREAT, O_TMPFILE, O_RDWR = 0o100, 0o20200000, 2
TIOCSTI, TIOCLINUX, TCGETS = 0x5412, 0x541C, 0x5401
HIGH = 0xDEADBEEF << 32

BOTH: list[tuple[str, Sequence[int], int]] = [
    ("clone", (SIGCHLD,), ALLOW),
    ("clone", (THREAD,), ALLOW),
    *(("clone", (flag | SIGCHLD,), EPERM) for flag in (1 << 17, *(1 << b for b in range(25, 31)))),
    ("clone", (HIGH | SIGCHLD,), ALLOW),
    ("clone3", (1, 88), ENOSYS),
    ("openat2", (0, 0, 0, 24), ENOSYS),
    ("ioctl", (0, TCGETS), ALLOW),
    ("ioctl", (0, TIOCSTI), EPERM),
    ("ioctl", (0, TIOCLINUX), EPERM),
    ("ioctl", (0, HIGH | TIOCSTI), EPERM),
    ("fchmod", (3, 0o755), ALLOW),
    ("fchmod", (3, 0o1777), ALLOW),
    ("fchmod", (3, 0o4755), EPERM),
    ("fchmod", (3, 0o2755), EPERM),
    ("fchmodat", (3, 0, 0o6755), EPERM),
    ("fchmodat", (3, 0, 0o644), ALLOW),
    ("fchmodat2", (3, 0, 0o4755), EPERM),
    ("openat", (3, 0, O_CREAT | 1, 0o644), ALLOW),
    ("openat", (3, 0, O_CREAT | 1, 0o4755), EPERM),
    ("openat", (3, 0, O_TMPFILE | O_RDWR, 0o4755), EPERM),
    ("openat", (3, 0, O_TMPFILE | O_RDWR, 0o600), ALLOW),
    ("openat", (3, 0, 0, 0o4755), ALLOW),
    ("mknodat", (3, 0, 0o010644), ALLOW),
    ("mknodat", (3, 0, 0o100644), ALLOW),
    ("mknodat", (3, 0, 0o104755), EPERM),
    ("mknodat", (3, 0, 0o020600), EPERM),
    ("mknodat", (3, 0, 0o060600), EPERM),
]
ONLY_X86: list[tuple[str, Sequence[int], int]] = [
    ("chmod", (0, 0o4755), EPERM),
    ("chmod", (0, 0o755), ALLOW),
    ("creat", (0, 0o2755), EPERM),
    ("creat", (0, 0o644), ALLOW),
    ("open", (0, O_CREAT, 0o4755), EPERM),
    ("open", (0, O_TMPFILE | O_RDWR, 0o4755), EPERM),
    ("open", (0, 0, 0o4755), ALLOW),
    ("open", (0, O_CREAT, 0o644), ALLOW),
    ("mknod", (0, 0o020600), EPERM),
    ("mknod", (0, 0o060600), EPERM),
    ("mknod", (0, 0o010600), ALLOW),
]


@pytest.mark.parametrize(
    ("machine", "name", "arguments", "expected"),
    [
        *((machine, *case) for machine in MACHINES for case in BOTH),
        *(("x86_64", *case) for case in ONLY_X86),
    ],
)
def test_a_call_is_judged_by_its_arguments(
    machine: str, name: str, arguments: Sequence[int], expected: int
) -> None:
    assert judge(machine, name, *arguments) == expected


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("sockets", Sockets)
def test_memory_that_no_process_maps_cannot_be_had(machine: str, sockets: Sockets) -> None:
    """Only a page of System V memory, which is what databases lock with."""
    small = ALLOW if sockets is not Sockets.NONE else ENOSYS

    assert judge(machine, "memfd_create", 0, 0, sockets=sockets) == ENOSYS
    assert judge(machine, "shmget", 0, 4096, 0o1600, sockets=sockets) == small
    for size in (4097, 1 << 20, 1 << 32, (1 << 32) + 1, (1 << 64) - 1):
        assert judge(machine, "shmget", 0, size, 0o1600, sockets=sockets) == ENOSYS


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("sockets", Sockets)
@pytest.mark.parametrize("mode", [0, 1, 2, 3, 16])
def test_no_disk_can_be_taken_without_writing_to_it(
    machine: str, sockets: Sockets, mode: int
) -> None:
    """By an error at which C libraries write instead."""
    assert judge(machine, "fallocate", 3, mode, 0, 1 << 30, sockets=sockets) == EOPNOTSUPP


@pytest.mark.parametrize("machine", MACHINES)
def test_directories_cannot_be_watched_where_only_landlock_holds_a_command_in(machine: str) -> None:
    for name in WATCHES:
        if ALL[name][MACHINES[machine].column] is not None:
            assert judge(machine, name, sockets=Sockets.NONE) == ENOSYS
            assert judge(machine, name, sockets=Sockets.UNIX) == ALLOW


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", sorted(PRIORITIES))
def test_only_its_own_priority_and_limits_can_a_process_change_under_landlock(
    machine: str, name: str
) -> None:
    own = {"setpriority": (0, 0), "ioprio_set": (1, 0)}.get(name, (0,))
    others = {
        "setpriority": [(0, 1234), (1, 0), (2, 0), (2, 1000)],
        "ioprio_set": [(1, 1234), (2, 0), (3, 0), (3, 1000)],
    }.get(name, [(1234,), (1,), (0xFFFFFFFF,)])

    assert judge(machine, name, *own, sockets=Sockets.NONE) == ALLOW
    for arguments in others:
        assert judge(machine, name, *arguments, sockets=Sockets.NONE) == EPERM
        assert judge(machine, name, *arguments, sockets=Sockets.UNIX) == ALLOW
