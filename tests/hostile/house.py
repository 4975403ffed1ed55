"""A host with a bot worth attacking: secrets, sockets, shared memory, keys, other workspaces.

Everything lies below one directory that every user can enter, as a real installation would; what
is secret is closed to others, and belongs to the user who runs the bot.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import platform
import secrets
import shutil
import socket
import subprocess
import tempfile
import termios
import threading
import tty
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tools.sandbox import syscalls
from tools.sandbox.seccomp import MACHINES

UID = 10001
"""Of commands, where the bot is root."""
PLACE = "T0LOCAL-C0GENERAL"
OTHER = "T0LOCAL-C0RANDOM"
_IPC_CREAT_PRIVATE, _IPC_RMID = 0o1600, 0
_SESSION_KEYRING = -3
_KEYCTL_REVOKE = 3


@dataclass
class House:
    """What attempts aim at, and what they leave to be seen. `marks` are the names in scripts."""

    base: Path
    token: str
    terminal: int
    """The bot's controlling terminal."""
    inherited: int
    """A descriptor with the secret in it that the bot inherits as number 77."""
    marks: dict[str, str] = field(default_factory=dict)
    secret: str = field(default_factory=lambda: f"secret-{secrets.token_hex(12)}")
    datagrams: dict[str, socket.socket] = field(default_factory=dict)
    knocked: threading.Event = field(default_factory=threading.Event)
    """Somebody outside reached a port that a command had opened."""

    @property
    def workspace(self) -> Path:
        return self.base / "workspaces" / PLACE

    @property
    def outside(self) -> Path:
        """A directory that everybody may write to, with a file of the command's user."""
        return self.base / "outside"

    def fill(self, text: str) -> str:
        """`text` with every @NAME@ replaced."""
        for name, value in self.marks.items():
            text = text.replace(f"@{name}@", value)
        return text

    def processes(self, token: str = "") -> list[int]:
        """The processes on this host that carry the token in their command lines."""
        wanted = (token or self.token).encode()
        return [pid for pid, line in _command_lines() if wanted in line]

    def received(self, name: str) -> bool:
        """Whether a datagram arrived; it is taken away."""
        try:
            return bool(self.datagrams[name].recv(100))
        except BlockingIOError:
            return False

    def typed(self) -> bool:
        """Whether anything was typed into the bot's terminal."""
        return any(fcntl.ioctl(self.terminal, termios.FIONREAD, bytes(4)))


def _command_lines() -> Iterator[tuple[int, bytes]]:
    for name in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            yield int(name), Path(f"/proc/{name}/cmdline").read_bytes()


@contextmanager
def open_house() -> Iterator[House]:
    """Everything is gone at the end, whatever a command has made of its workspace."""
    base = Path(tempfile.mkdtemp(prefix="treadle-house-", dir="/var/tmp"))
    base.chmod(0o755)
    with ExitStack() as stack:
        stack.callback(_erase, base)
        keyboard, terminal = os.openpty()
        tty.setraw(terminal)  # what is typed counts at once, not only as a whole line
        inherited, written = os.pipe()
        for descriptor in (keyboard, terminal, inherited, written):
            stack.callback(os.close, descriptor)
        house = House(base, f"token{secrets.token_hex(6)}", terminal, inherited)
        os.write(written, house.secret.encode())
        _furnish(house)
        _listen(house, stack)
        _share_memory(house, stack)
        _add_key(house, stack)
        _knock(house, stack)
        yield house


def _erase(base: Path) -> None:
    # rm, as no tree is too deep for it; the modes are opened for an ordinary user first.
    with contextlib.suppress(OSError):
        subprocess.run(["chmod", "-R", "u+rwx", str(base)], check=False, capture_output=True)
    subprocess.run(["rm", "-rf", "--one-file-system", str(base)], check=True)


def _furnish(house: House) -> None:
    bot, home, outside = house.base / "bot", house.base / "home", house.outside
    for directory in (bot, home / ".ssh", outside, house.workspace):
        directory.mkdir(parents=True)
    outside.chmod(0o777)
    other = house.workspace.with_name(OTHER)
    other.mkdir(mode=0o700)
    for path in (bot / ".env", home / ".ssh/id_ed25519", other / "notes.txt"):
        path.write_text(f"# {house.secret}\n")
        path.chmod(0o600)
    (home / ".bashrc").write_text("")
    mine = outside / "mine.txt"
    mine.write_text("of the command's user")
    mine.chmod(0o600)
    if os.geteuid() == 0:
        for path in (house.workspace, other, other / "notes.txt", mine):
            os.chown(path, UID, UID)
    house.marks |= {
        "BASE": str(house.base),
        "BOT": str(bot),
        "ENV": str(bot / ".env"),
        "DB": str(bot / ".treadle/treadle.db"),
        "HOME": str(home),
        "OTHER": str(other),
        "OUTSIDE": str(outside),
        "MINE": str(mine),
        "WS": str(house.workspace),
        "TOKEN": house.token,
        "SHMFILE": f"/dev/shm/{house.token}",
        "TESTPID": str(os.getpid()),
        "IFACE": next((n for n in os.listdir("/sys/class/net") if n != "lo"), "eth0"),
        **_numbers(),
    }


