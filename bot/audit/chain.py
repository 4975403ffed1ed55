"""Rows that are sealed one upon another. Pure.

Each process that writes has a chain of its own, named after it; its rows count from 0.

The canonical bytes of a row are these eight texts in this order, each as the decimal number of its
UTF-8 bytes, a colon, the bytes, and a comma (so that no text can run into the next one):

    "treadle-audit-1", the chain's name, the row's number, its time (microseconds since the epoch,
    decimal), its kind, its thread, its body, the seal of the row before (empty for row 0)

The seal of a row is, in hexadecimal, HMAC-SHA256 of its canonical bytes under the UTF-8 bytes of
TREADLE_AUDIT_KEY, or without a key their SHA-256.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from bot.audit.records import Record

FORMAT = "treadle-audit-1"


@dataclass(frozen=True, slots=True)
class Row:
    """One row as it is stored; `at` is in microseconds since the epoch."""

    chain: str
    seq: int
    at: int
    kind: str
    thread: str
    body: str
    seal: str = ""


@dataclass(frozen=True, slots=True)
class Head:
    """A row by its seal: with it every row before it is settled too."""

    chain: str
    seq: int
    seal: str

    def __str__(self) -> str:
        return f"{self.chain}:{self.seq}:{self.seal}"

    @classmethod
    def read(cls, text: str) -> Head:
        """What `str` wrote. Raises ValueError for anything else."""
        found = re.fullmatch(r"([^/\s]+):([0-9]{1,18}):([0-9a-f]{64})", text.strip())
        if found is None:
            raise ValueError(f"{text!r} is not CHAIN:ROW:SEAL")
        return cls(found[1], int(found[2]), found[3])


@dataclass(frozen=True, slots=True)
class Sealer:
    """Seals rows under one key; without a key anybody could."""

    key: bytes | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """Tells keys apart without saying anything about them; empty without a key."""
        if self.key is None:
            return ""
        return hmac.digest(self.key, b"treadle-audit-key", "sha256").hex()[:16]

    def seal(self, row: Row, before: str) -> str:
        """The seal that belongs to a row behind one with the seal `before`."""
        data = canonical(row, before)
        if self.key is None:
            return hashlib.sha256(data).hexdigest()
        return hmac.digest(self.key, data, "sha256").hex()

    def fits(self, row: Row, before: str) -> bool:
        """Whether the row carries the seal that belongs to it."""
        return hmac.compare_digest(self.seal(row, before).encode(), row.seal.encode())


def canonical(row: Row, before: str) -> bytes:
    """The bytes that are sealed, as the module says."""
    texts = (
        FORMAT, row.chain, str(row.seq), str(row.at), row.kind, row.thread, row.body, before,
    )  # fmt: skip
    parts = (text.encode("utf-8", "surrogatepass") for text in texts)
    return b"".join(b"%d:%s," % (len(part), part) for part in parts)


def append(
    sealer: Sealer,
    head: Head,
    at: int,
    records: Sequence[Record],
    redact: Callable[[str], str] = str,
) -> Iterator[Row]:
    """The rows of the records behind `head`; an empty chain's head has the number -1."""
    seq, before = head.seq, head.seal
    for record in records:
        seq += 1
        bare = Row(head.chain, seq, at, record.kind, record.thread, redact(record.text()))
        before = sealer.seal(bare, before)
        yield replace(bare, seal=before)
