"""From the kernel's error numbers to sentences that say what to do."""

from __future__ import annotations

import errno

from tools.errors import BadArguments, NotAllowed, NotFound, OutsideWorkspace, ToolError
from tools.paths import shown


def refusal(error: OSError, path: str) -> ToolError:
    """The ToolError for a failed operation on `path`, a path as the model wrote it."""
    name = shown(path)
    known = _KNOWN.get(error.errno or 0)
    if known is None:
        reason = error.strerror or type(error).__name__
        return NotAllowed(f"{name} cannot be used ({reason}); try another path.")
    kind, sentence = known
    return kind(sentence.format(name=name))


_LINK = "{name} is, or leads through, a symbolic link; links are never followed. Use the real path."
_FULL = "The disk has no room for {name}; delete files that are not needed, then try again."

_KNOWN: dict[int, tuple[type[ToolError], str]] = {
    errno.ENOENT: (NotFound, "There is no {name} in the workspace; list_dir shows what there is."),
    errno.ENOTDIR: (
        NotFound,
        "A part of {name} is a file where a directory is needed; list_dir shows what there is.",
    ),
    errno.ELOOP: (OutsideWorkspace, _LINK),
    errno.EXDEV: (
        OutsideWorkspace,
        "{name} lies on another file system than the workspace; only its own files can be used.",
    ),
    errno.ENAMETOOLONG: (
        BadArguments,
        "A name in {name} is too long for the file system; use names of at most 255 bytes.",
    ),
    errno.EACCES: (NotAllowed, "The permissions of {name} do not allow this; try another path."),
    errno.EPERM: (NotAllowed, "The permissions of {name} do not allow this; try another path."),
    errno.EROFS: (NotAllowed, "{name} is on a read-only file system; try another path."),
    errno.EISDIR: (NotAllowed, "{name} is a directory; give the path of a file."),
    errno.ENXIO: (NotAllowed, "{name} is a socket or a device, not a file; try another path."),
    errno.ENOSPC: (NotAllowed, _FULL),
    errno.EDQUOT: (NotAllowed, _FULL),
    errno.EAGAIN: (NotAllowed, "{name} changed while it was being opened; try again."),
    errno.EBADF: (
        NotAllowed,
        "The workspace was closed before {name} could be used: the run ended.",
    ),
}
