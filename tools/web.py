"""The only way of a tool to another host: one bounded GET, redirected only within its host."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol
from urllib.parse import SplitResult, urljoin, urlsplit

from tools.content import size
from tools.errors import Unreachable
from tools.paths import shown

if TYPE_CHECKING:
    import aiohttp

REDIRECTS = 5
AGENT = "Treadle/0.1 (self-hosted agent)"
"""Wikimedia's policy asks every client to name itself."""
_BLOCK = 64 * 1024
_STANDARD = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Fetched:
    """What came back, whatever its HTTP status."""

    status: int
    body: bytes


class Http(Protocol):
    """Fetches addresses for tools. Raises Unreachable and nothing else."""

    async def get(self, url: str, *, limit: int, timeout: float) -> Fetched:
        """The response, of at most `limit` bytes (unpacked), within `timeout` seconds in all."""
        ...


@dataclass(frozen=True, slots=True)
class DirectHttp:
    """`Http` by aiohttp; a proxy is taken from the usual environment variables."""

    async def get(self, url: str, *, limit: int, timeout: float) -> Fetched:
        # Imported here: it takes a tenth of a second, and most turns fetch nothing.
        import aiohttp

        host = urlsplit(url).hostname
        try:
            async with (
                asyncio.timeout(timeout),
                aiohttp.ClientSession(headers={"User-Agent": AGENT}, trust_env=True) as session,
            ):
                return await _follow(session, url, limit)
        except TimeoutError as error:
            raise Unreachable(
                f"{host} did not answer within {timeout:g} seconds. Try once more, or go on "
                "without it."
            ) from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise Unreachable(
                f"{host} cannot be reached ({shown(str(error) or type(error).__name__)}). "
                "Go on without it."
            ) from error


async def _follow(session: aiohttp.ClientSession, url: str, limit: int) -> Fetched:
    for _ in range(REDIRECTS + 1):
        async with session.get(url, allow_redirects=False) as response:
            target = response.headers.get("Location")
            if response.status not in (301, 302, 303, 307, 308) or target is None:
                return Fetched(response.status, await _read(response, limit))
        url = _same_host(url, urljoin(url, target))
    raise Unreachable(f"{urlsplit(url).hostname} redirects in a circle. Go on without it.")


async def _read(response: aiohttp.ClientResponse, limit: int) -> bytes:
    """The body, unpacked; a packed one may grow a thousandfold, so the growth is what counts."""
    parts: list[bytes] = []
    held = 0
    async for part in response.content.iter_chunked(_BLOCK):
        held += len(part)
        if held > limit:
            raise Unreachable(
                f"{response.url.host} sent more than {size(limit)}. Ask for something narrower."
            )
        parts.append(part)
    return b"".join(parts)


def _same_host(url: str, target: str) -> str:
    """The target, if it is the same host and port, or the same host moved from http to https."""
    here, there = urlsplit(url), urlsplit(target)
    moved = (here.scheme, there.scheme) == ("http", "https") and _is_standard(here, there)
    same = here.scheme == there.scheme and here.port == there.port
    if here.hostname != there.hostname or not (same or moved):
        raise Unreachable(
            f"{here.hostname} redirects to another host ({shown(there.netloc)}), which is not "
            "followed. Go on without it."
        )
    return target


def _is_standard(*addresses: SplitResult) -> bool:
    return all(a.port is None or a.port == _STANDARD[a.scheme] for a in addresses)
