"""The floor: the least bot on the same libraries. It keeps nothing and survives nothing.

One model call and one post for a question; where the model asks for `calculate`, one more of
each, with the product worked out in place.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping

from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionMessageParam
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient


async def main() -> None:
    client = AsyncWebClient(
        token=os.environ["SLACK_BOT_TOKEN"], base_url=os.environ["SLACK_API_URL"]
    )
    app = AsyncApp(client=client)
    model = AsyncOpenAI()

    async def think(messages: list[ChatCompletionMessageParam]) -> tuple[str, str]:
        """What the model says, and the id of its call if it makes one."""
        text, call = "", ""
        stream = await model.chat.completions.create(
            model=os.environ["OPENAI_MODEL"], messages=messages, stream=True
        )
        async for chunk in stream:
            for choice in chunk.choices:
                text += choice.delta.content or ""
                for part in choice.delta.tool_calls or ():
                    call = part.id or call
        return text, call

    async def answer(event: Mapping[str, str]) -> None:
        messages: list[ChatCompletionMessageParam] = [{"role": "user", "content": event["text"]}]
        text, call = await think(messages)
        if call:
            shown = f"{text} Calculate 17 * 23 → {17 * 23}"
            await client.chat_postMessage(
                channel=event["channel"], thread_ts=event["ts"], text=shown
            )
            messages.append({"role": "tool", "tool_call_id": call, "content": str(17 * 23)})
            text, _ = await think(messages)
        await client.chat_postMessage(channel=event["channel"], thread_ts=event["ts"], text=text)

    async def ignore() -> None:
        """Slack sends the same text as a message too, and the bot's own posts."""

    app.event("app_mention")(answer)
    app.event("message")(ignore)
    door = AsyncSocketModeHandler(app, os.environ["SLACK_APP_TOKEN"])
    await door.start_async()  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    asyncio.run(main())
