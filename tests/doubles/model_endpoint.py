"""A chat-completions endpoint on loopback: it replies from a script and keeps what it is sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from aiohttp import web

Request: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Say:
    """A reply. `calls` are (name, arguments as JSON text).

    It comes after `delay` seconds and not before `gate` is set, which the test does.
    """

    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    delay: float = 0.0
    gate: asyncio.Event | None = None
    finish: str | None = None
    reasoning: str = ""
    usage: tuple[int, int] = (10, 5)
    cut: bool = False
    chunk: int = 1000


@dataclass(frozen=True)
class Refuse:
    """An HTTP error instead of a reply."""

    status: int
    body: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Raw:
    """Any body at all, as an endpoint that is not quite right would send it."""

    body: bytes | str
    content_type: str = "text/event-stream"
    headers: dict[str, str] = field(default_factory=dict)


Reply: TypeAlias = Say | Refuse | Raw
Script: TypeAlias = Sequence[Reply] | Callable[[Request], Reply]


class ModelEndpoint:
    """Serves `/v1/chat/completions`; `requests` holds every request body in order."""

    def __init__(self, script: Script = ()) -> None:
        self.requests: list[Request] = []
        self.play(script)
        self._runner: web.AppRunner | None = None
        self._asked = asyncio.Condition()
        self._broken_off = asyncio.Semaphore(0)
        self.base_url = ""

    def play(self, script: Script) -> None:
        """Replace the script."""
        if callable(script):
            self._next = script
        else:
            left = list(script)
            self._next = lambda _: (
                left.pop(0)
                if left
                else Refuse(500, {"error": "script ended"}, {"x-should-retry": "false"})
            )

    async def start(self) -> None:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_post("/v1/chat/completions", self._complete)
        self._runner = web.AppRunner(
            app, access_log=None, shutdown_timeout=0.5, handler_cancellation=True
        )
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.base_url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"

    async def asked(self, times: int = 1, timeout: float = 15.0) -> Request:
        """The newest request, as soon as there were so many."""
        async with asyncio.timeout(timeout), self._asked:
            await self._asked.wait_for(lambda: len(self.requests) >= times)
        return self.requests[-1]

    async def broken_off(self, timeout: float) -> None:
        """Return as soon as the client has hung up on a reply that was not there yet."""
        async with asyncio.timeout(timeout):
            await self._broken_off.acquire()

    async def stop(self) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.requests.append(body)
        async with self._asked:
            self._asked.notify_all()
        reply = self._next(body)
        if isinstance(reply, Refuse):
            return web.json_response(reply.body, status=reply.status, headers=reply.headers)
        if isinstance(reply, Raw):
            headers = {"Content-Type": reply.content_type, **reply.headers}
            body = reply.body.encode() if isinstance(reply.body, str) else reply.body
            return web.Response(body=body, headers=headers)
        try:
            await asyncio.sleep(reply.delay)
            if reply.gate is not None:
                await reply.gate.wait()
        except asyncio.CancelledError:
            self._broken_off.release()
            raise
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        try:
            await self._write(request, response, reply, str(body.get("model")))
        except ConnectionResetError:
            self._broken_off.release()
        return response

    async def _write(
        self, request: web.Request, response: web.StreamResponse, reply: Say, model: str
    ) -> None:
        await response.prepare(request)
        for chunk in _chunks(reply, model):
            await response.write(f"data: {json.dumps(chunk)}\n\n".encode())
        if reply.cut:
            assert request.transport is not None
            request.transport.close()
        else:
            await response.write(b"data: [DONE]\n\n")


def _chunks(reply: Say, model: str) -> list[dict[str, Any]]:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {
            "id": "c1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": model,
            "choices": [choice],
        }

    chunks = [chunk({"role": "assistant", "content": ""})]
    if reply.reasoning:
        chunks.append(chunk({"reasoning_content": reply.reasoning}))
    for start in range(0, len(reply.text), reply.chunk):
        chunks.append(chunk({"content": reply.text[start : start + reply.chunk]}))
    for index, (name, arguments) in enumerate(reply.calls):
        function = {"name": name, "arguments": ""}
        call = {"index": index, "id": f"call_{index}", "type": "function", "function": function}
        chunks.append(chunk({"tool_calls": [call]}))
        part = {"index": index, "function": {"arguments": arguments}}
        chunks.append(chunk({"tool_calls": [part]}))
    if reply.cut:
        return chunks
    chunks.append(chunk({}, reply.finish or ("tool_calls" if reply.calls else "stop")))
    prompt, completion = reply.usage
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
    last = chunk({})
    last.update(choices=[], usage=usage)
    chunks.append(last)
    return chunks
