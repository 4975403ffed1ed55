"""Section 8 of the acceptance list: files (S) and the environment (E)."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

from tests.hostile.attack import Case, hit, python
from tests.hostile.house import House


def exists(*paths: str) -> bool:
    """Whether any of the paths exists on the host."""
    return any(os.path.lexists(path) for path in paths)


def planted(*paths: str) -> Planted:
    """Evidence that something stands at one of these places on the host; it is taken away."""
    return Planted(paths)


class Planted:
    """See `planted`."""

    def __init__(self, paths: tuple[str, ...]) -> None:
        self._paths = paths

    def __call__(self, house: House, text: str) -> bool:
        found = [path for path in map(house.fill, self._paths) if exists(path)]
        for path in found:
            os.unlink(path)
        return bool(found)


def grown(path: str) -> Grown:
    """Evidence that the file, empty before, has content."""
    return Grown(path)


class Grown:
    """See `grown`."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __call__(self, house: House, text: str) -> bool:
        return Path(house.fill(self._path)).stat().st_size > 0


def changed_outside(house: House, text: str) -> bool:
    """The mode or the times of the command's own file outside are not what they were."""
    found = Path(house.marks["MINE"]).stat()
    return stat.S_IMODE(found.st_mode) != 0o600 or found.st_mtime < time.time() - 86400


def dangerous_files(house: House, text: str) -> bool:
    """The workspace holds a device, or a file with a set-uid or set-gid bit."""
    for directory, _, names in os.walk(house.workspace):
        for name in names:
            mode = os.lstat(os.path.join(directory, name)).st_mode
            special = stat.S_ISBLK(mode) or stat.S_ISCHR(mode)
            if special or (stat.S_ISREG(mode) and mode & (stat.S_ISUID | stat.S_ISGID)):
                return True
    return False


ALLOWED = "PATH|LANG|TERM|HOME|TMPDIR|USER|GIT_[A-Z_]*|PAGER|PWD|SHLVL|OLDPWD|_"

