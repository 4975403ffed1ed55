"""``python -m bot.local_slack``: the stand-in in a process of its own."""

import argparse
import asyncio
import contextlib
import json
import signal
from pathlib import Path

from bot.local_slack.options import Options
from bot.local_slack.server import LocalSlack, serve_forever


def main() -> None:
    """Start, print one JSON line with the addresses and tokens, and serve until interrupted."""
    parser = argparse.ArgumentParser(prog="python -m bot.local_slack", description=main.__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--state", type=Path, default=None, help="keep the workspace in this file")
    parser.add_argument("--rate-limits", action="store_true", help="enforce Slack's rate tiers")
    parser.add_argument("--request-url", default=None, help="deliver by HTTP to this address")
    given = parser.parse_args()
    options = Options(
        port=given.port,
        state_file=given.state,
        rate_limits=given.rate_limits,
        request_url=given.request_url,
    )
    with contextlib.suppress(KeyboardInterrupt, asyncio.CancelledError):
        asyncio.run(_serve(options))


async def _serve(options: Options) -> None:
    slack = await LocalSlack.start(options)
    task = asyncio.current_task()
    if task is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    started = {
        "url": slack.base_url,
        "token": slack.options.page_token,
        "api_url": slack.api_url,
        "page_url": slack.page_url,
        "bot_token": slack.options.bot_token,
        "app_token": slack.options.app_token,
        "signing_secret": slack.options.signing_secret,
    }
    print(json.dumps(started), flush=True)
    await serve_forever(slack)


if __name__ == "__main__":
    main()
