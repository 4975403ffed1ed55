"""Every test runs in a cleaned environment, with no network beyond loopback and no silent skip."""

from __future__ import annotations

import ipaddress
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import hypothesis
import pytest
from xdist.remote import Producer

from tests.doubles.postgres import PostgresServer, find_programs, open_server
from tests.sharing import ALONE, Grouped

FOREIGN_PREFIXES = ("SLACK_", "OPENAI_", "TREADLE_")
FOREIGN_SUFFIXES = ("_PROXY", "_proxy")
KEPT = {"TREADLE_CHROMIUM", "TREADLE_EMULATE_DIR", "TREADLE_AIMOCK_DIR"}
"""Variables of the tests themselves: where a part is that only they need."""

HOST_REASONS = (
    "needs root",
    "do not bind root",
    "this container may not make devices",
    "this host does not let us mount",
    "TREADLE_EMULATE_DIR is not set",
    "TREADLE_AIMOCK_DIR is not set",
    "needs an ordinary user",
    "this machine is no ",
    "this host's kernel has no Landlock",
)
"""What a skip may say in CI: that this user or host may not, never that a part is missing."""

REACHING = {"socket.connect": 1, "socket.sendto": 1, "socket.sendmsg": 1}
"""Audit events (docs.python.org, "Audit events table") and where their address stands."""
LOOK_UPS = {"socket.getaddrinfo", "socket.gethostbyname"}

_home = pytest.StashKey[str]()
_reached: list[str] = []


class ReachedBeyondLoopback(RuntimeError):
    """Something tried to leave this machine. No OSError: nobody may take it for a bad network."""


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "needs(*programs): skipped where a program is missing; in CI that is a failure"
    )
    config.addinivalue_line(
        "markers",
        "wall_clock: promises a time or how it grows; a busy host gets two more tries to keep it",
    )
    config.addinivalue_line("markers", "alone: at the same time as one other test, not more")
    for name in list(os.environ):
        if name not in KEPT and (
            name.startswith(FOREIGN_PREFIXES) or name.endswith(FOREIGN_SUFFIXES)
        ):
            del os.environ[name]
    config.stash[_home] = os.environ["HOME"] = tempfile.mkdtemp(prefix="treadle-tests-home-")
    sys.addaudithook(_guard)


def pytest_unconfigure(config: pytest.Config) -> None:
    if home := config.stash.get(_home, None):
        shutil.rmtree(home, ignore_errors=True)


def _guard(event: str, arguments: tuple[object, ...]) -> None:
    """Stops what would leave this machine, in any thread and any library."""
    if event in REACHING:
        address = arguments[REACHING[event]]
        if not isinstance(address, tuple):  # None, or the path of a unix socket
            return
        host = address[0]
    elif event in LOOK_UPS:
        host = arguments[0]
    else:
        return
    if not _is_loopback(host):
        _reached.append(f"{event} {host!r}")
        raise ReachedBeyondLoopback(f"A test may only reach loopback, not {host!r} ({event}).")


def _is_loopback(host: object) -> bool:
    if host is None or isinstance(host, int):
        return True  # "this machine" for getaddrinfo; netlink and the like have numbers
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host)
    if name in ("", "localhost", socket.gethostname()):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def pytest_itemcollected(item: pytest.Item) -> None:
    if item.get_closest_marker("wall_clock"):
        item.add_marker(pytest.mark.flaky(reruns=2))
    if item.get_closest_marker("wall_clock") or item.nodeid.startswith(ALONE):
        item.add_marker(pytest.mark.alone)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Grouped:
    return Grouped(config, log)


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker in item.iter_markers("needs"):
        missing = [name for name in marker.args if shutil.which(str(name)) is None]
        if missing:
            pytest.skip(f"{', '.join(missing)} is not installed")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if _reached:
        report.outcome = "failed"
        report.longrepr = "The test reached beyond loopback: " + "; ".join(_reached)
        _reached.clear()
    elif report.skipped and os.environ.get("CI") and not hasattr(report, "wasxfail"):
        reason = str(call.excinfo.value) if call.excinfo is not None else ""
        if not any(allowed in reason for allowed in HOST_REASONS):
            report.outcome = "failed"
            report.longrepr = f"Skipped where nothing may be missing (CI is set): {reason}"
    return report


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the checkout."""
    return Path(__file__).parents[1]


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A PostgreSQL server for all tests; one that stops it starts it again."""
    if (found := find_programs()) is None:
        pytest.skip("PostgreSQL (initdb, pg_ctl) is not installed")
    with open_server(found) as server:
        yield server


@pytest.fixture(scope="session")
def postgres_with_tables(postgres_server: PostgresServer) -> str:
    """The address of the database that tests use one after the other."""
    from bot.storage.postgres import open_postgres
    from bot.storage.wakes import queue_schema

    url = postgres_server.create()
    open_postgres(url, [queue_schema()]).close()
    return url


@pytest.fixture
def postgres(postgres_server: PostgresServer, postgres_with_tables: str) -> str:
    """The address of a database with empty tables, as TREADLE_DATABASE_URL takes it."""
    postgres_server.empty(postgres_with_tables)
    return postgres_with_tables


@pytest.fixture
def empty_postgres(postgres_server: PostgresServer) -> Iterator[str]:
    """The address of a database in which nothing is yet."""
    url = postgres_server.create()
    yield url
    postgres_server.drop(url)


# What CI says must be about the change and not about the dice; every other run finds new examples.
hypothesis.settings.register_profile("ci", derandomize=True, deadline=None)
hypothesis.settings.register_profile("here", deadline=None)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "here")
