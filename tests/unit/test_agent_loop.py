"""The loop: what comes next in a journal, and that running again after a crash is the same."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.agent.consent import Preview
from bot.agent.entries import (
    Answer,
    Answered,
    ApprovalAnswered,
    ApprovalAsked,
    Decided,
    Entry,
    Failed,
    FilesSeen,
    ModelReply,
    Observation,
    Overheard,
    Quote,
    Refused,
    Resumed,
    Stopped,
    Told,
    ToolCall,
    ToolStarted,
    Usage,
    User,
    open_turn,
)
from bot.agent.guard import Limits
from bot.agent.loop import (
    AskHuman,
    AskModel,
    Declined,
    Finished,
    Interrupted,
    Refuse,
    RunTool,
    Step,
    Waiting,
    next_step,
    run_turn,
)
from bot.agent.ports import ToolSpec
from bot.agent.prompt import Facts
from bot.errors import Fenced, Leaving, ModelRefused
from bot.policy import Verdict

ASK = User("what is 6 * 7?", "U1", "Ann", "1.0")
FACTS = Facts("a test", files=("notes.txt",))
SEEN = FilesSeen(FACTS.files)
MORE = User("and 7 * 8?", "U2", "Bob", "2.0")
A, B = ToolCall("a", "calculate", '{"expression": "6 * 7"}'), ToolCall("b", "list_dir", "{}")
REPLY = ModelReply("m", thought="I multiply.", calls=(A, B))
VERDICTS = {"calculate": Verdict.ALLOW, "list_dir": Verdict.ALLOW}


@dataclass(frozen=True)
class Policy:
    """Decides by the tool's name."""

    verdicts: Mapping[str, Verdict] = field(default_factory=lambda: VERDICTS)

    def __call__(self, call: ToolCall) -> Decided:
        return Decided(call.id, self.verdicts[call.name], "as the test says", "rule 1")


def decided(call: ToolCall, verdict: Verdict = Verdict.ALLOW) -> Decided:
    return Decided(call.id, verdict, "as the test says", "rule 1")


RUN_A, RUN_B = RunTool(A, decided(A)), RunTool(B, decided(B))
DONE_A, DONE_B = Observation("a", "42"), Observation("b", "empty")

TABLE: list[tuple[str, list[Entry], Step]] = [
    ("an empty journal waits for nobody", [], Finished()),
    ("a question is for the model", [ASK], AskModel()),
    ("a resumed question too", [ASK, Resumed("p")], AskModel()),
    ("two questions are one for the model", [ASK, MORE], AskModel()),
    (
        "what is overheard alone asks nothing",
        [Overheard((Quote("U1", "A", "x", "1"),))],
        Finished(),
    ),
    ("a refused message asks nothing", [Refused(("1.0",), "no")], Finished()),
    ("the first call comes first", [ASK, REPLY], RUN_A),
    ("a decision alone has not started it", [ASK, REPLY, decided(A)], RUN_A),
    ("a started call is interrupted", [ASK, REPLY, decided(A), ToolStarted("a")], Interrupted(A)),
    ("then the second call", [ASK, REPLY, decided(A), ToolStarted("a"), DONE_A], RUN_B),
    ("observed in another order", [ASK, REPLY, DONE_B], RUN_A),
    ("all observed: the model", [ASK, REPLY, DONE_A, DONE_B], AskModel()),
    ("a message does not come between call and observation", [ASK, REPLY, DONE_A, MORE], RUN_B),
    ("an id used again belongs to the newest reply", [ASK, REPLY, DONE_A, DONE_B, REPLY], RUN_A),
    ("an answer ends it", [ASK, ModelReply("m", answer="42"), Answered(("1.0",))], Finished()),
    ("a stop ends it", [ASK, REPLY, DONE_A, Stopped(("1.0",), "Bob")], Finished()),
    ("a failure ends it", [ASK, REPLY, Failed(("1.0",), "It broke.")], Finished()),
    ("a message after the end begins anew", [ASK, Failed(("1.0",), "x"), MORE], AskModel()),
    (
        "calls of an ended turn are not run",
        [ASK, REPLY, Stopped(("1.0",), "Bob"), MORE],
        AskModel(),
    ),
]


@pytest.mark.parametrize(("entries", "step"), [row[1:] for row in TABLE], ids=[r[0] for r in TABLE])
def test_the_next_step_follows_from_the_journal(entries: list[Entry], step: Step) -> None:
    assert next_step(entries, Policy()) == step


