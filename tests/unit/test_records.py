"""What is stored of a journal is read back the same, or not at all and with a sentence."""

from __future__ import annotations

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
from bot.agent.records import dump, load, load_all
from bot.errors import JournalUnreadable
from bot.policy import Verdict

st.register_type_strategy(float, st.floats(allow_nan=False))
any_entry = st.one_of(*(st.from_type(kind) for kind in get_args(Entry)))


@given(st.lists(any_entry, max_size=8))
def test_every_kind_of_entry_is_read_back_the_same(entries: list[Entry]) -> None:
    texts = [dump(entry) for entry in entries]

    assert load_all(texts) == entries
    assert [load(text) for text in texts] == entries


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


@given(st.text())
def test_no_text_makes_reading_raise_anything_else(text: str) -> None:
    try:
        load(text)
    except JournalUnreadable:
        return
    assert json.loads(text)
