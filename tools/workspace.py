"""The only gate from a path to a file: one directory handle per workspace, never a string check.

Every access is opened below the handle without following links (`tools.openat`), and what was
opened is judged by its descriptor: a regular file with one name, of a bounded size. Writing makes
a new file beside the old one and puts it in its place, so that a link, FIFO or second name at the
target is replaced and never written through. Every refusal is a ToolError.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

from tools.content import fill, is_binary, mode_of_regular, read_regular, size
from tools.errors import BadArguments, NotAllowed, NotFound, WorkspaceUnavailable
from tools.listing import SCAN_LIMIT, Entry, Listing, scan, walk
from tools.openat import DIRECTORY, RETRIES, DirectoryHandle, Opener, open_beneath
from tools.paths import TOP, directory_path, file_path, shown
from tools.refusals import refusal
from tools.usage import UNCOUNTABLE, disk_usage

FILE_LIMIT = 4 * 1024 * 1024
"""Bytes of the largest file that is read or written as a whole."""

_READABLE = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


class Workspace:
    """One directory that the tools of a thread may touch. Safe to use from several threads."""

    def __init__(
        self,
        directory: int,
        path: Path,
        *,
        owner: tuple[int, int] | None = None,
        quota: int | None = None,
        opener: Opener = open_beneath,
    ) -> None:
        """Take over `directory`, a descriptor that is closed with this object.

        `path` is the same directory's absolute path, for mounting it; `owner` (uid, gid) is given
        to new files and directories when the bot runs as root; `quota` is in bytes on disk.
        """
        self._handle = DirectoryHandle(directory)
        self._owner = owner
        self._quota = quota
        self._open = opener
        self.path = path

    @classmethod
    def at(
        cls,
        path: Path,
        *,
        owner: tuple[int, int] | None = None,
        quota: int | None = None,
        opener: Opener = open_beneath,
    ) -> Workspace:
        """The workspace in an existing directory, which must not be a link itself."""
        try:
            directory = os.open(path, DIRECTORY)
        except OSError as error:
            raise WorkspaceUnavailable(
                f"The workspace {path.name} cannot be opened ({error.strerror}); "
                "ask the operator to look at the directory."
            ) from error
        return cls(directory, path, owner=owner, quota=quota, opener=opener)

    def __enter__(self) -> Workspace:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the handle back; calls that are under way finish, later ones are refused."""
        self._handle.close()

    def read_bytes(self, path: str, limit: int = FILE_LIMIT) -> bytes:
        """The content of a regular file of at most `limit` bytes."""
        canonical = file_path(path)
        with self._top(path) as top:
            for _ in range(RETRIES):
                with suppress(BlockingIOError):  # replaced by a writer just now: the new one
                    return self._read(top, canonical, path, limit)
            return self._read(top, canonical, path, limit)

    def _read(self, top: int, canonical: str, path: str, limit: int) -> bytes:
        fd = self._open(top, canonical, os.O_RDONLY)
        try:
            return read_regular(fd, path, limit)
        finally:
            os.close(fd)

    def read_text(self, path: str) -> str:
        """The content of a UTF-8 text file, line ends as they are."""
        data = self.read_bytes(path)
        if is_binary(data):
            raise NotAllowed(f"{shown(path)} is binary ({size(len(data))}), not text.")
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise NotAllowed(
                f"{shown(path)} is not UTF-8 (byte {error.start} is {data[error.start]:#04x}); "
                "convert it first."
            ) from error

    def digest(self, path: str) -> str | None:
        """SHA-256 of a file's content, or None if there is none: what an approval is bound to."""
        try:
            return hashlib.sha256(self.read_bytes(path)).hexdigest()
        except NotFound:
            return None

    def write_text(self, path: str, text: str) -> bool:
        """Store text as UTF-8; as `write_bytes`."""
        try:
            data = text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise BadArguments(
                f"The content has half a character at position {error.start}; send whole ones."
            ) from error
        return self.write_bytes(path, data)

    def write_bytes(self, path: str, data: bytes) -> bool:
        """Store a whole file, making its directories; True if it is new.

        Atomic and durable: readers see the old content or the new one, also after a crash.
        """
        if len(data) > FILE_LIMIT:
            raise NotAllowed(
                f"The content is {size(len(data))}; a file may have {size(FILE_LIMIT)}. "
                "Write it in smaller files."
            )
        directory, _, name = file_path(path).rpartition("/")
        with self._top(path) as top:
            self._check_quota(len(data))
            parent = self._enter(top, directory)
            try:
                return self._replace(parent, name, data, path)
            finally:
                os.close(parent)

    def make_directory(self, path: str) -> None:
        """Make a directory and those above it; one that exists is fine."""
        with self._top(path) as top:
            os.close(self._enter(top, directory_path(path)))

    def delete_file(self, path: str) -> None:
        """Remove a name that is not a directory; a link goes, what it points to stays."""
        directory, _, name = file_path(path).rpartition("/")
        with self._top(path) as top:
            parent = self._open(top, directory or TOP, _READABLE)
            try:
                os.unlink(name, dir_fd=parent)
            finally:
                os.close(parent)

    def list_directory(self, path: str = TOP, limit: int = SCAN_LIMIT) -> Listing:
        """What stands in a directory, at most `limit` names."""
        canonical = directory_path(path)
        with self._top(path) as top:
            fd = self._open(top, canonical, _READABLE)
            try:
                return scan(fd, limit)
            finally:
                os.close(fd)

    @contextmanager
    def _top(self, path: str) -> Iterator[int]:
        try:
            with self._handle.hold() as top:
                yield top
        except OSError as error:
            raise refusal(error, path) from error

    def walk(
        self, path: str = TOP, skip: frozenset[str] = frozenset()
    ) -> Iterator[tuple[str, Entry]]:
        """Every entry below a directory with its path, a directory's own before what is deeper.

        Directories named in `skip`, below MAX_DEPTH, gone or unreadable are not entered.
        """
        return walk(self.list_directory, directory_path(path), skip)

    def usage(self, enough: int | None = None) -> int:
        """Bytes on disk of all that is in it; as `tools.usage.disk_usage`."""
        with self._top(TOP) as top:
            directory = self._open(top, TOP, _READABLE)
            try:
                return disk_usage(directory, enough)
            finally:
                os.close(directory)

    def _check_quota(self, extra: int) -> None:
        if self._quota is None:
            return
        used = self.usage(self._quota)
        if used == UNCOUNTABLE:
            raise NotAllowed(
                "A directory in the workspace cannot be read or is too deep, so that nobody knows "
                "what it takes; delete it (after chmod -R u+rwX), then try again."
            )
        if used + extra > self._quota:
            raise NotAllowed(
                f"The workspace may hold {size(self._quota)} and {size(used)} are used; "
                "delete files that are not needed, then try again."
            )

    def _enter(self, top: int, directory: str) -> int:
        """A readable descriptor of `directory`, made component by component where missing."""
        current = self._open(top, TOP, _READABLE)
        for name in filter(None, directory.split("/")):
            try:
                child = self._enter_or_make(current, name)
            finally:
                os.close(current)
            current = child
        return current

    def _enter_or_make(self, parent: int, name: str) -> int:
        with suppress(FileNotFoundError):
            return self._open(parent, name, _READABLE)
        with suppress(FileExistsError):  # somebody made it in between: enter that one
            os.mkdir(name, 0o755, dir_fd=parent)
        child = self._open(parent, name, _READABLE)
        if self._owner is not None:
            os.fchown(child, *self._owner)
        return child

    def _replace(self, parent: int, name: str, data: bytes, path: str) -> bool:
        kept = mode_of_regular(parent, name, path)
        temporary = f".{secrets.token_hex(8)}.tmp"
        fd = self._open(parent, temporary, _NEW_FILE, 0o600)
        try:
            try:
                fill(fd, data, 0o644 if kept is None else kept, self._owner)
            finally:
                os.close(fd)
            os.replace(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
        except BaseException:
            with suppress(OSError):  # the first failure is the one to report
                os.unlink(temporary, dir_fd=parent)
            raise
        os.fsync(parent)
        return kept is None
