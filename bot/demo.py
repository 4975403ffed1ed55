"""The demo's own settings: its own state, no Slack token, no limits on the tools."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from bot.config import Need, Settings, load_settings
from bot.local_slack.options import Options

SYSTEM_HOME = Path("/var/lib/treadle-demo")
"""As root: a place that the sandbox's user can reach, unlike /root."""

CONFIG = """\
# The demo's own settings; the treadle.toml of your project is not read here.
# Everything is allowed in the demo: every tool of this release, everywhere, for all but guests.
"""


def demo_home(cwd: Path, uid: int) -> Path:
    """Where the demo keeps its state: in the project, or for root outside every home."""
    if uid != 0:
        return cwd / ".treadle-demo"
    return SYSTEM_HOME / hashlib.sha256(str(cwd).encode()).hexdigest()[:12]


def page_options(settings: Settings, port: int, banner: str) -> Options:
    """The stand-in's: its token and its messages are kept, so that a restart loses nothing."""
    state = settings.home.parent / "slack.json"
    return Options(
        port=port,
        page_token=_kept_token(settings.home.parent / "page-token"),
        hold_while_offline=True,
        state_file=state,
        banner=banner,
    )


def _kept_token(path: Path) -> str:
    try:
        return path.read_text("utf-8").strip()
    except FileNotFoundError:
        token = secrets.token_urlsafe(24)
        path.touch(mode=0o600)
        path.write_text(token, "utf-8")
        return token


def demo_settings(environ: Mapping[str, str], cwd: Path) -> Settings:
    """The settings of `treadle demo`. Raises ConfigError.

    Of the environment and .env only the model's variables count; Slack's are never read.
    """
    home = demo_home(cwd, os.geteuid())
    home.mkdir(mode=0o755, parents=True, exist_ok=True)
    if os.geteuid() == 0:  # whatever the umask says: commands run as another user
        (home / "workspace").mkdir(exist_ok=True)
        for directory in (SYSTEM_HOME, home, home / "workspace"):
            directory.chmod(0o755)
    config = home / "demo.toml"
    config.write_text(CONFIG, "utf-8")
    own = {
        "TREADLE_HOME": str(home / "state"),
        "TREADLE_WORKSPACE": str(home / "workspace"),
        "TREADLE_CONFIG": str(config),
    }
    model = {name: value for name, value in environ.items() if not name.startswith("TREADLE_")}
    return load_settings({**model, **own}, cwd, need=Need.DEMO)
