"""The variables: secrets and addresses, from the environment and from .env."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, TypeAlias
from urllib.parse import unquote, urlsplit

from dotenv.parser import parse_stream
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, field_validator

from bot.config.values import Problem, web_address
from bot.redact import SHORTEST_SECRET

OTHER_NAME = ("OPENAI_API_BASE", "OPENAI_BASE_URL")
"""An older name, and the variable that it stands for; the newer one wins."""
OPENAI_HOST = "api.openai.com"

QUERY_PASSWORDS = ("password", "sslpassword")
"""Parameters that hold a password (postgresql.org/docs/current/libpq-connect.html)."""
_HOST = r"(?:\[[0-9A-Fa-f:.]+\]|(?:[^][:/?#@%,]|%[0-9A-Fa-f]{2})*)(?::[0-9]{0,5})?"
_SERVER = re.compile(
    r"postgresql(?:\+psycopg)?://"
    r"(?:(?:[^][:/?#@%]|%[0-9A-Fa-f]{2})*(?::(?:[^][/?#@%]|%[0-9A-Fa-f]{2})*)?@)?"
    rf"{_HOST}(?:,{_HOST})*"
    r"(?:/(?:[^/?#@%]|%[0-9A-Fa-f]{2})*)?"
    r"(?:\?(?:[^?#@%]|%[0-9A-Fa-f]{2})*)?"
)
"""One way to read an address: what has another meaning in it is written with %."""

_KINDS = {
    "xoxe": "a token that expires (turn token rotation off in the app's settings and install anew)",
    "xoxb-": "a bot token (xoxb)",
    "xoxp-": "a user token (xoxp)",
    "xapp-": "an app-level token (xapp)",
    "xox": "another kind of Slack token",
}


def secret(beginning: str = "", advice: str = "") -> Callable[[SecretStr], SecretStr]:
    """A check for a secret: with `beginning` a Slack token of that kind, else anything but one.

    `advice` says what else to do about one that is too short.
    """

    def check(value: SecretStr) -> SecretStr:
        text = value.get_secret_value()
        if text[:7].lower() == "bearer ":
            raise ValueError('begins with "Bearer "; leave that word out')
        if not re.fullmatch(r"[!-~]+", text):
            raise ValueError("holds a space, a line break or a letter that no secret has")
        if text.endswith("...") or text.startswith("<"):
            raise ValueError("is still a placeholder; put the real value there")
        _check_kind(text, beginning)
        if len(text) < SHORTEST_SECRET:
            raise ValueError(
                f"is shorter than {SHORTEST_SECRET} characters, too short to be hidden{advice}"
            )
        return value

    return check


def _check_kind(text: str, beginning: str) -> None:
    if beginning and text.startswith(beginning):
        return
    for start, words in _KINDS.items():
        if text.startswith(start):
            instead = f"; a value that begins with {beginning} belongs there" if beginning else ""
            raise ValueError(f"holds {words}{instead}")
    if beginning:
        raise ValueError(f"does not begin with {beginning}")


def api_address(value: str) -> str:
    """The root of an API: a web address that ends in a slash."""
    return web_address(value) + "/"


def model_address(value: str) -> str:
    """The root of a chat-completions API, not the address of one call."""
    if value.rstrip("/").endswith("/chat/completions"):
        raise ValueError("ends in /chat/completions, which the client adds itself; leave it out")
    return web_address(value)


BotToken: TypeAlias = Annotated[SecretStr, AfterValidator(secret("xoxb-"))]
AppToken: TypeAlias = Annotated[SecretStr, AfterValidator(secret("xapp-"))]
AnySecret: TypeAlias = Annotated[SecretStr, AfterValidator(secret())]
NO_KEY_NEEDED = "; leave it unset for a server of your own that needs no key"
ModelKey: TypeAlias = Annotated[SecretStr, AfterValidator(secret(advice=NO_KEY_NEEDED))]


class Environment(BaseModel):
    """The variables of the contract; SLACK_…, OPENAI_… and TREADLE_… names, the rest is ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    slack_bot_token: BotToken | None = Field(
        default=None, alias="SLACK_BOT_TOKEN", examples=["xoxb-1234-5678-abcdefgh"]
    )
    slack_app_token: AppToken | None = Field(
        default=None, alias="SLACK_APP_TOKEN", examples=["xapp-1-A0123-5678-abcdefgh"]
    )
    slack_signing_secret: AnySecret | None = Field(
        default=None,
        alias="SLACK_SIGNING_SECRET",
        examples=["8f742231b10e8888abcd99yyyzzz85a5"],
    )
    slack_api_url: Annotated[str, AfterValidator(api_address)] = Field(
        default="https://slack.com/api/", alias="SLACK_API_URL"
    )
    openai_api_key: ModelKey | None = Field(
        default=None, alias="OPENAI_API_KEY", examples=["sk-proj-abcdefgh"]
    )
    openai_base_url: Annotated[str, AfterValidator(model_address)] | None = Field(
        default=None, alias="OPENAI_BASE_URL", examples=["http://127.0.0.1:8080/v1"]
    )
    openai_model: str | None = Field(default=None, alias="OPENAI_MODEL", examples=["gpt-5-mini"])
    config: str = Field(default="treadle.toml", alias="TREADLE_CONFIG")
    home: str = Field(default=".treadle", alias="TREADLE_HOME")
    database_url: SecretStr | None = Field(
        default=None, alias="TREADLE_DATABASE_URL", examples=["sqlite:///data/treadle.db"]
    )
    workspace: str = Field(default="workspace", alias="TREADLE_WORKSPACE")
    audit_key: AnySecret | None = Field(
        default=None, alias="TREADLE_AUDIT_KEY", examples=["f3a1c0d2e4b59687"]
    )

    @field_validator("*", mode="before")
    @classmethod
    def _bare(cls, value: object) -> object:
        if isinstance(value, str) and value != value.strip(" \t\r\n\"'`“”‘’"):
            raise ValueError("has quotes or spaces around its value; leave them out")
        if isinstance(value, str) and "${" in value:
            raise ValueError("refers to another variable with ${…}; write the value itself")
        if isinstance(value, str) and not value.isprintable():
            raise ValueError("holds a character that cannot be printed; write it anew by hand")
        return value

    @property
    def needs_model_key(self) -> bool:
        """False where the model is served elsewhere: local servers need no key."""
        host = urlsplit(self.openai_base_url).hostname if self.openai_base_url else OPENAI_HOST
        return host == OPENAI_HOST

    @property
    def live_secrets(self) -> tuple[str, ...]:
        """All secrets, and the passwords in addresses where they are long enough to hide."""
        fields = [getattr(self, name) for name in type(self).model_fields]
        found = [value for value in fields if isinstance(value, SecretStr)]
        texts = [value.get_secret_value() for value in found if value is not self.database_url]
        for address in (self.database_url, self.openai_base_url, self.slack_api_url):
            texts.extend(passwords(address))
        return tuple(text for text in texts if len(text) >= SHORTEST_SECRET)


