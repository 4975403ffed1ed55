"""The xml dialect: `<thought>`, `<action>tool("a", key="b")</action>`, `<final_answer>`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bot.agent.dialects.base import CUT_OFF, EMPTY, NO_END, Message, Parsed, StreamReader
from bot.agent.dialects.literals import Unreadable, dumps
from bot.agent.dialects.marks import FENCE, Fence, fence_at, outside_fences, unfenced
from bot.agent.dialects.requests import arguments_of
from bot.agent.dialects.tool_docs import described, files_note, host_note
from bot.agent.dialects.written import written
from bot.agent.dialects.xml_call import read_action
from bot.agent.dialects.xml_reader import XmlReader
from bot.agent.entries import Entry, ModelReply, ToolCall
from bot.agent.ports import Json, ToolSpec
from bot.agent.prompt import Facts, system_prompt

_TAG = r"[*_]{0,3}<[ ]?(?P<tag>thought|action|final[_ -]?answer|answer)[ ]?>"
_NEXT = re.compile(rf"^(?:{FENCE}|[ ]{{0,3}}{_TAG})", re.M | re.I)
_HERE = re.compile(rf"\s*{_TAG}", re.I)
_THOUGHT_END = re.compile(rf"^{FENCE}|</[ ]?thought[ ]?>", re.I | re.M)
_FENCE_HERE = re.compile(FENCE, re.M)
_ANSWER_END = re.compile(r"</[ ]?(?:final[_ -]?)?answer[ ]?>", re.I)
_REPEATED = re.compile(r"\s*<[ ]?(?:thought|(?:final[_ -]?)?answer)[ ]?>", re.I)
_STRAY = re.compile(r"</?[ ]?(?:thought|(?:final[_ -]?)?answer)[ ]?>", re.I)
_ANY_ACTION = re.compile(r"<[ ]?action\b", re.I)
_CLOSING = re.compile(r"</(?=[ ]?(?:observation|question)\b)", re.I)
_IDENTIFIER = re.compile(r"[A-Za-z_][\w.-]*", re.A)

_FORMAT = """\
You work in steps. Each of your replies is exactly one of these two forms:

<thought>why you do what you do next, in one or two sentences</thought>
<action>tool_name("first argument", name="another argument")</action>

<thought>why you are done</thought>
<final_answer>your answer to the person</final_answer>

Rules of the tags:
- One action in a reply, and nothing after </action>. The result is then sent to you as
  <observation>…</observation>. Never write an observation yourself.
- An action is one call in Python's syntax. Arguments are Python or JSON literals in the order of
  the signature or by name; inside a string write a line break as \\n and a quote as \\".
- Close every tag. Put nothing of an action into the thought, and no action into a code block.
- A person's message comes as <question>…</question>."""


class Xml:
    """`bot.agent.dialects.base.Dialect` in tags."""

    name = "xml"
    stop: tuple[str, ...] = ("<observation>",)
    sends_tools = False

    def system(self, facts: Facts, specs: Sequence[ToolSpec]) -> str:
        tools = "\n".join(described(spec) for spec in specs) or "There are none in this place."
        parts = [
            system_prompt(facts),
            _FORMAT,
            f"Tools:\n{tools}",
            host_note(facts),
            files_note(facts),
        ]
        return "\n\n".join(part for part in parts if part)

    def messages(self, system: str, entries: Sequence[Entry]) -> list[Message]:
        return written(
            self,
            system,
            entries,
            render,
            ended,
            "<observation>{}</observation>",
            question="<question>\n{}\n</question>",
            inside=_inside,
        )

    def parse(self, text: str, specs: Sequence[ToolSpec], *, cut_off: bool) -> Parsed:
        whole = unfenced(text)
        try:
            found = _parse(whole, specs, cut_off)
        except Unreadable as error:
            return Parsed(problem=CUT_OFF if cut_off else f"{error}.", kept=text)
        if not found.calls:
            return Parsed(found.thought, (), found.answer, found.problem, text)
        return found

    def correction(self, problem: str) -> str:
        if problem == NO_END:
            return (
                "Go on: reply with one <action>tool_name(…)</action>, or with "
                "<final_answer>…</final_answer> if you are done."
            )
        return (
            f"Your last reply could not be read: {problem} Reply with\n"
            '<thought>…</thought>\n<action>tool_name("argument")</action>\nor with\n'
            "<thought>…</thought>\n<final_answer>…</final_answer>"
        )

    def reader(self) -> StreamReader:
        return XmlReader()


