"""Errors whose text is for the model, drawn as a map.

ToolError                    an observation: what went wrong and what to try next
├── BadArguments             the arguments of the call do not fit the tool
├── OutsideWorkspace         the path leaves the workspace, or could
├── NotFound                 there is nothing under that name
├── NotAllowed               it is there, and must not or cannot be used this way
├── Unreachable              another host did not answer, or not as needed
├── WorkspaceUnavailable     the workspace directory itself cannot be used; the operator must look
└── SandboxUnavailable       no command can be run on this host; the operator must look

ToolDefinitionError          for the author or operator: a tool is written or configured wrongly
"""

from __future__ import annotations


class ToolError(Exception):
    """Base of every failure that the model is told of; the text says what to try next."""


class BadArguments(ToolError):
    """The arguments of a call are unreadable, incomplete or of the wrong type."""


class OutsideWorkspace(ToolError):
    """The path leads out of the workspace, or through something that could."""


class NotFound(ToolError):
    """There is no such file or directory."""


class NotAllowed(ToolError):
    """The file or the operation is refused: kind, size, encoding, permission, space."""


class Unreachable(ToolError):
    """Another host gave no usable answer."""


class WorkspaceUnavailable(ToolError):
    """The workspace directory cannot be opened or made."""


class SandboxUnavailable(ToolError):
    """A command cannot be held in on this host, so it is not run at all."""


class ToolDefinitionError(Exception):
    """A tool cannot be registered; the text names the tool, what is wrong and what is right."""
