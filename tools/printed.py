"""What a program printed, as a person would have seen it: no escapes, nothing written over."""

from __future__ import annotations

import re

# ECMA-48: OSC and its like up to BEL or ST, CSI, then the two-character escapes.
_ESCAPES = re.compile(
    r"\x1b[\]PX^_][^\x07\x1b]*+(?:\x07|\x1b\\)?"
    r"|(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]?"
    r"|\x1b[ -/]*+[0-~]?"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printed(text: str) -> str:
    """`text` without terminal escapes and controls; of a line written over, its last state."""
    bare = _ESCAPES.sub("", text).replace("\r\n", "\n")
    lines = (line.rstrip("\r").rpartition("\r")[2] for line in bare.split("\n"))
    return _CONTROLS.sub("", "\n".join(lines))
