"""The self-test at the start: it proves the real profile, and says what a broken host needs."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from tests.doubles.shell import open_place
from tools.errors import SandboxUnavailable
from tools.sandbox.contract import SandboxSettings
from tools.sandbox.probe import (
    EXPECTED,
    deviations,
    find_confinement,
    findings,
    open_sandbox,
)
from tools.sandbox.profile import NEEDED, PRLIMIT

RIGHT = "\n".join(["uid=1000", *(f"{name}={right}" for name, (right, _) in EXPECTED.items())])


def roots(place: Path) -> tuple[Path, Path]:
    """A root of workspaces and a directory with the bot's own state."""
    root, state = place / "workspaces", place / "state"
    root.mkdir()
    state.mkdir(mode=0o700)
    (state / "treadle.db").write_text("secret")
    return root, state


def fake_bwrap(place: Path, says: str, code: int = 1, help_text: str | None = None) -> str:
    """A directory with a program called bwrap, as on a host where it answers so."""
    flags = "--disable-userns --assert-userns-disabled --seccomp --size"
    directory = place / "programs"
    directory.mkdir()
    program = directory / "bwrap"
    help_line = f"echo {shlex.quote(flags if help_text is None else help_text)}; exit 0"
    program.write_text(
        f'#!/bin/sh\n[ "$1" = --help ] && {{ {help_line}; }}\n'
        f"printf '%s\\n' {shlex.quote(says)} >&2\nexit {code}\n"
    )
    program.chmod(0o755)
    return str(directory)


async def reason(place: Path, settings: SandboxSettings, programs: str) -> str:
    root, state = roots(place)
    with pytest.raises(SandboxUnavailable) as caught:
        await open_sandbox(settings, root, state, programs)
    assert list(root.iterdir()) == []
    return str(caught.value)


@pytest.mark.needs("bwrap")
@pytest.mark.parametrize("mode", ["auto", "bwrap", "bwrap-hostproc"])
async def test_the_real_profile_passes_its_self_test_and_leaves_nothing(
    place: Path, mode: str
) -> None:
    root, state = roots(place)
    sandbox = await open_sandbox(SandboxSettings(mode=mode), root, state)  # type: ignore[arg-type]

    assert sandbox.confinement.name == ("bwrap" if mode == "auto" else mode)
    assert bool(sandbox.confinement.gaps) == (mode == "bwrap-hostproc")
    assert sandbox.settings.timeout_s == 60
    assert list(root.iterdir()) == []


async def test_without_bubblewrap_the_package_is_named(place: Path) -> None:
    text = await reason(place, SandboxSettings(), str(place / "empty"))

    assert "bubblewrap is not installed" in text
    assert "apt-get install bubblewrap" in text


@pytest.mark.needs("bwrap")
async def test_a_bubblewrap_in_the_path_of_who_started_it_is_not_taken(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A planted program never runs: only the system's directories are looked into."""
    planted = fake_bwrap(place, f"; touch {place}/ran")
    monkeypatch.setenv("PATH", f"{planted}:{os.environ['PATH']}")
    root, state = roots(place)
    await open_sandbox(SandboxSettings(), root, state)

    assert not (place / "ran").exists()


async def test_an_old_bubblewrap_is_refused_by_the_flag_that_it_lacks(place: Path) -> None:
    programs = fake_bwrap(place, "", help_text="--seccomp --unshare-user --size")
    text = await reason(place, SandboxSettings(), programs)

    assert "too old, since it lacks --disable-userns" in text
    assert "0.8 or newer" in text


def test_what_is_started_beside_bubblewrap_is_named_where_it_is_missing(place: Path) -> None:
    """Bash stands elsewhere on some hosts; a run would only say that it could not be started."""
    programs, elsewhere = fake_bwrap(place, ""), str(place / "bash")
    with pytest.raises(SandboxUnavailable) as caught:
        find_confinement(SandboxSettings(), None, programs, (PRLIMIT, elsewhere))

    assert f"{elsewhere} is missing. Install it" in str(caught.value)


def test_nothing_else_of_the_host_is_started_than_what_is_looked_for(place: Path) -> None:
    confinement = find_confinement(SandboxSettings(), None, fake_bwrap(place, ""))
    launch = confinement.launch(place, "true", None)
    launch.close()
    assert launch.alive is not None
    os.close(launch.alive)

    started = {one for one in launch.argv if one.startswith("/usr/bin/")}
    assert started == set(NEEDED)


@pytest.mark.parametrize(
    ("says", "advice"),
    [
        ("bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", "/etc/apparmor.d/bwrap"),
        ("bwrap: setting up uid map: Permission denied", "/etc/apparmor.d/bwrap"),
        (
            "bwrap: Creating new namespace failed: nesting depth or "
            "/proc/sys/user/max_*_namespaces exceeded (ENOSPC)",
            "user.max_user_namespaces=15000",
        ),
        ("bwrap: Can't mount proc on /newroot/proc: Operation not permitted", "bwrap-hostproc"),
    ],
)
async def test_a_broken_host_is_told_what_to_do(place: Path, says: str, advice: str) -> None:
    assert advice in await reason(place, SandboxSettings(), fake_bwrap(place, says))


@pytest.mark.needs("bwrap")
async def test_a_program_that_only_pretends_to_hold_in_is_found_out(place: Path) -> None:
    """It runs the command with the rights of whoever started it."""
    programs = fake_bwrap(place, "")
    Path(programs, "bwrap").write_text(
        '#!/bin/bash\n[ "$1" = --help ] && exec /usr/bin/bwrap --help\n'
        'cd "$(dirname "$0")" || exit 1\nexec /usr/bin/bash -c "${@: -1}"\n'
    )
    text = await reason(place, SandboxSettings(), programs)

    assert "A command could not be held in, for " in text
    assert "it could connect to services of this host" in text
    assert "its system calls would not be filtered" in text
    assert "No command is run on this host." in text


@pytest.mark.needs("bwrap")
async def test_a_directory_to_show_that_is_not_there_is_named(place: Path) -> None:
    settings = SandboxSettings(read_only=(place / "nothing",))
    text = await reason(place, settings, "/usr/bin")

    assert f"{place}/nothing is not there" in text


@pytest.mark.needs("bwrap")
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: an ordinary user reaches its own files")
async def test_as_root_a_workspace_that_the_user_cannot_reach_names_the_directory() -> None:
    with open_place() as place:
        closed = place / "closed"
        closed.mkdir(mode=0o700)
        text = await reason(closed, SandboxSettings(), "/usr/bin")

    assert f"(uid 10001) cannot enter {closed}" in text
    assert f"chmod a+x {closed}" in text


def test_the_right_findings_deviate_in_nothing() -> None:
    assert deviations(findings(RIGHT)) == []


@pytest.mark.parametrize("name", [*EXPECTED, "uid"])
def test_each_finding_that_is_wrong_or_missing_counts(name: str) -> None:
    found = dict(findings(RIGHT))
    wrong = {**found, name: "0" if name == "uid" else "other"}
    missing = {key: value for key, value in found.items() if key != name}

    assert len(deviations(wrong)) == 1
    assert len(deviations(missing)) == 1


def test_what_else_is_printed_is_no_finding() -> None:
    assert findings("bwrap: error\nx=y\n") == {}
