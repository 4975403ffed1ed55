"""Runs the hostile tests as an ordinary user, started by root: `python -m tests.hostile.as_user`.

More arguments go to pytest. The user has no name and owns nothing. The interpreter must be one that
it can reach: the one in use if possible, else the system's of the same version.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

USER = 20002
SETPRIV = ("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--inh-caps=-all")
ROOT = Path(__file__).parents[2]


def main(arguments: list[str]) -> int:
    """The exit code of pytest."""
    if os.geteuid() != 0:
        return subprocess.call([sys.executable, "-m", "pytest", "tests/hostile", *arguments])
    home = Path(tempfile.mkdtemp(prefix="treadle-user-", dir="/var/tmp"))
    os.chown(home, USER, USER)
    root, packages = reachable(home)
    environment = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(home),
        "TMPDIR": str(home),
        "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": os.pathsep.join([str(root), *packages]),
    }
    command = [*SETPRIV, interpreter(), "-m", "pytest", "-p", "no:cacheprovider", "tests/hostile"]
    try:
        return subprocess.call([*command, *arguments], cwd=root, env=environment)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def reachable(home: Path) -> tuple[Path, list[str]]:
    """The checkout and its packages, or copies of them where the user cannot go."""
    packages = [path for path in sys.path if path.endswith("site-packages")]
    places = [str(ROOT / "pyproject.toml"), *packages]
    if all(may(f"test -r {place}") for place in places):
        return ROOT, packages
    left_out = shutil.ignore_patterns(".git", ".venv*", ".hypothesis", "__pycache__", "playwright")
    shutil.copytree(ROOT, home / "checkout", ignore=left_out)
    copies = [home / f"packages-{number}" for number in range(len(packages))]
    for package, copy in zip(packages, copies, strict=True):
        shutil.copytree(package, copy, ignore=left_out)
    return home / "checkout", [str(copy) for copy in copies]


def may(command: str) -> bool:
    """Whether the user can do this."""
    return not subprocess.call([*SETPRIV, *command.split()], stderr=subprocess.DEVNULL)


def interpreter() -> str:
    """An interpreter of this version that the user can run."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for found in (sys.executable, f"/usr/local/bin/{version}", f"/usr/bin/{version}"):
        if may(f"test -x {os.path.realpath(found)}"):
            return found
    raise SystemExit(f"No {version} that an ordinary user can run; install one for everybody.")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
