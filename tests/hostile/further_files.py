"""Our own search: what a command leaves in the workspace for the bot and its file tools."""

from __future__ import annotations

import os

from tests.hostile.attack import Case, hit, python
from tests.hostile.cases_files import planted
from tests.hostile.further_processes import raw
from tests.hostile.house import House

LONG = "seq 1 20000"
"""More output than an observation holds: the bot keeps it in a file of the workspace."""


def kept_outside(house: House, text: str) -> bool:
    """The bot wrote the output to where the link leads."""
    return any(name.endswith("-run_command.txt") for name in os.listdir(house.outside))


def unanswered(house: House, text: str) -> bool:
    """A file tool gave no answer of its own."""
    return "fault of its own" in text


CASES = (
    Case(
        "X49",
        "lead the bot's own output file astray by a link",
        f"rm -rf ../.outputs; ln -s @OUTSIDE@ ../.outputs; {LONG}",
        kept_outside,
        then=(("run_command", {"command": "rm -f .outputs"}),),
        alone=False,
    ),
    Case(
        "X50",
        "hold the bot up by a FIFO in place of its output directory",
        f"rm -rf ../.outputs; mkfifo ../.outputs; {LONG}",
        unanswered,
        then=(("run_command", {"command": "rm -f .outputs"}),),
        alone=False,
    ),
    Case(
        "X51",
        "put another directory in the place of the workspace",
        hit("mv @WS@ @WS@.old")
        + "; "
        + hit("mv /workspace /workspace.old")
        + "; "
        + hit("ln -sfT @OUTSIDE@ @WS@")
        + "; "
        + hit("rmdir @WS@/../@TOKEN@ || mkdir @WS@/../@TOKEN@"),
        alone=False,
    ),
    Case(
        "X52",
        "give an outside file a second name in the workspace",
        f"{hit('ln @ENV@ hard')}; {hit('ln @MINE@ hard2')}; {hit('ln /etc/passwd hard3')}; "
        + hit("ln -L @MINE@ hard4"),
        alone=False,
    ),
    Case(
        "X53",
        "move an outside file into the workspace, or truncate it",
        f"{hit('mv @MINE@ .')}; {hit(': > @MINE@')}; {hit('truncate -s 0 @MINE@')}; "
        + hit("rm @MINE@"),
        alone=False,
    ),
    Case(
        "X54",
        "leave 20,000 files for list_dir, search_files and the quota to count",
        "mkdir many; cd many; seq -f 'file-%05g.txt' 1 20000 | xargs touch; cd ..; ls many | wc -l",
        unanswered,
        then=(
            ("list_dir", {"path": "X54/many"}),
            ("search_files", {"pattern": "needle", "path": "X54"}),
            ("write_file", {"path": "X54/a", "content": "a"}),
            ("run_command", {"command": "rm -rf X54/many"}),
        ),
        alone=False,
    ),
    Case(
        "X55",
        "leave a tree of 3,000 directories one in another",
        python("""
            for _ in range(3000):
                os.mkdir("d")
                os.chdir("d")
            open("needle", "w").write("needle")
        """),
        unanswered,
        then=(
            ("list_dir", {"path": "X55"}),
            ("search_files", {"pattern": "needle", "path": "X55"}),
            ("write_file", {"path": "X55/a", "content": "a"}),
            ("run_command", {"command": "rm -rf X55"}),
        ),
        killed=True,
        alone=False,
    ),
    Case(
        "X56",
        "leave names with escapes, line breaks, bytes that are no text, and 255 bytes",
        python("""
            names = [b"\\x1b[2J\\x1b]0;x\\x07", b"a\\nb", b"\\xff\\xfe", b"n" * 255, b"-rf"]
            for name in [*names, b"\\xe2\\x80\\xae", b"\\xc2\\x9b31m"]:
                open(name, "w").write("needle")
        """),
        lambda house, text: raw(house, text) or unanswered(house, text),
        then=(
            ("list_dir", {"path": "X56"}),
            ("search_files", {"pattern": "needle", "path": "X56"}),
        ),
        alone=False,
    ),
    Case(
        "X57",
        "leave a file of 50 GB that takes no space",
        hit("truncate -s 50G sparse && [ $(stat -c %s sparse) -gt 50000000000 ]"),
        unanswered,
        then=(("read_file", {"path": "X57/sparse"}),),
        alone=False,
    ),
    Case(
        "X58",
        "leave a FIFO and a unix socket for read_file to hang on",
        "mkfifo fifo; "
        + python("""
            try: socket.socket(socket.AF_UNIX).bind("sock")
            except OSError as error: print(error)
        """),
        unanswered,
        then=(
            ("read_file", {"path": "X58/fifo"}),
            ("read_file", {"path": "X58/sock"}),
            ("search_files", {"pattern": "a", "path": "X58"}),
            ("write_file", {"path": "X58/fifo", "content": "a"}),
        ),
        alone=False,
    ),
    Case(
        "X59",
        "leave directories that nobody may enter",
        "mkdir -p closed/inner && echo needle > closed/inner/a && touch b && "
        "chmod 0 closed/inner closed b",
        unanswered,
        then=(
            ("list_dir", {"path": "X59"}),
            ("list_dir", {"path": "X59/closed"}),
            ("read_file", {"path": "X59/b"}),
            ("search_files", {"pattern": "needle", "path": "X59"}),
            ("write_file", {"path": "X59/closed/x", "content": "a"}),
            ("run_command", {"command": "chmod -R u+rwX X59; rm -rf X59"}),
        ),
        alone=False,
    ),
    Case(
        "X60",
        "be run by the bot or by the next command under the name of a usual program",
        "cd ..; for p in bash sh git python3 env prlimit sleep; do "
        "printf '#!/bin/sh\\necho hit-$((6*7)); touch @OUTSIDE@/path\\n' > $p; chmod +x $p; done",
        planted("@OUTSIDE@/path"),
        then=(
            ("run_command", {"command": "git --version; python3 -V; sleep 0"}),
            ("list_dir", {"path": "."}),
            ("run_command", {"command": "rm -f bash sh git python3 env prlimit sleep"}),
        ),
        alone=False,
    ),
    Case(
        "X61",
        "be run at the start of Python or bash from the workspace",
        "cd ..; for f in sitecustomize.py usercustomize.py; do "
        "echo 'print(\"hit-\" + str(6 * 7))' > $f; done; "
        "echo 'import os; print(\"hit-\" + str(6 * 7))' > a.pth; "
        "for f in .bashrc .profile .bash_profile; do echo 'echo hit-$((6*7))' > $f; done",
        then=(
            ("run_command", {"command": "python3 -c pass; bash -c true"}),
            (
                "run_command",
                {"command": "rm -f ??????ustomize.py a.pth .bashrc .profile .bash_profile"},
            ),
        ),
        alone=False,
    ),
    Case(
        "X62",
        "set LD_PRELOAD, BASH_ENV or PROMPT_COMMAND for later commands",
        "export LD_PRELOAD=$PWD/x.so BASH_ENV=$PWD/env ENV=$PWD/env; "
        "export PROMPT_COMMAND='echo hit-$((6*7))'; "
        "echo 'echo hit-$((6*7))' > env; set -a",
        then=(
            (
                "run_command",
                {"command": "bash -ic true; bash -c true; " + hit("[ $LD_PRELOAD$BASH_ENV ]")},
            ),
        ),
        alone=False,
    ),
    Case(
        "X63",
        "get a huge file into an observation by a file that grows while it is read",
        "(while :; do head -c 1M /dev/zero | tr '\\0' a; done > growing) & sleep 0.3",
        unanswered,
        then=(
            ("read_file", {"path": "X63/growing"}),
            ("run_command", {"command": "rm -f X63/growing"}),
        ),
        alone=False,
    ),
    Case(
        "X72",
        "take 300 MB of disk for one file without writing to it",
        "touch held; fallocate -n -l 300M held; "
        + hit("[ $(du -m held | cut -f1) -ge 300 ]")
        + "; rm -f held",
        needs="fallocate",
    ),
)