def test_a_call_that_is_not_allowed_is_refused_in_its_place() -> None:
    policy = Policy({"calculate": Verdict.DENY, "list_dir": Verdict.ALLOW})

    assert next_step([ASK, REPLY], policy) == Refuse(A, decided(A, Verdict.DENY))
    assert next_step([ASK, REPLY, decided(A, Verdict.DENY), DONE_A], policy) == RUN_B


WANTS_A_YES = Policy({"calculate": Verdict.ASK, "list_dir": Verdict.ALLOW})
QUESTION = ApprovalAsked("a", "", 1.0, 2.0)
YES, NO = (ApprovalAnswered("a", answer, "U9", "Ada") for answer in (Answer.ALLOWED, Answer.DENIED))
ASKED: list[Entry] = [ASK, REPLY, decided(A, Verdict.ASK), QUESTION]


def test_a_call_that_wants_a_yes_waits_for_it() -> None:
    assert next_step([ASK, REPLY], WANTS_A_YES) == AskHuman(((A, decided(A, Verdict.ASK)),))
    assert next_step(ASKED, WANTS_A_YES) == Waiting()
    assert next_step([*ASKED, Resumed("p"), Told("2.0")], WANTS_A_YES) == Waiting()
    assert next_step([*ASKED, YES], WANTS_A_YES) == RunTool(A, decided(A, Verdict.ASK))
    assert next_step([*ASKED, NO], WANTS_A_YES) == Declined(A, NO)
    assert next_step([*ASKED, NO, DONE_A], WANTS_A_YES) == RUN_B


def test_a_yes_is_worth_nothing_for_another_form_of_the_call() -> None:
    """The arguments are read in another way since then: the person is asked anew."""
    other = ApprovalAsked("a", "another digest", 1.0, 2.0)

    step = next_step([ASK, REPLY, decided(A, Verdict.ASK), other, YES], WANTS_A_YES)

    assert step == AskHuman(((A, decided(A, Verdict.ASK)),))


def test_a_yes_is_worth_nothing_for_a_later_call_with_the_same_id() -> None:
    again = [*ASKED, YES, ToolStarted("a"), DONE_A, DONE_B, REPLY]

    assert next_step(again, WANTS_A_YES) == AskHuman(((A, decided(A, Verdict.ASK)),))


def test_a_rule_that_changed_meanwhile_is_stronger_than_the_answer() -> None:
    assert next_step([*ASKED, YES], Policy({"calculate": Verdict.DENY})) == Refuse(
        A, decided(A, Verdict.DENY)
    )


def test_a_call_that_had_been_started_is_interrupted_even_if_it_is_forbidden_by_now() -> None:
    policy = Policy({"calculate": Verdict.DENY})

    assert next_step([ASK, REPLY, ToolStarted("a")], policy) == Interrupted(A)


# Whole turns


class Crash(BaseException):
    """The process dies here."""


@dataclass
class MemoryJournal:
    """A journal in memory, the writes it may still make, and messages that arrive on the way."""

    entries: list[Entry]
    inbox: dict[int, list[Entry]] = field(default_factory=dict)
    """What has arrived by the time the journal has so many entries."""
    crashes: Container[int] = ()
    """The numbers of the appends after which the process dies."""
    appends: int = 0
    closing: bool = False
    sizes: list[int] = field(default_factory=list)
    """How many entries each append wrote."""

    def safe(self, entry: Entry) -> Entry:
        return entry

    async def append(self, *entries: Entry) -> None:
        self.entries.extend(entries)
        self.sizes.append(len(entries))
        self.appends += 1
        if self.appends in self.crashes:
            raise Crash

    async def take_inbox(self) -> bool:
        due = [length for length in self.inbox if length <= len(self.entries)]
        new = [entry for length in due for entry in self.inbox.pop(length)]
        if new:
            await self.append(*new)
        return bool(new)


@dataclass
class Planner:
    """A model that makes each reply of a plan in turn, then answers with what it saw."""

    plan: Sequence[Sequence[ToolCall]]
    asked: list[tuple[Entry, ...]] = field(default_factory=list)
    name: str = "planner"

    async def reply(
        self, facts: Facts, entries: Sequence[Entry], specs: Sequence[ToolSpec]
    ) -> ModelReply:
        self.asked.append(tuple(entries))
        turn = open_turn(entries)
        step = sum(isinstance(entry, ModelReply) for entry in turn)
        if step < len(self.plan):
            return ModelReply(self.name, f"step {step}", tuple(self.plan[step]))
        asked = [entry.text for entry in turn if isinstance(entry, User)]
        return ModelReply(self.name, answer=f"{len(self.plan)} steps for {asked}")


