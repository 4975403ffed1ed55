"""Session 4: look somebody up, then compute, with actions as JSON over several lines."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.doubles.desk import Desk
from tests.doubles.model_endpoint import Say
from tests.doubles.sessions import contents, session
from tests.doubles.wiki import serving, wiki

ARTICLES = {
    "Narendra Modi": "<p><b>Narendra Damodardas Modi</b> (born 17 September 1950) is an Indian "
    "politician.</p>"
}
LOOK_UP = """\
Thought: {}
Action:
{{
  "function_name": "wikipedia",
  "function_parms": {{
    "q": "Narendra Modi"
  }}
}}
PAUSE"""
COMPUTE = """\
Thought: {}
Action:
{{
  "function_name": "calculate",
  "function_parms": {{
    "operation": "(2023 - 1950) * 2"
  }}
}}
PAUSE"""


@dataclass(frozen=True)
class Language:
    question: str
    look_up: str
    compute: str

    @property
    def replies(self) -> list[Say]:
        return [
            Say(LOOK_UP.format(self.look_up), delay=1.1, chunk=9),
            Say(COMPUTE.format(self.compute), delay=1.1, chunk=9),
            Say("Answer: 146"),
        ]


ENGLISH = Language(
    "What is the current age of Narendra Modi multiplied by 2?",
    "I need his date of birth.",
    "Compute it.",
)
CHINESE = Language("纳伦德拉·莫迪现在的年龄乘以 2 是多少?", "我需要他的出生日期。", "计算它。")


@pytest.mark.parametrize("language", [ENGLISH, CHINESE], ids=["english", "chinese"])
async def test_a_date_is_looked_up_and_an_age_computed(desk: Desk, language: Language) -> None:
    async with serving(wiki(ARTICLES)) as address:
        desk.config(f'[model]\ndialect = "json"\n[tools]\nwikipedia_url = "{address}"\n')
        *steps, answer = await session(desk, language.question, language.replies)

    assert answer == "146"
    shown = "\n".join(steps)
    assert language.look_up in shown
    assert language.compute in shown
    assert "function_name" not in shown
    _, second, third = desk.model.requests
    found = contents(second, "user")[-1]
    assert found.startswith("Action_Response: ")
    assert "(born 17 September 1950)" in found
    assert "<" not in found
    assert contents(third, "user")[-1] == "Action_Response: 146"
    (system,) = contents(third, "system")
    assert '"function_name"' in system
    assert '"function_parms"' in system
