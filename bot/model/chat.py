"""`bot.agent.ports.Model` on AsyncOpenAI."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bot import words
from bot.agent import context
from bot.agent.dialects.base import ONLY_REASONING, Dialect, Parsed
from bot.agent.dialects.detect import Read, looks_like_action, read
from bot.agent.dialects.thinking import ThinkingReader
from bot.agent.entries import Entry, ModelReply, Usage
from bot.agent.ports import ToolSpec
from bot.agent.prompt import Facts
from bot.agent.shown import Show
from bot.errors import ModelError, ModelRefused, ModelUnavailable
from bot.model.collected import Collected, Whole, new_call_id
from bot.model.endpoint import Endpoint
from bot.model.failures import check_kind, translated
from bot.model.knowledge import DIALECT, Knowledge, Remembered
from bot.model.patience import Patience
from bot.model.requests import Asking, lesson
from bot.model.shown import Shown

if TYPE_CHECKING:
    import openai

log = logging.getLogger(__name__)

CUT_STREAM_TRIES = 3


class ChatModel:
    """A model behind a chat-completions endpoint, in whichever dialect it can be spoken to.

    Rate limits, 5xx, lost connections and streams that end early are tried again. What an endpoint
    refuses is left out, and remembered in `knowledge`.
    """

    def __init__(self, endpoint: Endpoint, knowledge: Knowledge | None = None) -> None:
        self._endpoint = endpoint
        self._knowledge: Knowledge = knowledge or Remembered()
        self._client: openai.AsyncOpenAI | None = None
        self._opening = asyncio.Lock()

    @property
    def name(self) -> str:
        return self._endpoint.model

    @property
    def endpoint(self) -> Endpoint:
        return self._endpoint

    def remember_in(self, knowledge: Knowledge) -> None:
        """Keep what is found out from now on, once there is a place for it."""
        self._knowledge = knowledge

    def watched(self, show: Show) -> _Watched:
        """The same model; `show` gets each reply as it arrives."""
        return _Watched(self, show)

    async def warm(self) -> None:
        """Import the client library beside other waiting: it takes half a second."""
        await self._connected()

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()

    async def reply(
        self, facts: Facts, entries: Sequence[Entry], specs: Sequence[ToolSpec]
    ) -> ModelReply:
        return await self.reply_shown(facts, entries, specs, None)

    async def reply_shown(
        self,
        facts: Facts,
        entries: Sequence[Entry],
        specs: Sequence[ToolSpec],
        show: Show | None,
    ) -> ModelReply:
        """As `reply`; `show` gets what can be shown of it, and None when that is void."""
        asking = Asking(self._endpoint, facts, entries, specs)
        known = dict(await self._knowledge.read(self._endpoint.address, self.name))
        began = time.monotonic()
        patience = Patience(self._endpoint.retries, self._endpoint.first_pause)
        streams: list[Collected] = []
        try:
            whole = await self._whole(asking, known, show, patience, streams)
            dialect = asking.dialect(known)
            found = _read(dialect, whole, asking)
        except ModelError as error:
            _count(error, streams)
            raise
        except Exception as error:
            raise _count(translated(error, self._endpoint), streams) from error
        reply = _reply(self.name, whole, found, time.monotonic() - began - patience.waited)
        reply = replace(reply, wasted=_wasted(whole, streams[:-1]))
        if self._endpoint.dialect != "auto" or dialect.name != "native":
            return reply
        return await self._noticed(reply, known, entries)

    async def _connected(self) -> openai.AsyncOpenAI:
        """The one client; whoever asks while it is being made waits for it."""
        async with self._opening:
            if self._client is None:
                self._client = await asyncio.to_thread(_open_client, self._endpoint)
            return self._client

    async def _whole(
        self,
        asking: Asking,
        known: dict[str, str],
        show: Show | None,
        patience: Patience,
        streams: list[Collected],
    ) -> Whole:
        """The reply, after as many calls as it needs. `known` grows by what refusals teach, and
        `streams` by what came of each call."""
        import openai

        while True:
            request = asking.request(known)
            shown = Shown(show, ThinkingReader(asking.dialect(known).reader()))
            try:
                collected = await self._stream(request, shown)
            except openai.APIError as error:
                found = lesson(error, request, self._endpoint.dialect)
                if found is not None and known.get(found[0]) != found[1]:
                    await self._learn(known, *found)
                elif not await patience.rest(error):
                    raise
                continue
            streams.append(collected)
            if collected.complete:
                return collected.whole()
            if len(streams) == CUT_STREAM_TRIES:
                raise collected.broken or ModelUnavailable(words.model_cut_stream())
            shown.void()

    async def _stream(self, request: Mapping[str, Any], shown: Shown) -> Collected:
        import openai

        collected = Collected()
        client = await self._connected()
        # As plain objects: the library's own for each message and chunk cost much of a turn's CPU.
        stream = await client.post(
            "/chat/completions",
            body=request,
            cast_to=object,
            stream=True,
            stream_cls=openai.AsyncStream[object],
        )
        try:
            async with stream:
                async for chunk in stream:
                    said = collected.add(chunk)
                    shown.add(said.reasoning, said.text)
        except (openai.APIError, json.JSONDecodeError, UnicodeDecodeError) as error:
            log.info("the stream of %s broke off: %s", self.name, error)
            collected.finish = ""  # cut: whatever came is not a reply
            cut = isinstance(error, openai.APIConnectionError)
            collected.broken = None if cut else error
        if not collected.chunks and collected.broken is None:
            check_kind(stream.response.headers.get("content-type", ""), self._endpoint)
        if collected.complete:
            shown.end()
        elif collected.finish:
            log.info("%s ended its reply for %.100r", self.name, collected.finish)
        return collected

    async def _learn(self, known: dict[str, str], fact: str, value: str) -> None:
        log.info("%s at %s: %s = %s", self.name, self._endpoint.address, fact, value)
        known[fact] = value
        await self._knowledge.learn(self._endpoint.address, self.name, fact, value)

    async def _noticed(
        self, reply: ModelReply, known: dict[str, str], entries: Sequence[Entry]
    ) -> ModelReply:
        """Under `auto`, a model that wrote its call out twice is spoken to as it speaks."""
        if not reply.calls or reply.dialect == "native":
            return reply
        if any(
            isinstance(entry, ModelReply)
            and entry.written
            and (entry.model, entry.dialect) == (reply.model, reply.dialect)
            for entry in entries
        ):
            await self._learn(known, DIALECT, reply.dialect)
        return replace(reply, written=True)


def _open_client(end: Endpoint) -> openai.AsyncOpenAI:
    import openai

    return openai.AsyncOpenAI(
        api_key=end.api_key or "none",
        base_url=end.base_url,
        max_retries=0,  # see `bot.model.patience`
        timeout=openai.Timeout(end.read_timeout, connect=end.connect_timeout),
        # On aiohttp, which Slack's side uses too: a third of the CPU with 100 calls at once.
        http_client=openai.DefaultAioHttpClient(),
    )


@dataclass(frozen=True, slots=True)
class _Watched:
    """`bot.agent.ports.Model` that shows its replies as they arrive."""

    model: ChatModel
    show: Show

    @property
    def name(self) -> str:
        return self.model.name

    async def reply(
        self, facts: Facts, entries: Sequence[Entry], specs: Sequence[ToolSpec]
    ) -> ModelReply:
        show = self.show if specs else None  # without tools it is not part of the conversation
        return await self.model.reply_shown(facts, entries, specs, show)


def _count(error: Exception, streams: Sequence[Collected]) -> Exception:
    """The error, which says what of a reply came before it."""
    if isinstance(error, ModelError):
        used = [stream.usage for stream in streams]
        error.answered = sum(stream.chunks > 0 for stream in streams)
        error.tokens = (sum(u.input_tokens for u in used), sum(u.output_tokens for u in used))
    return error


def _wasted(whole: Whole, cut: Sequence[Collected]) -> Usage:
    """What the calls before this reply used, whose streams broke off: mostly before any count."""
    came = [stream for stream in cut if stream.chunks]
    return Usage(
        sum(stream.usage.input_tokens or whole.usage.input_tokens for stream in came),
        sum(stream.usage.output_tokens or context.tokens(stream.text) for stream in came),
    )


def _read(dialect: Dialect, whole: Whole, asking: Asking) -> Read:
    """The reply as read. Raises ModelRefused where an action was cut off."""
    if whole.calls:
        return Read(Parsed(whole.text, whole.calls), "native")
    if not whole.text:
        return Read(Parsed(problem=ONLY_REASONING), dialect.name)
    if whole.cut_off and dialect.sends_tools and looks_like_action(whole.text):
        raise ModelRefused(words.model_cut_off())
    found = read(dialect, whole.text, asking.specs, asking.entries, cut_off=whole.cut_off)
    calls = tuple(replace(call, id=new_call_id()) for call in found.parsed.calls)
    return found._replace(parsed=replace(found.parsed, calls=calls))


def _reply(model: str, whole: Whole, found: Read, seconds: float) -> ModelReply:
    parsed = found.parsed
    return ModelReply(
        model=model,
        thought=parsed.thought,
        calls=parsed.calls,
        answer=parsed.answer,
        reasoning=whole.reasoning,
        reasoning_field=whole.reasoning_field,
        usage=whole.usage,
        cut_off=whole.cut_off and parsed.answer is not None,
        seconds=seconds,
        dialect=found.dialect,
        raw=parsed.kept if found.dialect != "native" or parsed.problem else "",
        problem=parsed.problem,
    )
