"""A chat-completions model that takes a fixed time, streamed, in a process of its own.

A question that says "multiply" gets `calls` calls of `calculate`, one after the other, before its
answer. Every text holds the question's number, so that an answer in the wrong thread is noticed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import TypeAlias

from aiohttp import web

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"

_NUMBER = re.compile(r"question (\d+)")


class FixedModel:
    """Answers each request after `seconds`, in `chunks` parts spread evenly over them."""

    def __init__(self, seconds: float, chunks: int, calls: int) -> None:
        self._seconds, self._chunks, self._calls = seconds, chunks, calls

    async def complete(self, request: web.Request) -> web.StreamResponse:
        loop = asyncio.get_running_loop()
        began = loop.time()
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        parts = list(_parts(await request.json(), self._chunks, self._calls))
        await response.prepare(request)
        for number, part in enumerate(parts, start=1):
            due = began + self._seconds * number / len(parts)
            await asyncio.sleep(due - loop.time())
            await response.write(part)
        return response


def _parts(body: Mapping[str, object], chunks: int, calls: int) -> Iterator[bytes]:
    """The stream's events; the last part also says how it ended and what it cost."""
    messages = body["messages"]
    assert isinstance(messages, list)
    asked = next(m["content"] for m in reversed(messages) if m["role"] == "user")
    found = _NUMBER.search(asked)
    assert found is not None, "the question has no number"
    number = found[1]
    since = takewhile(lambda message: message["role"] != "user", reversed(messages))
    done = sum(message["role"] == "tool" for message in since)
    if "multiply" in asked and done < calls:
        text, finish = f"I multiply for question {number}.", "tool_calls"
    else:
        text, finish = f"Answer {number}: this is what the model says in about a line.", "stop"
    size = -(-len(text) // (chunks - 1))
    for start in range(0, len(text), size):
        yield _event({"content": text[start : start + size]})
    end = b""
    if finish == "tool_calls":
        function = {
            "name": "calculate",
            "arguments": json.dumps({"expression": f"{17 + done} * 23"}),
        }
        end += _event(
            {"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]}
        )
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    yield end + _event({}, finish) + _event(None, usage=usage) + b"data: [DONE]\n\n"


def _event(delta: Json, finish: str | None = None, usage: Json = None) -> bytes:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    chunk = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "fixed",
        "choices": choices,
        "usage": usage,
    }
    return f"data: {json.dumps(chunk)}\n\n".encode()


async def serve(seconds: float, chunks: int, calls: int) -> None:
    app = web.Application()
    app.router.add_post("/v1/chat/completions", FixedModel(seconds, chunks, calls).complete)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(json.dumps({"base_url": f"http://127.0.0.1:{runner.addresses[0][1]}/v1"}), flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--chunks", type=int, required=True)
    parser.add_argument("--calls", type=int, default=1)
    given = parser.parse_args()
    asyncio.run(serve(given.seconds, given.chunks, given.calls))
