"""Finds what was changed in the audit trail, and says which rows. Pure; rows may be streamed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice

from bot.audit.chain import Head, Row, Sealer
from bot.audit.claims import Claim, Cut
from bot.audit.records import Kind


class What(StrEnum):
    """What is wrong with rows."""

    MISSING = "missing"
    """They are not there, and others behind them are."""
    CUT_OFF = "cut off"
    """They were the last ones, and are not there."""
    ALTERED = "altered"
    """They are not as they were sealed: altered, put in, or moved here from another place."""
    OTHER = "other"
    """They fit together but are not those whose seal was recorded: the chain was made anew."""
    FOREIGN = "foreign"
    """No row of the chain fits any key that was given."""
    UNKEYED = "unkeyed"
    """They are sealed without a key although there is one, and nothing keyed speaks for them."""


@dataclass(frozen=True, slots=True)
class Fault:
    """The rows `first` to `last` of a chain."""

    chain: str
    first: int
    last: int
    what: What


@dataclass(frozen=True, slots=True)
class Chain:
    """What was found of one chain; `rows` are those that are there, `first` is -1 without any."""

    name: str
    first: int
    last: int
    rows: int
    keyed: bool
    stopped: bool
    faults: tuple[Fault, ...]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is said of rows elsewhere: heads that were recorded, and rows that were removed."""

    claims: Sequence[Claim] = ()
    cuts: Sequence[Cut] = ()

    def about(self, chain: str) -> list[Head]:
        return [claim.head for claim in self.claims if claim.head.chain == chain]

    def cut(self, chain: str) -> list[Head]:
        return [cut.head for cut in self.cuts if cut.head.chain == chain]


@dataclass(slots=True)
class _Reader:
    """One pass over a chain's rows."""

    name: str
    sealer: Sealer
    recorded: dict[int, set[str]]
    seq: int
    seal: str | None
    """Of the row before; None where that is missing."""
    due: str | None = None
    """The seal that the row before should have had, where it had another one."""
    faults: list[Fault] = field(default_factory=list)
    rows: int = 0
    judged: int = 0
    fitting: int = 0
    kind: str = ""

    def read(self, row: Row) -> None:
        if row.seq != self.seq + 1:
            self._fault(self.seq + 1, row.seq - 1, What.MISSING)
            self.seal = self.due = None
        self._judge(row)
        others = self.recorded.pop(row.seq, set()) - {row.seal}
        if others:
            self._fault(row.seq, row.seq, What.OTHER)
        self.seq, self.rows, self.kind = row.seq, self.rows + 1, row.kind

    def _judge(self, row: Row) -> None:
        """A row behind a gap cannot be judged by itself; the next one proves its seal."""
        befores = [seal for seal in (self.seal, self.due) if seal is not None]
        fits = any(self.sealer.fits(row, before) for before in befores)
        self.judged += bool(befores)
        self.fitting += fits
        if befores and not fits:
            self._fault(row.seq, row.seq, What.ALTERED)
        self.due = self.sealer.seal(row, befores[0]) if befores and not fits else None
        self.seal = row.seal

    def _fault(self, first: int, last: int, what: What) -> None:
        """Neighbouring rows with the same fault are one."""
        if self.faults and (self.faults[-1].last, self.faults[-1].what) == (first - 1, what):
            first = self.faults.pop().first
        self.faults.append(Fault(self.name, first, last, what))

    def end(self, cut: int) -> Chain:
        """What was found; rows up to `cut` are known to have been removed."""
        beyond = max((seq for seq in self.recorded if seq > max(self.seq, cut)), default=None)
        if beyond is not None:
            self._fault(max(self.seq, cut) + 1, beyond, What.CUT_OFF)
        if self.judged and not self.fitting:
            first = self.seq - self.rows + 1
            self.faults = [Fault(self.name, first, self.seq, What.FOREIGN)]
        return Chain(
            self.name,
            first=self.seq - self.rows + 1 if self.rows else -1,
            last=self.seq,
            rows=self.rows,
            keyed=self.sealer.key is not None,
            stopped=self.kind == Kind.PROCESS_STOPPED,
            faults=tuple(self.faults),
        )


def examine(name: str, rows: Iterable[Row], sealers: Sequence[Sealer], known: Evidence) -> Chain:
    """Prove one chain, whose rows come in order. The first sealer whose key fits is used."""
    coming = iter(rows)
    start = list(islice(coming, 2))
    cuts = {head.seq: head.seal for head in known.cut(name)}
    recorded: dict[int, set[str]] = defaultdict(set)
    for head in known.about(name):
        recorded[head.seq].add(head.seal)
    seq = max((cut for cut in cuts if start and cut < start[0].seq), default=-1)
    seal = cuts.get(seq, "")
    sealer = _sealer(start, seal, sealers)
    reader = _Reader(name, sealer, recorded, seq, seal)
    for row in (*start, *coming):
        reader.read(row)
    return reader.end(max(cuts, default=-1))


def _sealer(start: Sequence[Row], before: str, sealers: Sequence[Sealer]) -> Sealer:
    seals = [before, *(row.seal for row in start)]
    for sealer in sealers:
        if any(sealer.fits(row, seal) for row, seal in zip(start, seals, strict=False)):
            return sealer
    return sealers[0]


def unproven(chains: Sequence[Chain], claims: Sequence[Claim]) -> Iterator[Fault]:
    """The chains without a key for which no keyed chain speaks, where there is a keyed one.

    Who has no key cannot make such a chain look genuine: a keyed one that began later must have
    named its last row, itself or through other chains.
    """
    by_name = {chain.name: chain for chain in chains}
    sound = {chain.name for chain in chains if chain.keyed}
    grown = True
    while grown:
        new = {
            claim.head.chain
            for claim in claims
            if claim.source in sound and _is_last(by_name.get(claim.head.chain), claim.head)
        } - sound
        sound |= new
        grown = bool(new)
    for chain in chains:
        if chain.rows and chain.name not in sound:
            yield Fault(chain.name, chain.first, chain.last, What.UNKEYED)


def _is_last(chain: Chain | None, head: Head) -> bool:
    return chain is not None and chain.rows > 0 and chain.last == head.seq


@dataclass(frozen=True, slots=True)
class Report:
    """What a verification found."""

    chains: tuple[Chain, ...]
    faults: tuple[Fault, ...]

    @property
    def keyed(self) -> bool:
        """Whether every chain is sealed under a key."""
        return all(chain.keyed for chain in self.chains)


def verify(
    names: Sequence[str],
    rows_of: Callable[[str], Iterable[Row]],
    sealers: Sequence[Sealer],
    known: Evidence,
) -> Report:
    """Prove every chain. `names` are those that have rows; the first sealer is the present one."""
    wanted = dict.fromkeys([*names, *(claim.head.chain for claim in known.claims)])
    present = set(names)
    chains = [
        examine(name, rows_of(name) if name in present else (), sealers, known) for name in wanted
    ]
    faults = [fault for chain in chains for fault in chain.faults]
    if sealers[0].key is not None:
        faults += unproven(chains, known.claims)
    return Report(tuple(chain for chain in chains if chain.rows), tuple(faults))
