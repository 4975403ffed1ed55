"""Section 8 of the acceptance list: the kernel (K), and what has to work (F)."""

from __future__ import annotations

import os

from tests.hostile.attack import Case, hit, python
from tests.hostile.house import House


def owned_by_root(house: House, text: str) -> bool:
    """What a command made belongs to root: it ran as root."""
    return os.lstat(house.workspace / "K13").st_uid == 0


def denied(*calls: str) -> str:
    """Make system calls with arguments of nothing; anything but a refusal is a hit."""
    attempts = "\n".join(f"attempt({name!r}, @SYS_{name}@)" for name in calls)
    return python(f"""
def attempt(name, number):
    result, error = call(number, 0, 0, 0, 0, 0)
    print(name, result, errno.errorcode.get(error))
    if error not in (errno.EPERM, errno.ENOSYS): hit(name)
{attempts}
""")


CASES = (
    Case(
        "K01",
        "read a key of the bot's key ring",
        python("""
            buffer = ctypes.create_string_buffer(100)
            for key in (@KEY@, call(@SYS_keyctl@, 10, -3, b"user", b"@TOKEN@", 0)[0]):
                result, error = call(@SYS_keyctl@, 11, key, buffer, 100)
                if result > 0: hit(buffer.value)
                print(result, error)
        """),
    ),
    Case(
        "K02",
        "read System V shared memory of the host",
        python("""
            libc.shmat.restype = ctypes.c_void_p
            at = libc.shmat(@SHMID@, None, 0o10000)
            if at not in (None, ctypes.c_void_p(-1).value): hit(ctypes.string_at(at, 31))
        """),
    ),
    Case(
        "K03",
        "mount, bind, remount",
        "; ".join(
            hit(command)
            for command in (
                "mount -t tmpfs none /mnt",
                "mount --bind /usr .",
                "mount -o remount,rw /usr",
                "mount -o remount,rw /",
                "umount /proc/sys",
                "umount -l /workspace",
            )
        ),
        alone=False,
    ),
    Case(
        "K04",
        "make a user name space",
        f"{hit('unshare -U true')}; {hit('unshare -Ur true')}\n"
        + python("""
            for flag in (0x10000000, 0x20000, 0x20000000, 0x40000000, 0x4000000, 0x8000000, 0x80):
                result, error = call(@SYS_unshare@, flag)
                if result == 0: hit(hex(flag))
        """),
    ),
    Case(
        "K05",
        "undo the mounts in a name space of its own",
        f"{hit('unshare -Urm umount /proc/sys')}; {hit('unshare -Urm mount -t tmpfs none /mnt')}",
        alone=False,
    ),
    Case(
        "K06",
        "use bpf, perf events, userfaultfd, keys, kexec, fanotify",
        denied(
            "bpf",
            "perf_event_open",
            "userfaultfd",
            "add_key",
            "request_key",
            "keyctl",
            "kexec_load",
            "kexec_file_load",
            "fanotify_init",
            "init_module",
            "finit_module",
        ),
    ),
    Case(
        "K07",
        "have capabilities, or the means to get some",
        hit("! grep -q '^CapEff:.0000000000000000$' /proc/self/status")
        + "; "
        + hit("! grep -q '^CapPrm:.0000000000000000$' /proc/self/status")
        + "; "
        + hit("! grep -q '^NoNewPrivs:.1$' /proc/self/status"),
    ),
    Case(
        "K08",
        "open kernel settings for writing",
        "for f in kernel/core_pattern kernel/hostname vm/drop_caches kernel/modprobe "
        "kernel/yama/ptrace_scope fs/binfmt_misc/register user/max_user_namespaces; do "
        + hit(": >> /proc/sys/$f")
        + "; done; "
        + "; ".join(map(hit, (": >> /proc/sysrq-trigger", ": >> /proc/irq/default_smp_affinity"))),
        alone=False,
    ),
    Case(
        "K09",
        "join, make or mount a control group",
        "for d in /sys/fs/cgroup /sys/fs/cgroup/*; do "
        + hit("echo $$ > $d/cgroup.procs")
        + "; "
        + hit("mkdir $d/@TOKEN@")
        + f"; done; {hit('mount -t cgroup2 none /mnt')}",
        alone=False,
    ),
    Case(
        "K10",
        "leave by chroot",
        f"mkdir d; {hit('chroot d true')}\n" + denied("chroot", "pivot_root"),
    ),
    Case(
        "K11",
        "change the host's name",
        hit("hostname treadle-test") + "\n" + denied("sethostname"),
        alone=False,
    ),
    Case(
        "K12",
        "become root by a set-uid program",
        "cp /usr/bin/id . && chmod u+s id; "
        + hit("[ $(./id -u) -eq 0 ]")
        + "; "
        + hit("su -c true < /dev/null")
        + "; "
        + hit("sudo -n true"),
        alone=False,
    ),
    Case("K13", "run as root because the bot does", "touch file", owned_by_root, alone=False),
    Case(
        "F01",
        "git: init, commit, log",
        "git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one && "
        + hit("git log --oneline | grep -q one"),
        needs="git",
        works=True,
    ),
    Case(
        "F02",
        "Python: sqlite3, asyncio, subprocess, threads",
        python("""
            import asyncio, sqlite3, subprocess, threading
            sqlite3.connect("a.db").execute("create table t (a)")
            async def main():
                await asyncio.to_thread(time.sleep, 0)
                return await (await asyncio.create_subprocess_exec("true")).wait()
            if asyncio.run(main()) == 0: hit()
        """),
        works=True,
    ),
    Case(
        "F03",
        "Python: a pool of processes",
        python("""
            import multiprocessing
            with multiprocessing.get_context("fork").Pool(2) as pool:
                if pool.map(abs, [-1, -2]) == [1, 2]: hit()
        """),
        works=True,
    ),
    Case(
        "F04",
        "bash: pipes and process substitution",
        hit("diff <(echo a | tr a b) <(echo b)"),
        works=True,
    ),
    Case(
        "F05",
        "Node: a child process and a timer",
        'node -e \'require("child_process").execFile("true", e => '
        'setTimeout(() => console.log("hit-" + 6 * 7), e ? 9e6 : 1))\'',
        needs="node",
        works=True,
    ),
    Case(
        "F06",
        "a C compiler, and its program",
        "echo '#include <stdio.h>\nint main(void) { printf(\"hit-%d\", 6 * 7); }' > a.c && "
        "cc a.c -o a && ./a",
        needs="cc",
        works=True,
    ),
    Case("F07", "write to /dev/stdout", "echo hit-$((6*7)) > /dev/stdout", works=True),
)