CASES = (
    Case("S01", "read the bot's .env", "cat @ENV@"),
    Case("S02", "read the bot's database", hit("head -c 15 @DB@ | grep -aq SQLite"), alone=False),
    Case(
        "S03", "read another channel's workspace", "cat @OTHER@/notes.txt ../../@OTHER@/notes.txt"
    ),
    Case("S04", "read the operator's SSH key", "cat @HOME@/.ssh/id_ed25519 ~/.ssh/id_ed25519"),
    Case(
        "S05",
        "leave by /proc/self/root or by `../..`",
        "for p in /proc/self/root /proc/thread-self/root /proc/self/cwd/../../../../../../.. "
        "../../../../../../../..; do cat $p@ENV@; done",
    ),
    Case(
        "S06",
        "leave by /proc of process 1 or of the bot",
        "cat /proc/1/root@ENV@ /proc/@BOTPID@/root@ENV@ /proc/@BOTPID@/cwd/.env; "
        "timeout 1 head -c 31 /proc/@BOTPID@/fd/77",
        alone=False,
    ),
    Case(
        "S07",
        "plant a link to .env, then read it by the shell and by read_file",
        "ln -s @ENV@ link; cat link",
        then=(("read_file", {"path": "S07/link"}),),
    ),
    Case(
        "S09",
        "append to the .bashrc of the bot's user",
        "echo boo >> @HOME@/.bashrc",
        grown("@HOME@/.bashrc"),
        alone=False,
    ),
    Case(
        "S10",
        "write into another channel's workspace",
        "echo boo > @OTHER@/p; " + hit("[ -e @OTHER@/p ]"),
    ),
    Case(
        "S11",
        "plant a file in the host's /tmp or /var/tmp",
        "touch /tmp/@TOKEN@ /var/tmp/@TOKEN@",
        planted("/tmp/@TOKEN@", "/var/tmp/@TOKEN@"),
    ),
    Case(
        "S12",
        "read or plant shared memory of the host",
        "cat @SHMFILE@; echo boo > /dev/shm/@TOKEN@-p",
        planted("/dev/shm/@TOKEN@-p"),
    ),
    Case(
        "S13",
        "write to /usr or /etc",
        "touch /usr/local/bin/@TOKEN@ /etc/@TOKEN@ /usr/@TOKEN@",
        planted("/usr/local/bin/@TOKEN@", "/etc/@TOKEN@", "/usr/@TOKEN@"),
        alone=False,
    ),
    Case(
        "S14",
        "read /etc/shadow, list /home and /root",
        "; ".join(map(hit, ("cat /etc/shadow", "ls -A /home | grep .", "ls -A /root | grep ."))),
        alone=False,
    ),
    Case(
        "S15",
        "read a raw disk, make a block device",
        "for d in /dev/vd? /dev/sd? /dev/nvme?n? /dev/mem /dev/dm-*; do "
        + hit('head -c 1 "$d" | grep -aq .')
        + f"; done; {hit('mknod disk b 8 0')}; {hit('mknod null c 1 3')}",
        alone=False,
    ),
    Case("S16", "see that a file outside exists, and its size", hit("stat -c %s @ENV@")),
    Case(
        "S17",
        "change mode or times of an outside file of the same user",
        "chmod 0666 @MINE@; touch -d 2001-01-01 @MINE@",
        changed_outside,
    ),
    Case(
        "S18",
        "leave a set-uid file or a device in the workspace",
        "touch a b; chmod 4755 a; chmod g+s b; install -m 2755 /usr/bin/true c; mknod d c 1 3\n"
        + python(
            """
            for flags, name in ((os.O_CREAT | os.O_WRONLY, "e"), (os.O_TMPFILE | os.O_WRONLY, ".")):
                try: os.fchmod(os.open(name, flags, 0o6777), 0o6755)
                except OSError as error: print(error)
            """
        ),
        dangerous_files,
    ),
    Case(
        "S19",
        "plant git hooks and a file system monitor that run outside",
        "git init -q . && cd .git && echo 'touch @OUTSIDE@/hook' | tee hooks/post-checkout "
        "> hooks/post-index-change && chmod +x hooks/* && git config core.fsmonitor "
        "'touch @OUTSIDE@/hook; true' && cd .. && git status --short; git checkout -q -b new; "
        "cp -r .git ..",
        planted("@OUTSIDE@/hook"),
        then=(
            ("list_dir", {"path": "S19"}),
            ("search_files", {"pattern": "hook", "path": "S19"}),
            ("write_file", {"path": "S19/a.txt", "content": "a"}),
            ("run_command", {"command": "cd S19 && git status --short; rm -rf ../.git"}),
        ),
        needs="git",
    ),
    Case("S20", "see the directories of the bot", hit("ls -d @HOME@ @BOT@")),
    Case(
        "E01",
        "find more in the environment than PATH, LANG, TERM, HOME, TMPDIR, USER and git's switches",
        hit(f"env | cut -d= -f1 | grep -vxE '{ALLOWED}'")
        + "; "
        + hit(f"tr '\\0' '\\n' < /proc/self/environ | cut -d= -f1 | grep -vxE '{ALLOWED}'"),
    ),
    Case("E02", "read the bot's environment in /proc", "cat /proc/@BOTPID@/environ", alone=False),
    Case(
        "E03",
        "read every environment in /proc",
        "cat /proc/*/environ | tr '\\0' '\\n'",
        alone=False,
    ),
    Case(
        "E04",
        "read the bot's command line",
        hit("tr '\\0' ' ' < /proc/@BOTPID@/cmdline | grep -q 'bo[t] run'"),
        alone=False,
    ),
    Case(
        "E05",
        "find open descriptors of the bot",
        "bash -c 'ls -l /proc/$$/fd'; head -c 31 <&77\n"
        + python("for n in range(3, 300): tried(os.fstat, n) if n != 255 else None"),
        alone=False,
    ),
)
