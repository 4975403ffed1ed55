"""Steps as messages: thoughts, calls and observations, as many as fit into one. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from bot import words
from bot.agent.entries import Entry, ModelReply, Observation, ToolCall
from bot.inert import inert
from bot.slack.blocks import (
    Block,
    Element,
    bold,
    clip,
    code,
    fixed,
    plain,
    section,
    units,
)
from bot.slack.markdown import RenderedMessage, notification
from bot.slack.pieces import (
    FULL_LIMIT,
    STEPS_LIMIT,
    Piece,
    PieceKind,
    Verbosity,
    call_length,
    full_arguments,
    observations,
)

THOUGHT_LIMIT = 400
ARGUMENT_LIMIT = 120
GIST_LIMIT = 160

Describe = Callable[[ToolCall], str]
"""A call's key argument, in short."""


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
    """A piece, with those of its observations that are shown in the same message."""
    with_call = piece.kind is PieceKind.CALL
    reply_seq = piece.seq if with_call else _reply_of(entries, piece.seq)
    reply = entries[reply_seq]
    assert isinstance(reply, ModelReply)
    observed = observations(entries, reply_seq)
    if with_call:
        shown = _results(piece, observed, together, verbosity)
        calls = piece.calls
    else:
        shown = {id_: found for id_, found in observed.items() if found[0] == piece.seq}
        calls = tuple(call for call in reply.calls if call.id in shown)
    parts: list[Element] = []
    full: list[Block] = []
    lines: list[str] = []
    thought = one_line(reply.thought or reply.reasoning, THOUGHT_LIMIT)
    if with_call and thought and not piece.part:
        parts.append(plain(thought))
        lines.append(thought)
    for call in calls:
        _, seen = shown.get(call.id, (-1, None))
        parts += _call_line(call, seen, describe, newline=bool(parts))
        lines.append(_plain_line(call, seen, describe))
        if verbosity is Verbosity.FULL:
            full += _details(call if with_call else None, seen)
    group = [piece.key, *(f"o{seq}" for seq, _ in shown.values() if with_call)]
    return group, [section(*parts), *full], " · ".join(lines)


def _results(
    piece: Piece,
    observed: Mapping[str, tuple[int, Observation]],
    together: set[str],
    verbosity: Verbosity,
) -> dict[str, tuple[int, Observation]]:
    """The observations that are wanted and for which the message with the calls has room."""
    room = STEPS_LIMIT - sum(call_length(call, verbosity) for call in piece.calls)
    shown = {}
    for call in piece.calls:
        seq, observation = observed.get(call.id, (-1, None))
        if observation is None or f"o{seq}" not in together:
            continue
        length = min(units(observation.text), FULL_LIMIT) if verbosity is Verbosity.FULL else 0
        if length <= room:
            shown[call.id] = (seq, observation)
            room -= length
    return shown


def _call_line(
    call: ToolCall, seen: Observation | None, describe: Describe, *, newline: bool
) -> list[Element]:
    icon = "🔧" if seen is None or not seen.is_error else "⚠️"
    start = "\n" if newline else ""
    line = [plain(f"{start}{icon} "), bold(words.tool_name(call.name))]
    if argument := one_line(describe(call), ARGUMENT_LIMIT):
        line += [plain(" "), fixed(argument)]
    if seen is not None:
        line.append(plain(f"\n→ {gist(seen.text)}"))
    return line


def _plain_line(call: ToolCall, seen: Observation | None, describe: Describe) -> str:
    argument = one_line(describe(call), ARGUMENT_LIMIT)
    line = f"{words.tool_name(call.name)} {argument}".strip()
    return f"{line} → {gist(seen.text)}" if seen is not None else line


def _details(call: ToolCall | None, seen: Observation | None) -> list[Block]:
    blocks = []
    if call is not None and call.arguments.strip() not in ("", "{}"):
        blocks.append(code(full_arguments(call)))
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


def one_line(text: str, limit: int) -> str:
    """The text on one line, at most `limit` characters."""
    return clip(" ".join(text.split()), limit)


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
