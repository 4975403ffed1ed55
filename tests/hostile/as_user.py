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
    packages = [path for path in sys.path if path.endswith("site-packages")]
    environment = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(home),
        "TMPDIR": str(home),
        "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": os.pathsep.join([str(ROOT), *packages]),
    }
    command = [*SETPRIV, interpreter(), "-m", "pytest", "-p", "no:cacheprovider", "tests/hostile"]
    try:
        return subprocess.call([*command, *arguments], cwd=ROOT, env=environment)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def interpreter() -> str:
    """An interpreter of this version that the user can run."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for found in (sys.executable, f"/usr/local/bin/{version}", f"/usr/bin/{version}"):
        if not subprocess.call([*SETPRIV, "test", "-x", os.path.realpath(found)]):
            return found
    raise SystemExit(f"No {version} that an ordinary user can run; install one for everybody.")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
