"""What must stand in a thread, computed from its journal. Pure.

Every journal entry that people are to see is one piece; a message shows one or several pieces, and
which ones were posted is all that has to be remembered.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from bot import words
from bot.agent.approvals import pending
from bot.agent.entries import (
    Answered,
    ApprovalAsked,
    Entry,
    Failed,
    ModelReply,
    Observation,
    Refused,
    Stopped,
    Told,
    ToolCall,
    open_turn,
)
from bot.agent.work import stop_notice
from bot.inert import inert
from bot.slack.blocks import (
    Block,
    Element,
    bold,
    clip,
    code,
    escape,
    fixed,
    plain,
    section,
    units,
    visible_text,
)
from bot.slack.card import pretty, question_card
from bot.slack.markdown import RenderedMessage, notification, to_messages

THOUGHT_LIMIT = 400
ARGUMENT_LIMIT = 120
GIST_LIMIT = 160
FULL_LIMIT = 3000
STEPS_LIMIT = 6000
"""Characters of steps in one message, well under what Slack refuses."""
TEXT_LIMIT = 3000
PLAIN_LIMIT = 3000
"""Characters of a message that has no blocks; Slack recommends at most 4,000."""

Describe = Callable[[ToolCall], str]
"""A call's key argument, in short."""


class Verbosity(Enum):
    """How much of a turn people see."""

    STEPS = "steps"
    QUIET = "quiet"
    FULL = "full"


class PieceKind(Enum):
    """What a piece is; a CALL may wait for its observations, a FINAL goes first."""

    CALL = "call"
    OBSERVATION = "observation"
    FINAL = "final"


@dataclass(frozen=True, slots=True)
class Piece:
    """One entry to be shown. `whole` says that a CALL has all its observations."""

    key: str
    kind: PieceKind
    seq: int
    whole: bool = True


def pieces(entries: Sequence[Entry], verbosity: Verbosity, start: int = 0) -> list[Piece]:
    """The pieces of the entries from position `start` on, in order."""
    result: list[Piece] = []
    for seq in range(start, len(entries)):
        entry = entries[seq]
        match entry:
            case ModelReply() if entry.calls and verbosity is not Verbosity.QUIET:
                whole = _observed(entries, seq, entry)
                result.append(Piece(f"c{seq}", PieceKind.CALL, seq, whole))
            case Observation() if verbosity is not Verbosity.QUIET:
                result.append(Piece(f"o{seq}", PieceKind.OBSERVATION, seq))
            case Answered() | Failed() | Stopped():
                result.append(Piece(f"f{seq}", PieceKind.FINAL, seq))
            case ApprovalAsked() if pending(open_turn(entries)) is entry:
                result.append(Piece(f"f{seq}", PieceKind.FINAL, seq))
            case Told():
                result.append(Piece(f"f{seq}", PieceKind.FINAL, seq))
            case Refused() if entry.text:
                result.append(Piece(f"f{seq}", PieceKind.FINAL, seq))
            case _:
                pass
    return result


def final_messages(entries: Sequence[Entry], seq: int) -> tuple[RenderedMessage, ...]:
    """The messages of an answer or a notice: one, or as many as its length needs."""
    entry = entries[seq]
    match entry:
        case Answered():
            reply = entries[seq - 1]
            assert isinstance(reply, ModelReply)
            answer = reply.answer or ""
            shown = to_messages(f"{answer}\n\n{words.cut_off()}" if reply.cut_off else answer)
            return shown or (_notice(words.nothing_visible()),)
        case ApprovalAsked():
            return (question_card(entries, seq),)
        case Stopped():
            text = stop_notice(entries, seq)
            return (RenderedMessage(notification(inert(text)), (section(plain(text)),)),)
        case Failed(text=text) | Refused(text=text):
            return (_notice(text),)
        case _:
            raise AssertionError(f"{type(entry).__name__} is not shown as a final message")


def as_text(message: RenderedMessage, limit: int = PLAIN_LIMIT) -> list[RenderedMessage]:
    """What a message's blocks show, as plain text in messages of at most `limit` characters.

    They are cut behind a line where there is one; together they hold every character.
    """
    text = visible_text(message.blocks)
    parts = []
    while len(text) > limit:
        end = text.rfind("\n", 0, limit) + 1 or limit
        parts.append(text[:end])
        text = text[end:]
    return [RenderedMessage(escape(part), ()) for part in (*parts, text)]


def final_covers(entry: Entry) -> tuple[str, ...]:
    """The `ts` of the messages that a final piece answers."""
    return entry.covers if isinstance(entry, Answered | Failed | Stopped | Refused) else ()


