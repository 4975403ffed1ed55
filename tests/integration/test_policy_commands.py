"""`treadle policy explain` and `treadle policy check`: what they print and how they end."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from bot.cli import app
from bot.policy import Rule, Verdict
from bot.storage.database import open_database
from bot.storage.rules import Author, Rules
from bot.storage.writer import Writer

RULES = """
[access]
admins = ["U0ADA"]

[[policy]]
tool = "run_command"
decision = "allow"
match = { command = "git (status|log)" }

[[policy]]
tool = "run_command"
decision = "ask"

[[policy]]
tool = "wikipedia"
decision = "deny"
role = "!admin"
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project directory, which is the current one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "treadle.toml").write_text(RULES, "utf-8")
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["policy", *arguments])


def test_explain_says_the_decision_its_rule_and_every_rule_about_it(home: Path) -> None:
    done = run("explain", "U0BOB", "C0OPS", "run_command", "command=git log")

    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        "U0BOB (member) calls run_command in C0OPS:",
        "ALLOW: treadle.toml line 5 allows run_command (workspace rule).",
        "  treadle.toml line 5: allow run_command when command matches git (status|log) (matches)",
        "  treadle.toml line 10: ask run_command (matches)",
    ]


@pytest.mark.parametrize(
    ("arguments", "decision"),
    [
        (["U0BOB", "C0OPS", "run_command", "command=git log; rm x"], "ASK: treadle.toml line 10"),
        (["U0BOB", "C0OPS", "run_command", '{"command": "git log"}'], "ALLOW: treadle.toml line 5"),
        (["U0BOB", "C0OPS", "run_command"], "ASK: treadle.toml line 10"),
        (["U0BOB", "C0OPS", "run_terminal_command"], "ASK: treadle.toml line 10"),
        (["U0BOB", "C0OPS", "wikipedia"], "DENY: treadle.toml line 14"),
        (["U0ADA", "C0OPS", "wikipedia"], "ALLOW: No rule is about wikipedia"),
        (["U0BOB", "C0OPS", "wikipedia", "--role", "admin"], "ALLOW: No rule is about wikipedia"),
        (["U0BOB", "C0OPS", "wikipedia", "--role", "boss"], "I could not tell who you are"),
        (["U0BOB", "C0OPS", "read_file", "--role", "guest"], "I don't take questions from guests"),
    ],
)
def test_explain_decides_as_a_turn_would(home: Path, arguments: list[str], decision: str) -> None:
    done = run("explain", *arguments)
    assert done.exit_code == 0
    assert done.stdout.splitlines()[1].startswith(decision)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["U0BOB", "C0OPS", "run_comand"], "There is no tool “run_comand”"),
        (["U0BOB", "C0OPS", "run_command", "git log"], "use name=value"),
        (["U0BOB", "C0OPS", "run_command", '{"command": [1]}'], "These arguments cannot be"),
        (["U0BOB", "C0OPS", "run_command", "cmd=ls"], "These arguments cannot be"),
    ],
)
def test_explain_says_what_cannot_be_asked(home: Path, arguments: list[str], said: str) -> None:
    done = run("explain", *arguments)
    assert done.exit_code == 2
    assert said in done.stderr


async def test_explain_knows_the_rules_made_in_slack_beside_a_running_treadle(home: Path) -> None:
    database = open_database(home / ".treadle" / "treadle.db")
    writer = Writer(database.engine)
    rule = Rule("read_file", Verdict.DENY, user=("U0BOB",))
    await Rules(writer).add(rule, Author("U0ADA", "Ada"))
    try:
        done = run("explain", "U0BOB", "C0OPS", "read_file")
    finally:
        await writer.close()
        database.close()

    assert done.stdout.splitlines()[1].startswith("DENY: Rule 1 (set in Slack by Ada on ")


def test_explain_changes_nothing_on_the_disk(home: Path) -> None:
    run("explain", "U0BOB", "C0OPS", "read_file")
    assert [path.name for path in home.iterdir()] == ["treadle.toml"]


def test_check_finds_nothing_wrong_in_rules_that_list_what_is_meant(home: Path) -> None:
    done = run("check", "treadle.toml")
    assert (done.exit_code, done.stdout) == (
        0,
        "treadle.toml: 3 rules, and nothing in them looks wrong.\n",
    )


def test_check_warns_of_a_pattern_that_lets_a_second_command_through(home: Path) -> None:
    text = RULES.replace("git (status|log)", "git .*")
    (home / "other.toml").write_text(text, "utf-8")
    done = run("check", "other.toml")
    assert done.exit_code == 1
    assert done.stdout.startswith("other.toml line 5: the pattern `git .*` also matches commands")


def test_check_warns_of_a_rule_that_never_speaks(home: Path) -> None:
    again = '[[policy]]\ntool = "run_command"\ndecision = "deny"\n'
    (home / "treadle.toml").write_text(RULES + again, "utf-8")
    done = run("check", "treadle.toml")
    assert done.exit_code == 1
    assert "never speaks: treadle.toml line 10 is about the same" in done.stdout


@pytest.mark.parametrize(
    ("file", "said"),
    [("missing.toml", "there is no such file"), ("wrong.toml", "policy[1].decision")],
)
def test_check_says_what_is_wrong_in_a_file(home: Path, file: str, said: str) -> None:
    (home / "wrong.toml").write_text('[[policy]]\ntool = "*"\ndecision = "no"\n', "utf-8")
    done = run("check", file)
    assert done.exit_code == 2
    assert said in done.stderr
