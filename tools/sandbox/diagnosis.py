"""Why no command can be held in on a host, and what to do about it: one sentence of each.

Pure, but for `look`: it goes by what bubblewrap printed and by what the kernel says of itself.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

INSTALL = (
    "bubblewrap is not installed. Install it (Debian, Ubuntu: sudo apt-get install bubblewrap; "
    "Fedora: sudo dnf install bubblewrap) and restart Treadle."
)
_TOO_OLD = (
    "bubblewrap is too old, since it lacks {flag}. Install 0.8 or newer (Debian 12, Ubuntu 24.04 "
    "and Fedora 38 have it) and restart Treadle."
)
_APPARMOR = (
    "AppArmor keeps bubblewrap from using user namespaces, as Ubuntu does since 23.10. Allow it "
    "for bubblewrap alone, then restart Treadle: printf 'abi <abi/4.0>,\\ninclude <tunables/global>"
    "\\nprofile bwrap /usr/bin/bwrap flags=(unconfined) {{\\n  userns,\\n}}\\n' | sudo tee "
    "/etc/apparmor.d/bwrap && sudo systemctl reload apparmor"
)
_SWITCHED_OFF = (
    "This kernel does not let ordinary users make user namespaces. Allow it and restart Treadle: "
    "sudo sysctl -w {setting} (put the same into a file in /etc/sysctl.d to keep it)."
)
_CONTAINER = (
    "The rules of this container (or host) forbid user namespaces. Start the container with a "
    "seccomp profile that allows clone, unshare, setns, mount, umount2 and pivot_root and with "
    '--security-opt systempaths=unconfined, or set [sandbox] mode = "landlock" and accept its '
    "known gaps."
)
_NO_PROC = (
    "This container masks parts of /proc, so that bubblewrap may not mount its own. Start the "
    "container with --security-opt systempaths=unconfined, or set [sandbox] mode = "
    '"bwrap-hostproc" and accept that commands see the names of its processes.'
)
_SETUID = (
    "bubblewrap is installed with root's rights (set-uid) here, which is not needed and lacks what "
    "Treadle uses. Take them away (sudo chmod u-s {program}) and restart Treadle."
)
_READ_ONLY_PROC = (
    "/proc/sys is read-only here, as in most containers. Start the container with --security-opt "
    'systempaths=unconfined, or set [sandbox] mode = "bwrap-hostproc" and accept that commands see '
    "the names of its processes."
)
_CLOSED = (
    "The user that commands run as (uid {uid}) cannot enter {directory}, which holds the "
    "workspaces. Open that directory (chmod a+x {directory}), or set TREADLE_WORKSPACE to a place "
    "that it can enter, such as one below /srv."
)
_GONE = "{path} is not there. Correct [sandbox] read_only, or install what is missing."
_NO_PROGRAM = "{path} is missing. Install it (Debian, Ubuntu: the packages bash and util-linux)."
_UNKNOWN = "The self-test ended with: {text}. Run treadle doctor after a change."
_DEVIATES = "A command could not be held in, for {found}. No command is run on this host."

_CANNOT_BIND = "Can't find source path "
_CANNOT_RUN = "execvp "


@dataclass(frozen=True, slots=True)
class Host:
    """What the kernel says about user namespaces; None where it does not say."""

    max_user_namespaces: int | None = None
    unprivileged_clone: int | None = None
    """Debian's own switch."""
    apparmor_restricts: int | None = None
    """Ubuntu's."""


def look(proc: Path = Path("/proc")) -> Host:
    """The host as it is now."""
    return Host(
        _number(proc / "sys/user/max_user_namespaces"),
        _number(proc / "sys/kernel/unprivileged_userns_clone"),
        _number(proc / "sys/kernel/apparmor_restrict_unprivileged_userns"),
    )


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text("ascii"))
    except (OSError, ValueError):
        return None


def too_old(flag: str) -> str:
    """The bubblewrap that was found does not know `flag`."""
    return _TOO_OLD.format(flag=flag)


def no_program(path: str) -> str:
    """What a run starts is not there, or not where Debian and others have it."""
    return _NO_PROGRAM.format(path=path)


def explain(
    text: str, host: Host, program: Path, uid: int | None, closed: Callable[[], Path | None]
) -> str:
    """Sentences on a self-test that never ran, from what was printed instead.

    `closed` finds the directory that `uid`, which commands run as, cannot enter.
    """
    if "Permission denied" in text and uid is not None and (directory := closed()) is not None:
        return _CLOSED.format(uid=uid, directory=directory)
    if "Unknown option --" in text:
        return too_old(f"--{text.split('Unknown option --')[1].split()[0]}")
    if "setuid mode" in text:
        return _SETUID.format(program=program)
    if "Can't mount proc" in text:
        return _NO_PROC
    if "max_user_namespaces: Read-only file system" in text:
        return _READ_ONLY_PROC
    if any(sign in text for sign in ("RTM_NEWADDR", "uid map", "new namespace", "user ns")):
        return _about_namespaces(text, host)
    if _CANNOT_BIND in text and "No such file" in text:
        return _GONE.format(path=_after(text, _CANNOT_BIND))
    if _CANNOT_RUN in text:
        return no_program(_after(text, _CANNOT_RUN))
    return _UNKNOWN.format(text=" ".join(text.split())[:300] or "no word at all")


def _about_namespaces(text: str, host: Host) -> str:
    if host.apparmor_restricts or "RTM_NEWADDR" in text or "uid map: Permission denied" in text:
        return _APPARMOR.format()
    if host.unprivileged_clone == 0:
        return _SWITCHED_OFF.format(setting="kernel.unprivileged_userns_clone=1")
    if host.max_user_namespaces == 0 or "ENOSPC" in text or "No space left" in text:
        return _SWITCHED_OFF.format(setting="user.max_user_namespaces=15000")
    return _CONTAINER


def _after(text: str, sign: str) -> str:
    """The path that stands behind `sign`, up to the colon before the reason."""
    line = text.split(sign, 1)[1].splitlines()[0]
    return line.rsplit(": ", 1)[0]


def deviates(found: Iterable[str]) -> str:
    """The self-test ran, and could do what it must not, or could not do what it must."""
    return _DEVIATES.format(found=" and ".join(found))


def closed_directory(workspace: Path, owner: tuple[int, int]) -> Path | None:
    """The topmost directory above `workspace` that `owner` (uid, gid) cannot enter, if any."""
    for parent in reversed(workspace.parents):
        found = parent.stat()
        if found.st_uid == owner[0]:
            needed = stat.S_IXUSR
        elif found.st_gid == owner[1]:
            needed = stat.S_IXGRP
        else:
            needed = stat.S_IXOTH
        if not found.st_mode & needed:
            return parent
    return None