def _numbers() -> Mapping[str, str]:
    column = MACHINES[platform.machine()].column
    groups = (
        *(syscalls.OTHERS, syscalls.MOUNTS, syscalls.KEYS, syscalls.ATTACKED, syscalls.MACHINE),
        *(syscalls.QUEUES, syscalls.SOCKETS, syscalls.JUDGED, syscalls.NODES),
    )
    return {
        f"SYS_{name}": str(numbers[column])
        for group in groups
        for name, numbers in group.items()
        if numbers[column] is not None
    }


def _listen(house: House, stack: ExitStack) -> None:
    """Services of the host; a backlog is enough to be connected to."""
    places: dict[str, tuple[socket.AddressFamily, object]] = {
        "TCP": (socket.AF_INET, ("127.0.0.1", 0)),
        "TCP6": (socket.AF_INET6, ("::1", 0)),
        "ABSTRACT": (socket.AF_UNIX, f"\0{house.token}"),
        "SOCK": (socket.AF_UNIX, str(house.base / "bot/control.sock")),
        "OPENSOCK": (socket.AF_UNIX, str(house.outside / "open.sock")),
    }
    for name, (family, address) in places.items():
        server = stack.enter_context(socket.socket(family, socket.SOCK_STREAM))
        server.bind(address)  # type: ignore[arg-type]
        server.listen(50)
        house.marks[name] = _named(server)
    datagrams: dict[str, tuple[socket.AddressFamily, object]] = {
        "UDP": (socket.AF_INET, ("127.0.0.1", 0)),
        "DGRAM": (socket.AF_UNIX, str(house.outside / "log.sock")),
        "ABSTRACTDGRAM": (socket.AF_UNIX, f"\0{house.token}-log"),
    }
    for name, (family, address) in datagrams.items():
        receiver = stack.enter_context(socket.socket(family, socket.SOCK_DGRAM))
        receiver.bind(address)  # type: ignore[arg-type]
        receiver.setblocking(False)
        house.datagrams[name] = receiver
        house.marks[name] = _named(receiver)
    for path in (house.outside / "open.sock", house.outside / "log.sock"):
        path.chmod(0o777)


def _named(bound: socket.socket) -> str:
    address = bound.getsockname()
    if isinstance(address, tuple):
        return str(address[1])
    return address[1:].decode() if isinstance(address, bytes) else str(address)


def _share_memory(house: House, stack: ExitStack) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    segment = libc.shmget(0, 4096, _IPC_CREAT_PRIVATE)
    address = libc.shmat(segment, None, 0)
    ctypes.memmove(address, house.secret.encode(), len(house.secret))
    stack.callback(libc.shmctl, segment, _IPC_RMID, None)
    house.marks["SHMID"] = str(segment)
    file = Path(house.marks["SHMFILE"])
    file.write_text(house.secret)
    file.chmod(0o600)
    stack.callback(file.unlink, missing_ok=True)


def _add_key(house: House, stack: ExitStack) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    numbers = {name: int(house.marks[f"SYS_{name}"]) for name in ("add_key", "keyctl")}
    payload = house.secret.encode()
    key = libc.syscall(
        ctypes.c_long(numbers["add_key"]),
        b"user",
        house.token.encode(),
        payload,
        ctypes.c_size_t(len(payload)),
        ctypes.c_int(_SESSION_KEYRING),
    )
    assert key > 0, f"no key could be added ({os.strerror(ctypes.get_errno())})"
    stack.callback(libc.syscall, ctypes.c_long(numbers["keyctl"]), _KEYCTL_REVOKE, key)
    house.marks["KEY"] = str(key)


def _knock(house: House, stack: ExitStack) -> None:
    """Try all the time to reach a port that only commands open."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    house.marks["KNOCKED"] = str(port)
    over = threading.Event()

    def knock() -> None:
        while not over.wait(0.05):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.2):
                house.knocked.set()

    thread = threading.Thread(target=knock)
    thread.start()
    stack.callback(thread.join)
    stack.callback(over.set)


def program(name: str) -> bool:
    """Whether the host has a program where commands find it."""
    return shutil.which(name, path="/usr/local/bin:/usr/bin:/bin") is not None
