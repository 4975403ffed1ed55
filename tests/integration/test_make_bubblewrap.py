"""`make bubblewrap`: the sandbox is installed where that is permitted, and nothing ever fails."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.needs("make")

INSTALL = "apt-get install -y --no-install-recommends bubblewrap"
LINE = f"run_command stays off without bubblewrap; to have it, run: sudo {INSTALL}\n"
PUT = '#!/bin/sh\necho "#!/bin/sh" > {bin}/bwrap\n/bin/chmod +x {bin}/bwrap\n'


class Host:
    """A machine that has only these programs; each says in a log how it was called."""

    def __init__(self, place: Path) -> None:
        self.bin, self.log = place / "bin", place / "log"
        self.bin.mkdir()
        self.log.touch()
        for name in ("uname", "env"):
            found = shutil.which(name)
            assert found is not None
            (self.bin / name).symlink_to(found)

    def has(self, name: str, then: str = "") -> None:
        path = self.bin / name
        path.write_text(f'#!/bin/sh\necho "{name} $*" >> {self.log}\n{then}\n')
        path.chmod(0o755)

    def calls(self) -> list[str]:
        return self.log.read_text().splitlines()

    def make(self, repository: Path) -> str:
        """What `make bubblewrap` prints; it must succeed."""
        make = shutil.which("make")
        assert make is not None
        done = subprocess.run(
            [make, "-s", "--no-print-directory", "bubblewrap"],
            cwd=repository,
            env={"PATH": str(self.bin), "HOME": os.environ["HOME"]},
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def installs(host: Host, *, after: str = "") -> str:
    """What an apt-get does that puts a bwrap there, once `after` was called if that is given."""
    put = PUT.format(bin=host.bin).removeprefix("#!/bin/sh\n")
    return f'case "$1" in install) {after or "true"} && {{ {put} }};; esac'.replace("\n }", "; }")


def test_where_it_is_there_nothing_is_done(host: Host, repository: Path) -> None:
    host.has("bwrap")
    host.has("apt-get")
    assert host.make(repository) == ""
    assert host.calls() == []


def test_root_installs_it(host: Host, repository: Path) -> None:
    host.has("id", "echo 0")
    host.has("apt-get", installs(host))
    assert "stays off" not in host.make(repository)
    assert host.calls() == ["id -u", INSTALL]


def test_a_list_of_packages_that_is_missing_is_fetched(host: Host, repository: Path) -> None:
    host.has("id", "echo 0")
    marker = host.bin / "updated"
    host.has(
        "apt-get",
        f'[ "$1" = update ] && : > {marker}\n[ "$1" = install ] && [ ! -e {marker} ] && exit 100\n'
        + installs(host),
    )
    assert "stays off" not in host.make(repository)
    assert host.calls() == ["id -u", INSTALL, "apt-get update", INSTALL]


def test_sudo_without_a_password_installs_it(host: Host, repository: Path) -> None:
    host.has("id", "echo 1000")
    host.has("sudo", 'shift; [ "$1" = true ] || { shift; "$@"; }')
    host.has("apt-get", installs(host))
    assert "stays off" not in host.make(repository)
    assert host.calls()[-1] == INSTALL


def test_who_may_not_is_told_the_one_line(host: Host, repository: Path) -> None:
    host.has("id", "echo 1000")
    host.has("sudo", "exit 1")
    host.has("apt-get")
    assert host.make(repository) == LINE
    assert host.calls() == ["id -u", "sudo -n true"]


def test_an_installation_that_fails_is_told_and_no_failure(host: Host, repository: Path) -> None:
    host.has("id", "echo 0")
    host.has("apt-get", "exit 100")
    assert host.make(repository).endswith(LINE)


def test_a_host_without_a_package_manager_is_told_and_no_failure(
    host: Host, repository: Path
) -> None:
    host.has("id", "echo 0")
    assert "run: sudo (your package manager) install bubblewrap" in host.make(repository)
