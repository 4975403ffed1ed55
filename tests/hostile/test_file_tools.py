"""Attempts to reach out of the workspace through the file tools, or to make them hang.

Every case runs over both ways of opening: the kernel's openat2 and the portable walk.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tools.base import ToolContext
from tools.catalog import builtin_tools
from tools.content import read_regular
from tools.errors import BadArguments, NotAllowed, NotFound, OutsideWorkspace, ToolError
from tools.openat import Opener, open_beneath, open_by_kernel, open_by_walk
from tools.toolset import Toolset
from tools.workspace import FILE_LIMIT, Workspace

SECRET = "TOPSECRET"
OPENERS: list[Opener] = [open_by_kernel, open_by_walk, open_beneath]
BOTH: list[Opener] = [open_by_kernel, open_by_walk]


@dataclass(frozen=True, slots=True)
class Place:
    """A workspace full of traps, and what stands outside of it."""

    inside: Path
    outside: Path
    workspace: Workspace

    def outside_is_unchanged(self) -> bool:
        found = {
            str(path.relative_to(self.outside)): path.read_text() if path.is_file() else None
            for path in self.outside.rglob("*")
        }
        return found == {"secret": SECRET, "dir": None, "dir/f": SECRET}


@pytest.fixture(params=OPENERS, ids=lambda opener: opener.__name__)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    inside, outside = tmp_path / "ws", tmp_path / "out"
    _fill_outside(outside)
    with socket.socket(socket.AF_UNIX) as listener:
        _fill_inside(inside, outside, listener)
        with Workspace.at(inside, opener=request.param) as workspace:
            yield Place(inside, outside, workspace)


def _fill_outside(outside: Path) -> None:
    (outside / "dir").mkdir(parents=True)
    (outside / "secret").write_text(SECRET)
    (outside / "dir" / "f").write_text(SECRET)


def _fill_inside(inside: Path, outside: Path, listener: socket.socket) -> None:
    (inside / "d").mkdir(parents=True)
    for name in ("d/f", "with space", "Größe", "~tilde"):
        (inside / name).write_text("inside")
    links: dict[str, str | Path] = {
        "absolute": outside / "secret",
        "relative": "../out/secret",
        "dirlink": "../out/dir",
        "magic": "/proc/self/root",
        "cwd": "/proc/self/cwd",
        "inlink": "d/f",
        "indirlink": "d",
        "loop": "loop",
        "loop1": "loop2",
        "loop2": "loop1",
        "zero": "/dev/zero",
        "dangling": "nowhere",
        "dangling-outside": outside / "new",
    }
    for name, target in links.items():
        (inside / name).symlink_to(target)
    (inside / "hard").hardlink_to(outside / "secret")
    os.mkfifo(inside / "fifo")
    (inside / "binary").write_bytes(b"\0\1\2")
    (inside / "late-binary").write_bytes(b"x" * 8000 + b"\0")
    (inside / "latin").write_bytes(b"caf\xe9")
    with (inside / "huge").open("wb") as file:
        file.truncate(50 << 30)
    here = Path.cwd()
    os.chdir(inside)  # the name of a socket may have 108 bytes
    try:
        listener.bind("socket")
    finally:
        os.chdir(here)


REFUSED: list[tuple[str, type[ToolError]]] = [
    ("../out/secret", OutsideWorkspace),
    ("d/../../out/secret", OutsideWorkspace),
    ("d/../d/f", OutsideWorkspace),
    ("..", OutsideWorkspace),
    ("{outside}/secret", OutsideWorkspace),
    ("{inside}/d/f", OutsideWorkspace),
    ("/", OutsideWorkspace),
    ("//etc/passwd", OutsideWorkspace),
    ("/workspace/../out/secret", OutsideWorkspace),
    ("/workspaces/x", OutsideWorkspace),
    ("/proc/self/root{outside}/secret", OutsideWorkspace),
    ("/proc/self/cwd/../secret", OutsideWorkspace),
    ("absolute", OutsideWorkspace),
    ("relative", OutsideWorkspace),
    ("dirlink/f", OutsideWorkspace),
    ("magic{outside}/secret", OutsideWorkspace),
    ("cwd/x", OutsideWorkspace),
    ("inlink", OutsideWorkspace),
    ("indirlink/f", OutsideWorkspace),
    ("loop", OutsideWorkspace),
    ("loop1", OutsideWorkspace),
    ("loop/x", OutsideWorkspace),
    ("zero", OutsideWorkspace),
    ("dangling", OutsideWorkspace),
    ("dangling-outside", OutsideWorkspace),
    ("~/Downloads", OutsideWorkspace),
    ("~", OutsideWorkspace),
    ("hard", NotAllowed),
    ("fifo", NotAllowed),
    ("socket", NotAllowed),
    ("d", NotAllowed),
    (".", NotAllowed),
    ("./", NotAllowed),
    ("/workspace", NotAllowed),
    ("d/f/", NotAllowed),
    ("d/f/.", NotAllowed),
    ("huge", NotAllowed),
    ("binary", NotAllowed),
    ("late-binary", NotAllowed),
    ("latin", NotAllowed),
    ("", BadArguments),
    ("d/f\0x", BadArguments),
    ("d/f\n", BadArguments),
    ("\x1b[2J", BadArguments),
    ("\ud800", BadArguments),
    ("a" * 300, BadArguments),
    ("d/" + "ä" * 130, BadArguments),
    ("x/" * 3000, BadArguments),
    ("nowhere", NotFound),
    ("nowhere/f", NotFound),
    ("d/f/g", NotFound),
    ("..／out/secret", NotFound),
    ("․․/out/secret", NotFound),
    ("D/F", NotFound),
    ("d\\..\\..\\out\\secret", NotFound),
    ("%2e%2e/out/secret", NotFound),
    ("$HOME", NotFound),
    (".../secret", NotFound),
    ("~root/x", NotFound),
]


@pytest.mark.wall_clock
@pytest.mark.parametrize(
    ("path", "kind"), REFUSED, ids=lambda value: str(value)[:24].encode("unicode_escape").decode()
)
def test_reading_is_refused_quickly_and_with_a_sentence(
    place: Place, path: str, kind: type[ToolError]
) -> None:
    path = path.format(inside=place.inside, outside=place.outside)
    began = time.perf_counter()

    with pytest.raises(ToolError) as caught:
        place.workspace.read_text(path)

    assert time.perf_counter() - began < 2
    assert type(caught.value) is kind
    assert SECRET not in str(caught.value)
    assert str(caught.value)[-1] in ".)"
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "path",
    [
        *("d/f", "d//f", "./d/f", "d/./f", "/workspace/d/f", "/workspace//d/f"),
        *("with space", "Größe", "~tilde"),
    ],
)
def test_reading_what_is_inside_works(place: Place, path: str) -> None:
    assert place.workspace.read_text(path) == "inside"


def _change(workspace: Workspace, path: str, operation: str) -> None:
    match operation:
        case "write":
            workspace.write_text(path, "CHANGED")
        case "edit":
            workspace.write_text(path, workspace.read_text(path) + "CHANGED")
        case "mkdir":
            workspace.make_directory(path)
        case _:
            workspace.delete_file(f"{path}/f" if path not in ("d", ".", "d/") else "d")


@pytest.mark.parametrize(
    "path",
    [
        *("absolute", "relative", "dirlink/f", "dirlink/new", "inlink", "indirlink/new", "loop"),
        *("loop/x", "zero", "dangling", "dangling-outside", "fifo", "socket", "d", ".", "d/"),
        *("../out/secret", "../new", "~/x", "d/f/g", "cwd/x", "magic/tmp/x", "{outside}/new"),
    ],
)
@pytest.mark.parametrize("operation", ["write", "edit", "mkdir", "delete below"])
def test_changing_through_a_trap_is_refused_and_nothing_outside_changes(
    place: Place, path: str, operation: str
) -> None:
    path = path.format(outside=place.outside)
    if operation == "mkdir" and path in ("d", ".", "d/"):
        path = "d/f"  # making a directory that exists is no trap; over a file it is refused

    with pytest.raises(ToolError):
        _change(place.workspace, path, operation)

    assert place.outside_is_unchanged()
    assert (place.inside / "d" / "f").read_text() == "inside"
    assert not list(place.inside.rglob("*.tmp"))


def test_writing_over_a_second_name_of_an_outside_file_leaves_that_file_alone(
    place: Place,
) -> None:
    assert place.workspace.write_text("hard", "CHANGED") is False

    assert place.workspace.read_text("hard") == "CHANGED"
    assert place.outside_is_unchanged()


@pytest.mark.parametrize(
    "name", ["absolute", "dirlink", "dangling", "loop", "hard", "fifo", "socket"]
)
def test_deleting_a_trap_removes_the_name_and_nothing_else(place: Place, name: str) -> None:
    place.workspace.delete_file(name)

    assert not os.path.lexists(place.inside / name)
    assert place.outside_is_unchanged()


def test_a_listing_shows_traps_for_what_they_are_and_enters_none(place: Place) -> None:
    kinds = {entry.name: str(entry.kind) for entry in place.workspace.list_directory().entries}
    walked = {path for path, _ in place.workspace.walk()}

    assert kinds["dirlink"] == kinds["magic"] == kinds["loop"] == kinds["zero"] == "link"
    assert kinds["fifo"] == kinds["socket"] == "other"
    assert walked == {*kinds, "d/f"}


@pytest.mark.parametrize("path", ["dirlink", "magic", "cwd", "indirlink", "loop", "dangling"])
def test_a_link_to_a_directory_is_not_listed(place: Place, path: str) -> None:
    with pytest.raises(OutsideWorkspace):
        place.workspace.list_directory(path)


@pytest.mark.wall_clock
@pytest.mark.parametrize("path", ["d/f", "fifo", "socket"])
def test_what_is_no_directory_is_not_listed_and_does_not_block(place: Place, path: str) -> None:
    began = time.perf_counter()

    with pytest.raises(ToolError):
        place.workspace.list_directory(path)
    assert time.perf_counter() - began < 2


async def test_a_search_over_all_traps_finds_only_what_is_inside(place: Place) -> None:
    toolset = Toolset(builtin_tools(), ToolContext(place.workspace))

    text, is_error = await toolset.run("search_files", '{"pattern": "inside|TOPSECRET"}')

    assert not is_error
    assert "TOPSECRET" not in text
    assert {line.split(":")[0] for line in text.splitlines()[:-1]} == {
        *("d/f", "with space", "Größe", "~tilde"),
    }


def test_a_file_swapped_for_a_link_after_it_was_listed_is_not_read(place: Place) -> None:
    names = [entry.name for entry in place.workspace.list_directory("d").entries]
    (place.inside / "d" / "f").unlink()
    (place.inside / "d" / "f").symlink_to(place.outside / "secret")

    assert names == ["f"]
    with pytest.raises(OutsideWorkspace):
        place.workspace.read_text("d/f")


def test_a_workspace_whose_name_is_swapped_for_a_link_is_still_the_same_directory(
    place: Place,
) -> None:
    place.inside.rename(place.inside.with_name("moved"))
    place.inside.symlink_to(place.outside)

    assert place.workspace.read_text("d/f") == "inside"
    place.workspace.write_text("secret", "CHANGED")
    assert place.outside_is_unchanged()


def test_a_workspace_that_is_itself_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")

    with pytest.raises(ToolError, match="The workspace link cannot be opened"):
        Workspace.at(tmp_path / "link")


def test_a_file_that_holds_more_than_its_size_says_is_read_to_the_limit_only() -> None:
    """As a file that grows while it is read: /proc says 0 bytes and gives more."""
    fd = os.open("/proc/self/status", os.O_RDONLY)
    try:
        assert os.fstat(fd).st_size == 0
        with pytest.raises(NotAllowed, match="still growing"):
            read_regular(fd, "status", 100)
        assert os.lseek(fd, 0, os.SEEK_CUR) == 101
    finally:
        os.close(fd)


def test_a_file_of_exactly_the_limit_is_read_and_one_byte_more_is_not(place: Place) -> None:
    (place.inside / "full").write_bytes(b"x" * FILE_LIMIT)
    (place.inside / "over").write_bytes(b"x" * (FILE_LIMIT + 1))

    assert len(place.workspace.read_bytes("full")) == FILE_LIMIT
    with pytest.raises(NotAllowed, match=r"files of up to 4\.0 MB can be read"):
        place.workspace.read_bytes("over")
    with pytest.raises(NotAllowed, match=r"a file may have 4\.0 MB"):
        place.workspace.write_bytes("new", b"x" * (FILE_LIMIT + 1))


@pytest.mark.skipif(os.geteuid() != 0, reason="making a device needs root")
def test_a_device_node_is_not_read(place: Place) -> None:
    try:
        os.mknod(place.inside / "device", 0o20666, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("this container may not make devices")
    with pytest.raises(NotAllowed):
        place.workspace.read_bytes("device")
    with pytest.raises(NotAllowed):
        place.workspace.write_bytes("device", b"x")


def test_a_descriptor_is_never_left_open(place: Place) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for path, _ in REFUSED:
        for operation in (place.workspace.read_bytes, place.workspace.list_directory):
            try:
                operation(path.format(inside=place.inside, outside=place.outside))
            except ToolError:
                continue
    place.workspace.write_text("deep/er/file", "x")

    assert len(os.listdir("/proc/self/fd")) == before


MOUNT_SCRIPT = """
    import subprocess, sys
    from pathlib import Path
    from tools.errors import ToolError
    from tools.openat import open_by_kernel, open_by_walk
    from tools.workspace import Workspace

    inside = Path(sys.argv[1])
    subprocess.run(["mount", "-t", "tmpfs", "none", inside / "mnt"], check=True)
    (inside / "mnt" / "f").write_text("TOPSECRET")
    for opener in (open_by_kernel, open_by_walk):
        with Workspace.at(inside, opener=opener) as workspace:
            for attempt in (
                lambda: workspace.read_text("mnt/f"),
                lambda: workspace.list_directory("mnt"),
                lambda: workspace.write_text("mnt/g", "x"),
                lambda: workspace.make_directory("mnt/h"),
                lambda: workspace.delete_file("mnt/f"),
            ):
                try:
                    print("ESCAPED", attempt())
                except ToolError as error:
                    print(type(error).__name__, error)
    print(sorted(path.name for path in (inside / "mnt").iterdir()))
