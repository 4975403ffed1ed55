"""`treadle audit`: proves the trail and writes it out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bot import sealing, words
from bot.audit.chain import Head, Row, Sealer
from bot.audit.claims import SAYING, Claim, claims_of, cuts_of
from bot.audit.verify import Evidence, Report, verify
from bot.config import Need
from bot.config.environment import read_variables
from bot.errors import ConfigError
from bot.making import read_settings
from bot.redact import Redactor
from bot.state import open_reading
from bot.storage.audit import Snapshot, Trail

Write = Callable[[str], None]


def verify_trail(
    environ: Mapping[str, str],
    cwd: Path,
    write: Write,
    *,
    recorded: Sequence[str] = (),
    old_keys: Sequence[str] = (),
) -> bool:
    """Write what a verification finds, a line for each chain and fault; True if all is whole.

    `recorded` are further heads that were kept elsewhere, `old_keys` names of variables that hold
    earlier keys. Raises TreadleError where the trail cannot be read at all.
    """
    settings = read_settings(environ, cwd, Need.NOTHING)
    own = sealing.sealer(settings)
    older = [_older_key(environ, cwd, name) for name in old_keys]
    kept = [_head(text) for text in recorded]
    kept += sealing.head_files(settings).read()  # before the rows, which only grow
    redactor = Redactor([*settings.secrets, *older])
    sealers = [own, *(Sealer(key.encode()) for key in older), *([Sealer()] if own.key else [])]

    def prove(trail: Snapshot) -> Report:
        return verify(trail.chains(), trail.rows, sealers, _evidence(trail, kept))

    report = Trail(open_reading(settings)).read(prove)
    for line in _lines(report, own, len(kept)):
        write(redactor.text(line))
    return not report.faults


def _evidence(trail: Snapshot, kept: Sequence[Head]) -> Evidence:
    claims, cuts = [Claim(head) for head in kept], []
    for row in trail.of_kinds(*SAYING):
        claims += claims_of(row)
        cuts += cuts_of(row)
    return Evidence(claims, cuts)


def _lines(report: Report, own: Sealer, heads: int) -> Iterator[str]:
    for chain in report.chains:
        keyed, stopped = chain.keyed, chain.stopped
        yield words.audit_chain(chain.name, chain.first, chain.last, keyed=keyed, stopped=stopped)
    for fault in report.faults:
        yield words.audit_fault(fault.chain, fault.first, fault.last, fault.what)
    if report.faults:
        yield words.audit_unsound(len(report.faults))
    else:
        rows = sum(chain.rows for chain in report.chains)
        yield words.audit_sound(rows, len(report.chains), heads)
    if own.key is None:
        yield words.audit_unkeyed()


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which rows are exported: from `since` on, before `until`, of one thread; empty: all."""

    since: str = ""
    until: str = ""
    thread: str = ""


def export_trail(environ: Mapping[str, str], cwd: Path, write: Write, wanted: Wanted) -> None:
    """Write the rows by time, each as one line of JSON. Raises TreadleError."""
    settings = read_settings(environ, cwd, Need.NOTHING)
    since, until = (_micros(text) for text in (wanted.since, wanted.until))
    redactor = Redactor(settings.secrets)

    def send(trail: Snapshot) -> None:
        for row in trail.between(since, until, wanted.thread):
            write(redactor.text(_exported(row)))

    Trail(open_reading(settings)).read(send)


def _exported(row: Row) -> str:
    at = datetime.fromtimestamp(row.at / 1_000_000, UTC).isoformat(timespec="microseconds")
    try:
        body: object = json.loads(row.body)
    except (ValueError, RecursionError):  # somebody spoilt it: shown as it is
        body = row.body
    shown = {"at": at, "kind": row.kind, "thread": row.thread, "body": body}
    place = {"chain": row.chain, "row": row.seq, "micros": row.at, "seal": row.seal}
    text = json.dumps({**shown, **place}, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace").decode()


def _older_key(environ: Mapping[str, str], cwd: Path, name: str) -> str:
    key = read_variables(environ, cwd).values.get(name)
    if not key:
        raise ConfigError(words.audit_key_missing(name))
    return key


def _head(text: str) -> Head:
    try:
        return Head.read(text)
    except ValueError as error:
        raise ConfigError(words.audit_head_form(text)) from error


def _micros(text: str) -> int | None:
    """Microseconds since the epoch; a time without a zone is in UTC."""
    if not text:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise ConfigError(words.audit_time_form(text)) from error
    aware = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
    return round(aware.timestamp() * 1_000_000)
