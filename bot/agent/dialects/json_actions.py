"""The json dialect: `Action:` and then `{"function_name": …, "function_parms": {…}}`, `PAUSE`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bot.agent.dialects import labels
from bot.agent.dialects.base import CUT_OFF, NO_END, Message, Parsed, StreamReader
from bot.agent.dialects.label_reader import LabelReader
from bot.agent.dialects.literals import Unreadable, dumps, read_json
from bot.agent.dialects.marks import unfenced
from bot.agent.dialects.requests import arguments_of, enveloped
from bot.agent.dialects.tool_docs import described, example_arguments
from bot.agent.dialects.written import written
from bot.agent.entries import Entry, ModelReply, ToolCall
from bot.agent.ports import Json, ToolSpec
from bot.agent.prompt import Facts, system_prompt

_RULES = """\
You run in a loop of Thought, Action, PAUSE, Action_Response. At the end of the loop you give an
Answer.
Use Thought to say in one or two sentences what you are about to do and why.
Use Action to run one of the tools below: a JSON object with function_name and function_parms. Then
write PAUSE on a line of its own and stop.
The Action_Response is the tool's result; it is sent to you. Never write one yourself.
When you are done, write Answer: and what the person is to read.

Each marker begins a line, outside code blocks. A reply holds one Action or one Answer, never
both."""

_SESSION = """\
Example session:

Question: What is 15 percent of 240?
Thought: I calculate it instead of guessing.
Action:
{
  "function_name": "calculate",
  "function_parms": {
    "expression": "240 * 0.15"
  }
}
PAUSE

You are called again with:

Action_Response: 36

You then reply:

Answer: 15 percent of 240 is 36."""

_BEFORE = re.compile(r"\s*(?:`{3,}[^\n`]*\n\s*)?(?:\[\s*)?")
_AFTER = re.compile(r"(?:\s*\])?(?:\s*`{3,}[ \t]*$)?", re.M)


class JsonActions:
    """`bot.agent.dialects.base.Dialect` in lines with labels and JSON actions."""

    name = "json"
    stop: tuple[str, ...] = ("\nPAUSE\n",)
    sends_tools = False

    def system(self, facts: Facts, specs: Sequence[ToolSpec]) -> str:
        tools = "\n".join(_documented(spec) for spec in specs) or "There are none in this place."
        return "\n\n".join([system_prompt(facts), _RULES, f"Tools:\n{tools}", _SESSION])

    def messages(self, system: str, entries: Sequence[Entry]) -> list[Message]:
        return written(self, system, entries, render, ended, "Action_Response: {}")

    def parse(self, text: str, specs: Sequence[ToolSpec], *, cut_off: bool) -> Parsed:
        whole = unfenced(text)
        try:
            return _parse(whole, text, specs, cut_off)
        except Unreadable as error:
            return Parsed(problem=CUT_OFF if cut_off else f"{error}.", kept=text)

    def correction(self, problem: str) -> str:
        form = (
            'Action:\n{"function_name": "tool_name", "function_parms": {"parameter": "value"}}\n'
            "PAUSE\nor with\nAnswer: what the person is to read"
        )
        if problem == NO_END:
            return f"Go on: reply with\n{form}"
        return f"Your last reply could not be read: {problem} Reply with\nThought: …\n{form}"

    def reader(self) -> StreamReader:
        return LabelReader()


def _parse(whole: str, text: str, specs: Sequence[ToolSpec], cut_off: bool) -> Parsed:
    found = labels.split(whole)
    if found.kind == "action":
        call, end = _read_action(whole, found.start, specs)
        if cut_off:
            return Parsed(problem=CUT_OFF, kept=text)
        return Parsed(found.thought, (call,), kept=whole[:end])
    if found.kind == "answer":
        answer = labels.answer(whole, found.start)
        if not answer:
            raise Unreadable("the answer is empty")
        if any(_is_action(whole, at, specs) for at in labels.later_actions(whole, found.start)):
            raise Unreadable("it holds an answer and an action; send only one of them")
        return Parsed(found.thought, answer=answer, kept=text)
    if cut_off:
        return Parsed(problem=CUT_OFF, kept=text)
    ending = labels.without_end(found, bare_answer=False)
    return Parsed(ending.thought, (), ending.answer, ending.problem, text)


def _read_action(text: str, position: int, specs: Sequence[ToolSpec]) -> tuple[ToolCall, int]:
    before = _BEFORE.match(text, position)
    position = before.end() if before else position
    if not text.startswith("{", position):
        raise Unreadable("no JSON object follows Action:")
    value, end = read_json(text, position)
    call = enveloped(value, specs)
    if call is None:
        raise Unreadable("the JSON object has no function_name")
    after = _AFTER.match(text, end)
    end = after.end() if after else end
    pause = labels.PAUSE.match(text, end + 1) if text.startswith("\n", end) else None
    return call, pause.end() if pause else end


def _is_action(text: str, position: int, specs: Sequence[ToolSpec]) -> bool:
    try:
        _read_action(text, position, specs)
    except Unreadable:
        return False
    return True


def render(call: ToolCall, thought: str = "") -> str:
    """A call as this dialect writes it."""
    before = f"Thought: {thought}\n" if thought else ""
    arguments = arguments_of(call)
    given = call.arguments if arguments is None else arguments
    value: Json = {"function_name": call.name, "function_parms": given}
    return f"{before}Action:\n{dumps(value)}\nPAUSE"


def ended(reply: ModelReply) -> str:
    """A reply without calls as this dialect writes it."""
    before = f"Thought: {reply.thought}\n" if reply.thought else ""
    return f"{before}Answer: {reply.answer}" if reply.answer is not None else before or reply.raw


def _documented(spec: ToolSpec) -> str:
    example: Json = {"function_name": spec.name, "function_parms": example_arguments(spec)}
    return f"{described(spec)}\n    Example: {dumps(example)}"