"""


def test_another_file_system_mounted_inside_is_not_entered(tmp_path: Path) -> None:
    (tmp_path / "mnt").mkdir()
    apart = ["unshare", "--user", "--map-root-user", "--mount"]
    try:
        subprocess.run([*apart, "mount", "-t", "tmpfs", "none", "/mnt"], check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this host does not let us mount")

    done = _python(MOUNT_SCRIPT, str(tmp_path), before=apart)

    *lines, left = done.splitlines()
    assert len(lines) == 10
    assert all(line.startswith("OutsideWorkspace mnt") for line in lines)
    assert all("another file system" in line for line in lines)
    assert left == "['f']"


WITHOUT_OPENAT2 = """
    import ctypes, os, struct, sys
    from pathlib import Path
    from tools.errors import ToolError
    from tools.openat import open_by_kernel
    from tools.workspace import Workspace

    code = int(sys.argv[2])
    # Load the call's number; if it is openat2 answer with the error, else allow (seccomp(2)).
    lines = [(0x20, 0, 0, 0), (0x15, 0, 1, 437), (0x06, 0, 0, 0x00050000 | code),
             (0x06, 0, 0, 0x7FFF0000)]
    text = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *line) for line in lines))
    program = struct.pack("@HP", len(lines), ctypes.addressof(text))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.prctl(22, 2, program, 0, 0) == 0
    top = os.open(sys.argv[1], os.O_PATH)
    try:
        open_by_kernel(top, "d/f", os.O_RDONLY)
    except OSError as error:
        assert error.errno == code
        with Workspace.at(Path(sys.argv[1])) as workspace:
            print(workspace.read_text("d/f"))
            print(workspace.write_text("e/g", "x"))
            for path in ("absolute", "dirlink/f", "loop", "../out/secret"):
                try:
                    print("ESCAPED", workspace.read_text(path))
                except ToolError as refused:
                    print(type(refused).__name__)
