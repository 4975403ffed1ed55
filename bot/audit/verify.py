"""Finds what was changed in the audit trail, and says which rows. Pure; rows may be streamed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice, pairwise

from bot.audit.chain import Head, Row, Sealer
from bot.audit.claims import SAYING, Claim, Cut, claims_of, cuts_of
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
    """What was found of one chain; `rows` are those that are there, `first` is -1 without any.

    `head` is the last of them, `words` are the proved ones that say something of other rows, and
    from row `unbroken` on each fits the one before.
    """

    name: str
    first: int
    last: int
    rows: int
    keyed: bool
    stopped: bool
    faults: tuple[Fault, ...]
    head: Head
    words: tuple[Row, ...]
    unbroken: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is said of rows elsewhere: heads that were recorded, and rows that were removed."""

    claims: Sequence[Claim] = ()
    cuts: Sequence[Cut] = ()

    def about(self, chain: str) -> list[Head]:
        return [claim.head for claim in self.claims if claim.head.chain == chain]

    def cut(self, chain: str) -> list[Head]:
        return [cut.head for cut in self.cuts if cut.head.chain == chain]

    def of(self, rows: Sequence[Row]) -> Evidence:
        """What remains of it if only these rows are believed, and what was kept elsewhere."""
        claims = {claim for row in rows for claim in claims_of(row)}
        cuts = {cut for row in rows for cut in cuts_of(row)}
        return Evidence(
            [claim for claim in self.claims if not claim.source or claim in claims],
            [cut for cut in self.cuts if cut in cuts],
        )


@dataclass(slots=True)
class _Reader:
    """One pass over a chain's rows."""

    name: str
    sealer: Sealer
    recorded: dict[int, set[str]]
    seq: int
    befores: Sequence[str]
    """The seals that the row before has, or should have had; none where that is missing."""
    faults: list[Fault] = field(default_factory=list)
    rows: int = 0
    judged: int = 0
    fitting: int = 0
    kind: str = ""
    seal: str = ""
    words: list[Row] = field(default_factory=list)
    unbroken: int = 0

    def read(self, row: Row) -> None:
        if row.seq != self.seq + 1:
            self._fault(self.seq + 1, row.seq - 1, What.MISSING)
            self.befores = ()
        self._judge(row)
        others = self.recorded.pop(row.seq, set()) - {row.seal}
        if others:
            self._fault(row.seq, row.seq, What.OTHER)
        self.seq, self.rows, self.kind, self.seal = row.seq, self.rows + 1, row.kind, row.seal

    def _judge(self, row: Row) -> None:
        """A row behind a gap cannot be judged by itself; the next one proves its seal."""
        fits = any(self.sealer.fits(row, before) for before in self.befores)
        self.judged += bool(self.befores)
        self.fitting += fits
        if not fits:
            self.unbroken = row.seq + 1
        elif row.kind in SAYING:
            self.words.append(row)
        if self.befores and not fits:
            self._fault(row.seq, row.seq, What.ALTERED)
            self.befores = row.seal, self.sealer.seal(row, self.befores[0])
        else:
            self.befores = (row.seal,)

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
            head=Head(self.name, self.seq, self.seal),
            words=tuple(self.words),
            unbroken=self.unbroken,
        )


def examine(name: str, rows: Iterable[Row], sealers: Sequence[Sealer], known: Evidence) -> Chain:
    """Prove one chain, whose rows come in order. The first sealer whose key fits is used."""
    coming = iter(rows)
    start = list(islice(coming, 2))
    cuts: dict[int, set[str]] = defaultdict(set)
    for head in known.cut(name):
        cuts[head.seq].add(head.seal)
    recorded: dict[int, set[str]] = defaultdict(set)
    for head in known.about(name):
        recorded[head.seq].add(head.seal)
    seq = max((cut for cut in cuts if start and cut < start[0].seq), default=-1)
    befores = sorted(cuts[seq]) if seq in cuts else [""]
    sealer = _sealer(start, befores, sealers)
    reader = _Reader(name, sealer, recorded, seq, befores)
    for row in (*start, *coming):
        reader.read(row)
    return reader.end(max(cuts, default=-1))


def _sealer(start: Sequence[Row], befores: Sequence[str], sealers: Sequence[Sealer]) -> Sealer:
    pairs = [(row, before) for row in start[:1] for before in befores]
    pairs += [(row, before.seal) for before, row in pairwise(start)]
    for sealer in sealers:
        if any(sealer.fits(row, before) for row, before in pairs):
            return sealer
    return sealers[0]


def _spoken_for(chains: Sequence[Chain], claims: Sequence[Claim]) -> set[str]:
    """The keyed chains, and those without a key for which keyed ones speak.

    Who has no key cannot make such a chain look genuine: a keyed one that began later must have
    named its last row, itself or through other chains.
    """
    heads = {chain.head for chain in chains if chain.rows}
    sound = {chain.name for chain in chains if chain.keyed}
    grown = True
    while grown:
        named = {claim.head for claim in claims if claim.source in sound}
        new = {head.chain for head in named & heads} - sound
        sound |= new
        grown = bool(new)
    return sound


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
    """Prove every chain. `names` are those that have rows; the first sealer is the present one.

    Of what is `known`, nothing counts that a row says which somebody may have put in: it neither
    hides a fault of other chains nor makes one.
    """
    keyed, present = sealers[0].key is not None, set(names)
    while True:
        wanted = dict.fromkeys([*names, *(claim.head.chain for claim in known.claims)])
        chains = [
            examine(name, rows_of(name) if name in present else (), sealers, known)
            for name in wanted
        ]
        there = [chain for chain in chains if chain.rows]
        sound = _spoken_for(there, known.claims) if keyed else present
        proved = [row for c in there if c.name in sound for row in _proved(c, keyed=keyed)]
        believed = known.of(proved)
        if believed == known:
            break
        known = believed  # less than before, so this comes to an end
    faults = [fault for chain in chains for fault in chain.faults]
    alone = [chain for chain in there if chain.name not in sound]
    faults += [Fault(chain.name, chain.first, chain.last, What.UNKEYED) for chain in alone]
    return Report(tuple(there), tuple(faults))


def _proved(chain: Chain, *, keyed: bool) -> Sequence[Row]:
    """The rows that count. Where others speak for a chain without a key, they do for its end."""
    since = chain.unbroken if keyed and not chain.keyed else 0
    return [row for row in chain.words if row.seq >= since]
