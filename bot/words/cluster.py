"""Several processes on one database."""

from __future__ import annotations


def work_needs_server() -> str:
    return (
        "Workers share a PostgreSQL database, and TREADLE_DATABASE_URL names none. Set it to "
        "postgresql://user:password@host/name, or use `treadle run` alone."
    )


def no_worker() -> str:
    return (
        "No worker is alive, so that messages are kept and nobody answers them. "
        "Start `treadle work`, or `treadle run` with --work."
    )


def worker_there() -> str:
    return "A worker is there again."


def taken_over(thread: str) -> str:
    return f"The thread {thread} was left by a process that is gone; this one goes on with it."


def queue_again(why: str) -> str:
    return f"The connection to the queue was lost ({why}); it is made anew."


def workspace_not_shared(root: object) -> str:
    return (
        f"The workspace directory {root} is not the one that the other workers use. Mount the same "
        "storage on every worker and set TREADLE_WORKSPACE to it; if it is meant to change, stop "
        "all workers first."
    )


def ready_work(bot: str, team: str, model: str, turns: int) -> str:
    return (
        f"Treadle works for @{bot} in {team}, on up to {turns} threads at a time, with the model "
        f"{model}. Ctrl-C stops."
    )


def found_workers(count: int) -> str:
    return f"{count} worker{' is' if count == 1 else 's are'} alive."
