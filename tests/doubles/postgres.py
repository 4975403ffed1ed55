"""A real PostgreSQL server of our own, in a temporary directory, as an ordinary user.

Tests take the fixtures `postgres` (the address of a fresh database) and `postgres_server`.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import count
from pathlib import Path

import psycopg

PLACES = "/usr/lib/postgresql"
"""Debian keeps each version's programs below here, outside PATH."""
STARTS_SECONDS = 30
STOPS = 5
"""So often a server is asked to stop, for ten seconds each."""
ROLE = "treadle"
FAST = ("fsync=off", "full_page_writes=off", "autovacuum=off")
"""Only the operating system must not die under it; a server that is killed loses nothing."""
ALWAYS = (
    "shared_buffers=16MB",
    "deadlock_timeout=100ms",
    "unix_socket_directories=''",
    "listen_addresses='127.0.0.1'",
)


EMPTY = """
DO $$ BEGIN
  EXECUTE (SELECT 'TRUNCATE ' || string_agg(format('%I', tablename), ', ') || ' RESTART IDENTITY'
           FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'alembic_version');
END $$
"""


class Ending(StrEnum):
    """How the server is stopped: both end every connection at once."""

    FAST = "fast"
    """In order: running transactions are rolled back."""
    IMMEDIATE = "immediate"
    """As if it had crashed: the next start recovers from its log."""


def find_programs() -> Path | None:
    """The directory of initdb and pg_ctl, the newest version first; None where there is none."""
    found = sorted(Path(PLACES).glob("*/bin/initdb"), key=lambda p: int(p.parts[-3].split(".")[0]))
    if found:
        return found[-1].parent
    on_path = shutil.which("initdb")
    return Path(on_path).resolve().parent if on_path else None


@dataclass
class PostgresServer:
    """A server that runs; each test takes a database of its own."""

    programs: Path
    directory: Path
    port: int
    options: tuple[str, ...]
    password: str = field(default_factory=lambda: secrets.token_hex(12))
    _numbers: Iterator[int] = field(default_factory=count)

    def url(self, name: str, password: str | None = None) -> str:
        """The address of a database as TREADLE_DATABASE_URL takes it."""
        return f"postgresql://{ROLE}:{password or self.password}@127.0.0.1:{self.port}/{name}"

    def create(self, options: str = "") -> str:
        """A new database, whose owner is an ordinary role; returns its address."""
        name = f"db{next(self._numbers)}"
        self.administer(f"CREATE DATABASE {name} OWNER {ROLE} TEMPLATE template0 {options}")
        return self.url(name)

    def drop(self, url: str) -> None:
        """Remove a database, whoever may still be connected to it."""
        self.administer(f"DROP DATABASE {_name(url)} WITH (FORCE)")

    def empty(self, url: str) -> None:
        """Leave nothing in a database but its tables, and nobody connected to it.

        As good as a new one for most tests, and made in a tenth of the time.
        """
        self.disconnect(url)
        self.administer(EMPTY, _name(url))

    def disconnect(self, url: str) -> None:
        """End every connection to a database; returns when they are gone."""
        others = f"FROM pg_stat_activity WHERE datname = '{_name(url)}' AND pid <> pg_backend_pid()"
        self.administer(f"SELECT pg_terminate_backend(pid, 10000) {others}")

    def administer(self, statement: str, name: str = "postgres") -> None:
        """Run a statement in a database as the server's superuser."""
        address = self.url(name).replace(f"//{ROLE}:", "//boss:")
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(statement.encode())

    def start(self) -> None:
        options = " ".join([f"-p {self.port}", *(f"-c {one}" for one in self.options)])
        log = str(self.directory / "server-log")
        self._control("start", "-w", "-t", str(STARTS_SECONDS), "-l", log, "-o", options)

    def stop(self, how: Ending = Ending.FAST) -> None:
        """Asks again where it was not heard, which has kept a server running for a minute."""
        running = self.directory / "data" / "postmaster.pid"
        for _ in range(STOPS):
            with suppress(AssertionError):
                return self._control("stop", "-w", "-t", "10", "-m", how)
            if not running.exists():
                return None
        raise AssertionError((self.directory / "server-log").read_text())

    def restart(self, how: Ending = Ending.FAST) -> None:
        """Stop and start at the same address; it is back when this returns."""
        with self.down(how):
            pass

    @contextmanager
    def down(self, how: Ending = Ending.FAST) -> Iterator[None]:
        """While inside, there is no server."""
        self.stop(how)
        try:
            yield
        finally:
            self.start()

    def _control(self, action: str, *options: str) -> None:
        command = [str(self.programs / "pg_ctl"), action, "-s", "-D", str(self.directory / "data")]
        self.call([*command, *options])

    def call(self, command: list[str]) -> None:
        """Run one of the server's programs as the user whom its files belong to."""
        owner, root = self.directory.stat(), os.geteuid() == 0
        with (self.directory / "log").open("ab") as log:
            done = subprocess.run(
                command,
                cwd=self.directory,
                env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                timeout=2 * STARTS_SECONDS,
                user=owner.st_uid if root else None,
                group=owner.st_gid if root else None,
                extra_groups=() if root else None,
            )
        assert done.returncode == 0, (self.directory / "log").read_text()


def _name(url: str) -> str:
    return url.rpartition("/")[2]


@contextmanager
def open_server(programs: Path, options: tuple[str, ...] = FAST) -> Iterator[PostgresServer]:
    """A server with nothing in it; it is stopped and removed at the end."""
    directory = Path(tempfile.mkdtemp(prefix="treadle-postgres-"))
    try:
        if os.geteuid() == 0:  # the server refuses to run as root
            owner = _ordinary_user()
            os.chown(directory, owner.pw_uid, owner.pw_gid)
        server = PostgresServer(programs, directory, _free_port(), ALWAYS + options)
        _initialize(server)
        server.start()
        try:
            server.administer(f"CREATE ROLE {ROLE} LOGIN PASSWORD '{server.password}'")
            yield server
        finally:
            server.stop(Ending.IMMEDIATE)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _initialize(server: PostgresServer) -> None:
    secret = server.directory / "password"
    secret.write_text(server.password)
    secret.chmod(0o644)  # the directory itself is the owner's alone
    server.call(
        [
            str(server.programs / "initdb"),
            *("-D", str(server.directory / "data"), "-U", "boss", "--pwfile", str(secret)),
            *("-A", "scram-sha-256", "-E", "UTF8", "--no-locale", "--no-sync"),
        ]
    )


def _ordinary_user() -> pwd.struct_passwd:
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise AssertionError("there is no ordinary user for the database server")


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port
