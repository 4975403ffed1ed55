"""The audit trail, as `treadle audit` and the log speak of it."""

from __future__ import annotations


def audit_head(head: str) -> str:
    return f"audit trail: this is its newest row: {head}"


def audit_head_unwritten(directory: object, why: str) -> str:
    return (
        f"The audit trail's newest seal could not be kept in {directory} ({why}). Make the "
        "directory writable; until then rows cut off the end of the trail may not be missed."
    )


def audit_head_unreadable(path: object, why: str) -> str:
    return (
        f"{path} should hold a recorded seal of the audit trail and cannot be used ({why}). Find "
        "out who changed it; with the file moved away the rest can be verified."
    )


def audit_head_form(text: str) -> str:
    return f"{text!r} is no recorded seal; it has the form CHAIN:ROW:SEAL, as the log shows it."


def audit_key_missing(name: str) -> str:
    return f"There is no variable {name}; set it to the older key, or leave the option out."


def audit_time_form(text: str) -> str:
    return (
        f"{text!r} is no time. Write 2026-01-31, or 2026-01-31T09:30:00 with Z or +02:00 behind it "
        "if it is not in UTC."
    )


def audit_chain(name: str, first: int, last: int, *, keyed: bool, stopped: bool) -> str:
    how = "" if keyed else ", unkeyed"
    end = "ended in order" if stopped else "open or broken off"
    return f"chain {name}: rows {first} to {last}, {end}{how}"


def audit_fault(chain: str, first: int, last: int, what: str) -> str:
    rows = f"row {first}" if first == last else f"rows {first} to {last}"
    return f"FAULT: chain {chain}, {rows}: {AUDIT_FAULTS[what]}"


AUDIT_FAULTS = {
    "missing": "missing, though there are rows behind.",
    "cut off": "missing at the end: their seal was recorded elsewhere.",
    "altered": "not as sealed: altered, put in, or moved from another place.",
    "other": "not the row whose seal was recorded elsewhere: the chain was made anew.",
    "foreign": (
        "no row fits a key that was given. They were sealed with another key (name its variable "
        "with --old-key), or somebody made them up."
    ),
    "unkeyed": (
        "sealed without a key, and no keyed chain speaks for them: anybody who can write to the "
        "database could have made them."
    ),
}


def audit_sound(rows: int, chains: int, heads: int) -> str:
    return (
        f"The audit trail is whole: {rows:,} rows in {chains:,} chains, checked against {heads:,} "
        "recorded seals."
    )


def audit_unsound(faults: int) -> str:
    count = "one fault" if faults == 1 else f"{faults:,} faults"
    return f"The audit trail has {count}. docs/audit.md says what each means."


def audit_unkeyed() -> str:
    return (
        "It is unkeyed: TREADLE_AUDIT_KEY is not set, so whoever can write to the database could "
        "have made all of it anew."
    )
