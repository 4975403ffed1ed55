"""Reading the settings: what is accepted, and what each mistake is told."""

from __future__ import annotations

import logging
import tomllib
import traceback
from pathlib import Path

import pytest

from bot.agent.budgets import Cap, Scope, Unit
from bot.config import Need, Settings, load_settings
from bot.errors import ConfigError
from bot.policy import Access, Level, Verdict

KEY = {"OPENAI_API_KEY": "sk-proj-abcdefgh"}
SLACK = {"SLACK_BOT_TOKEN": "xoxb-1-2-abcdefgh", "SLACK_APP_TOKEN": "xapp-1-A-2-abcdefgh"}
EVERYTHING = """
[model]
name = "gpt-5-mini"
dialect = "auto"
context_tokens = 128000
[model.prices."gpt-5-mini"]
input = 0.25
output = 2.0
[limits]
max_steps = 25
max_seconds = 900
max_tokens = 400000
[guard]
repeat = 3
cycle = 3
[slack]
verbosity = "steps"
reply_in_threads = "always"
footer = false
[[channel]]
id = "C0OPS"
verbosity = "full"
[workspace]
scope = "channel"
quota_mb = 2048
[tools]
enabled = ["read_file"]
modules = []
wikipedia_url = "https://en.wikipedia.org"
[sandbox]
mode = "auto"
network = []
uid = 10001
timeout_s = 60
memory_mb = 1024
processes = 128
output_kb = 256
read_only = []
[access]
admins = []
slack_admins = true
guests = false
external = false
bots = []
channels = ["*"]
refusal = "say"
[approvals]
approvers = ["admins"]
expires_s = 259200
[budget]
day = "UTC"
[[policy]]
tool = "run_command"
decision = "ask"
channel = ["!C0OPS"]
user = ["U0BOB"]
role = "member"
match = { command = "git (status|log)" }
"""


def load(cwd: Path, toml: str = "", *, need: Need = Need.CHAT, **environ: str) -> Settings:
    """Settings of a directory with this treadle.toml and these variables beside a model key."""
    if toml:
        (cwd / "treadle.toml").write_text(toml)
    return load_settings({**KEY, **environ}, cwd, need=need)


def complaint(cwd: Path, toml: str = "", *, need: Need = Need.CHAT, **environ: str) -> str:
    """The text of the error that the same settings come to."""
    with pytest.raises(ConfigError) as caught:
        load(cwd, toml, need=need, **environ)
    return str(caught.value)


def test_without_a_file_the_defaults_of_the_contract_hold(tmp_path: Path) -> None:
    settings = load(tmp_path)
    assert (settings.model.name, settings.model.dialect) == ("gpt-5-mini", "auto")
    assert settings.limits.max_steps == 25
    assert settings.tools.enabled is None
    assert settings.rules == ()
    assert settings.budget.caps == ()
    assert settings.access.admins == ()
    assert settings.access.speakers == Access(channels=("*",))
    assert settings.home == tmp_path / ".treadle"
    assert settings.workspace_root == tmp_path / "workspace"
    assert settings.database_path == tmp_path / ".treadle" / "treadle.db"
    assert settings.warnings == ()
    assert list(tmp_path.iterdir()) == []


def test_every_name_of_the_contract_is_accepted_and_the_stated_defaults_are_the_defaults(
    tmp_path: Path,
) -> None:
    written = load(tmp_path, EVERYTHING)
    (tmp_path / "treadle.toml").unlink()
    default = load(tmp_path)
    for section in ("limits", "guard", "slack", "workspace", "sandbox", "access", "approvals"):
        assert getattr(written, section) == getattr(default, section)
    assert written.budget == default.budget
    assert written.model == default.model.model_copy(update={"prices": written.model.prices})
    assert written.model.prices["gpt-5-mini"].output == 2.0
    (rule,) = written.rules
    assert (rule.tool, rule.decision, rule.level) == ("run_command", Verdict.ASK, Level.USER)
    assert (rule.channel, rule.role) == (("!C0OPS",), ("member",))
    line = EVERYTHING.splitlines().index("[[policy]]") + 1
    assert rule.place == f"treadle.toml line {line}"


def test_rules_in_another_form_of_toml_are_known_by_their_number(tmp_path: Path) -> None:
    written = 'policy = [{ tool = "*", decision = "deny" }, { tool = "*", decision = "ask" }]'
    assert [rule.place for rule in load(tmp_path, written).rules] == [
        *("treadle.toml policy[1]", "treadle.toml policy[2]")
    ]


