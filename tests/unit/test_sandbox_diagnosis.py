"""A host that cannot hold commands in: what bubblewrap really prints there, and the advice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.sandbox.diagnosis import Host, closed_directory, deviates, explain, look, too_old

PROGRAM = Path("/usr/bin/bwrap")
OPEN = Host(max_user_namespaces=96_365)

# The first group was printed by bubblewrap 0.8.0 on hosts that were made so: no user namespaces
# left, a seccomp filter like Docker's, a masked /proc, a read-only /proc/sys, set-uid, a closed
# directory. The second group is from issue reports of other projects; those hosts were not run.
SEEN = [
    (
        "bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces "
        "exceeded (ENOSPC)\n",
        Host(max_user_namespaces=0),
        "sudo sysctl -w user.max_user_namespaces=15000",
    ),
    (
        "bwrap: unshare user ns: No space left on device\n",
        Host(max_user_namespaces=1),
        "sudo sysctl -w user.max_user_namespaces=15000",
    ),
    (
        "bwrap: No permissions to create new namespace, likely because the kernel does not allow "
        "non-privileged user namespaces. See <https://deb.li/bubblewrap> or "
        "<file:///usr/share/doc/bubblewrap/README.Debian.gz>.\n",
        OPEN,
        "Start the container with a seccomp profile",
    ),
    (
        "bwrap: Can't mount proc on /newroot/proc: Operation not permitted\n",
        OPEN,
        'systempaths=unconfined, or set [sandbox] mode = "bwrap-hostproc"',
    ),
    (
        "bwrap: cannot open /proc/sys/user/max_user_namespaces: Read-only file system\n",
        OPEN,
        "/proc/sys is read-only here",
    ),
    (
        "bwrap: The --size option is not permitted in setuid mode\n",
        OPEN,
        "sudo chmod u-s /usr/bin/bwrap",
    ),
    ("bwrap: Unknown option --disable-userns\n", OPEN, "it lacks --disable-userns"),
    (
        "bwrap: Can't find source path /opt/nothing: No such file or directory\n",
        OPEN,
        "/opt/nothing is not there. Correct [sandbox] read_only",
    ),
    (
        "bwrap: execvp /usr/bin/prlimit: No such file or directory\n",
        OPEN,
        "/usr/bin/prlimit is missing. Install it",
    ),
    ("", OPEN, "The self-test ended with: no word at all"),
    ("bwrap: something new\n", OPEN, "The self-test ended with: bwrap: something new"),
]
REPORTED = [
    (
        "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted\n",
        Host(96_365, apparmor_restricts=1),
        "sudo tee /etc/apparmor.d/bwrap && sudo systemctl reload apparmor",
    ),
    (
        "bwrap: setting up uid map: Permission denied\n",
        Host(96_365, apparmor_restricts=1),
        "AppArmor keeps bubblewrap from using user namespaces",
    ),
    (
        "bwrap: No permissions to creating new namespace, likely because the kernel does not allow "
        "non-privileged user namespaces. On e.g. debian this can be enabled with 'sysctl "
        "kernel.unprivileged_userns_clone=1'.\n",
        Host(96_365, unprivileged_clone=0),
        "sudo sysctl -w kernel.unprivileged_userns_clone=1",
    ),
]


@pytest.mark.parametrize(("printed", "host", "advice"), [*SEEN, *REPORTED])
def test_each_broken_host_gets_its_own_advice(printed: str, host: Host, advice: str) -> None:
    found = explain(printed, host, PROGRAM, None, lambda: None)

    assert advice in found
    assert "\n" not in found


def test_the_apparmor_profile_can_be_pasted_as_it_stands() -> None:
    found = explain(REPORTED[0][0], REPORTED[0][1], PROGRAM, None, lambda: None)

    assert (
        "printf 'abi <abi/4.0>,\\ninclude <tunables/global>\\nprofile bwrap /usr/bin/bwrap "
        "flags=(unconfined) {\\n  userns,\\n}\\n' | sudo tee"
    ) in found


@pytest.mark.parametrize(
    "printed",
    [
        "bwrap: Can't find source path /root/agents/T1-C1: Permission denied\n",
        "The command was not started: [Errno 13] Permission denied: '/root/agents/T1-C1'\n",
    ],
)
def test_a_workspace_that_cannot_be_reached_names_the_directory_to_open(printed: str) -> None:
    found = explain(printed, OPEN, PROGRAM, 10001, lambda: Path("/root"))

    assert "(uid 10001) cannot enter /root" in found
    assert "chmod a+x /root" in found


def test_the_topmost_closed_directory_is_found(tmp_path: Path) -> None:
    nobody = (65_533, 65_533)
    outer, inner = tmp_path / "outer", tmp_path / "outer" / "inner"
    inner.mkdir(parents=True)
    for parent in tmp_path.parents:
        if parent.stat().st_mode & 0o001 == 0:
            assert closed_directory(inner / "ws", nobody) == next(
                p for p in reversed(inner.parents) if p.stat().st_mode & 0o001 == 0
            )
            return
    tmp_path.chmod(0o755)
    outer.chmod(0o700)
    inner.chmod(0o700)
    assert closed_directory(inner / "ws", nobody) == outer
    outer.chmod(0o711)
    assert closed_directory(inner / "ws", nobody) == inner
    inner.chmod(0o711)
    assert closed_directory(inner / "ws", nobody) is None


def test_an_owner_is_judged_by_the_owners_bits(tmp_path: Path) -> None:
    me = (tmp_path.stat().st_uid, tmp_path.stat().st_gid)
    tmp_path.chmod(0o700)

    assert closed_directory(tmp_path / "ws", me) not in (tmp_path,)


def test_the_kernels_switches_are_read_where_they_exist(tmp_path: Path) -> None:
    (tmp_path / "sys/user").mkdir(parents=True)
    (tmp_path / "sys/kernel").mkdir()
    (tmp_path / "sys/user/max_user_namespaces").write_text("0\n")
    (tmp_path / "sys/kernel/apparmor_restrict_unprivileged_userns").write_text("1\n")

    assert look(tmp_path) == Host(0, None, 1)


def test_what_a_command_could_do_is_said_in_one_sentence() -> None:
    found = deviates(["it could write to /usr", "it would have capabilities"])

    assert found == (
        "A command could not be held in, for it could write to /usr and it would have "
        "capabilities. No command is run on this host."
    )
    assert "0.8 or newer" in too_old("--disable-userns")
