"""The host and the database, and what this release has not."""

from __future__ import annotations


def home_not_writable(home: object, why: str) -> str:
    return (
        f"Treadle cannot write to its home {home} ({why}). "
        "Make it writable or set TREADLE_HOME to a directory that is."
    )


def database_busy(home: object, holder: str) -> str:
    who = holder or "another process"
    return (
        f"{home} is already in use by Treadle ({who}). Stop that one first, or give this one "
        "another TREADLE_HOME."
    )


def database_unusable(path: object, why: str) -> str:
    return f"The database {path} cannot be used ({why}). Restore it from a backup or move it away."


def database_absent(path: object) -> str:
    return f"There is no database at {path} yet: nothing has been done here. Start Treadle first."


def database_older(found: str, known: str) -> str:
    return (
        f"The database has another schema ({found}) than this release ({known}). Start Treadle "
        "once, which brings it up to date, or run the release that wrote it."
    )


def server_unusable(why: str) -> str:
    return (
        f"The PostgreSQL database cannot be used ({why}). Check that its server runs and what "
        "TREADLE_DATABASE_URL says."
    )


def server_address_unclear() -> str:
    return (
        "TREADLE_DATABASE_URL holds something that PostgreSQL does not know. It should look like "
        "postgresql://user:password@host/name?sslmode=require, with % written as %25."
    )


def server_packages_missing() -> str:
    return (
        "TREADLE_DATABASE_URL names PostgreSQL, and the packages for it are not installed. Install "
        "Treadle with its cluster extra: pip install 'treadle[cluster]'."
    )


def database_newer(found: str, known: str) -> str:
    return (
        f"The database was written by a newer release of Treadle (schema {found}; this one knows "
        f"{known}). Run that release."
    )


def database_failed(why: str) -> str:
    return f"The database did not take a write ({why}). Check the disk and its free space."


def database_away(why: str) -> str:
    return (
        f"The database could not be reached ({why}), so nothing is known to be written. Treadle "
        "goes on by itself when it is back; check the server and TREADLE_DATABASE_URL."
    )


def fenced(thread: str) -> str:
    return f"Another runner has taken over the thread {thread}; this one stops."


def record_unknown(kind: object, version: object) -> str:
    return (
        f"This conversation holds a record ({kind}, version {version}) that this release of "
        "Treadle cannot read. Run the release that wrote it, or start a new thread."
    )


def record_damaged(kind: str) -> str:
    which = f"damaged {kind} record" if kind else "damaged record"
    return f"This conversation holds a {which}. Start a new thread."


def item_changed(thread: str) -> str:
    return (
        f"A message in thread {thread} was completed while it was being judged; it is read again."
    )


def cannot_listen(host: str, port: int, why: str) -> str:
    reason = why.rpartition(": ")[2]  # asyncio tells the address once more
    return f"Treadle cannot listen on {host}:{port} ({reason}). Name another port with --port."


def demo_home_unusable(home: object, why: str) -> str:
    return (
        f"The demo cannot keep its state in {home} ({why}). "
        "Start it in a directory where you may write."
    )


TOOLS_NOT_YET = ("share_file",)


def tool_not_yet(name: str) -> str:
    return f"{name} is not part of this release."


def shell_unavailable(reason: str) -> str:
    return (
        "run_command is off: no sandbox is available on this host. Commands are never run without "
        f"one. {reason}"
    )


def shell_off() -> str:
    return 'run_command is switched off here: [sandbox] mode is "off".'


def workspace_unusable(root: object, why: str) -> str:
    return f"The workspace directory {root} cannot be used: {why} Set TREADLE_WORKSPACE to another."


def workspace_marker() -> str:
    return (
        "Agents write in the directories beside this file. Treadle does not start in them and "
        "takes no settings or code from there.\n"
    )