def test_settings_cannot_be_changed(tmp_path: Path) -> None:
    settings = load(tmp_path, EVERYTHING)
    with pytest.raises(ValueError, match="frozen"):
        settings.limits.max_steps = 1
    with pytest.raises(TypeError):
        settings.model.prices["x"] = settings.model.prices["gpt-5-mini"]  # type: ignore[index]


def test_a_channel_gets_its_own_settings_and_other_channels_do_not(tmp_path: Path) -> None:
    toml = '[slack]\nfooter = true\n[[channel]]\nid = "C0OPS"\nverbosity = "full"\n'
    settings = load(tmp_path, toml)
    assert settings.for_channel("C0OPS").verbosity == "full"
    assert settings.for_channel("C0OPS").footer is True
    assert settings.for_channel("C0OTHER") == settings.slack


def test_openai_model_wins_over_the_file(tmp_path: Path) -> None:
    settings = load(tmp_path, '[model]\nname = "a"\n', OPENAI_MODEL="b")
    assert settings.model_name == "b"


def test_the_environment_wins_over_dotenv_and_dotenv_over_nothing(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text('OPENAI_MODEL=dotenv\nexport TREADLE_HOME="state"\n')
    assert load(tmp_path, OPENAI_MODEL="environment").model_name == "environment"
    settings = load(tmp_path)
    assert settings.model_name == "dotenv"
    assert settings.home == tmp_path / "state"


def test_a_variable_set_to_nothing_hides_the_one_in_dotenv(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("OPENAI_MODEL=dotenv\n")
    assert load(tmp_path, OPENAI_MODEL="").model_name == "gpt-5-mini"


def test_dotenv_is_read_from_the_given_directory_only(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("OPENAI_MODEL=parent\n")
    below = tmp_path / "below"
    below.mkdir()
    assert load(below).model_name == "gpt-5-mini"


def test_the_processes_own_environment_is_neither_read_nor_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_MODEL", "from-the-process")
    monkeypatch.delenv("TREADLE_HOME", raising=False)
    (tmp_path / ".env").write_text("TREADLE_HOME=elsewhere\n")
    assert load(tmp_path).model_name == "gpt-5-mini"
    import os

    assert "TREADLE_HOME" not in os.environ


def test_the_older_name_of_the_base_url_counts_and_the_newer_one_wins(tmp_path: Path) -> None:
    older = load(tmp_path, OPENAI_API_BASE="http://127.0.0.1:1/v1/")
    assert older.env.openai_base_url == "http://127.0.0.1:1/v1"
    both = load(tmp_path, OPENAI_API_BASE="http://a/v1", OPENAI_BASE_URL="http://b/v1")
    assert both.env.openai_base_url == "http://b/v1"
    assert "OPENAI_API_BASE (in the environment)" in complaint(tmp_path, OPENAI_API_BASE="nonsense")


def test_other_names_of_tools_are_resolved_in_rules_and_in_the_list(tmp_path: Path) -> None:
    toml = (
        '[tools]\nenabled = ["write_to_file"]\n'
        '[[policy]]\ntool = "run_terminal_command"\ndecision = "deny"\n'
    )
    settings = load(tmp_path, toml)
    assert settings.tools.enabled == ("write_file",)
    assert settings.rules[0].tool == "run_command"


def test_ones_own_tools_are_known_by_what_their_modules_define(tmp_path: Path) -> None:
    (tmp_path / "treadle.toml").write_text(
        '[tools]\nmodules = ["mine.py"]\nenabled = ["deploy"]\n'
        '[[policy]]\ntool = "deploy"\ndecision = "ask"\n'
    )
    asked: list[tuple[str, ...]] = []

    def own(modules: tuple[str, ...]) -> list[str]:
        asked.append(modules)
        return ["deploy"]

    settings = load_settings(KEY, tmp_path, need=Need.CHAT, other_tools=own)
    assert settings.rules[0].tool == "deploy"
    assert asked == [settings.tools.modules] == [(str(tmp_path / "mine.py"),)]


def test_a_module_that_cannot_be_loaded_is_one_problem_among_the_others(tmp_path: Path) -> None:
    (tmp_path / "treadle.toml").write_text('[tools]\nmodules = ["mine.py"]\n[guard]\nrepeat = 1\n')

    def own(modules: tuple[str, ...]) -> list[str]:
        raise ConfigError(f"{modules[0]} has no tools.")

    with pytest.raises(ConfigError) as caught:
        load_settings(KEY, tmp_path, need=Need.CHAT, other_tools=own)
    assert "mine.py has no tools" in str(caught.value)
    assert "guard.repeat must be at least 2" in str(caught.value)


def test_a_tool_that_this_release_lacks_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "treadle.toml").write_text(
        '[tools]\nenabled = ["run_command"]\n[sandbox]\nuid = 7\n'
    )
    settings = load_settings(KEY, tmp_path, need=Need.CHAT, off_tools=["run_command"])
    assert any("run_command" in warning for warning in settings.warnings)
    assert any("[sandbox] has no effect" in warning for warning in settings.warnings)


def test_an_unknown_treadle_variable_is_a_warning_with_the_nearest_name(tmp_path: Path) -> None:
    (warning,) = load(tmp_path, TREADLE_WORKSPCE="x", SOMETHING_ELSE="x").warnings
    assert "TREADLE_WORKSPCE" in warning
    assert "'TREADLE_WORKSPACE'" in warning


def test_an_empty_selector_is_about_nobody_and_gets_a_warning(tmp_path: Path) -> None:
    settings = load(tmp_path, '[[policy]]\ntool = "*"\ndecision = "deny"\nuser = []\n')
    assert settings.rules[0].user == ()
    assert "policy[1]" in settings.warnings[0]


def test_secrets_print_as_stars_everywhere(tmp_path: Path) -> None:
    secrets = {**SLACK, "TREADLE_AUDIT_KEY": "canary-audit", "SLACK_SIGNING_SECRET": "canary-sign"}
    settings = load_settings({**KEY, **secrets}, tmp_path, need=Need.CHAT)
    live = [*secrets.values(), *KEY.values()]
    shown = f"{settings!r} {settings} {settings.env} {settings.model_dump()}"
    logging.getLogger("test").info("%s", settings)
    assert not [secret for secret in live if secret in shown]
    assert set(settings.secrets) == set(live)


def test_a_wrong_secret_is_not_in_the_error_nor_in_its_traceback(tmp_path: Path) -> None:
    canary = "".join(["cana", "ry" * 4])  # in pieces: a traceback shows the lines of this file
    names = [*SLACK, "SLACK_SIGNING_SECRET", "OPENAI_API_KEY", "TREADLE_AUDIT_KEY"]
    wrong = dict.fromkeys(names, f"xoxp-{canary}")
    wrong["TREADLE_DATABASE_URL"] = f"mysql://me:{canary}@host/db"
    wrong["OPENAI_BASE_URL"] = f"h://me:{canary}@host/v1"
    with pytest.raises(ConfigError) as caught:
        load_settings(wrong, tmp_path, need=Need.RUN)
    text = "".join(traceback.format_exception(caught.value))
    assert "7 things need" in text
    assert canary not in text


def test_the_password_of_an_address_is_a_secret_too(tmp_path: Path) -> None:
    settings = load(tmp_path, OPENAI_BASE_URL="http://me:long%2Fpassword@127.0.0.1/v1")
    assert {"long%2Fpassword", "long/password"} <= set(settings.secrets)
    short = load(tmp_path, OPENAI_BASE_URL="http://me:short@127.0.0.1/v1")
    assert "too short to be hidden" in short.warnings[0]


def test_the_example_file_is_valid_and_says_what_holds_without_it(tmp_path: Path) -> None:
    example = Path(__file__).parents[2] / "treadle.example.toml"
    settings = load(tmp_path, example.read_text())
    (tmp_path / "treadle.toml").unlink()
    assert settings == load(tmp_path)


def test_the_example_file_is_complete_and_valid_with_everything_switched_on(tmp_path: Path) -> None:
    example = (Path(__file__).parents[2] / "treadle.example.toml").read_text()
    everything = "\n".join(
        line[1:] if line.startswith("#") and not line.startswith("# ") else line
        for line in example.splitlines()
    )
    settings = load(tmp_path, everything)
    assert Cap(Scope.USER, Unit.TURNS, 50) in settings.budget.caps
    wanted = _keys(tomllib.loads(EVERYTHING)) | {"per_turn", "per_user_day", "per_channel_day"}
    assert wanted - _keys(tomllib.loads(everything)) == set()


def test_the_example_of_dotenv_is_complete_and_valid_as_it_is(tmp_path: Path) -> None:
    from bot.config.environment import VARIABLES

    example = (Path(__file__).parents[2] / ".env.example").read_text()
    (tmp_path / ".env").write_text(example)
    assert load_settings(KEY, tmp_path, need=Need.CHAT).warnings == ()
    names = {line.lstrip("#").split("=")[0] for line in example.splitlines() if "=" in line}
    assert names >= VARIABLES


def _keys(table: object) -> set[str]:
    if isinstance(table, list):
        return {key for item in table for key in _keys(item)}
    if isinstance(table, dict):
        return set(table).union(*(_keys(value) for value in table.values()))
    return set()
