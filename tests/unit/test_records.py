"""What is stored of a journal is read back the same, or not at all and with a sentence."""

from __future__ import annotations

import dataclasses
import json
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.agent.entries import (
    Answered,
    Decided,
    Edited,
    Entry,
    ModelReply,
    Overheard,
    Quote,
    Summary,
    ToolCall,
    Usage,
    User,
)
from bot.agent.records import KINDS, VERSION, dump, load, load_all
from bot.errors import JournalUnreadable
from bot.policy import Verdict

st.register_type_strategy(float, st.floats(allow_nan=False))
any_entry: st.SearchStrategy[Entry] = st.one_of(*(st.builds(kind) for kind in KINDS.values()))


@given(st.lists(any_entry, max_size=8))
def test_every_kind_of_entry_is_read_back_the_same(entries: list[Entry]) -> None:
    texts = [dump(entry) for entry in entries]

    assert load_all(texts) == entries
    assert [load(text) for text in texts] == entries
    assert not any("\n" in text for text in texts)


@pytest.mark.parametrize(
    "entry",
    [
        ModelReply(
            "m", "t", (ToolCall("1", "a", "{}"), ToolCall("2", "b", "{")), usage=Usage(1, 2)
        ),
        Overheard((Quote("U1", "Al", "hi", "1.0"),)),
        Edited("1.0", None),
        Decided("1", Verdict.DENY),
        Summary("s", 7, (0, 5)),
        Answered(()),
    ],
)
def test_nested_values_come_back_as_their_own_types(entry: Entry) -> None:
    found = load(dump(entry))

    assert found == entry
    assert hash(found) == hash(entry)


def test_what_is_at_its_default_takes_no_space() -> None:
    written = dump(ModelReply("m", answer=""))

    assert json.loads(written) == {"kind": "ModelReply", "v": 1, "model": "m", "answer": ""}


def test_fields_that_an_older_release_did_not_write_get_their_defaults() -> None:
    old = '{"kind":"ModelReply","v":1,"model":"m","answer":"a"}'

    assert load(old) == ModelReply("m", answer="a")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"kind":"Vision","v":1}', "a record (Vision, version 1) that this release"),
        ('{"kind":"Answered","v":2,"covers":[]}', "a record (Answered, version 2)"),
        ('{"v":1}', "a record (None, version 1)"),
        ('{"kind":"User","v":1,"text":"x"}', "a damaged User record"),
        ('{"kind":"User","v":1,"text":"x","colour":1}', "a damaged User record"),
        ('{"kind":"Answered","v":1,"covers":7}', "a damaged Answered record"),
        ('{"kind":"Decided","v":1,"call_id":"1","verdict":"maybe"}', "a damaged Decided record"),
        ('{"kind":"ModelReply","v":1,"model":"m","calls":["x"]}', "a damaged ModelReply record"),
        ('{"kind":"Answ', "a damaged record"),
        ("[1]", "a damaged record"),
        ("", "a damaged record"),
        ('{"kind":["x"],"v":1}', "a record (['x'], version 1)"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_sentence(text: str, sentence: str) -> None:
    good = dump(User("hi", "U1", "Alice", "1.0"))

    with pytest.raises(JournalUnreadable) as caught:
        load_all([good, text, good])

    assert sentence in str(caught.value)


def test_every_kind_can_be_stored() -> None:
    assert set(KINDS.values()) == set(get_args(Entry))
    assert all(dataclasses.is_dataclass(kind) for kind in KINDS.values())


@given(any_entry, st.text())
def test_a_kind_from_another_release_is_not_read(entry: Entry, kind: str) -> None:
    body = json.loads(dump(entry))
    if kind not in KINDS:
        with pytest.raises(JournalUnreadable, match="Run the release that wrote it"):
            load(json.dumps({**body, "kind": kind}))


@given(any_entry, st.one_of(st.integers(), st.none(), st.text(), st.lists(st.integers())))
def test_a_version_from_another_release_is_not_read(entry: Entry, version: object) -> None:
    body = json.loads(dump(entry))
    if version != VERSION:
        with pytest.raises(JournalUnreadable):
            load(json.dumps({**body, "v": version}))


@given(any_entry)
def test_a_field_from_another_release_is_not_read_and_not_dropped(entry: Entry) -> None:
    body = json.loads(dump(entry))

    with pytest.raises(JournalUnreadable, match=f"damaged {body['kind']} record"):
        load(json.dumps({**body, "colour": "red"}))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=4,
)


@given(any_entry, st.data())
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


@given(any_entry, st.data())
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
