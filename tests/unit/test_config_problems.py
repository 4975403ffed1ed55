"""Mistakes in the settings: one message that names each of them, its place and a right value."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.config import Need, load_settings
from bot.errors import ConfigError

GOOD = {
    "OPENAI_API_KEY": "sk-proj-abcdefgh",
    "SLACK_BOT_TOKEN": "xoxb-1-2-abcdefgh",
    "SLACK_APP_TOKEN": "xapp-1-A-2-abcdefgh",
}


def complaint(
    cwd: Path,
    toml: str = "",
    variables: Mapping[str, str] = MappingProxyType({}),
    *,
    need: Need = Need.RUN,
    without: str = "",
    **environ: str,
) -> str:
    """The text that these settings stop the start with."""
    (cwd / "treadle.toml").write_text(toml)
    given = {
        name: value for name, value in {**GOOD, **variables, **environ}.items() if name != without
    }
    with pytest.raises(ConfigError) as caught:
        load_settings(given, cwd, need=need)
    return str(caught.value)


def test_one_message_names_every_problem(tmp_path: Path) -> None:
    text = complaint(
        tmp_path,
        '[limits]\nmax_step = 1\n[model]\ndialect = "yaml"\n[access]\nguests = "no"\n',
        without="SLACK_APP_TOKEN",
        SLACK_BOT_TOKEN="xoxp-1-2-abcdefgh",
    )
    first, *problems = text.splitlines()
    assert first == "Treadle cannot start: 5 things need a change."
    assert len(problems) == 5
    assert all(problem.startswith("- ") for problem in problems)


VARIABLES = [
    ("SLACK_BOT_TOKEN", "xoxp-1-2-abcdefgh", "holds a user token (xoxp)"),
    ("SLACK_BOT_TOKEN", "xapp-1-A-2-abcdef", "holds an app-level token (xapp)"),
    ("SLACK_BOT_TOKEN", "xoxe.xoxb-1-abcde", "turn token rotation off"),
    ("SLACK_BOT_TOKEN", "abcdefghijkl", "does not begin with xoxb-"),
    ("SLACK_BOT_TOKEN", "xoxb-1", "shorter than 8 characters"),
    ("SLACK_BOT_TOKEN", "xoxb-...", "placeholder"),
    ("SLACK_APP_TOKEN", "xoxb-1-2-abcdefgh", "holds a bot token (xoxb)"),
    ("SLACK_APP_TOKEN", "xoxe-1-2-abcdefgh", "turn token rotation off"),
    ("SLACK_SIGNING_SECRET", "xapp-1-A-2-abcdefgh", "holds an app-level token (xapp)"),
    ("SLACK_SIGNING_SECRET", "1234567", "shorter than 8 characters"),
    ("OPENAI_API_KEY", "'sk-proj-abcdefgh'", "quotes or spaces"),
    ("OPENAI_API_KEY", '"sk-proj-abcdefgh', "quotes or spaces"),
    ("OPENAI_API_KEY", "sk-proj-abcdefgh\n", "quotes or spaces"),
    ("OPENAI_API_KEY", "sk-proj abcdefgh", "holds a space"),
    ("OPENAI_API_KEY", "sk-proj–abcdefgh", "a letter that no secret has"),
    ("OPENAI_API_KEY", "Bearer sk-proj-abcdefgh", "leave that word out"),
    ("OPENAI_API_KEY", "xoxb-1-2-abcdefgh", "holds a bot token (xoxb)"),
    ("OPENAI_API_KEY", "${MY_KEY_ELSEWHERE}", "write the value itself"),
    ("OPENAI_API_KEY", "ollama", "leave it unset for a server of your own that needs no key"),
    ("OPENAI_MODEL", "gpt\x07five", "cannot be printed"),
    ("TREADLE_WORKSPACE", "work\udcffspace", "cannot be printed"),
    ("OPENAI_BASE_URL", "127.0.0.1:8080/v1", "is not an address"),
    ("OPENAI_BASE_URL", "http://h/v1/chat/completions", "leave it out"),
    ("OPENAI_BASE_URL", "http://h:notaport/v1", "is not an address"),
    ("SLACK_API_URL", "ftp://slack.example/api", "is not an address"),
    ("TREADLE_AUDIT_KEY", "short", "shorter than 8 characters"),
    ("TREADLE_CONFIG", "'treadle.toml'", "quotes or spaces"),
    ("TREADLE_CONFIG", "missing.toml", "there is no such file"),
    ("TREADLE_DATABASE_URL", "mysql://h/db", "neither sqlite:/// nor postgresql://"),
    ("TREADLE_DATABASE_URL", "sqlite://", "the path of a file"),
    ("TREADLE_DATABASE_URL", "sqlite:///:memory:", "the path of a file"),
    ("TREADLE_DATABASE_URL", "postgresql://u:a/b@h/db", "/ as %2F"),
]


@pytest.mark.parametrize(("name", "value", "words"), VARIABLES)
def test_a_wrong_variable_is_named_with_what_is_wrong(
    tmp_path: Path, name: str, value: str, words: str
) -> None:
    text = complaint(tmp_path, "", {name: value})
    assert text.splitlines()[0] == "Treadle cannot start: one thing needs a change."
    assert f"- {name}" in text
    assert words in text


FILE = [
    ("limits.max_steps", "[limits]\nmax_steps = 0", "at least 1. For example: max_steps = 25"),
    ("limits.max_steps", '[limits]\nmax_steps = "9"', "a whole number"),
    ("limits.max_steps", "[limits]\nmax_steps = true", "a whole number"),
    ("limits.max_stepz", "[limits]\nmax_stepz = 1", "did you mean 'max_steps'?"),
    ("limit", "[limit]\nmax_steps = 1", "did you mean 'limits'?"),
    ("limits", "limits = 3", "must be a table"),
    ("SLACK_BOT_TOKEN", 'SLACK_BOT_TOKEN = "xoxb-1-2-abc"', "in the environment or in .env"),
    ("model.openai_api_key", '[model]\nopenai_api_key = "sk-canary"', "set OPENAI_API_KEY"),
    ("model.name", '[model]\nname = ""', "must not be empty"),
    ("model.dialect", '[model]\ndialect = "yaml"', "must be one of 'auto', 'native'"),
    ("model.prices.x.output", "[model.prices.x]\ninput = 1", "is missing. For example: output"),
    ("model.prices.x.input", "[model.prices.x]\ninput = nan\noutput = 1", "infinite"),
    (
        "slack.verbosity",
        '[slack]\nverbosity = "loud"',
        "must be one of 'steps', 'card', 'quiet' or 'full'",
    ),
    ("budget.currency", '[budget]\ncurrency = "$"', "must be three capital letters"),
    ("channel[2].id", '[[channel]]\nid = "C0OPS"\n[[channel]]\nid = "C0OPS"', "repeats C0OPS"),
    ("channel[1].id", '[[channel]]\nid = "#ops"', "'#ops', which is not a channel id"),
    ("channel[1].id", '[[channel]]\nid = ""', "an empty channel id"),
    ("tools.enabled", '[tools]\nenabled = ["read_fil"]', "did you mean 'read_file'?"),
    ("tools.modules", '[tools]\nmodules = ["my tools"]', "neither a .py file nor"),
    ("tools.wikipedia_url", '[tools]\nwikipedia_url = "en.wikipedia.org"', "is not an address"),
    ("sandbox.mode", '[sandbox]\nmode = "docker"', "must be one of 'auto', 'bwrap'"),
    ("sandbox.uid", "[sandbox]\nuid = 0", "at least 1"),
    ("sandbox.network", '[sandbox]\nnetwork = ["10.0.0.1"]', "a lower-case host name: '10.0.0.1'"),
    ("sandbox.network", '[sandbox]\nnetwork = ["*.example.com"]', "a lower-case host name"),
    ("sandbox.read_only", '[sandbox]\nread_only = ["."]', "would show"),
    ("sandbox.read_only", '[sandbox]\nread_only = ["/"]', "would show"),
    ("sandbox.network", '[sandbox]\nmode = "landlock"\nnetwork = ["a.example.com"]', "no network"),
    ("sandbox.read_only", '[sandbox]\nread_only = ["/run"]', "of the host"),
    ("sandbox.read_only", '[sandbox]\nread_only = ["/proc/1"]', "of the host"),
    ("sandbox.read_only", '[sandbox]\nread_only = ["/a\\u0000"]', "holds no path"),
    ("tools.modules", '[tools]\nmodules = ["a\\u0000.py"]', "neither a .py file nor"),
    ("sandbox.read_only", '[sandbox]\nread_only = ["workspace/x"]', "would show"),
    ("access.admins", '[access]\nadmins = [""]', "an empty user id"),
    ("access.admins", '[access]\nadmins = "U0123"', "a list in brackets"),
    ("access.admins[2]", '[access]\nadmins = ["U0123", 7]', "text in quotes"),
    ("access.channels", '[access]\nchannels = ["general"]', "not a channel id"),
    ("access.channels", '[access]\nchannels = ["*", "c0123"]', "not a channel id"),
    ("access.guests", "[access]\nguests = 1", "true or false"),
    ("approvals.approvers", '[approvals]\napprovers = ["admin"]', "did you mean 'admins'?"),
    ("budget", "[budget]\nper_turn = 0", "must be more than 0"),
    ("budget.day", '[budget]\nday = "Mars"', "names no time zone"),
    ("policy[1].decision", '[[policy]]\ntool = "*"', "is missing. For example: decision"),
    ("policy[1].tool", '[[policy]]\ntool = "rm"\ndecision = "deny"', "is no tool"),
    ("policy[1].role", '[[policy]]\ntool = "*"\ndecision = "deny"\nrole = "owner"', "'owner'"),
    ("policy[1].user", '[[policy]]\ntool = "*"\ndecision = "deny"\nuser = "!"', "an empty user id"),
    (
        "policy[1].channel",
        '[[policy]]\ntool = "*"\ndecision = "deny"\nchannel = ["!C0A", "C0B"]',
        "mixes values",
    ),
    (
        "policy[1].match",
        '[[policy]]\ntool = "*"\ndecision = "deny"\nmatch = { path = "(a" }',
        "missing )",
    ),
]


@pytest.mark.parametrize(("place", "toml", "words"), FILE)
def test_a_wrong_value_in_the_file_is_named_by_its_place(
    tmp_path: Path, place: str, toml: str, words: str
) -> None:
    text = complaint(tmp_path, toml)
    assert text.splitlines()[0] == "Treadle cannot start: one thing needs a change."
    assert f"- treadle.toml: {place}" in text
    assert words in text
    assert "canary" not in text
    for example in re.findall(r"For example: (.+)$", text, re.M):
        assert tomllib.loads(example), "an example can be copied as it stands"


def test_bad_toml_is_told_with_line_and_column(tmp_path: Path) -> None:
    text = complaint(tmp_path, "[limits]\nmax_steps 25\n")
    assert "treadle.toml is not TOML" in text
    assert "line 2, column 11" in text
    assert tomllib.loads(text.partition("For example: ")[2]) == {"limits": {"max_steps": 25}}


def test_a_file_that_cannot_be_read_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    assert "cannot be read" in complaint(tmp_path, TREADLE_CONFIG="folder")
    (tmp_path / "latin.toml").write_bytes(b"# caf\xe9\n")
    assert "is not UTF-8 text" in complaint(tmp_path, TREADLE_CONFIG="latin.toml")


def test_a_line_of_dotenv_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("OPENAI_MODEL=a\n= b\n")
    assert "- .env: line 2 is not of the form NAME=value" in complaint(tmp_path)


def test_a_problem_in_dotenv_says_that_it_is_there(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("TREADLE_AUDIT_KEY=short\n")
    assert "TREADLE_AUDIT_KEY (in .env) is shorter" in complaint(tmp_path)


def test_a_money_budget_needs_the_price_of_the_model(tmp_path: Path) -> None:
    text = complaint(tmp_path, "[budget]\nper_user_day = 5", OPENAI_MODEL="other")
    assert "budget.per_user_day is money, and the price of other is not known" in text
    right = re.findall(r"For example: (model\.prices.+) \(for", text)
    assert [tomllib.loads(line)["model"]["prices"]["other"]["output"] for line in right] == [2.0]
    priced = "[budget]\nper_user_day = 5\n[model.prices.other]\ninput = 1\noutput = 2"
    assert "price of" not in complaint(tmp_path, f"{priced}\n[nonsense]", OPENAI_MODEL="other")


def test_a_budget_of_tokens_or_turns_needs_no_price(tmp_path: Path) -> None:
    caps = "[budget]\ntokens_per_user_day = 5\nturns_per_day = 3\n[nonsense]"
    assert "price of" not in complaint(tmp_path, caps, OPENAI_MODEL="other")


LAYOUTS = [
    {"TREADLE_HOME": "workspace/state"},
    {"TREADLE_WORKSPACE": ".treadle/workspace"},
    {"TREADLE_HOME": "same", "TREADLE_WORKSPACE": "same"},
    {"TREADLE_WORKSPACE": "."},
    {"TREADLE_WORKSPACE": ".."},
    {"TREADLE_WORKSPACE": "/"},
    {"TREADLE_CONFIG": "workspace/treadle.toml"},
    {"TREADLE_DATABASE_URL": "sqlite:///workspace/state.db"},
    {"TREADLE_WORKSPACE": "link"},
    {"TREADLE_WORKSPACE": "~/w", "HOME": "workspace", "TREADLE_HOME": "workspace/w/s"},
]


@pytest.mark.parametrize("environ", LAYOUTS)
def test_what_is_treadles_own_never_lies_where_the_tools_can_reach_it(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "treadle.toml").write_text("")
    (tmp_path / "link").symlink_to(tmp_path)
    assert "TREADLE_WORKSPACE" in complaint(tmp_path, "", environ)


def test_the_code_of_ones_own_tools_never_lies_in_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "treadle.toml").write_text('[tools]\nmodules = ["workspace/mine.py", "a.py"]')
    loaded: list[str] = []

    def own(modules: tuple[str, ...]) -> list[str]:
        loaded.extend(modules)
        return []

    with pytest.raises(ConfigError, match="holds a tool's code"):
        load_settings(GOOD, tmp_path, need=Need.RUN, other_tools=own)
    assert loaded == [str(tmp_path / "a.py")]


def test_a_path_that_leads_in_a_circle_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(ConfigError):
        load_settings({**GOOD, "TREADLE_HOME": "a", "TREADLE_CONFIG": "a"}, tmp_path, need=Need.RUN)


def test_numbers_and_nesting_beyond_reason_are_told_and_not_a_crash(tmp_path: Path) -> None:
    assert "is not TOML" in complaint(tmp_path, f"[limits]\nmax_steps = {'9' * 5000}")
    assert "is not TOML" in complaint(tmp_path, f"x = {'[' * 5000}")


def test_a_directory_that_is_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "is not a directory" in complaint(tmp_path, TREADLE_WORKSPACE="file")
    assert "is not a directory" in complaint(tmp_path, TREADLE_HOME="file")


@pytest.mark.parametrize(
    ("need", "without", "missing"),
    [
        (Need.RUN, "SLACK_BOT_TOKEN", "SLACK_BOT_TOKEN"),
        (Need.RUN, "SLACK_APP_TOKEN", "SLACK_APP_TOKEN"),
        (Need.RUN, "OPENAI_API_KEY", "OPENAI_API_KEY"),
        (Need.WORK, "SLACK_BOT_TOKEN", "SLACK_BOT_TOKEN"),
        (Need.CHAT, "OPENAI_API_KEY", "OPENAI_API_KEY"),
    ],
)
def test_a_missing_secret_is_named_with_an_example(
    tmp_path: Path, need: Need, without: str, missing: str
) -> None:
    text = complaint(tmp_path, need=need, without=without)
    assert f"- {missing} is not set" in text
    assert f"For example: {missing}=" in text


def test_a_command_asks_only_for_what_it_needs(tmp_path: Path) -> None:
    model = {"OPENAI_API_KEY": GOOD["OPENAI_API_KEY"]}
    http = {**GOOD, "SLACK_SIGNING_SECRET": "0123456789abcdef"}
    del http["SLACK_APP_TOKEN"]
    load_settings({}, tmp_path, need=Need.NOTHING)
    load_settings({}, tmp_path, need=Need.DEMO)
    load_settings(model, tmp_path, need=Need.CHAT)
    load_settings({"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}, tmp_path, need=Need.CHAT)
    load_settings(http, tmp_path, need=Need.RUN)
    settings = load_settings(GOOD, tmp_path, need=Need.RUN)
    assert settings.env.slack_bot_token is not None


def test_the_openai_address_itself_still_needs_a_key(tmp_path: Path) -> None:
    text = complaint(
        tmp_path, without="OPENAI_API_KEY", OPENAI_BASE_URL="https://api.openai.com/v1"
    )
    assert "OPENAI_API_KEY is not set" in text


def test_the_demo_does_not_even_look_at_slack_variables(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("SLACK_APP_TOKEN=short\n")
    settings = load_settings({"SLACK_BOT_TOKEN": "xoxp-wrong"}, tmp_path, need=Need.DEMO)
    assert settings.env.slack_bot_token is None
    assert settings.env.slack_app_token is None
    assert settings.secrets == ()


@given(st.text(max_size=40), st.text(max_size=40))
def test_whatever_stands_in_the_files_the_start_ends_in_settings_or_in_one_config_error(
    tmp_path_factory: pytest.TempPathFactory, toml: str, dotenv: str
) -> None:
    cwd = tmp_path_factory.mktemp("any")
    (cwd / "treadle.toml").write_text(toml, "utf-8", errors="replace")
    (cwd / ".env").write_text(dotenv, "utf-8", errors="replace")
    try:
        came_to = str(load_settings(GOOD, cwd, need=Need.RUN).config_path)
    except ConfigError as error:
        came_to = str(error)
    assert came_to.startswith((str(cwd), "Treadle cannot start"))