def passwords(address: SecretStr | str | None) -> tuple[str, ...]:
    """The passwords in an address, as they are written there and as they are meant."""
    text = address.get_secret_value() if isinstance(address, SecretStr) else address or ""
    try:
        parts = urlsplit(text)
        found = [parts.password or ""]
    except ValueError:  # no address at all, which is said elsewhere
        return ()
    for name, _, value in (pair.partition("=") for pair in parts.query.split("&")):
        if unquote(name) in QUERY_PASSWORDS:
            found.append(value)
    return tuple(form for written in found if written for form in (written, unquote(written)))


def check_server(url: str) -> None:
    """Raises ValueError for an address that PostgreSQL's library could read in another way than we
    do: it would say a piece of the password aloud. The text holds nothing of the address.
    """
    try:
        urlsplit(url)
        clear = _SERVER.fullmatch(url) is not None
    except ValueError:
        clear = False
    if not clear:
        raise ValueError(
            "cannot be read; in a name or password, write % as %25, @ as %40, : as %3A, / as %2F, "
            "? as %3F, # as %23, [ as %5B and ] as %5D"
        )


VARIABLES = frozenset(f.alias for f in Environment.model_fields.values() if f.alias)


@dataclass(frozen=True, slots=True)
class Given:
    """The variables as they were given, where each one stands, and lines that cannot be read."""

    values: Mapping[str, str] = field(repr=False)
    origins: Mapping[str, str] = field(default_factory=dict)
    broken: tuple[Problem, ...] = ()

    def place(self, name: str) -> str:
        """The variable as people find it."""
        if name == OTHER_NAME[1] and name not in self.origins:
            name = OTHER_NAME[0]
        origin = self.origins.get(name)
        return f"{name} (in {origin})" if origin else name


def read_variables(environ: Mapping[str, str], cwd: Path) -> Given:
    """The variables of `environ` and of the file .env in `cwd`; those of `environ` win.

    A variable that is set but empty counts as not set, and one in `environ` hides the one in .env.
    """
    written, broken = _read_dotenv(cwd / ".env")
    origins = dict.fromkeys(written, ".env") | dict.fromkeys(environ, "the environment")
    values = {name: value for name, value in {**written, **environ}.items() if value}
    older, newer = OTHER_NAME
    if older in values:
        values.setdefault(newer, values[older])
    kept = {name: origins[name] for name in values if name in origins}
    return Given(values, kept, broken)


def _read_dotenv(path: Path) -> tuple[dict[str, str], tuple[Problem, ...]]:
    try:
        text = path.read_text("utf-8-sig")
    except FileNotFoundError:
        return {}, ()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        return {}, (Problem(".env", f"cannot be read: {reason}"),)
    values, broken = {}, []
    for binding in parse_stream(io.StringIO(text)):
        if binding.error:
            line = f".env: line {binding.original.line}"
            broken.append(Problem(line, "is not of the form NAME=value", "OPENAI_MODEL=gpt-5-mini"))
        elif binding.key and binding.value is not None:
            values[binding.key] = binding.value
    return values, tuple(broken)
