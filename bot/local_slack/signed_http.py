"""HTTP delivery: signed requests to the app's address, three seconds, redirects, no-retry."""

import asyncio
import hashlib
import hmac
import json
from urllib.parse import urlencode

import aiohttp

from bot.local_slack.delivery import Kind, Outcome, Parcel
from bot.local_slack.shapes import Json
from bot.local_slack.world import World

_MAX_REDIRECTS = 2


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """Slack's ``v0`` signature of a request body."""
    base = b"v0:" + timestamp.encode() + b":" + body
    return "v0=" + hmac.new(secret.encode(), base, hashlib.sha256).hexdigest()


class SignedHttp:
    """Posts events, interactions and slash commands to ``options.request_url``."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._session: aiohttp.ClientSession | None = None

    async def send(self, parcel: Parcel) -> Outcome:
        """One signed request; the reasons are those of ``X-Slack-Retry-Reason``."""
        options = self._world.options
        if self._session is None:
            self._session = aiohttp.ClientSession()
        body, content_type = _encoded(parcel)
        timeout = aiohttp.ClientTimeout(total=options.ack_seconds)
        try:
            async with self._session.post(
                options.request_url or "",
                data=body,
                headers=self._headers(parcel, body, content_type),
                timeout=timeout,
                max_redirects=_MAX_REDIRECTS,
            ) as response:
                return await _outcome(response)
        except TimeoutError:
            return Outcome(ok=False, reason="http_timeout")
        except aiohttp.TooManyRedirects:
            return Outcome(ok=False, reason="too_many_redirects")
        except aiohttp.ClientConnectorSSLError:
            return Outcome(ok=False, reason="ssl_error")
        except aiohttp.ClientConnectionError:
            return Outcome(ok=False, reason="connection_failed")
        except aiohttp.ClientError:
            return Outcome(ok=False, reason="unknown_error")

    async def verify(self) -> bool:
        """The ``url_verification`` handshake that Slack makes when an address is entered."""
        challenge = self._world.new_id("challenge")
        payload = {"token": "local", "challenge": challenge, "type": "url_verification"}
        outcome = await self.send(Parcel(Kind.EVENT, payload))
        echoed = outcome.text or (outcome.body or {}).get("challenge", "")
        return outcome.ok and echoed == challenge

    async def close(self) -> None:
        """Close the connections; wait for the transports to be gone."""
        if self._session is not None:
            await self._session.close()
            await asyncio.sleep(0)

    def _headers(self, parcel: Parcel, body: bytes, content_type: str) -> dict[str, str]:
        timestamp = str(int(self._world.clock.now()))
        headers = {
            "Content-Type": content_type,
            "User-Agent": "Slackbot 1.0 (+https://api.slack.com/robots)",
            "X-Slack-Request-Timestamp": timestamp,
            "X-Slack-Signature": signature(self._world.options.signing_secret, timestamp, body),
        }
        if parcel.attempt:
            headers["X-Slack-Retry-Num"] = str(parcel.attempt)
            headers["X-Slack-Retry-Reason"] = parcel.reason
        return headers


def _encoded(parcel: Parcel) -> tuple[bytes, str]:
    """Events go as JSON, interactions as a ``payload`` field, slash commands as plain fields."""
    if parcel.kind is Kind.EVENT:
        return json.dumps(parcel.payload).encode(), "application/json"
    fields: Json = parcel.payload
    if parcel.kind is Kind.INTERACTIVE:
        fields = {"payload": json.dumps(parcel.payload)}
    return urlencode(fields).encode(), "application/x-www-form-urlencoded"


async def _outcome(response: aiohttp.ClientResponse) -> Outcome:
    text = await response.text()
    if response.status // 100 != 2:
        no_retry = response.headers.get("X-Slack-No-Retry") == "1"
        return Outcome(ok=False, reason="http_error", text=text, no_retry=no_retry)
    try:
        body = json.loads(text) if text.startswith("{") else None
    except ValueError:
        body = None
    return Outcome(ok=True, body=body, text="" if body is not None else text)