def steps_message(
    entries: Sequence[Entry], wanted: Sequence[Piece], verbosity: Verbosity, describe: Describe
) -> tuple[RenderedMessage, tuple[str, ...]]:
    """As many of the wanted pieces as fit into one message, and the keys of those it shows."""
    blocks: list[Block] = []
    lines: list[str] = []
    keys: list[str] = []
    size = 0
    together = {piece.key for piece in wanted}
    shown: set[str] = set()
    for piece in wanted:
        if piece.key in shown:
            continue
        group, rendered, line = _step(entries, piece, together, verbosity, describe)
        length = sum(_size(block) for block in rendered)
        if keys and (size + length > STEPS_LIMIT or len(blocks) + len(rendered) > 45):
            break
        blocks += rendered
        lines.append(line)
        keys += group
        shown |= set(group)
        size += length
    text = notification(inert("\n".join(lines)))
    return RenderedMessage(text, tuple(blocks)), tuple(keys)


def _step(
    entries: Sequence[Entry],
    piece: Piece,
    together: set[str],
    verbosity: Verbosity,
    describe: Describe,
) -> tuple[list[str], list[Block], str]:
    """A step, with those of its observations that are shown in the same message."""
    reply_seq = piece.seq if piece.kind is PieceKind.CALL else _reply_of(entries, piece.seq)
    reply = entries[reply_seq]
    assert isinstance(reply, ModelReply)
    with_call = piece.kind is PieceKind.CALL
    group = [piece.key]
    observed = _observations(entries, reply_seq)
    parts: list[Element] = []
    full: list[Block] = []
    lines: list[str] = []
    thought = _one_line(reply.thought or reply.reasoning, THOUGHT_LIMIT)
    if with_call and thought:
        parts.append(plain(thought))
        lines.append(thought)
    for call in reply.calls:
        seq, observation = observed.get(call.id, (-1, None))
        key = f"o{seq}"
        if with_call:
            seen = observation if key in together else None
            group += [key] if seen is not None else []
        elif key != piece.key:
            continue
        else:
            seen = observation
        parts += _call_line(call, seen, describe, newline=bool(parts))
        lines.append(_plain_line(call, seen, describe))
        if verbosity is Verbosity.FULL:
            full += _details(call if with_call else None, seen)
    return group, [section(*parts), *full], " · ".join(lines)


def _call_line(
    call: ToolCall, seen: Observation | None, describe: Describe, *, newline: bool
) -> list[Element]:
    icon = "🔧" if seen is None or not seen.is_error else "⚠️"
    start = "\n" if newline else ""
    line = [plain(f"{start}{icon} "), bold(words.tool_name(call.name))]
    if argument := _one_line(describe(call), ARGUMENT_LIMIT):
        line += [plain(" "), fixed(argument)]
    if seen is not None:
        line.append(plain(f"\n→ {gist(seen.text)}"))
    return line


def _plain_line(call: ToolCall, seen: Observation | None, describe: Describe) -> str:
    argument = _one_line(describe(call), ARGUMENT_LIMIT)
    line = f"{words.tool_name(call.name)} {argument}".strip()
    return f"{line} → {gist(seen.text)}" if seen is not None else line


def _details(call: ToolCall | None, seen: Observation | None) -> list[Block]:
    blocks = []
    if call is not None and call.arguments.strip() not in ("", "{}"):
        blocks.append(code(clip(pretty(call.arguments), FULL_LIMIT)))
    if seen is not None and seen.text.strip():
        blocks.append(code(clip(seen.text, FULL_LIMIT)))
    return blocks


def gist(text: str) -> str:
    """An observation in one line: its beginning, and its size if that is not all of it."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    if not lines:
        return words.empty_observation()
    short = clip(" ⏎ ".join(" ".join(line.split()) for line in lines[:3]), GIST_LIMIT)
    if len(lines) > 3 or short.endswith("…"):
        return f"{short} ({words.size(len(text.strip().splitlines()), len(text))})"
    return short


def _one_line(text: str, limit: int) -> str:
    return clip(" ".join(text.split()), limit)


def _notice(text: str) -> RenderedMessage:
    line = clip(text, TEXT_LIMIT)
    return RenderedMessage(notification(inert(line)), (section(plain(f"⚠️ {line}")),))


def _observed(entries: Sequence[Entry], seq: int, reply: ModelReply) -> bool:
    return len(_observations(entries, seq)) >= len(reply.calls)


def _observations(entries: Sequence[Entry], reply_seq: int) -> dict[str, tuple[int, Observation]]:
    """The observations of a reply's calls, by call id, with their positions."""
    found: dict[str, tuple[int, Observation]] = {}
    for seq in range(reply_seq + 1, len(entries)):
        entry = entries[seq]
        if isinstance(entry, ModelReply):
            break
        if isinstance(entry, Observation):
            found[entry.call_id] = (seq, entry)
    return found


def _reply_of(entries: Sequence[Entry], seq: int) -> int:
    return next(i for i in range(seq, -1, -1) if isinstance(entries[i], ModelReply))


def _size(block: Block) -> int:
    return units(json.dumps(_texts(block), ensure_ascii=False))


def _texts(value: object) -> list[str]:
    if isinstance(value, Mapping):
        own = value.get("text")
        found = [own] if isinstance(own, str) else []
        return found + [text for part in value.values() for text in _texts(part)]
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [text for part in value for text in _texts(part)]
    return []
