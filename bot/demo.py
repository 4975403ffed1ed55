"""The demo's own settings: its own state, no Slack token, no limits on the tools."""

from __future__ import annotations

import hashlib
import os
import secrets
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from bot import words
from bot.config import Need, Settings, load_settings
from bot.errors import ConfigError
from bot.local_slack.options import Options
from bot.local_slack.server import LocalSlack
from bot.local_slack.state import StateError

HOST = "127.0.0.1"
USUAL_PORT = 8200

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


@asynccontextmanager
async def open_page(settings: Settings, port: int | None, banner: str) -> AsyncIterator[LocalSlack]:
    """The stand-in with its page, on the usual port or a free one where none is asked for.

    Its token and its messages are kept, so that a restart loses nothing. Raises ConfigError if the
    port that was asked for is taken or the saved workspace cannot be read.
    """
    if port is None:
        port = USUAL_PORT if _is_free(USUAL_PORT) else 0
    options = Options(
        port=port,
        page_token=_kept_token(settings.home.parent / "page-token"),
        hold_while_offline=True,
        state_file=settings.home.parent / "slack.json",
        banner=banner,
    )
    try:
        slack = await LocalSlack.start(options)
    except StateError as error:
        raise ConfigError(str(error)) from error
    except OSError as error:
        raise ConfigError(words.cannot_listen(HOST, port, str(error.strerror))) from error
    try:
        yield slack
    finally:
        await slack.stop()


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server does
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


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
    config = home / "demo.toml"
    try:
        _make(home)
        config.write_text(CONFIG, "utf-8")
    except OSError as error:
        raise ConfigError(words.demo_home_unusable(home, str(error.strerror))) from error
    own = {
        "TREADLE_HOME": str(home / "state"),
        "TREADLE_WORKSPACE": str(home / "workspace"),
        "TREADLE_CONFIG": str(config),
    }
    model = {name: value for name, value in environ.items() if not name.startswith("TREADLE_")}
    return load_settings({**model, **own}, cwd, need=Need.DEMO)


def _make(home: Path) -> None:
    home.mkdir(mode=0o755, parents=True, exist_ok=True)
    if os.geteuid() == 0:  # whatever the umask says: commands run as another user
        (home / "workspace").mkdir(exist_ok=True)
        for directory in (SYSTEM_HOME, home, home / "workspace"):
            directory.chmod(0o755)
