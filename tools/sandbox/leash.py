"""What makes sure that a run under bubblewrap ends when it is over for the bot, even a killed one.

Bubblewrap's --die-with-parent binds each of its processes to the one before it, but not from its
beginning: what dies before that takes none along. And a killed bot is not gone at once: the thread
that started a run may be, while another still holds the run's pipe. So a process that nothing ends
stands above them all and waits for the end of that pipe. It is outside the sandbox: no command can
see it or send it anything.
"""

from __future__ import annotations

from collections.abc import Sequence

BASH = "/usr/bin/bash"
REFUSED = 125
"""Its exit code where the run was over before it began."""
LEASH = f"""
below() {{
  found=()
  kill -STOP "$1"
  while read -r stat < "/proc/$1/stat" && [[ ${{stat##*) }} == [RSDI]* ]]; do :; done
  read -r -a found < "/proc/$1/task/$1/children"
}}
end() {{
  while read -r stat < "/proc/$BASHPID/stat" && [[ ${{stat##*) }} == ?" $$ "* ]]; do
    mine=()
    read -r -a mine < "/proc/$$/task/$$/children"
    for one in "${{mine[@]}}"; do
      [[ $one == "$BASHPID" ]] || {{ below "$one"; kill -KILL "${{found[@]}}" "$one"; }}
    done
  done
}}
{{ read -r -u "$0"; end; }} &> /dev/null &
watch=$!
gate=$0; exec {{messages}}>&2 2> /dev/null
if read -t 0 -u "$gate"; then
  code={REFUSED}
else
  "$@" {{gate}}<&- 2>&"$messages" {{messages}}>&-
  code=$?
fi
kill -KILL "$watch"; wait "$watch"
exit "$code"
"""
"""Bash that runs its arguments until there is no writer left to the pipe $0; it exits like them.

The watch below it kills whatever runs there then, again and again until the one above has seen it
end and kills the watch. What runs there is bubblewrap's first process, and below that the first of
the sandbox, with which the kernel ends all others there. The first is stopped before it is asked
what is below it, so that it starts nothing after that.
"""


def leashed(gate: int, argv: Sequence[str]) -> tuple[str, ...]:
    """`argv` on a leash; `gate` is the end of a pipe to read from, which `argv` does not get."""
    return (BASH, "-c", LEASH, str(gate), *argv)
