"""The text dialect: `Thought: …`, `Action: tool: input`, `PAUSE`, `Answer: …`."""

from __future__ import annotations

from collections.abc import Sequence

from bot.agent.dialects import labels
from bot.agent.dialects.base import CUT_OFF, NO_END, Message, Parsed, StreamReader
from bot.agent.dialects.label_reader import LabelReader
from bot.agent.dialects.literals import Unreadable, dumps
from bot.agent.dialects.marks import unfenced
from bot.agent.dialects.requests import NAME, arguments_of, find_spec, only_parameter, parameters
from bot.agent.dialects.text_input import MARKERS, read_input
from bot.agent.dialects.tool_docs import described, example_arguments
from bot.agent.dialects.written import written
from bot.agent.entries import Entry, ModelReply, ToolCall
from bot.agent.ports import Json, ToolSpec
from bot.agent.prompt import Facts, system_prompt

_RULES = """\
You run in a loop of Thought, Action, PAUSE, Observation. At the end of the loop you give an Answer.
Use Thought to say in one or two sentences what you are about to do and why.
Use Action to run one of the tools below, then write PAUSE on a line of its own and stop.
The Observation is the tool's result; it is sent to you. Never write an Observation yourself.
When you are done, write Answer: and what the person is to read.

Each marker begins a line, outside code blocks. A reply holds one Action or one Answer, never
both. A tool with one parameter takes its input as plain text up to PAUSE; every other tool takes
one JSON object."""

_SESSION = """\
Example session:

Question: What is 15 percent of 240?
Thought: I calculate it instead of guessing.
Action: calculate: 240 * 0.15
PAUSE

You are called again with:

Observation: 36

You then reply:

Answer: 15 percent of 240 is 36."""


class Text:
    """`bot.agent.dialects.base.Dialect` in lines with labels."""

    name = "text"
    stop: tuple[str, ...] = ("\nPAUSE\n",)
    sends_tools = False

    def system(self, facts: Facts, specs: Sequence[ToolSpec]) -> str:
        tools = "\n".join(_documented(spec) for spec in specs) or "There are none in this place."
        return "\n\n".join([system_prompt(facts), _RULES, f"Tools:\n{tools}", _SESSION])

    def messages(self, system: str, entries: Sequence[Entry]) -> list[Message]:
        return written(self, system, entries, render, ended, "Observation: {}")

    def parse(self, text: str, specs: Sequence[ToolSpec], *, cut_off: bool) -> Parsed:
        whole = unfenced(text)
        found = labels.split(whole)
        try:
            return _parse(whole, text, found, specs, cut_off)
        except Unreadable as error:
            return Parsed(problem=CUT_OFF if cut_off else f"{error}.", kept=text)

    def correction(self, problem: str) -> str:
        form = "Action: tool_name: input\nPAUSE\nor with\nAnswer: what the person is to read"
        if problem == NO_END:
            return f"Go on: reply with\n{form}"
        return f"Your last reply could not be read: {problem} Reply with\nThought: …\n{form}"

    def reader(self) -> StreamReader:
        return LabelReader()


def _parse(
    whole: str, text: str, found: labels.Labelled, specs: Sequence[ToolSpec], cut_off: bool
) -> Parsed:
    match found.kind:
        case "action":
            action = read_input(whole, found.start, specs)
            if cut_off:
                return Parsed(problem=CUT_OFF, kept=text)
            return Parsed(found.thought, (action.call,), kept=whole[: action.end])
        case "answer":
            answer = labels.answer(whole, found.start)
            if not answer:
                raise Unreadable("the answer is empty")
            if any(_is_known(whole, at, specs) for at in labels.later_actions(whole, found.start)):
                raise Unreadable("it holds an answer and an action; send only one of them")
            return Parsed(found.thought, answer=answer, kept=text)
        case _ if cut_off:
            return Parsed(problem=CUT_OFF, kept=text)
        case _:
            ending = labels.without_end(found, bare_answer=True)
            return Parsed(ending.thought, (), ending.answer, ending.problem, text)


def _is_known(text: str, position: int, specs: Sequence[ToolSpec]) -> bool:
    name = NAME.match(text, position)
    return name is not None and find_spec(specs, name[0]) is not None


def render(call: ToolCall, thought: str = "") -> str:
    """A call as this dialect writes it; the object form is right for every tool."""
    before = f"Thought: {thought}\n" if thought else ""
    arguments = arguments_of(call)
    if arguments is None:
        arguments = {"input": call.arguments}
    if NAME.fullmatch(call.name) and call.name.lower() not in MARKERS:
        return f"{before}Action: {call.name}: {dumps(arguments)}\nPAUSE"
    value: Json = {"tool_name": call.name, "tool_args": arguments}
    return f"{before}Action: {dumps(value)}\nPAUSE"


def ended(reply: ModelReply) -> str:
    """A reply without calls as this dialect writes it."""
    before = f"Thought: {reply.thought}\n" if reply.thought else ""
    return f"{before}Answer: {reply.answer}" if reply.answer is not None else before or reply.raw


def _documented(spec: ToolSpec) -> str:
    sample = example_arguments(spec)
    plain = len(parameters(spec)) == 1 and only_parameter(spec) in sample
    given = str(next(iter(sample.values()))) if plain else dumps(sample)
    return f"{described(spec)}\n    Example: Action: {spec.name}: {given}"
