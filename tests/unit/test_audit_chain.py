"""Whatever is done to the rows of a chain is found, and the rows are named."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bot.audit.chain import FORMAT, Head, Row, Sealer, append, canonical
from bot.audit.claims import Claim, Cut, checkpoint, claims_of, cuts_of, process_started
from bot.audit.records import Kind, Record, rule_changed
from bot.audit.verify import Evidence, Fault, Report, What, examine, verify

KEYED, UNKEYED = Sealer(b"a key of the tests' own"), Sealer()
NONE = Evidence()

texts = st.text(max_size=12)
bodies = st.dictionaries(texts, st.none() | st.booleans() | st.integers() | texts, max_size=3)
all_records = st.builds(
    Record, st.sampled_from([k for k in Kind if k is not Kind.CHECKPOINT]), texts, bodies
)
keys = st.sampled_from([KEYED, UNKEYED])
few = st.lists(all_records, min_size=1, max_size=3)
many = st.integers(3, 8).map(
    lambda count: [Record(Kind.DECIDED, "T:C:1", {"n": n}) for n in range(count)]
)


def chain(name: str, records: Sequence[Record], sealer: Sealer = KEYED) -> list[Row]:
    """A chain as one process writes it, in pieces."""
    rows: list[Row] = []
    head = Head(name, -1, "")
    for at, record in enumerate(records):
        rows += append(sealer, head, at, [record])
        head = Head(name, rows[-1].seq, rows[-1].seal)
    return rows


def head_of(rows: Sequence[Row]) -> Head:
    return Head(rows[-1].chain, rows[-1].seq, rows[-1].seal)


def faults(rows: Sequence[Row], sealer: Sealer, known: Evidence = NONE) -> tuple[Fault, ...]:
    return examine("one", rows, [sealer], known).faults


def names(found: Sequence[Fault], seq: int) -> bool:
    return any(fault.first <= seq <= fault.last for fault in found)


def proved(chains: dict[str, list[Row]], known: Evidence, *sealers: Sealer) -> Report:
    there = {name: rows for name, rows in chains.items() if rows}
    return verify(list(there), there.__getitem__, sealers or [KEYED], known)


def said(chains: dict[str, list[Row]], *heads: Head) -> Evidence:
    """What the rows say of each other, and heads kept elsewhere."""
    rows = [row for found in chains.values() for row in found]
    claims = [Claim(head) for head in heads] + [c for row in rows for c in claims_of(row)]
    return Evidence(claims, [cut for row in rows for cut in cuts_of(row)])


@given(few, keys)
def test_a_chain_as_it_was_written_is_whole(records: list[Record], sealer: Sealer) -> None:
    rows = chain("one", records, sealer)
    assert faults(rows, sealer, Evidence([Claim(head_of(rows))])) == ()


def test_the_seal_is_of_the_bytes_that_the_docstring_defines() -> None:
    """Made here with nothing of the code under test, so that others can verify an export."""
    first, second = chain("7-ab", [Record(Kind.DECIDED, "T:C:1", {"b": "ä", "a": 1})] * 2)
    parts = [FORMAT, "7-ab", "1", "1", "decided", "T:C:1", '{"a":1,"b":"ä"}', first.seal]
    data = "".join(f"{len(part.encode())}:{part}," for part in parts).encode()
    assert second.seal == hmac.new(b"a key of the tests' own", data, hashlib.sha256).hexdigest()


@given(many, keys, st.data())
def test_any_change_of_a_row_is_found_and_the_row_is_named(
    records: list[Record], sealer: Sealer, data: st.DataObject
) -> None:
    rows = chain("one", records, sealer)
    index = data.draw(st.integers(0, len(rows) - 1))
    name = data.draw(st.sampled_from(["at", "kind", "thread", "body", "seal"]))
    value = data.draw(st.integers() if name == "at" else texts)
    change: dict[str, Any] = {name: value}
    spoilt = replace(rows[index], **change)
    assume(spoilt != rows[index])
    found = faults([*rows[:index], spoilt, *rows[index + 1 :]], sealer)
    assert names(found, index)
    assert not names(found, index - 1)


@given(many, keys, st.data())
def test_rows_that_are_missing_within_are_found_and_named(
    records: list[Record], sealer: Sealer, data: st.DataObject
) -> None:
    rows = chain("one", records, sealer)
    first = data.draw(st.integers(0, len(rows) - 2))
    last = data.draw(st.integers(first, len(rows) - 2))
    left = rows[:first] + rows[last + 1 :]
    assume(len(left) > 1)
    assert faults(left, sealer) == (Fault("one", first, last, What.MISSING),)


@given(many, keys, st.data())
def test_rows_cut_off_at_the_end_are_missed_by_the_recorded_head(
    records: list[Record], sealer: Sealer, data: st.DataObject
) -> None:
    rows = chain("one", records, sealer)
    left = data.draw(st.integers(0, len(rows) - 1))
    known = Evidence([Claim(head_of(rows))])
    assert faults(rows[:left], sealer, known) == (Fault("one", left, len(rows) - 1, What.CUT_OFF),)


@given(many, keys, st.data())
def test_rows_that_changed_places_are_found_and_named(
    records: list[Record], sealer: Sealer, data: st.DataObject
) -> None:
    rows = chain("one", records, sealer)
    one = data.draw(st.integers(0, len(rows) - 2))
    two = data.draw(st.integers(one + 1, len(rows) - 1))
    swapped = list(rows)
    swapped[one], swapped[two] = replace(rows[two], seq=one), replace(rows[one], seq=two)
    found = faults(swapped, sealer)
    assert names(found, one)
    assert names(found, two)


@given(many, keys, all_records, st.data())
def test_a_row_that_was_put_in_is_found_and_named(
    records: list[Record], sealer: Sealer, more: Record, data: st.DataObject
) -> None:
    """With all others moved up, as somebody would do it who has no key."""
    rows = chain("one", records, sealer)
    at = data.draw(st.integers(1, len(rows)))
    new = Row("one", at, 5, more.kind, more.thread, more.text(), "0" * 64)
    moved = [*rows[:at], new, *(replace(row, seq=row.seq + 1) for row in rows[at:])]
    assert names(faults(moved, sealer), at)


@given(many, many, keys)
def test_a_row_of_another_chain_is_no_row_of_this_one(
    records: list[Record], others: list[Record], sealer: Sealer
) -> None:
    """Not even one that says the same."""
    rows, strange = chain("one", records, sealer), chain("two", others, sealer)
    moved = replace(strange[1], chain="one")
    assert names(faults([rows[0], moved, *rows[2:]], sealer), 1)


@given(many, many, st.data())
def test_what_is_done_to_one_chain_says_nothing_of_the_others(
    records: list[Record], others: list[Record], data: st.DataObject
) -> None:
    one, two = chain("one", records), chain("two", others)
    index = data.draw(st.integers(0, len(one) - 1))
    spoilt = [*one]
    spoilt[index] = replace(one[index], body=one[index].body + " ")
    report = proved({"one": spoilt, "two": two}, Evidence([Claim(head_of(two))]))
    assert {fault.chain for fault in report.faults} == {"one"}


def test_an_unkeyed_chain_that_was_made_anew_is_told_by_its_recorded_head() -> None:
    records = [Record(Kind.DECIDED, "", {"verdict": "deny"}), Record(Kind.TOOL_STARTED)]
    rows = chain("one", records, UNKEYED)
    forged = chain("one", [Record(Kind.DECIDED, "", {"verdict": "allow"}), records[1]], UNKEYED)
    assert faults(forged, UNKEYED) == ()
    assert faults(forged, UNKEYED, Evidence([Claim(head_of(rows))])) == (
        Fault("one", 1, 1, What.OTHER),
    )


@given(many)
def test_a_chain_under_another_key_is_foreign(records: list[Record]) -> None:
    rows = chain("one", records, Sealer(b"somebody else's"))
    assert faults(rows, KEYED) == (Fault("one", 0, len(rows) - 1, What.FOREIGN),)


@given(many)
def test_an_older_key_proves_what_was_sealed_under_it(records: list[Record]) -> None:
    older = Sealer(b"the key of last year")
    rows = chain("one", records, older)
    assert examine("one", rows, [KEYED, older, UNKEYED], NONE).faults == ()


def started(others: Sequence[Head] = ()) -> Record:
    return process_started({"pid": 1}, others)


def test_a_chain_that_is_gone_whole_is_missed_by_the_next_one() -> None:
    one = chain("one", [started(), Record(Kind.PROCESS_STOPPED)])
    two = chain("two", [started([head_of(one)])])
    evidence = said({"one": one, "two": two})
    assert proved({"one": one, "two": two}, evidence).faults == ()
    assert proved({"one": [], "two": two}, evidence).faults == (Fault("one", 0, 1, What.CUT_OFF),)


def test_without_a_key_a_chain_counts_where_a_keyed_one_speaks_for_it() -> None:
    """The key was set later: what was written before is vouched for, through others too."""
    one = chain("one", [started(), Record(Kind.DECIDED)], UNKEYED)
    two = chain("two", [started([head_of(one)])], UNKEYED)
    three = chain("three", [started([head_of(two)])])
    chains = {"one": one, "two": two, "three": three}
    assert proved(chains, said(chains), KEYED, UNKEYED).faults == ()


def test_a_keyed_chain_cannot_be_replaced_by_one_without_a_key() -> None:
    one = chain("one", [started(), Record(Kind.DECIDED)])
    two = chain("two", [started([head_of(one)])])
    forged = chain("one", [started()], UNKEYED)
    chains = {"one": forged, "two": two}
    found = proved(chains, said(chains), KEYED, UNKEYED).faults
    assert Fault("one", 0, 0, What.UNKEYED) in found

    new = {"two": two, "new": chain("new", [started([head_of(two)])], UNKEYED)}
    assert proved(new, said(new), KEYED, UNKEYED).faults[-1].what is What.UNKEYED


FALSE = "f" * 64


def cut_of(head: Head, seal: str = "") -> Cut:
    return Cut(replace(head, seal=seal or head.seal), 5)


@pytest.mark.parametrize(
    "lie",
    [
        checkpoint([Cut(Head("one", 1, FALSE), 5)]),
        checkpoint([Cut(Head("one", 9, FALSE), 5)]),
        started([Head("one", 3, FALSE)]),
        started([Head("one", 9, FALSE)]),
        started([Head("three", 9, FALSE)]),
    ],
)
def test_what_a_chain_says_that_somebody_put_in_is_no_fault_of_the_others(lie: Record) -> None:
    """It has no key, or another one, or is one row behind those of a genuine chain."""
    one = chain("one", [Record(Kind.DECIDED, "", {"n": n}) for n in range(4)])
    two = chain("two", [started(), checkpoint([cut_of(head_of(one[:2]))])])
    chains = {"one": one[2:], "two": two}
    assert proved(chains, said(chains), KEYED, UNKEYED).faults == ()

    unkeyed = {**chains, "evil": chain("evil", [started(), lie], UNKEYED)}
    (fault,) = proved(unkeyed, said(unkeyed), KEYED, UNKEYED).faults
    assert fault == Fault("evil", 0, 1, What.UNKEYED)
    strange = {**chains, "evil": chain("evil", [lie, started()], Sealer(b"made up"))}
    (fault,) = proved(strange, said(strange), KEYED, UNKEYED).faults
    assert fault == Fault("evil", 0, 1, What.FOREIGN)
    behind = Row("two", 2, 5, lie.kind, "", lie.text(), FALSE)
    added = {**chains, "two": [*two, behind]}
    (fault,) = proved(added, said(added), KEYED, UNKEYED).faults
    assert fault == Fault("two", 2, 2, What.ALTERED)


def test_what_a_chain_says_that_somebody_put_in_hides_nothing() -> None:
    one = chain("one", [Record(Kind.DECIDED, "", {"n": n}) for n in range(4)])
    evil = chain("evil", [started(), checkpoint([cut_of(head_of(one[:2]))])], UNKEYED)
    chains = {"one": one[2:], "two": chain("two", [started()]), "evil": evil}
    assert set(proved(chains, said(chains), KEYED, UNKEYED).faults) == {
        Fault("one", 0, 1, What.MISSING),
        Fault("evil", 0, 1, What.UNKEYED),
    }


def test_what_retention_removed_before_there_was_a_key_is_not_missed() -> None:
    """Those checkpoints are without a key; a keyed chain speaks for them."""
    one = chain("one", [started(), *[Record(Kind.DECIDED)] * 3], UNKEYED)
    first = chain("two", [started([head_of(one)])], UNKEYED)
    cuts = checkpoint([cut_of(head_of(one[:2])), cut_of(head_of(first))])
    two = chain("two", [started([head_of(one)]), cuts, cuts], UNKEYED)
    three = chain("three", [started([head_of(two), head_of(one)])])
    chains = {"one": one[2:], "two": two[1:], "three": three}
    assert proved(chains, said(chains), KEYED, UNKEYED).faults == ()

    spoilt = {**chains, "two": [replace(two[1], body="{}"), two[2]]}
    assert Fault("two", 1, 1, What.ALTERED) in proved(spoilt, said(spoilt), KEYED, UNKEYED).faults


def test_of_two_checkpoints_about_the_same_row_the_genuine_one_counts() -> None:
    one = chain("one", [Record(Kind.DECIDED, "", {"n": n}) for n in range(3)])
    two = chain("two", [started(), checkpoint([cut_of(head_of(one[:2]))])])
    evil = chain("evil", [started(), checkpoint([cut_of(head_of(one[:2]), FALSE)])], UNKEYED)
    chains = {"one": one[2:], "two": two, "evil": evil}
    (fault,) = proved(chains, said(chains), KEYED, UNKEYED).faults
    assert fault.chain == "evil"


@given(many, st.data())
def test_with_a_checkpoint_the_rest_is_proved_and_without_one_rows_are_missing(
    records: list[Record], data: st.DataObject
) -> None:
    one = chain("one", records)
    last = data.draw(st.integers(0, len(one) - 2))
    left = one[last + 1 :]
    cut = Cut(Head("one", last, one[last].seal), 5)
    two = chain("two", [started(), checkpoint([cut])])
    chains = {"one": left, "two": two}
    older = Head("one", 0, one[0].seal)
    assert proved(chains, said(chains, older)).faults == ()
    assert Fault("one", 0, last, What.MISSING) in proved({"one": left}, NONE).faults
    further = {"one": left[1:], "two": two}
    gone = Fault("one", last + 1, last + 1, What.MISSING if left[1:] else What.CUT_OFF)
    assert gone in proved(further, said(further, head_of(one))).faults


def test_a_checkpoint_does_not_hide_a_row_that_was_changed_behind_it() -> None:
    one = chain("one", [Record(Kind.DECIDED, "", {"n": n}) for n in range(4)])
    two = chain("two", [started(), checkpoint([Cut(Head("one", 1, one[1].seal), 5)])])
    chains = {"one": [replace(one[2], body="{}"), one[3]], "two": two}
    assert proved(chains, said(chains)).faults == (Fault("one", 2, 2, What.ALTERED),)


def test_a_chain_that_was_removed_whole_by_retention_is_not_missed() -> None:
    one = chain("one", [started(), Record(Kind.PROCESS_STOPPED)])
    cut = checkpoint([Cut(head_of(one), 5)])
    two = chain("two", [started([head_of(one)]), cut])
    chains = {"two": two}
    assert proved(chains, said(chains, head_of(one))).faults == ()


@given(st.text(), st.text())
def test_no_two_rows_have_the_same_bytes(one: str, two: str) -> None:
    assume(one)
    first = Row("c", 0, 0, "k", one, two)
    second = Row("c", 0, 0, "k", "", one + two)
    assert canonical(first, "") != canonical(second, "")


def test_a_head_is_read_as_it_is_written() -> None:
    head = Head("host:1-ab", 12, "ab" * 32)
    assert Head.read(f" {head}\n") == head
    for text in (
        "",
        "a:b",
        "a:1:zz",
        f"a:x:{'ab' * 32}",
        f":1:{'ab' * 32}",
        "a:1:abcd",
        f"../a:1:{'ab' * 32}",
    ):
        with pytest.raises(ValueError, match="is not CHAIN:ROW:SEAL"):
            Head.read(text)


def test_spoilt_bodies_claim_nothing() -> None:
    for body in ("", "[]", "{", '{"others": 1}', '{"others": ["x", 3]}', "[" * 5000):
        row = Row("c", 0, 0, Kind.PROCESS_STARTED, "", body)
        assert claims_of(row) == []
        assert cuts_of(replace(row, kind=Kind.CHECKPOINT, body=body)) == []


def test_a_key_is_not_shown_and_its_name_does_not_tell_it() -> None:
    assert "key of" not in repr(KEYED)
    assert KEYED.name != Sealer(b"another").name
    assert UNKEYED.name == ""


def test_a_rule_change_names_who_what_and_the_value() -> None:
    record = rule_changed("U1", "added", "rule 7", {"tool": "run_command"})
    assert record.text() == (
        '{"action":"added","subject":"rule 7","value":{"tool":"run_command"},"who":"U1"}'
    )


def test_half_a_character_can_be_sealed_and_stored() -> None:
    (row,) = chain("one", [Record(Kind.DECIDED, "", {"text": "\ud83d"})])
    assert row.body.encode() == b'{"text":"?"}'
    assert faults([row], KEYED) == ()
