"""The settings as values: every section of treadle.toml, every variable, names and defaults.

The names are a contract (docs/settings.md is kept complete by a test). An example in a field is
what the start shows when the value given is not right.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    WrapSerializer,
)

from bot.config import values
from bot.config.environment import Environment
from bot.config.money import BudgetSection, Prices
from bot.config.section import Count, Section, thawed
from bot.patterns import Pattern
from bot.policy import Access, Rule, Verdict

Names: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(values.listed)]
UserIds: TypeAlias = Annotated[Names, AfterValidator(values.user_ids)]
ToolNames: TypeAlias = Annotated[Names, AfterValidator(values.tool_names)]
MatchTable: TypeAlias = Annotated[
    Mapping[str, str], AfterValidator(values.match_table), WrapSerializer(thawed)
]
Selector: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(values.one_or_more)]
Verbosity: TypeAlias = Literal["steps", "card", "quiet", "full"]
Replies: TypeAlias = Literal["always", "mention"]


class ModelSection(Section):
    """[model]: the chat model; OPENAI_MODEL wins over `name`."""

    name: Annotated[str, Field(min_length=1)] = "gpt-5-mini"
    dialect: Literal["auto", "native", "xml", "text", "json", "bare-json"] = "auto"
    context_tokens: Annotated[int, Field(ge=1000)] = 128_000
    prices: Prices = Field(
        default_factory=lambda: MappingProxyType({}),
        examples=[{"gpt-5-mini": {"input": 0.25, "output": 2.0}}],
    )


class LimitsSection(Section):
    """[limits]: of one turn; seconds are running time only."""

    max_steps: Count = 25
    max_seconds: Count = 900
    max_tokens: Count = 400_000


class GuardSection(Section):
    """[guard]: how often the same call or round of calls may come, and steps without anything new.

    The model is warned one before; then the turn is ended.
    """

    repeat: Annotated[int, Field(ge=2)] = 3
    cycle: Annotated[int, Field(ge=2)] = 3
    stall: Annotated[int, Field(ge=2)] = 8


class SlackSection(Section):
    """[slack]: what people see in a channel."""

    verbosity: Verbosity = "steps"
    reply_in_threads: Replies = "always"
    footer: bool = False


class ChannelSection(Section):
    """[[channel]]: what differs from [slack] in one channel."""

    id: Annotated[str, AfterValidator(values.channel_id), Field(examples=["C0123456789"])]
    verbosity: Verbosity | None = Field(default=None, examples=["full"])
    reply_in_threads: Replies | None = Field(default=None, examples=["mention"])
    footer: bool | None = Field(default=None, examples=[True])


class WorkspaceSection(Section):
    """[workspace]: who shares a directory, and its size in MB."""

    scope: Literal["channel", "thread", "shared"] = "channel"
    quota_mb: Count = 2048


class ToolsSection(Section):
    """[tools]: `enabled` None means every tool that this release has and this host can run."""

    enabled: ToolNames | None = Field(default=None, examples=[["read_file", "calculate"]])
    modules: Annotated[Names, AfterValidator(values.module_names)] = Field(
        default=(), examples=[["my_tools.py"]]
    )
    wikipedia_url: Annotated[str, AfterValidator(values.web_address)] = "https://en.wikipedia.org"


class SandboxSection(Section):
    """[sandbox]: what holds run_command in."""

    mode: Literal["auto", "bwrap", "bwrap-hostproc", "landlock", "off"] = "auto"
    network: Annotated[Names, AfterValidator(values.host_names)] = Field(
        default=(), examples=[["files.example.com"]]
    )
    uid: Annotated[int, Field(ge=1, le=2**32 - 2)] = 10001
    timeout_s: Count = 60
    memory_mb: Count = 1024
    processes: Count = 128
    output_kb: Count = 256
    read_only: Annotated[Names, AfterValidator(values.paths)] = Field(
        default=(), examples=[["/opt/node"]]
    )


class AccessSection(Section):
    """[access]: who may speak to the bot. An empty list means nobody, never everybody."""

    admins: UserIds = Field(default=(), examples=[["U0123456789"]])
    slack_admins: bool = True
    guests: bool = False
    external: bool = False
    bots: Annotated[Names, AfterValidator(values.bot_ids)] = Field(
        default=(), examples=[["B0123456789"]]
    )
    channels: Annotated[Names, AfterValidator(values.channels)] = Field(
        default=("*",), examples=[["C0123456789"]]
    )
    refusal: Literal["say", "silent"] = "say"
    slack_may_loosen: bool = False

    @property
    def speakers(self) -> Access:
        """The same as the policy takes it."""
        return Access(self.guests, self.external, self.bots, self.channels)


class ApprovalsSection(Section):
    """[approvals]: who may answer when a rule asks, and for how long (seconds)."""

    approvers: Annotated[Names, AfterValidator(values.approvers)] = ("admins",)
    expires_s: Count = 259_200


class AuditSection(Section):
    """[audit]: after how many days rows are removed; None keeps them for ever."""

    keep_days: Count | None = Field(default=None, examples=[365])


class PolicySection(Section):
    """[[policy]]: one rule of the tool policy."""

    tool: Annotated[str, AfterValidator(values.rule_tool), Field(examples=["run_command"])]
    decision: Annotated[Literal["allow", "ask", "deny"], Field(examples=["ask"])]
    channel: Annotated[Selector, AfterValidator(values.channel_selector)] | None = Field(
        default=None, examples=[["!C0123456789"]]
    )
    user: Annotated[Selector, AfterValidator(values.user_selector)] | None = Field(
        default=None, examples=[["U0123456789"]]
    )
    role: Annotated[Selector, AfterValidator(values.role_selector)] | None = Field(
        default=None, examples=["member"]
    )
    match: MatchTable = Field(
        default_factory=lambda: MappingProxyType({}), examples=[{"command": "git (status|log)"}]
    )

    def rule(self, place: str) -> Rule:
        """The same as the policy takes it; `place` says where it is written."""
        patterns = tuple(Pattern(argument, text) for argument, text in self.match.items())
        verdict = Verdict(self.decision)
        return Rule(self.tool, verdict, self.channel, self.role, self.user, patterns, place)


class File(Section):
    """All of treadle.toml."""

    model: ModelSection = Field(default_factory=ModelSection)
    limits: LimitsSection = LimitsSection()
    guard: GuardSection = GuardSection()
    slack: SlackSection = SlackSection()
    channel: Annotated[tuple[ChannelSection, ...], BeforeValidator(values.listed)] = ()
    workspace: WorkspaceSection = WorkspaceSection()
    tools: ToolsSection = ToolsSection()
    sandbox: SandboxSection = SandboxSection()
    access: AccessSection = AccessSection()
    approvals: ApprovalsSection = ApprovalsSection()
    budget: BudgetSection = BudgetSection()
    audit: AuditSection = AuditSection()
    policy: Annotated[tuple[PolicySection, ...], BeforeValidator(values.listed)] = ()


class Settings(File):
    """All settings, read once at the start; secrets print as stars.

    All paths are absolute and without links, those in `tools.modules` and `sandbox.read_only` too.
    """

    env: Environment
    home: Path
    workspace_root: Path
    database_path: Path | None
    """The SQLite file; None where TREADLE_DATABASE_URL names a PostgreSQL server."""
    config_path: Path
    policy_lines: tuple[int, ...] = ()
    """The line of each [[policy]] table in the file; empty where the rules have another form."""
    warnings: tuple[str, ...] = ()
    """Sentences for the person who starts Treadle; nothing that stops the start."""

    @property
    def model_name(self) -> str:
        """OPENAI_MODEL, or else [model] name."""
        return self.env.openai_model or self.model.name

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The rules of the file in their order."""
        name = self.config_path.name
        places = [f"{name} line {line}" for line in self.policy_lines]
        places = places or [f"{name} policy[{n}]" for n in range(1, len(self.policy) + 1)]
        return tuple(
            section.rule(place) for section, place in zip(self.policy, places, strict=True)
        )

    def for_channel(self, channel_id: str) -> SlackSection:
        """[slack] with what [[channel]] says otherwise for this channel."""
        for section in self.channel:
            if section.id == channel_id:
                own = section.model_dump(exclude={"id"}, exclude_none=True)
                return self.slack.model_copy(update=own)
        return self.slack

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every live value that must never be shown, for the redactor."""
        return self.env.live_secrets
