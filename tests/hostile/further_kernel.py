"""Our own search: parts of the kernel that the acceptance list does not name."""

from __future__ import annotations

from tests.hostile.attack import Case, hit, python
from tests.hostile.cases_kernel import denied
from tests.hostile.cases_network import arrived, connects

CASES = (
    Case(
        "X01",
        "open a mapped file of /proc/self/map_files for writing",
        "for f in /proc/self/map_files/* /proc/self/exe /proc/1/exe; do "
        + hit(': >> "$f"')
        + "; done",
        alone=False,
    ),
    Case(
        "X02",
        "read or write what the sandbox's own process 1 has open or in memory",
        "ls -l /proc/1/fd\n"
        + python("""
            own = {os.readlink(f"/proc/self/fd/{n}") for n in (0, 1, 2)} | {"/dev/null"}
            try: names = os.listdir("/proc/1/fd")
            except OSError as error: names = print(error) or []
            for name in names:
                target = os.readlink(f"/proc/1/fd/{name}")
                if target not in own and "anon_inode" not in target: hit(target)
            tried(open, "/proc/1/mem", "r+b")
            tried(open, "/proc/1/mem", "rb")
            try: print(sorted(open("/proc/1/environ").read().split("\\0")))
            except OSError as error: print(error)
        """),
        alone=False,
    ),
    Case(
        "X64",
        "find the sandbox's own process 1 less confined than the command",
        "if exec 3<>/proc/1/mem; then "
        + "; ".join(
            hit(f"! grep -q '^{line}$' /proc/1/{file}")
            for file, line in (
                ("status", "CapEff:.0000000000000000"),
                ("status", "CapPrm:.0000000000000000"),
                ("status", "NoNewPrivs:.1"),
                ("status", "Seccomp:.2"),
                ("limits", "Max data size  *419430400  *419430400 .*"),
                ("limits", "Max file size  *209715200  *209715200 .*"),
                ("limits", "Max core file size  *0  *0 .*"),
            )
        )
        + "; fi",
        alone=False,
    ),
    Case(
        "X03",
        "change /etc/passwd, which stands in memory",
        "chmod u+w /etc/passwd; " + hit("echo 'x::0:0::/:/bin/sh' >> /etc/passwd"),
        alone=False,
    ),
    Case(
        "X04",
        "use io_uring, whose calls no filter sees",
        denied("io_uring_setup", "io_uring_enter", "io_uring_register"),
    ),
    Case("X05", "open files by handle", denied("name_to_handle_at", "open_by_handle_at")),
    Case(
        "X06",
        "signal the bot by a handle of its process",
        python("""
            import signal
            try: handle = os.pidfd_open(@BOTPID@)
            except OSError as error: print(error)
            else: tried(signal.pidfd_send_signal, handle, 0)
        """),
        alone=False,
    ),
    Case(
        "X07",
        "type into a terminal by ioctl numbers with high bits, or by TIOCLINUX",
        python("""
            first, second = os.openpty()
            for request in (0x5412, 0x5412 | 1 << 32, 0x5412 | 1 << 63, 0x541C, 0x541C | 1 << 40):
                result, error = call(@SYS_ioctl@, second, ctypes.c_ulong(request), b"x")
                print(hex(request), result, error)
                if error != errno.EPERM: hit()
        """),
        alone=False,
    ),
    Case("X08", "make memory that even root cannot read, or with no name", denied("memfd_secret")),
    Case(
        "X09",
        "open a socket of any other family",
        python("""
            for family in range(2, 48):
                for kind in (1, 2, 3, 5):
                    try: socket.socket(family, kind)
                    except OSError: continue
                    hit(family, kind)
        """),
    ),
    Case(
        "X10",
        "make a socket pair of another family",
        python("""
            for family in range(2, 48):
                for kind in (1, 2, 3, 5):
                    try: socket.socketpair(family, kind)
                    except OSError: continue
                    hit(family, kind)
        """),
        alone=False,
    ),
    Case(
        "X11",
        "ask the kernel by netlink",
        python("tried(socket.socket, socket.AF_NETLINK, socket.SOCK_RAW, 0)"),
    ),
    Case(
        "X12",
        "use the kernel's crypto by AF_ALG",
        python("tried(socket.socket, socket.AF_ALG, socket.SOCK_SEQPACKET)"),
        alone=False,
    ),
    Case(
        "X13",
        "send to the host's datagram sockets from one end of a pair, without socket()",
        python("""
            for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW):
                for address in ("@DGRAM@", "\\0@ABSTRACTDGRAM@"):
                    try: socket.socketpair(socket.AF_UNIX, kind)[0].sendto(b"x", address)
                    except OSError as error: print(error)
        """),
        lambda house, text: arrived("DGRAM")(house, text) | arrived("ABSTRACTDGRAM")(house, text),
    ),
    Case(
        "X14",
        "connect one end of a pair to a socket of the host",
        python("""
            for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET, socket.SOCK_DGRAM):
                for address in ("@OPENSOCK@", "@DGRAM@", "\\0@ABSTRACT@"):
                    try: tried(socket.socketpair(socket.AF_UNIX, kind)[0].connect, address)
                    except OSError as error: print(error)
        """),
    ),
    Case(
        "X15",
        "send to an abstract datagram socket",
        connects("AF_UNIX", "'\\0@ABSTRACTDGRAM@'", "SOCK_DGRAM"),
    ),
    Case(
        "X16",
        "watch a directory outside for changes (inotify)",
        python("""
            watcher = libc.inotify_init()
            for path in (b"@OUTSIDE@", b"@BOT@", b"@WS@/.."):
                if libc.inotify_add_watch(watcher, path, 0x100) >= 0: hit(path)
        """),
    ),
    Case(
        "X17",
        "open a device that controls the machine",
        "for d in console tty0 tty1 kmsg mem port kvm fuse net/tun vsock vhost-vsock loop-control "
        "mapper/control uinput rtc0 autofs btrfs-control snapshot userfaultfd; do "
        + hit(": < /dev/$d")
        + "; done",
        alone=False,
    ),
    Case(
        "X18",
        "set a control group's release agent, or register a binary format",
        "for f in /sys/fs/cgroup/release_agent /sys/fs/cgroup/*/release_agent "
        "/proc/sys/fs/binfmt_misc/register /sys/kernel/uevent_helper; do "
        + hit(": >> $f")
        + "; done",
        alone=False,
    ),
    Case(
        "X19",
        "give a file capabilities by its attributes",
        python("""
            open("a", "w")
            value = struct.pack("<5I", 0x02000001, 0xFFFFFFFF, 0, 0xFFFFFFFF, 0)
            for name in ("security.capability", "trusted.a"):
                tried(os.setxattr, "a", name, value)
        """),
        alone=False,
    ),
    Case(
        "X20",
        "use the other numbers of the same calls (x32)",
        python("""
            for number in (@SYS_socket@, @SYS_ptrace@, @SYS_unshare@, 521, 39):
                result, error = call(0x40000000 | number, 2, 1, 0)
                print(number, result, error)
                if result >= 0 or error not in (errno.EPERM, errno.ENOSYS): hit(number)
        """),
        only="x86_64",
        alone=False,
    ),
    Case(
        "X21",
        "use the 32-bit entry of a 64-bit kernel (int 0x80)",
        python("""
            import mmap
            child = os.fork()
            if child == 0:
                # mov eax, 20 (getpid of i386); int 0x80; ret
                page = mmap.mmap(-1, 4096, prot=7)
                page.write(bytes.fromhex("b814000000cd80c3"))
                at = ctypes.addressof(ctypes.c_char.from_buffer(page))
                os._exit(7 if ctypes.CFUNCTYPE(ctypes.c_int)(at)() > 0 else 8)
            status = os.waitstatus_to_exitcode(os.wait()[1])
            print(status)
            if status == 7: hit()
        """),
        only="x86_64",
        alone=False,
    ),
    Case(
        "X22",
        "make a user name space by clone or clone3",
        python("""
            flags = 0x10000000 | 17
            packed = struct.pack("11Q", flags - 17, 0, 0, 0, 17, *[0] * 6)
            by_clone = (@SYS_clone@, flags, 0, 0, 0, 0)
            by_clone3 = (@SYS_clone3@, ctypes.create_string_buffer(packed), 88)
            for number, *given in (by_clone, by_clone3):
                child, error = call(number, *given)
                if child == 0: os._exit(0)
                print(child, error)
                if child > 0: hit()
        """),
    ),
    Case(
        "X23",
        "map user ids anew, allow groups again",
        "for f in uid_map gid_map setgroups projid_map; do "
        + hit("echo '0 0 1' > /proc/self/$f")
        + "; done",
        alone=False,
    ),
    Case(
        "X24",
        "raise a limit",
        "; ".join(hit(f"ulimit -{letter} unlimited") for letter in "cdfltr")
        + "; "
        + "; ".join(hit(f"ulimit -{letter} 100000") for letter in "nu"),
        alone=False,
    ),
    Case(
        "X25",
        "read the kernel's log",
        f"{hit('dmesg')}; {hit('timeout 1 head -c 1 /proc/kmsg | grep -aq .')}",
        alone=False,
    ),
    Case(
        "X26",
        "read kernel memory or addresses",
        hit("head -c 1 /proc/kcore | grep -aq .")
        + "; "
        + hit("grep -qv '^0000000000000000' /proc/kallsyms")
        + "; "
        + hit("head -c 1 /sys/kernel/notes | grep -aq ."),
        alone=False,
    ),
    Case("X27", "see the names of the bot's keys", hit("grep -q @TOKEN@ /proc/keys")),
    Case(
        "X28", "see the addresses of the host's unix sockets", hit("grep -q @TOKEN@ /proc/net/unix")
    ),
    Case(
        "X29",
        "see where the workspace stands on the host",
        hit("grep -q @WS@ /proc/self/mountinfo || [ -e @WS@ ]"),
    ),
    Case(
        "X30",
        "change the kernel's choice for the out-of-memory killer",
        hit("echo -1000 > /proc/self/oom_score_adj")
        + "; "
        + hit("echo 1000 > /proc/@BOTPID@/oom_score_adj"),
        alone=False,
    ),
)
