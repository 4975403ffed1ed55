"""Journal entries: what is written can be read back, and nothing else can."""

from __future__ import annotations

import dataclasses
import json
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.agent.entries import (
    KINDS,
    VERSION,
    Answered,
    Entry,
    Failed,
    ModelReply,
    Observation,
    Overheard,
    Quote,
    Refused,
    Stopped,
    ToolCall,
    User,
    covers,
    dump,
    load,
    open_turn,
)
from bot.errors import JournalUnreadable

st.register_type_strategy(float, st.floats(allow_nan=False))
entries: st.SearchStrategy[Entry] = st.one_of(*(st.builds(kind) for kind in KINDS.values()))


@given(entries)
def test_an_entry_is_read_back_as_it_was_written(entry: Entry) -> None:
    text = dump(entry)

    assert load(text) == entry
    assert "\n" not in text


def test_every_kind_can_be_stored() -> None:
    assert set(KINDS.values()) == set(get_args(Entry))
    assert all(dataclasses.is_dataclass(kind) for kind in KINDS.values())


@given(entries, st.text())
def test_a_kind_from_another_release_is_not_read(entry: Entry, kind: str) -> None:
    body = json.loads(dump(entry))
    if kind not in KINDS:
        with pytest.raises(JournalUnreadable, match="Run the release that wrote it"):
            load(json.dumps({**body, "kind": kind}))


@given(entries, st.one_of(st.integers(), st.none(), st.text(), st.lists(st.integers())))
def test_a_version_from_another_release_is_not_read(entry: Entry, version: object) -> None:
    body = json.loads(dump(entry))
    if version != VERSION:
        with pytest.raises(JournalUnreadable):
            load(json.dumps({**body, "v": version}))


@given(entries)
def test_a_field_from_another_release_is_not_read_and_not_dropped(entry: Entry) -> None:
    body = json.loads(dump(entry))

    with pytest.raises(JournalUnreadable, match=f"damaged {body['kind']} record"):
        load(json.dumps({**body, "colour": "red"}))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=4,
)


@given(entries, st.data())
def test_a_field_of_another_type_is_not_read_as_something_else(
    entry: Entry, data: st.DataObject
) -> None:
    """Whatever stands in a field: it is read as what it says, or it is not read."""
    body = json.loads(dump(entry))
    name = data.draw(st.sampled_from(sorted(set(body) - {"kind", "v"})))
    value = data.draw(json_values)
    try:
        found = load(json.dumps({**body, name: value}))
    except JournalUnreadable:
        return
    again = json.loads(dump(found))
    assert isinstance(value, dict) or again[name] == value


@given(entries, st.data())
def test_a_record_that_lost_a_part_is_unreadable_or_has_its_default(
    entry: Entry, data: st.DataObject
) -> None:
    body = json.loads(dump(entry))
    name = data.draw(st.sampled_from(sorted(set(body) - {"kind", "v"})))
    field = next(f for f in dataclasses.fields(entry) if f.name == name)
    del body[name]
    if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
        with pytest.raises(JournalUnreadable):
            load(json.dumps(body))
    else:
        assert isinstance(load(json.dumps(body)), type(entry))


@given(st.text() | json_values.map(json.dumps))
def test_what_is_no_record_is_unreadable_and_nothing_else(text: str) -> None:
    with pytest.raises(JournalUnreadable) as caught:
        load(text)
    assert str(caught.value).endswith(".")


ASK = User("hi", "U1", "Ann", "1.0")


@pytest.mark.parametrize("ending", [Answered(("1.0",)), Stopped(("1.0",), "Bob"), Failed((), "x")])
def test_an_ending_closes_the_turn(ending: Entry) -> None:
    later = User("more", "U1", "Ann", "2.0")

    assert list(open_turn([ASK, ending])) == []
    assert list(open_turn([ASK, ending, later])) == [later]


def test_a_refusal_closes_no_turn() -> None:
    assert len(open_turn([ASK, Refused(("2.0",), "no")])) == 2


def test_a_turn_covers_each_message_that_was_asked_in_it_and_no_other() -> None:
    quote = Overheard((Quote("U2", "Bob", "psst", "1.5"),))
    reply = ModelReply("m", calls=(ToolCall("c", "t", "{}"),))
    more = User("and this", "U2", "Bob", "2.0")

    assert covers([ASK, quote, reply, Observation("c", "x"), more]) == ("1.0", "2.0")
