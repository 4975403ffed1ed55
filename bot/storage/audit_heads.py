"""The newest seal of each chain, kept beside the database: what is cut off there is missed here."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bot import words
from bot.audit.chain import Head
from bot.errors import StorageError

SUFFIX = ".head"


@dataclass(frozen=True, slots=True)
class HeadFiles:
    """One small file for each chain in a directory; only their owner can read them."""

    directory: Path

    def write(self, head: Head) -> None:
        """Replace the chain's file, safely: a crash leaves the old or the new one.

        Raises StorageError if the directory cannot be written.
        """
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(dir=self.directory)  # 0600, and no link is followed
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(f"{head}\n")
                file.flush()
                os.fsync(descriptor)
            Path(name).replace(self._path(head.chain))
            directory = os.open(self.directory, os.O_RDONLY)
            try:
                os.fsync(directory)
            finally:
                os.close(directory)
        except OSError as error:
            raise StorageError(words.audit_head_unwritten(self.directory, _why(error))) from error

    def read(self) -> Sequence[Head]:
        """Every recorded head; none where nothing was ever recorded.

        Raises StorageError for a file that cannot be read or holds something else.
        """
        found = []
        for path in sorted(self.directory.glob(f"*{SUFFIX}")):
            try:
                head = Head.read(path.read_text("utf-8"))
            except OSError as error:
                raise StorageError(words.audit_head_unreadable(path, _why(error))) from error
            except ValueError as error:
                raise StorageError(words.audit_head_unreadable(path, "it is damaged")) from error
            if path.name != self._path(head.chain).name:
                raise StorageError(words.audit_head_unreadable(path, "it is another chain's"))
            found.append(head)
        return found

    def forget(self, chains: Iterable[str]) -> None:
        """Remove the files of chains that retention has removed whole."""
        for chain in chains:
            self._path(chain).unlink(missing_ok=True)

    def _path(self, chain: str) -> Path:
        return self.directory / f"{chain}{SUFFIX}"


def _why(error: OSError) -> str:
    return error.strerror or type(error).__name__
