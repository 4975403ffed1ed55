"""What admins decide, made from the settings: the live rules, the house behind `/treadle`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bot import words
from bot.admin import explain
from bot.admin.explain import Naming
from bot.admin.live import Floor, Live, Setting
from bot.agent.entries import Entry, ToolCall, User
from bot.config import Settings
from bot.runs.health import Health
from bot.runs.turns import Turns
from bot.shell import Shell
from bot.storage.audit import Audit
from bot.storage.database import HEAD
from bot.storage.rules import Rules
from bot.storage.writer import Writer


def floor_of(settings: Settings) -> Floor:
    """What the file says."""

    def setting(which: Setting, channel: str) -> str:
        return str(getattr(settings.for_channel(channel), which.value))

    return Floor(settings.rules, settings.access.slack_may_loosen, setting)


async def open_live(settings: Settings, writer: Writer, audit: Audit) -> Live:
    """The rules in force. Raises StorageError if those made in Slack cannot be read."""
    live = Live(floor_of(settings), Rules(writer, audit=audit))
    await live.load()
    return live


def explaining(
    live: Live, names: Mapping[str, str], describe: Callable[[ToolCall], str]
) -> Callable[[Sequence[Entry], str], str]:
    """Explains the last refusal that somebody got in a thread, to those who read it there."""

    def why(entries: Sequence[Entry], user: str) -> str:
        found = explain.last_refusal(entries, user)
        if found is None:
            return words.nothing_refused_here()
        people = {entry.author: entry.name for entry in entries if isinstance(entry, User)}
        naming = Naming(lambda channel: f"<#{channel}>", lambda person: people.get(person, person))
        tool = names.get(found.call.name, found.call.name)
        gist = describe(found.call)
        return " ".join(explain.why(found, tool, gist, user, live.book, naming))

    return why


@dataclass(frozen=True, slots=True)
class Status:
    """How things are, for those who ask."""

    settings: Settings
    model: str
    health: Health
    shell: Shell
    turns: Turns

    async def lines(self, *, whole: bool) -> Sequence[str]:
        """Model, sandbox, running turns, database; one line each, with reasons in the `whole`."""
        health, path = self.health, self.settings.database_path
        running = await self.turns.running()
        waiting = sum(turn.waits for turn in running)
        sandbox = self.shell.sandbox
        held = sandbox.confinement.name if sandbox is not None else ""
        why = self.shell.off if whole else ""
        return [
            words.status_model(
                self.model,
                replied=health.replied_at,
                failed=health.failed_at,
                problem=health.problem if whole else "",
            ),
            words.status_sandbox(held, missed=self.shell.missed, why=why),
            words.status_turns(len(running) - waiting, waiting),
            words.status_database(path.name if path else "PostgreSQL", HEAD),
        ]
