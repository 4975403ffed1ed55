"""The journal's entries: one immutable record each.

The journal is the state: whatever a thread needs to continue stands in its entries. How they are
stored says `bot.agent.records`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from bot.agent.consent import Answer as Answer
from bot.agent.consent import ApprovalAnswered as ApprovalAnswered
from bot.agent.consent import ApprovalAsked as ApprovalAsked
from bot.agent.consent import Grant as Grant
from bot.policy import Verdict


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call as the model wrote it; `arguments` is raw text: bad JSON must be answerable."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call, as the endpoint counted them."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0

    def plus(self, more: Usage) -> Usage:
        """Both together."""
        return Usage(
            self.input_tokens + more.input_tokens,
            self.output_tokens + more.output_tokens,
            self.cached_tokens + more.cached_tokens,
            self.reasoning_tokens + more.reasoning_tokens,
        )


@dataclass(frozen=True, slots=True)
class Quote:
    """A message that was not for the bot, taken along as data; `at` is its Slack `ts`."""

    author: str
    name: str
    text: str
    at: str


@dataclass(frozen=True, slots=True)
class User:
    """A message that the bot is to answer.

    `author` is a user id, `name` what people call them; `at` is the message's Slack `ts` (order and
    coverage go by it).
    """

    text: str
    author: str
    name: str
    at: str
    role: str = "member"


@dataclass(frozen=True, slots=True)
class Overheard:
    """Messages of the thread that were not for the bot, oldest first."""

    quotes: tuple[Quote, ...]


@dataclass(frozen=True, slots=True)
class Edited:
    """A message already taken was changed (`text`) or deleted (`text` is None) afterwards.

    `author` and `role` are of whoever changed it, at that time: a change can say anything.
    """

    at: str
    text: str | None
    author: str = ""
    role: str = "member"


@dataclass(frozen=True, slots=True)
class Requoted:
    """A message that was not for the bot was changed (`text`) or deleted (`text` is None)."""

    at: str
    text: str | None


@dataclass(frozen=True, slots=True)
class ModelReply:
    """One reply of the model: what it said, what it wants to call, what it cost.

    `thought` is the text before the calls; `answer` is set when the reply has no calls.
    `reasoning` is what came apart from both, kept because some endpoints want it back verbatim
    in the field it came in. `seconds` is how long the model took.
    `dialect` is the format it was read in and, for the text formats, `raw` the part of its text
    that counts, verbatim: so that it is sent back byte for byte. `problem` says why the reply
    could not be read; then it has neither calls nor an answer. `written` says that the call came
    as text where function calling was offered (dialect `auto`). `wasted` is what calls before it
    used whose streams broke off.
    """

    model: str
    thought: str = ""
    calls: tuple[ToolCall, ...] = ()
    answer: str | None = None
    reasoning: str = ""
    reasoning_field: str = ""
    usage: Usage = field(default_factory=Usage)
    cut_off: bool = False
    seconds: float = 0.0
    dialect: str = "native"
    raw: str = ""
    problem: str = ""
    written: bool = False
    wasted: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Decided:
    """The policy's decision about one call, with the rule that made it."""

    call_id: str
    verdict: Verdict
    reason: str = ""
    rule: str = ""
    digest: str = ""
    """Of the tool, its checked arguments and the workspace, where a person is to be asked."""
    heard: tuple[str, ...] = ()
    """The ids of those whose messages were taken, where the call is not simply allowed."""
    about: str = ""
    """The one of them for whom it is so."""
    before: str = ""
    """Of the file that the call would change, as it is now, where a person is to be asked."""
    offer: Grant | None = None
    """Then also what a yes for the whole thread would cover; None where there can be none."""


@dataclass(frozen=True, slots=True)
class Told:
    """A line about the message `at`, which waits for the answer to a question."""

    at: str


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """Written before a tool runs: a started call is never started again."""

    call_id: str


@dataclass(frozen=True, slots=True)
class Observation:
    """What a call returned, as the model sees it; `seconds` is how long it took."""

    call_id: str
    text: str
    is_error: bool = False
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Resumed:
    """A process took the thread up again after another had left it unfinished."""

    owner: str


@dataclass(frozen=True, slots=True)
class FilesSeen:
    """The workspace's file names when the thread began: what a prompt says must not change."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """What stands before journal position `upto`, folded into `text` for the model.

    The positions in `kept` are still shown verbatim: the first question, and the messages of the
    turn that was going on. `usage` and `seconds` are of the model call that made the text; without
    one (`model` is empty) it was put together from the entries.
    """

    text: str
    upto: int
    kept: tuple[int, ...] = ()
    model: str = ""
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Warned:
    """The model was told that it goes round in circles."""

    text: str


@dataclass(frozen=True, slots=True)
class Noted:
    """A line for people, shown under the turn's ending."""

    text: str


@dataclass(frozen=True, slots=True)
class Answered:
    """The turn ended with an answer; `covers` lists the `ts` of the messages it answers."""

    covers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stopped:
    """Somebody stopped the turn: `by` is their name, `author` their id where it is known.

    Or, where `parts` is not 0, the delivery of its answer: of so many messages, `posted` stand.
    """

    covers: tuple[str, ...]
    by: str
    posted: int = 0
    parts: int = 0
    author: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """The turn ended without an answer; `text` is the sentence for the thread."""

    covers: tuple[str, ...]
    text: str
    error_id: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """A message is not answered (who, where, too old); an empty `text` says nothing.

    `author` wrote it. It does not end a turn: another person's may be going on. `why` is the reason
    where the text does not say it.
    """

    covers: tuple[str, ...]
    text: str
    author: str = ""
    why: str = ""


Entry: TypeAlias = (
    User | Overheard | Edited | Requoted | ModelReply | Decided | ToolStarted | Observation
    | Resumed | Answered | Stopped | Failed | Refused | FilesSeen | Summary | Warned
    | ApprovalAsked | ApprovalAnswered | Told | Noted
)  # fmt: skip


def open_turn(entries: Sequence[Entry]) -> Sequence[Entry]:
    """The entries since the last ending: empty when nothing waits for an answer."""
    for index in range(len(entries) - 1, -1, -1):
        if isinstance(entries[index], Answered | Stopped | Failed):
            return entries[index + 1 :]
    return entries


def covers(turn: Sequence[Entry]) -> tuple[str, ...]:
    """The `ts` of the messages in a turn, which its ending must list."""
    return tuple(entry.at for entry in turn if isinstance(entry, User))