@dataclass(frozen=True)
class Result:
    text: str
    is_error: bool = False


@dataclass
class Hands:
    """Tools that note what they did."""

    done: list[str] = field(default_factory=list)
    crash_in: str = ""
    clock: StillClock | None = None

    def specs(self) -> Sequence[ToolSpec]:
        return ()

    async def preview(self, name: str, raw: str) -> Preview:
        return Preview(f"{name} {raw}")

    async def run(self, name: str, raw: str) -> Result:
        self.done.append(raw)
        if raw == self.crash_in:
            self.crash_in = ""
            raise Crash
        if self.clock is not None:
            self.clock.time += 5.0
        return Result(f"{name} gave {raw}")


@dataclass
class StillClock:
    time: float = 100.0

    def now(self) -> float:
        return self.time


ALLOWED, DEFAULTS = Policy(), Limits()


async def work(
    journal: MemoryJournal,
    model: Planner,
    hands: Hands,
    limits: Limits = DEFAULTS,
    policy: Policy = ALLOWED,
    notify: Callable[[], None] = lambda: None,
) -> None:
    clock = hands.clock or StillClock()
    await run_turn(journal, model, hands, policy, FACTS, limits, clock, notify)


def call(name: str) -> ToolCall:
    return ToolCall(name, "calculate", name)


async def test_a_turn_thinks_acts_and_answers_and_writes_each_step_down() -> None:
    journal, model, hands = MemoryJournal([ASK]), Planner([[A, B]]), Hands()
    seen: list[int] = []

    await work(journal, model, hands, notify=lambda: seen.append(len(journal.entries)))

    assert journal.entries == [
        ASK,
        SEEN,
        ModelReply("planner", "step 0", (A, B)),
        decided(A),
        ToolStarted("a"),
        Observation("a", f"calculate gave {A.arguments}"),
        decided(B),
        ToolStarted("b"),
        Observation("b", "list_dir gave {}"),
        ModelReply("planner", answer="1 steps for ['what is 6 * 7?']"),
        Answered(("1.0",)),
    ]
    assert seen == [5, 6, 8, 9, 11], "each step is told as soon as it is written"
    assert journal.sizes == [4, 1, 2, 1, 2], (
        "a reply is written together with its first call's start"
    )
    assert [len(entries) for entries in model.asked] == [1, 9]


async def test_an_observation_says_how_long_its_tool_took_and_that_it_failed() -> None:
    class Failing(Hands):
        async def run(self, name: str, raw: str) -> Result:
            await super().run(name, raw)
            return Result("No such file. Try list_dir.", is_error=True)

    journal = MemoryJournal([ASK])

    await work(journal, Planner([[A]]), Failing(clock=StillClock()))

    assert Observation("a", "No such file. Try list_dir.", True, 5.0) in journal.entries


async def test_a_refused_call_becomes_an_observation_and_the_turn_goes_on() -> None:
    journal, hands = MemoryJournal([ASK]), Hands()
    policy = Policy({"calculate": Verdict.DENY})

    await work(journal, Planner([[A]]), hands, policy=policy)

    assert hands.done == []
    (denied,) = [entry for entry in journal.entries if isinstance(entry, Observation)]
    assert denied.is_error
    assert "calculate is not allowed here (as the test says)" in denied.text
    assert isinstance(journal.entries[-1], Answered)


async def test_a_turn_that_asks_a_person_ends_there_and_goes_on_with_the_answer() -> None:
    journal, hands = MemoryJournal([ASK]), Hands(clock=StillClock())
    policy = Policy({"calculate": Verdict.ASK})

    await work(journal, Planner([[A]]), hands, policy=policy)

    assert hands.done == []
    assert journal.entries[-1] == ApprovalAsked(
        "a", "", 100.0, 100.0 + 259_200.0, shown=f"calculate {A.arguments}"
    )
    waiting = len(journal.entries)
    await work(journal, Planner([[A]]), hands, policy=policy)
    assert len(journal.entries) == waiting
    journal.entries.append(YES)
    await work(journal, Planner([[A]]), hands, policy=policy)
    assert len(hands.done) == 1
    assert next_step(journal.entries, policy) == Finished()