"""


@pytest.mark.parametrize("code", [38, 1], ids=["ENOSYS", "EPERM"])
@pytest.mark.parametrize("place", [open_beneath], indirect=True)
def test_where_openat2_is_missing_or_forbidden_the_walk_takes_over(place: Place, code: int) -> None:
    done = _python(WITHOUT_OPENAT2, str(place.inside), str(code))

    assert done.splitlines() == ["inside", "True", *["OutsideWorkspace"] * 4]


def _python(script: str, *arguments: str, before: list[str] | None = None) -> str:
    done = subprocess.run(
        [*(before or []), sys.executable, "-c", textwrap.dedent(script), *arguments],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
        timeout=30,
    )
    return done.stdout


FLIP = """
    import ctypes, os, sys

    libc = ctypes.CDLL(None)
    os.chdir(sys.argv[1])
    print("ready", flush=True)
    while os.getppid() == int(sys.argv[2]):
        libc.renameat2(-100, b"d", -100, b"e", 2)  # RENAME_EXCHANGE
"""


@pytest.fixture
def flipping(tmp_path: Path) -> Iterator[Path]:
    """A workspace whose directory `d` is exchanged with a link to the outside all the time."""
    inside, outside = tmp_path / "ws", tmp_path / "out"
    _fill_outside(outside)
    (inside / "d").mkdir(parents=True)
    (inside / "d" / "f").write_text("inside")
    (inside / "e").symlink_to("../out/dir")
    command = [sys.executable, "-c", textwrap.dedent(FLIP), str(inside), str(os.getpid())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as flipper:
        assert flipper.stdout is not None
        assert flipper.stdout.readline() == "ready\n"
        yield inside
        flipper.kill()


def _read(workspace: Workspace, number: int) -> str:
    return workspace.read_text("d/f")


def _list(workspace: Workspace, number: int) -> str:
    return " ".join(entry.name for entry in workspace.list_directory("d").entries)


def _write(workspace: Workspace, number: int) -> str:
    return str(workspace.write_text("d/f", f"written {number}"))


def _make(workspace: Workspace, number: int) -> str:
    workspace.make_directory(f"d/new/{number % 100}")
    return ""


def _delete(workspace: Workspace, number: int) -> str:
    workspace.write_text("d/f", "to be deleted")
    workspace.delete_file("d/f")
    return ""


RACES: list[Callable[[Workspace, int], str]] = [_read, _list, _write, _make, _delete]


@pytest.mark.parametrize("race", RACES, ids=lambda race: race.__name__)
@pytest.mark.parametrize("opener", BOTH, ids=lambda opener: opener.__name__)
def test_a_directory_exchanged_with_a_link_all_the_time_never_lets_anything_out(
    flipping: Path, opener: Opener, race: Callable[[Workspace, int], str]
) -> None:
    answers: list[str] = []
    done = 0
    began = time.monotonic()
    with Workspace.at(flipping, opener=opener) as workspace:
        # At least a second, and until the race has gone both ways often enough to mean something.
        while time.monotonic() - began < 1 or (
            min(done, len(answers) - done) < 20 and time.monotonic() - began < 20
        ):
            try:
                answers.append(race(workspace, len(answers)))
                done += 1
            except ToolError as error:
                answers.append(str(error))

    outside = flipping.parent / "out"
    assert min(done, len(answers) - done) >= 20
    assert not [answer for answer in answers if SECRET in answer]
    assert sorted(path.name for path in outside.rglob("*")) == ["dir", "f", "secret"]
    assert (outside / "dir" / "f").read_text() == (outside / "secret").read_text() == SECRET
