"""The address of a database: how it is read, and that its password never gets out."""

from __future__ import annotations

import contextlib
import traceback
from pathlib import Path
from urllib.parse import quote, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.config import Need, Settings, load_settings
from bot.config.environment import check_server, passwords
from bot.errors import ConfigError


def load(cwd: Path, url: str) -> Settings:
    variables = {"OPENAI_API_KEY": "sk-proj-abcdefgh", "TREADLE_DATABASE_URL": url}
    return load_settings(variables, cwd, need=Need.CHAT)


PASSWORDS = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=8)


@given(PASSWORDS, st.sampled_from(["me", "m%3Ae"]), st.sampled_from(["h", "[::1]:5", "a:1,b"]))
def test_the_password_of_a_database_is_a_secret_however_it_is_written(
    password: str, user: str, host: str
) -> None:
    written = quote(password, safe="")
    for url in (
        f"postgresql://{user}:{written}@{host}/db?sslmode=require",
        f"postgresql+psycopg://{host}/db?user={user}&password={written}",
    ):
        check_server(url)
        assert {written, password} <= set(passwords(url))


@given(PASSWORDS, st.sampled_from(["/db", "", "/db?sslmode=require"]))
def test_an_address_with_a_password_as_it_is_is_refused_or_read_as_it_is_meant(
    password: str, end: str
) -> None:
    """PostgreSQL's library would take the rest for a host or a port, and say it in its errors."""
    url = f"postgresql://me:{password}@127.0.0.1:5432{end}"
    with contextlib.suppress(ValueError):
        check_server(url)
        assert {password, unquote(password)} <= set(passwords(url))


@pytest.mark.parametrize("broken", ["a@b", "a/b", "a?b", "a#b", "a%zb", "a[b", "a]b", "a℀b"])
def test_what_has_a_meaning_in_an_address_must_be_written_with_percent(
    tmp_path: Path, broken: str
) -> None:
    canary = "".join(["cana", "ry" * 4])
    url = f"postgresql://me:{canary}{broken}{canary}@127.0.0.1/db"
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, url)
    text = "".join(traceback.format_exception(caught.value))
    assert "TREADLE_DATABASE_URL cannot be read; in a name or password, write % as %25" in text
    assert canary not in text


def test_postgresql_is_no_file(tmp_path: Path) -> None:
    settings = load(tmp_path, "postgresql://me:canary-long@127.0.0.1/db")

    assert settings.database_path is None
    assert "canary-long" in settings.secrets
    assert "canary-long" not in repr(settings)