async def test_what_is_decided_and_run_is_the_call_as_it_is_written_without_its_secret() -> None:
    class Redacting(MemoryJournal):
        def safe(self, entry: Entry) -> Entry:
            if isinstance(entry, ModelReply):
                calls = [
                    ToolCall(c.id, c.name, c.arguments.replace("xoxb", "***")) for c in entry.calls
                ]
                return replace(entry, calls=tuple(calls))
            return entry

    asked: list[str] = []

    def decide(call: ToolCall) -> Decided:
        asked.append(call.arguments)
        return decided(call)

    journal, hands = Redacting([ASK]), Hands()
    plan = Planner([[ToolCall("a", "calculate", "xoxb")]])

    await run_turn(journal, plan, hands, decide, FACTS, DEFAULTS, StillClock(), lambda: None)

    assert hands.done == ["***"]
    assert set(asked) == {"***"}


async def test_no_call_is_started_by_a_process_that_is_about_to_end() -> None:
    """Its reply is written alone: `append` says afterwards that it is time to go."""

    class Going(MemoryJournal):
        async def append(self, *entries: Entry) -> None:
            await super().append(*entries)
            if self.closing:
                raise Leaving("on its way out")

    journal, hands = Going([ASK], closing=True), Hands()

    with pytest.raises(Leaving):
        await work(journal, Planner([[A]]), hands)
    assert journal.entries == [ASK, SEEN, ModelReply("planner", "step 0", (A,))]
    assert hands.done == []


async def test_a_message_that_arrives_is_taken_before_the_next_model_call_only() -> None:
    journal, model = MemoryJournal([ASK], {3: [MORE]}), Planner([[A, B]])

    await work(journal, model, Hands())

    kinds = [type(entry).__name__ for entry in journal.entries]
    assert kinds.index("User", 1) == 9, "after both observations"
    assert model.asked[1][-1] == MORE
    assert journal.entries[-1] == Answered(("1.0", "2.0"))


async def test_a_message_that_stops_the_turn_keeps_the_model_from_being_asked() -> None:
    stop = Stopped(("1.0",), "Bob")
    journal, model = MemoryJournal([ASK], {6: [stop]}), Planner([[A]])

    await work(journal, model, Hands())

    assert journal.entries[-1] == stop
    assert len(model.asked) == 1


async def test_an_error_of_the_model_leaves_the_turn_open() -> None:
    class Refusing(Planner):
        async def reply(
            self, facts: Facts, entries: Sequence[Entry], specs: Sequence[ToolSpec]
        ) -> ModelReply:
            raise ModelRefused("no")

    journal = MemoryJournal([ASK])

    with pytest.raises(ModelRefused):
        await work(journal, Refusing([]), Hands())
    assert journal.entries == [ASK]


async def test_a_runner_that_is_fenced_off_does_nothing_more() -> None:
    class Lost(MemoryJournal):
        async def append(self, *entries: Entry) -> None:
            if any(isinstance(entry, ToolStarted) for entry in entries):
                raise Fenced("another")
            await super().append(*entries)

    hands = Hands()

    with pytest.raises(Fenced):
        await work(Lost([ASK]), Planner([[A]]), hands)
    assert hands.done == [], "a tool runs only after its start is written"


PLAN = [[call("one")], [call("two"), call("three")], [call("four")]]
STEERING: dict[int, list[Entry]] = {6: [MORE]}


async def until_done(journal: MemoryJournal, model: Planner, hands: Hands) -> int:
    """Start again after every crash, as the next process would; the number of crashes."""
    crashes = 0
    while True:
        try:
            await work(journal, model, hands)
        except Crash:
            crashes += 1
        else:
            return crashes


def answer(journal: MemoryJournal) -> str | None:
    reply = journal.entries[-2]
    assert isinstance(reply, ModelReply)
    assert isinstance(journal.entries[-1], Answered)
    return reply.answer


async def test_a_crash_after_any_write_changes_neither_the_answer_nor_what_was_done() -> None:
    whole, hands = MemoryJournal([ASK], dict(STEERING)), Hands()
    await work(whole, Planner(PLAN), hands)
    assert hands.done == ["one", "two", "three", "four"]

    for number in range(1, whole.appends + 1):
        journal = MemoryJournal([ASK], dict(STEERING), [number])
        again = Hands()

        assert await until_done(journal, Planner(PLAN), again) == 1
        assert answer(journal) == answer(whole)
        assert len(again.done) == len(set(again.done)), f"a tool ran twice (write {number})"
        missing = set(hands.done) - set(again.done)
        unknown = [e for e in journal.entries if isinstance(e, Observation) and e.is_error]
        assert len(missing) == len(unknown), "what was not run is told as interrupted"


