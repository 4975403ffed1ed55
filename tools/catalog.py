"""Every tool that this release brings along."""

from __future__ import annotations

from tools.base import Tool


def builtin_tools(wikipedia_url: str = "https://en.wikipedia.org") -> tuple[Tool, ...]:
    """The tools by name; which of them can run here is decided by `tools.toolset.Toolset`."""
    # Imported here: a process that only reads settings needs none of them.
    from tools.calculator import calculate
    from tools.files import edit_file, list_dir, read_file, write_file
    from tools.search import search_files
    from tools.shell import run_command
    from tools.wikipedia import wikipedia_at

    return (
        read_file,
        write_file,
        edit_file,
        list_dir,
        search_files,
        run_command,
        calculate,
        wikipedia_at(wikipedia_url),
    )
