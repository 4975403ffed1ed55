"""The inbox: each message once, whole, in Slack's order, and nothing of what is not the bot's."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, text, update

from bot.agent.entries import Answered, Overheard, User
from bot.errors import Fenced, ItemChanged
from bot.redact import MARK, Redactor
from bot.storage.database import Database
from bot.storage.deliveries import Deliveries, Delivery, State
from bot.storage.inbox import DELETED_SECONDS, OVERHEARD_SECONDS, Inbox
from bot.storage.items import Addressing, Item, Kind
from bot.storage.journal import Journals
from bot.storage.tables import deleted, overheard
from bot.storage.writer import Writer

ROOT_ITEM = Item(
    Kind.MESSAGE, "T1", "C1", "100.1", "100.1", "U1", "@bot hi", Addressing.MENTION, event_id="E1"
)
THREAD = ROOT_ITEM.thread


def reply(ts: str, text: str = "more", **changes: object) -> Item:
    plain = Item(Kind.MESSAGE, "T1", "C1", "100.1", ts, "U1", text)
    return replace(plain, **changes)  # type: ignore[arg-type]


@dataclass
class Store:
    writer: Writer
    inbox: Inbox
    journals: Journals
    deliveries: Deliveries

    async def texts(self, thread: str = THREAD) -> list[str]:
        return [stored.item.text for stored in await self.inbox.waiting(thread)]

    async def rows(self, query: str) -> list[tuple[object, ...]]:
        def work(connection: Connection) -> list[tuple[object, ...]]:
            return [tuple(row) for row in connection.execute(text(query))]

        return await self.writer.run(work)


@pytest.fixture
async def store(opens: Callable[[], Database]) -> AsyncIterator[Store]:
    database = opens()
    writer = Writer(database.engine)
    yield Store(writer, Inbox(writer), Journals(writer), Deliveries(writer))
    await writer.close()
    database.close()


async def test_a_mention_makes_the_thread_the_bots_and_is_work(store: Store) -> None:
    assert await store.inbox.store(ROOT_ITEM)

    (stored,) = await store.inbox.waiting(THREAD)
    assert stored.item == ROOT_ITEM
    assert list(await store.journals.unfinished()) == [THREAD]
    assert (await store.journals.read(THREAD)).root_addressed


async def test_a_thread_that_a_reply_made_the_bots_has_another_root(store: Store) -> None:
    await store.inbox.store(reply("100.2", addressing=Addressing.MENTION))

    assert not (await store.journals.read(THREAD)).root_addressed


async def test_an_event_that_is_sent_again_is_stored_once(store: Store) -> None:
    await store.inbox.store(ROOT_ITEM)

    assert not await store.inbox.store(ROOT_ITEM)
    assert not await store.inbox.store(replace(ROOT_ITEM, event_id="E2")), "with another id"
    assert not await store.inbox.store(replace(ROOT_ITEM, ts="100.9")), "an id that was there"
    assert await store.texts() == ["@bot hi"]


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ({"text": "@bot hi and more"}, {"text": "@bot hi and more"}),
        ({"files": ("a.txt",)}, {"files": ("a.txt",)}),
        (
            {"text": "@bot hi, look", "addressing": Addressing.OPEN, "files": ("a",)},
            {"text": "@bot hi, look", "files": ("a",)},
        ),
        ({"text": "", "files": ("a",), "addressing": Addressing.OPEN}, {"files": ("a",)}),
    ],
    ids=["text", "files", "all but the mention", "files without text"],
)
async def test_a_later_delivery_that_holds_more_completes_the_first(
    store: Store, more: dict[str, object], wanted: dict[str, object]
) -> None:
    await store.inbox.store(ROOT_ITEM)

    later = replace(ROOT_ITEM, event_id="E2", **more)  # type: ignore[arg-type]
    assert await store.inbox.store(later)

    (stored,) = await store.inbox.waiting(THREAD)
    assert stored.item == replace(ROOT_ITEM, **wanted)  # type: ignore[arg-type]


async def test_a_mention_that_comes_after_the_plain_message_counts(store: Store) -> None:
    await store.inbox.store(ROOT_ITEM)
    await store.inbox.store(reply("100.2", "<@U0> hi", event_id="E5"))

    mention = reply("100.2", "<@U0> hi", event_id="E6", addressing=Addressing.MENTION)
    assert await store.inbox.store(mention)

    assert (await store.inbox.waiting(THREAD))[1].item.addressing is Addressing.MENTION


NUMBERS = (f"{n}.5" for n in itertools.count(1000))


@given(st.permutations(["a", "ab", "abc", ""]), st.permutations([(), ("f",), ("f", "g")]))
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_in_whatever_order_they_come_the_fullest_of_each_is_kept(
    store: Store, texts: list[str], files: list[tuple[str, ...]]
) -> None:
    number = next(NUMBERS)
    for part, names in itertools.zip_longest(texts, files, fillvalue=()):
        item = replace(ROOT_ITEM, root_ts=number, ts=number, event_id=None)
        await store.inbox.store(replace(item, text=str(part or ""), files=tuple(names)))

    (stored,) = await store.inbox.waiting(f"T1:C1:{number}")
    assert (stored.item.text, stored.item.files) == ("abc", ("f", "g"))


async def test_what_was_taken_is_not_completed_and_not_stored_again(store: Store) -> None:
    await store.inbox.store(ROOT_ITEM)
    (stored,) = await store.inbox.waiting(THREAD)
    user = User("hi", "U1", "Ann", "100.1")
    await store.journals.append(THREAD, 0, [user], [stored])

    assert not await store.inbox.store(replace(ROOT_ITEM, text="@bot hi and more", event_id="E2"))
    assert await store.texts() == []
    assert await store.rows("SELECT body, taken_seq FROM inbox") == [("", 0)]


async def test_taking_and_writing_down_are_one(store: Store) -> None:
    """A runner that lost the thread has taken nothing."""
    await store.inbox.store(ROOT_ITEM)
    (stored,) = await store.inbox.waiting(THREAD)
    await Journals(store.writer).append(THREAD, 0, [Answered(())])

    with pytest.raises(Fenced):
        await store.journals.append(THREAD, 0, [User("hi", "U1", "Ann", "1")], [stored])
    assert await store.texts() == ["@bot hi"]


async def test_items_come_in_slacks_order_not_in_that_of_arrival(store: Store) -> None:
    await store.inbox.store(ROOT_ITEM)
    for ts in ("1000.000002", "999.000001", "1000.000001"):
        await store.inbox.store(reply(ts, text=ts))

    assert await store.texts() == ["@bot hi", "999.000001", "1000.000001", "1000.000002"]


async def test_each_edit_and_a_deletion_are_items_of_their_own(store: Store) -> None:
    await store.inbox.store(ROOT_ITEM)
    for change in ("100.5", "100.6", "100.6"):
        edit = replace(ROOT_ITEM, kind=Kind.EDIT, change=change, event_id=None, text=change)
        await store.inbox.store(edit)
    await store.inbox.store(replace(ROOT_ITEM, kind=Kind.DELETION, event_id=None, text=""))

    kinds = [stored.item.kind for stored in await store.inbox.waiting(THREAD)]
    assert sorted(kinds) == [Kind.DELETION, Kind.EDIT, Kind.EDIT, Kind.MESSAGE]


async def test_half_a_character_in_a_message_does_not_lose_it(store: Store) -> None:
    """JSON can hold one half of a surrogate pair, which no database and no model takes."""
    await store.inbox.store(replace(ROOT_ITEM, text="@bot hi \ud83d there"))

    assert await store.texts() == ["@bot hi ? there"]


# What is not for the bot


async def test_of_a_thread_that_is_not_the_bots_no_word_is_kept(store: Store) -> None:
    assert not await store.inbox.store(reply("100.2", text="the secret plan"))

    assert await store.rows("SELECT * FROM inbox") == []
    ((channel, thread_ts, ts, _),) = await store.rows("SELECT * FROM overheard")
    assert (channel, thread_ts, ts) == ("T1:C1", "100.1", "100.2")
    assert list(await store.journals.unfinished()) == []


@pytest.mark.parametrize(
    "item",
    [
        replace(ROOT_ITEM, addressing=Addressing.OPEN),
        reply("100.2", kind=Kind.EDIT, change="100.3"),
    ],
    ids=["a message without thread", "an edited reply"],
)
async def test_of_anything_else_nothing_is_kept_at_all(store: Store, item: Item) -> None:
    assert not await store.inbox.store(item)

    assert await store.rows("SELECT * FROM inbox") == []
    assert await store.rows("SELECT * FROM overheard") == []


async def test_a_reply_before_its_mention_is_known_when_the_thread_becomes_the_bots(
    store: Store,
) -> None:
    await store.inbox.store(reply("100.2"))
    await store.inbox.store(ROOT_ITEM)

    assert await store.inbox.overheard(ROOT_ITEM)
    assert await store.inbox.overheard(ROOT_ITEM), "a kill in between must not forget them"


async def test_another_threads_replies_are_not_mistaken_for_this_ones(store: Store) -> None:
    await store.inbox.store(reply("100.2"))

    assert not await store.inbox.overheard(replace(ROOT_ITEM, root_ts="200.1", ts="200.1"))
    assert not await store.inbox.overheard(replace(ROOT_ITEM, channel="C2"))


async def test_a_reply_is_remembered_for_two_minutes(store: Store) -> None:
    assert OVERHEARD_SECONDS == 120
    await store.inbox.store(reply("100.2"))
    await store.writer.run(
        lambda connection: connection.execute(update(overheard).values(at=overheard.c.at - 121))
    )

    await store.inbox.store(reply("300.2", root_ts="300.1"))

    assert [row[1] for row in await store.rows("SELECT * FROM overheard")] == ["300.1"]
    assert not await store.inbox.overheard(ROOT_ITEM)


# Threads


async def test_a_thread_is_finished_only_when_nothing_waits(store: Store) -> None:
    await store.inbox.store(ROOT_ITEM)
    assert not await store.journals.finish(THREAD, 0)
    (stored,) = await store.inbox.waiting(THREAD)
    await store.journals.append(THREAD, 0, [Answered(())], [stored])

    assert await store.journals.finish(THREAD, 0)
    assert list(await store.journals.unfinished()) == []

    await store.inbox.store(reply("100.2"))
    assert list(await store.journals.unfinished()) == [THREAD]


async def test_an_unknown_thread_has_an_empty_journal(store: Store) -> None:
    found = await store.journals.read("T1:C1:9.9")

    assert found.entries == ()
    assert not found.root_addressed


# Deliveries


async def test_a_delivery_is_on_record_before_it_is_tried_and_after(store: Store) -> None:
    begun = await store.deliveries.begin(THREAD, "k1", ["0", "1"])
    assert list(await store.deliveries.of(THREAD)) == [begun]
    assert begun.state is State.TRYING

    await store.deliveries.end("k1", State.POSTED, "100.7")

    posted = Delivery("k1", ("0", "1"), State.POSTED, "100.7", begun.tried_at)
    assert list(await store.deliveries.of(THREAD)) == [posted]
    assert list(await store.deliveries.of("T1:C1:9.9")) == []


async def test_a_delivery_that_is_tried_again_keeps_its_place_with_the_new_time(
    store: Store,
) -> None:
    first = await store.deliveries.begin(THREAD, "k1", ["0"])
    await store.deliveries.end("k1", State.GIVEN_UP)

    second = await store.deliveries.begin(THREAD, "k1", ["0"])

    assert second.tried_at > first.tried_at
    (found,) = await store.deliveries.of(THREAD)
    assert found == second


async def test_a_delivery_that_is_tried_again_with_more_pieces_holds_them(store: Store) -> None:
    await store.deliveries.begin(THREAD, "k1", ["c1"])
    await store.deliveries.begin(THREAD, "k1", ["c1", "o4"])

    (found,) = await store.deliveries.of(THREAD)
    assert found.pieces == ("c1", "o4")


# What arrives at an awkward moment


async def test_what_was_completed_since_it_was_read_is_not_taken(store: Store) -> None:
    """Nothing is written: the runner reads it again."""
    await store.inbox.store(ROOT_ITEM)
    (stored,) = await store.inbox.waiting(THREAD)
    assert await store.inbox.store(replace(ROOT_ITEM, text="@bot hi, see", event_id="E2"))

    with pytest.raises(ItemChanged):
        await store.journals.append(THREAD, 0, [User("hi", "U1", "Ann", "100.1")], [stored])
    assert (await store.journals.read(THREAD)).entries == ()

    (again,) = await store.inbox.waiting(THREAD)
    assert again.item.text == "@bot hi, see"
    await store.journals.append(THREAD, 0, [User("hi, see", "U1", "Ann", "100.1")], [again])
    assert await store.texts() == []


async def test_a_root_that_arrives_after_its_reply_still_addresses_the_bot(store: Store) -> None:
    await store.inbox.store(reply("100.2", addressing=Addressing.MENTION))
    await store.inbox.store(ROOT_ITEM)

    assert (await store.journals.read(THREAD)).root_addressed


async def test_a_root_that_addresses_nobody_changes_nothing_about_its_thread(store: Store) -> None:
    await store.inbox.store(reply("100.2", addressing=Addressing.MENTION))
    await store.inbox.store(replace(ROOT_ITEM, addressing=Addressing.OPEN))

    assert not (await store.journals.read(THREAD)).root_addressed


async def test_a_message_that_comes_after_its_deletion_is_not_stored(store: Store) -> None:
    """Nor is its edit; of the deletion nothing is kept but which message it was."""
    await store.inbox.store(replace(ROOT_ITEM, kind=Kind.DELETION, text="", event_id="E7"))

    assert not await store.inbox.store(ROOT_ITEM)
    assert not await store.inbox.store(
        replace(ROOT_ITEM, kind=Kind.EDIT, change="100.5", event_id="E8")
    )

    assert await store.rows("SELECT * FROM inbox") == []
    ((channel, ts, _),) = await store.rows("SELECT * FROM deleted")
    assert (channel, ts) == ("T1:C1", "100.1")
    assert await store.inbox.store(replace(ROOT_ITEM, ts="100.3", root_ts="100.3", event_id="E9"))


async def test_a_deletion_is_remembered_as_long_as_slack_sends_events_again(store: Store) -> None:
    assert DELETED_SECONDS == 600
    await store.inbox.store(replace(ROOT_ITEM, kind=Kind.DELETION, event_id=None))
    await store.writer.run(
        lambda connection: connection.execute(update(deleted).values(at=deleted.c.at - 601))
    )

    assert await store.inbox.store(ROOT_ITEM)
    await store.inbox.store(reply("300.2", root_ts="300.1"))
    assert await store.rows("SELECT * FROM deleted") == []


async def test_no_secret_reaches_the_inbox(store: Store) -> None:
    inbox = Inbox(store.writer, Redactor(["hunter2hunter2"]).text)
    leak = replace(ROOT_ITEM, text="it is hunter2hunter2", files=("hunter2hunter2.txt",))

    assert await inbox.store(leak)
    assert not await inbox.store(replace(leak, event_id="E2")), "it holds no more than the first"

    ((body,),) = await store.rows("SELECT body FROM inbox")
    assert "hunter2" not in str(body)
    (stored,) = await inbox.waiting(THREAD)
    assert stored.item.files == (f"{MARK}.txt",)


async def test_a_stop_on_a_reply_that_is_not_there_yet_waits_for_it(store: Store) -> None:
    """It may end what is going on, so whoever is at the thread looks at once."""
    await store.inbox.store(ROOT_ITEM)
    stop = replace(ROOT_ITEM, kind=Kind.STOP, root_ts="", ts="100.3", text="", event_id="E3")
    on_reply = replace(stop, about="100.2", addressing=Addressing.OPEN)
    assert await store.inbox.store(on_reply) is None
    news = await store.inbox.store(reply("100.2"))

    assert news is not None
    assert news.ending
    waiting = [stored.item for stored in await store.inbox.waiting(ROOT_ITEM.thread)]
    assert [item.kind for item in waiting] == [Kind.MESSAGE, Kind.MESSAGE, Kind.STOP]
    assert {item.thread for item in waiting} == {ROOT_ITEM.thread}
    assert await store.inbox.store(on_reply) is None, "it is there already"


async def test_a_stop_on_a_reply_is_put_into_the_thread_of_the_reply(store: Store) -> None:
    await store.inbox.store(ROOT_ITEM)
    await store.inbox.store(reply("100.2"))
    stop = replace(ROOT_ITEM, kind=Kind.STOP, root_ts="", ts="100.3", text="", event_id="E3")
    on_reply = replace(stop, about="100.2", addressing=Addressing.OPEN)
    news = await store.inbox.store(on_reply)

    assert news is not None
    assert news.thread == ROOT_ITEM.thread


@pytest.mark.parametrize("state", [State.POSTED, State.OPEN])
async def test_a_stop_on_a_post_of_ours_waits_until_it_is_known_to_stand_there(
    store: Store, state: State
) -> None:
    await store.inbox.store(ROOT_ITEM)
    await store.deliveries.begin(THREAD, f"{THREAD}#p", ["p"])
    stop = replace(ROOT_ITEM, kind=Kind.STOP, root_ts="", ts="100.3", text="", event_id="E3")
    on_post = replace(stop, about="100.2", addressing=Addressing.OPEN)
    assert await store.inbox.store(on_post) is None
    other = replace(on_post, about="100.4", ts="100.5", event_id="E5")
    assert await store.inbox.store(other) is None

    assert await store.deliveries.end(f"{THREAD}#p", state, "100.2")
    waiting = [stored.item for stored in await store.inbox.waiting(THREAD)]
    assert [(item.kind, item.about) for item in waiting] == [
        (Kind.MESSAGE, ""),
        (Kind.STOP, "100.2"),
    ]
    assert not await store.deliveries.end(f"{THREAD}#p", State.POSTED, "100.2")


async def test_a_thread_in_which_a_stop_is_found_late_has_work_again(store: Store) -> None:
    await store.inbox.store(ROOT_ITEM)
    items = await store.inbox.waiting(THREAD)
    await store.journals.append(THREAD, 0, [Overheard(())], items)
    await store.deliveries.begin(THREAD, f"{THREAD}#p", ["p"])
    assert await store.journals.finish(THREAD, 0)
    stop = replace(ROOT_ITEM, kind=Kind.STOP, root_ts="", ts="100.3", text="", event_id="E3")
    await store.inbox.store(replace(stop, about="100.2", addressing=Addressing.OPEN))
    await store.deliveries.end(f"{THREAD}#p", State.POSTED, "100.2")

    assert await store.journals.unfinished() == [THREAD]