@given(st.sets(st.integers(1, 30)), st.sampled_from(["", "one", "two", "four"]))
async def test_any_number_of_crashes_ends_in_the_same_answer_and_no_tool_runs_twice(
    crashes: set[int], crash_in: str
) -> None:
    journal = MemoryJournal([ASK], {6: [MORE]}, crashes)
    hands = Hands(crash_in=crash_in)

    await until_done(journal, Planner(PLAN), hands)

    assert answer(journal) == "3 steps for ['what is 6 * 7?', 'and 7 * 8?']"
    assert len(hands.done) == len(set(hands.done))
    started = [entry.call_id for entry in journal.entries if isinstance(entry, ToolStarted)]
    observed = [entry.call_id for entry in journal.entries if isinstance(entry, Observation)]
    assert sorted(started) == sorted(observed) == sorted(["one", "two", "three", "four"])


@pytest.mark.parametrize("length", range(1, 20))
async def test_a_journal_cut_at_any_entry_is_worked_on_to_the_same_answer(length: int) -> None:
    """Also between the entries of one append, where no crash of ours can cut it."""
    whole = MemoryJournal([ASK])
    await work(whole, Planner(PLAN), Hands())
    ran_before = sum(isinstance(entry, ToolStarted) for entry in whole.entries[:length])
    journal, hands = MemoryJournal(whole.entries[:length]), Hands()

    await work(journal, Planner(PLAN), hands)

    assert answer(journal) == answer(whole)
    assert len(hands.done) == 4 - ran_before


async def test_a_prompt_says_what_files_there_were_when_the_thread_began() -> None:
    """A prompt that changed with the workspace would be new to every cache."""

    class Reading(Planner):
        facts: Facts

        async def reply(
            self, facts: Facts, entries: Sequence[Entry], specs: Sequence[ToolSpec]
        ) -> ModelReply:
            self.facts = facts
            return await super().reply(facts, entries, specs)

    before = FilesSeen(("old.txt",))
    journal, model = MemoryJournal([ASK, before, Failed(("1.0",), "x"), MORE]), Reading([])

    await work(journal, model, Hands())

    assert model.facts.files == ("old.txt",)
    assert [entry for entry in journal.entries if isinstance(entry, FilesSeen)] == [before]


# Limits


def costly(journal: MemoryJournal) -> Failed:
    ending = journal.entries[-1]
    assert isinstance(ending, Failed)
    return ending


ENDLESS = [[call(f"call {n}")] for n in range(100)]


async def test_a_turn_ends_after_so_many_steps_with_a_sentence() -> None:
    journal, model = MemoryJournal([ASK]), Planner(ENDLESS)

    await work(journal, model, Hands(), Limits(max_steps=3))

    assert len(model.asked) == 3
    assert "after 3 steps" in costly(journal).text
    assert costly(journal).covers == ("1.0",)


async def test_a_turn_ends_after_so_many_seconds_of_work() -> None:
    journal, model = MemoryJournal([ASK]), Planner(ENDLESS)

    await work(journal, model, Hands(clock=StillClock()), Limits(max_seconds=11.0))

    assert len(model.asked) == 3, "three tools of 5 s each"
    assert "after 11 seconds" in costly(journal).text


async def test_a_turn_ends_after_so_many_tokens() -> None:
    class Costly(Planner):
        async def reply(
            self, facts: Facts, entries: Sequence[Entry], specs: Sequence[ToolSpec]
        ) -> ModelReply:
            plain = await super().reply(facts, entries, specs)
            return ModelReply("m", calls=plain.calls, usage=Usage(900, 100))

    journal, model = MemoryJournal([ASK]), Costly(ENDLESS)

    await work(journal, model, Hands(), Limits(max_tokens=2000))

    assert len(model.asked) == 2
    assert "2,000 tokens" in costly(journal).text


async def test_a_message_renews_the_limits() -> None:
    journal, model = MemoryJournal([ASK], {10: [MORE]}), Planner(ENDLESS)

    await work(journal, model, Hands(), Limits(max_steps=3))

    assert len(model.asked) == 2 + 3
    assert costly(journal).covers == ("1.0", "2.0")


async def test_limits_hold_across_a_crash() -> None:
    journal = MemoryJournal([ASK], crashes=range(2, 100, 2))
    model = Planner(ENDLESS)

    while not isinstance(journal.entries[-1], Failed):
        try:
            await work(journal, model, Hands(), Limits(max_steps=4))
        except Crash:
            continue

    assert sum(isinstance(entry, ModelReply) for entry in journal.entries) == 4
