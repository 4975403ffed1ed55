"""Secrets in every form in which they could leave, and the search for them in what came out."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

NOISE = re.compile(r"\\+[rn]|[\r\n\t│⏎→> ]+")
"""What stands between the pieces of a text that was wrapped, quoted, indented or escaped."""


def forms(secret: str) -> dict[str, str]:
    """The forms by their names. Made here without the code under test."""
    data = secret.encode()
    escaped = json.dumps(secret)[1:-1]
    found = {
        "as it is": secret,
        "JSON": escaped,
        "JSON in JSON": json.dumps(escaped)[1:-1],
        "URL": quote(secret, safe=""),
        "form": quote_plus(secret),
        "hexadecimal": data.hex(),
    }
    for shift in range(3):
        # Letters that also hold bits of what stands beside are left out.
        first, last = -(-shift * 8 // 6), (shift + len(data)) * 8 // 6
        text = base64.b64encode(b"\0" * shift + data).decode()[first:last]
        found[f"base64, {shift} behind"] = text
        found[f"base64 of URLs, {shift} behind"] = text.replace("+", "-").replace("/", "_")
    return found


def planted(secret: str) -> str:
    """A text with the secret in every form, whole and broken into lines."""
    shifted = [base64.b64encode(b"x" * n + secret.encode() + b"yz").decode() for n in range(3)]
    whole = [*forms(secret).values(), *shifted, base64.encodebytes(secret.encode() * 4).decode()]
    middle = len(secret) // 2
    return "\n".join([*whole, f"{secret[:middle]}\n{secret[middle:]}"])


def leaks(place: str, text: str | bytes, secrets: dict[str, str]) -> Iterator[str]:
    """Where a secret stands in a text, also where it is broken into lines."""
    read = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    closed = NOISE.sub("", read)
    for name, secret in secrets.items():
        for form, looked_for in forms(secret).items():
            if looked_for in read:
                yield f"{place}: {name}, {form}"
            elif looked_for in closed:
                yield f"{place}: {name}, {form}, broken into lines"