def render(call: ToolCall, thought: str = "") -> str:
    """A call as this dialect writes it."""
    before = f"<thought>{thought}</thought>\n" if thought else ""
    arguments = arguments_of(call)
    if arguments is None:
        return f"{before}<action>{call.name}({dumps(call.arguments)})</action>"
    if not all(_IDENTIFIER.fullmatch(name) for name in (call.name, *arguments)):
        value: Json = {"tool_name": call.name, "tool_args": arguments}
        return f"{before}<action>{dumps(value)}</action>"
    given = ", ".join(f"{name}={dumps(value)}" for name, value in arguments.items())
    return f"{before}<action>{call.name}({given})</action>"


def ended(reply: ModelReply) -> str:
    """A reply without calls as this dialect writes it."""
    if reply.answer is None:
        return reply.raw or f"<thought>{reply.thought}</thought>"
    before = f"<thought>{reply.thought}</thought>\n" if reply.thought else ""
    return f"{before}<final_answer>{reply.answer}</final_answer>"


def _inside(text: str) -> str:
    """Text that cannot close the tag it is put into."""
    return _CLOSING.sub(r"<\\/", text)


def _parse(text: str, specs: Sequence[ToolSpec], cut_off: bool) -> Parsed:
    if not text.strip():
        return Parsed(problem=EMPTY)
    scan = _Scan(text)
    while (found := scan.next_tag()) is not None:
        tag = found["tag"].lower()
        if tag == "thought":
            scan.take_thought(found)
        elif tag == "action":
            scan.take_text(found.start())
            call, end = read_action(text, found.end(), specs)
            if cut_off:
                return Parsed(problem=CUT_OFF)
            return Parsed(_joined(scan.thoughts), (call,), kept=text[:end])
        else:
            scan.take_text(found.start())
            return Parsed(_joined(scan.thoughts), answer=_answer(text, found.end()))
    scan.take_text(len(text))
    return _without_end(text, scan.thoughts, cut_off)


class _Scan:
    """Goes through a reply's tags, past what stands in thoughts and fences."""

    def __init__(self, text: str) -> None:
        self.thoughts: list[str] = []
        self._text = text
        self._position = self._begun = 0
        self._at_once = True  # a tag may follow without a line of its own
        self._closes = True  # a thought's end may still come

    def next_tag(self) -> re.Match[str] | None:
        """The next tag that counts."""
        while True:
            found = _HERE.match(self._text, self._position) if self._at_once else None
            found = found or _NEXT.search(self._text, self._position)
            if found is None or found["tag"] is not None:
                return found
            fence = fence_at(self._text, found)
            if (action := self._fenced_action(fence)) is not None:
                self.take_text(fence.start)
                self._begun = action.start()
                return action
            self._position, self._at_once = fence.end, False

    def take_text(self, end: int) -> None:
        """What stands before a tag belongs to the thought."""
        self.thoughts.append(self._text[self._begun : end])

    def take_thought(self, opening: re.Match[str]) -> None:
        """A thought reaches to its end tag outside fences, or without one to the next marker."""
        self.take_text(opening.start())
        fenced = _FENCE_HERE.match(self._text, opening.end())
        start = fence_at(self._text, fenced).end if fenced else opening.end()
        close = (
            next(outside_fences(_THOUGHT_END, self._text, start), None) if self._closes else None
        )
        self._position = self._begun = opening.end()
        self._at_once = self._closes = close is not None
        if close is not None:
            self.thoughts.append(self._text[opening.end() : close.start()])
            self._position = self._begun = close.end()

    def _fenced_action(self, fence: Fence) -> re.Match[str] | None:
        """An action that is all of a fence which directly follows a thought."""
        between = self._text[self._position : fence.start].strip()
        if between or not self._at_once or not self._position:
            return None
        found = _HERE.match(self._text, fence.inner, fence.inner_end)
        return found if found is not None and found["tag"].lower() == "action" else None


def _answer(text: str, start: int) -> str:
    while repeated := _REPEATED.match(text, start):
        start = repeated.end()
    close = _ANSWER_END.search(text, start)
    answer = text[start : close.start() if close else len(text)].strip()
    if not answer:
        raise Unreadable("the final answer is empty")
    return answer


def _without_end(text: str, thoughts: list[str], cut_off: bool) -> Parsed:
    if cut_off:
        return Parsed(problem=CUT_OFF)
    thought = _joined(thoughts)
    if _ANY_ACTION.search(text):
        raise Unreadable(
            "an action must begin a line of its own, outside the thought and outside code blocks"
        )
    return Parsed(thought, problem=NO_END) if thought else Parsed(problem=EMPTY)


def _joined(thoughts: Sequence[str]) -> str:
    parts = (_STRAY.sub("", part).strip() for part in thoughts)
    return "\n".join(part for part in parts if part)
