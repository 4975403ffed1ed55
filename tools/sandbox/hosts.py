"""Which hosts a command may reach, and at which addresses: pure rules, no look-up.

Everything is decided on a plain ASCII host name. Whatever is not one (an IP literal, a NUL, `%00`,
a space, a trailing dot, another script) is refused before any comparison.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import TypeAlias

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

_LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_HOST = re.compile(rf"(?:{_LABEL}\.)+[a-z](?:[a-z0-9-]{{0,61}}[a-z0-9])?", re.ASCII)
"""RFC 1123, at least two labels; the last begins with a letter, so that no address is a name."""
_LONGEST = 253

_UNICAST_V6 = ipaddress.IPv6Network("2000::/3")
_RESERVED: tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...] = (
    ipaddress.IPv4Network("0.0.0.0/8"),
    ipaddress.IPv4Network("100.64.0.0/10"),
    ipaddress.IPv4Network("192.0.0.0/24"),
    ipaddress.IPv4Network("192.88.99.0/24"),
    ipaddress.IPv4Network("198.18.0.0/15"),
    ipaddress.IPv4Network("240.0.0.0/4"),
    ipaddress.IPv6Network("2001::/23"),
    ipaddress.IPv6Network("2001:db8::/32"),
    ipaddress.IPv6Network("2002::/16"),
    ipaddress.IPv6Network("3fff::/20"),
)
"""Of the IANA special-purpose registries, what Python's own judgement changed between releases,
and the IPv6 ranges that carry an IPv4 address inside (Teredo, 6to4)."""


def is_host(text: str) -> bool:
    """Whether this is a plain host name in lower case."""
    return len(text) <= _LONGEST and _HOST.fullmatch(text) is not None


def is_public(address: Address) -> bool:
    """Whether an address is on the public Internet, for certain.

    Not: loopback, private and link-local networks, multicast, and IPv6 forms of IPv4 addresses
    (mapped, NAT64, 6to4, Teredo), which would lead back to them.
    """
    if address.version == 6 and address not in _UNICAST_V6:
        return False
    inside = any(address in network for network in _RESERVED if network.version == address.version)
    return address.is_global and not address.is_multicast and not inside


class HostRules:
    """The hosts of `sandbox.network`: names, or `*.` and a name for all that lie below it."""

    def __init__(self, names: Iterable[str]) -> None:
        """Raises ValueError for anything but a host name, with or without `*.` before it."""
        self._exact: set[str] = set()
        self._below: set[str] = set()
        for name in names:
            lower = name.lower()
            bare = lower.removeprefix("*.")
            if not is_host(bare):
                raise ValueError(
                    f"{name!r} is not a host name; write it as files.example.com or *.example.com."
                )
            (self._exact if bare == lower else self._below).add(bare)

    def allow(self, host: str) -> bool:
        """Whether a host in lower case may be reached; false for what is no host name."""
        if not is_host(host):
            return False
        labels = host.split(".")
        above = (".".join(labels[start:]) for start in range(1, len(labels)))
        return host in self._exact or any(name in self._below for name in above)
