"""The guards of tests/conftest.py, each shown to fail a test that breaks its rule."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"


def outcome(place: Path, test: str, **environ: str) -> str:
    """What pytest prints about a test module that stands beside a copy of our conftest."""
    shutil.copy(CONFTEST, place / "conftest.py")
    (place / "test_it.py").write_text(textwrap.dedent(test), "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(place)],
        cwd=place,
        env={**{n: v for n, v in os.environ.items() if n != "CI"}, **environ},
        capture_output=True,
        text=True,
        timeout=50,
    )
    return done.stdout + done.stderr


def test_a_test_that_reaches_out_fails_even_if_it_swallows_the_error(tmp_path: Path) -> None:
    said = outcome(
        tmp_path,
        """
        import asyncio, contextlib, socket, threading, urllib.request

        def test_connect():
            with socket.socket() as one, contextlib.suppress(Exception):
                one.connect(("192.0.2.1", 80))

        def test_look_up():
            with contextlib.suppress(Exception):
                socket.getaddrinfo("slack.com", 443)

        def test_datagram():
            with socket.socket(type=socket.SOCK_DGRAM) as one, contextlib.suppress(Exception):
                one.sendto(b"x", ("198.51.100.7", 53))

        def test_a_library_in_a_thread():
            def read():
                with contextlib.suppress(Exception):
                    urllib.request.urlopen("http://example.com")
            thread = threading.Thread(target=read)
            thread.start()
            thread.join()

        def test_asyncio():
            async def reach():
                with contextlib.suppress(Exception):
                    await asyncio.open_connection("192.0.2.1", 80)
            asyncio.run(reach())
        """,
    )

    assert "5 failed" in said
    assert "passed" not in said
    assert said.count("The test reached beyond loopback: ") >= 5


def test_loopback_stays_open(tmp_path: Path) -> None:
    said = outcome(
        tmp_path,
        """
        import socket

        def test_it():
            for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET, "localhost")):
                with socket.create_server(("127.0.0.1", 0), family=family) as server:
                    socket.create_connection((host, server.getsockname()[1])).close()
            left, right = socket.socketpair()
            left.close(), right.close()
        """,
    )

    assert "1 passed" in said, said


def test_the_environment_holds_no_token_no_proxy_and_another_home(tmp_path: Path) -> None:
    said = outcome(
        tmp_path,
        """
        import os, subprocess, sys
        from pathlib import Path

        def test_it():
            script = "import os; print(*os.environ)"
            names = subprocess.check_output([sys.executable, "-c", script], text=True).split()
            assert not [n for n in names if n.startswith(("SLACK_", "OPENAI_", "TREADLE_"))]
            assert not [n for n in names if n.lower().endswith("_proxy")]
            assert os.environ["HOME"] != "/home/of/somebody"
            assert list(Path.home().iterdir()) == []
        """,
        SLACK_BOT_TOKEN="xoxb-real",
        OPENAI_API_KEY="sk-real",
        TREADLE_HOME="/home/of/somebody/.treadle",
        HTTPS_PROXY="http://192.0.2.1:3128",
        https_proxy="http://192.0.2.1:3128",
        HOME="/home/of/somebody",
    )

    assert "1 passed" in said, said


SKIPS = """
import pytest

@pytest.mark.needs("a-program-that-nobody-has")
def test_needs(): ...

@pytest.mark.skipif(True, reason="the part is not installed")
def test_skipif(): ...

def test_skip():
    pytest.skip("the part is not installed")

@pytest.mark.skipif(True, reason="making a device needs root")
def test_of_the_host(): ...

@pytest.mark.xfail(reason="a known fault")
def test_known():
    raise AssertionError
"""


@pytest.mark.parametrize(
    ("environ", "counts"),
    [({}, "4 skipped, 1 xfailed"), ({"CI": "true"}, "1 failed, 1 skipped, 1 xfailed, 2 errors")],
    ids=["at home", "in CI"],
)
def test_a_skip_for_a_missing_part_is_a_failure_in_ci_only(
    tmp_path: Path, environ: dict[str, str], counts: str
) -> None:
    assert counts in outcome(tmp_path, SKIPS, **environ)
