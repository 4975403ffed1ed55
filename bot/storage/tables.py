"""The tables, in SQLAlchemy Core. The migrations in `migrations/` make them; a test compares."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
)

metadata = MetaData()
_Number = BigInteger().with_variant(Integer, "sqlite")
"""SQLite counts in 64 bits, and numbers rows by itself, only where it is called INTEGER."""

threads = Table(
    "threads",
    metadata,
    Column("thread", String, primary_key=True, comment="team:channel:root_ts"),
    Column("root_addressed", Boolean, nullable=False, comment="the root message was for the bot"),
    Column("busy", Boolean, nullable=False, comment="unfinished: picked up at start"),
    Column("engaged_at", Float, nullable=False),
    Column("owner", String, comment="cluster: the process that works on it; null: none"),
    Column(
        "settled",
        Integer,
        nullable=False,
        server_default="0",
        comment="so many journal entries stand in Slack, with all that was before them",
    ),
    Index("threads_busy", "busy"),
)

inbox = Table(
    "inbox",
    metadata,
    Column("id", _Number, primary_key=True, autoincrement=True),
    Column("thread", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("key", String, nullable=False, unique=True, comment="team:channel:ts:kind"),
    Column("event_id", String, unique=True, comment="Slack's; null for what has none"),
    Column("ts", String, nullable=False, comment="Slack's order within the thread"),
    Column("body", Text, nullable=False, comment="JSON; emptied once taken"),
    Column("received_at", Float, nullable=False),
    Column("taken_seq", Integer, comment="the journal position that holds it; null: waiting"),
    Column("version", Integer, nullable=False, server_default="0", comment="+1 when completed"),
    Index("inbox_waiting", "thread", "taken_seq"),
)

journal = Table(
    "journal",
    metadata,
    Column("thread", String, nullable=False),
    Column("seq", Integer, nullable=False),
    Column("body", Text, nullable=False, comment="one entry as versioned JSON"),
    Column("token", String, nullable=False, comment="who wrote it: tells a retry from a rival"),
    Column("at", Float, nullable=False),
    PrimaryKeyConstraint("thread", "seq"),
)

deliveries = Table(
    "deliveries",
    metadata,
    Column("key", String, primary_key=True, comment="also in the message's metadata"),
    Column("thread", String, nullable=False),
    Column("pieces", Text, nullable=False, comment="JSON list of the pieces in this message"),
    Column("state", String, nullable=False, comment="trying | posted | given_up | refused"),
    Column("ts", String, comment="the message's, once known"),
    Column("tried_at", Float, nullable=False),
    Index("deliveries_thread", "thread"),
    Index("deliveries_ts", "ts"),
)

approvals = Table(
    "approvals",
    metadata,
    Column("thread", String, primary_key=True, comment="a turn asks one question at a time"),
    Column("seq", Integer, nullable=False, comment="the journal position of the question"),
    Column("expires_at", Float, nullable=False),
    Index("approvals_expires_at", "expires_at"),
    comment="the questions that nobody has answered: for the sweep, the journal holds them too",
)

audit = Table(
    "audit",
    metadata,
    Column("chain", String, nullable=False, comment="one for each process that writes"),
    Column("seq", BigInteger, nullable=False),
    Column("at", BigInteger, nullable=False, comment="microseconds since the epoch"),
    Column("kind", String, nullable=False),
    Column("thread", String, nullable=False, comment="empty: of no thread"),
    Column("body", Text, nullable=False, comment="JSON"),
    Column("seal", String, nullable=False, comment="bot.audit.chain says of what"),
    PrimaryKeyConstraint("chain", "seq"),
    comment="who did what: nobody changes a row without its being found",
)

capabilities = Table(
    "capabilities",
    metadata,
    Column("address", String, nullable=False, comment="of the model's endpoint"),
    Column("model", String, nullable=False),
    Column("fact", String, nullable=False),
    Column("value", String, nullable=False),
    Column("learned_at", Float, nullable=False),
    PrimaryKeyConstraint("address", "model", "fact"),
    comment="what an endpoint's model was found to take or refuse; forgotten after a week",
)

counters = Table(
    "counters",
    metadata,
    Column("name", String, primary_key=True),
    Column("value", Integer, nullable=False),
    comment="of changes made in Slack, by which other processes see them, and of rule numbers",
)

rules = Table(
    "rules",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("key", String, nullable=False, unique=True, comment="what the rule is about, as JSON"),
    Column("body", Text, nullable=False, comment="JSON, as a [[policy]] table"),
    Column("made_by", String, nullable=False, comment="a user id"),
    Column("name", String, nullable=False, comment="the author's"),
    Column("at", Float, nullable=False),
    comment="made in Slack; those of the file stand only there",
)

live_settings = Table(
    "live_settings",
    metadata,
    Column("scope", String, nullable=False, comment="a channel's id, or * for everywhere"),
    Column("name", String, nullable=False),
    Column("value", String, nullable=False),
    Column("made_by", String, nullable=False, comment="a user id"),
    Column("author", String, nullable=False, comment="what people call whoever chose it"),
    Column("at", Float, nullable=False),
    PrimaryKeyConstraint("scope", "name"),
    comment="chosen in Slack",
)

refusals = Table(
    "refusals",
    metadata,
    Column("person", String, primary_key=True, comment="team:user"),
    Column("thread", String, nullable=False),
    Column("seq", Integer, nullable=False, comment="the journal position of the decision"),
    Column("at", Float, nullable=False),
    comment="the last refusal of each person: the journal holds what and why",
)

answers = Table(
    "answers",
    metadata,
    Column("thread", String, nullable=False),
    Column("seq", Integer, nullable=False, comment="the journal position of the answer"),
    Column("at", Float, nullable=False),
    PrimaryKeyConstraint("thread", "seq"),
    Index("answers_at", "at"),
    comment="where people were lately asked and answered; kept for thirty days",
)

deleted = Table(
    "deleted",
    metadata,
    Column("channel", String, nullable=False, comment="team:channel"),
    Column("ts", String, nullable=False),
    Column("at", Float, nullable=False),
    PrimaryKeyConstraint("channel", "ts"),
    comment="messages deleted before they came, if they come: no text, kept for ten minutes",
)

event_limits = Table(
    "event_limits",
    metadata,
    Column("team", String, nullable=False),
    Column("minute", Float, nullable=False, comment="epoch seconds"),
    PrimaryKeyConstraint("team", "minute"),
    comment="minutes in which Slack sent no events, because there were too many; kept for a week",
)

overheard = Table(
    "overheard",
    metadata,
    Column("channel", String, nullable=False, comment="team:channel"),
    Column("thread_ts", String, nullable=False),
    Column("ts", String, nullable=False),
    Column("at", Float, nullable=False),
    PrimaryKeyConstraint("channel", "thread_ts", "ts"),
    comment="replies in threads that are not the bot's (yet): no text, kept for two minutes",
)

usage = Table(
    "usage",
    metadata,
    Column("thread", String, nullable=False),
    Column("seq", Integer, nullable=False, comment="the journal position of the model's reply"),
    Column("at", Float, nullable=False),
    Column("author", String, nullable=False, comment="who began the turn"),
    Column("channel", String, nullable=False, comment="team:channel"),
    Column("model", String, nullable=False),
    Column("input_tokens", Integer, nullable=False),
    Column("output_tokens", Integer, nullable=False),
    Column("cached_tokens", Integer, nullable=False),
    Column("cost", Float, comment="null: the model has no price"),
    Column("turns", Integer, nullable=False, comment="1 for the first call of a turn, else 0"),
    PrimaryKeyConstraint("thread", "seq"),
    Index("usage_at", "at"),
    comment="one call of the model; written with the entry that holds it",
)

reservations = Table(
    "reservations",
    metadata,
    Column("thread", String, primary_key=True, comment="a thread makes one call at a time"),
    Column("token", String, nullable=False, server_default="", comment="of the call: whose it is"),
    Column("at", Float, nullable=False),
    Column("author", String, nullable=False),
    Column("channel", String, nullable=False),
    Column("cost", Float, nullable=False),
    Column("tokens", Integer, nullable=False),
    Column("turns", Integer, nullable=False),
    comment="what calls that are being made may use of a budget",
)

raises = Table(
    "raises",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("at", Float, nullable=False),
    Column("scope", String, nullable=False),
    Column("subject", String, nullable=False, comment="user, team:channel or empty"),
    Column("unit", String, nullable=False),
    Column("amount", Float, nullable=False),
    Column("by", String, nullable=False),
    comment="what admins have added to a budget, for the day",
)

budget_told = Table(
    "budget_told",
    metadata,
    Column("day", Float, nullable=False, comment="when it began"),
    Column("scope", String, nullable=False),
    Column("subject", String, nullable=False),
    Column("unit", String, nullable=False),
    PrimaryKeyConstraint("day", "scope", "subject", "unit"),
    comment="near which budgets people were told today",
)

processes = Table(
    "processes",
    metadata,
    Column("owner", String, primary_key=True, comment="as in threads, leases and Resumed entries"),
    Column("works", Boolean, nullable=False, comment="false: it only takes events in"),
    Column("beat_at", Float, nullable=False, comment="when it last said that it lives"),
    comment="cluster: who is there; all times of these tables are by the database's clock",
)

pacing = Table(
    "pacing",
    metadata,
    Column("lane", String, primary_key=True, comment="a channel, or a method of Slack's"),
    Column("free_at", Float, nullable=False, comment="when the lane would have been used up"),
    comment="cluster: the slots for calls of Slack that all processes share",
)

leases = Table(
    "leases",
    metadata,
    Column("name", String, primary_key=True, comment="what one process at a time may do"),
    Column("owner", String, nullable=False),
    comment="cluster: held for as long as the owner lives",
)

agreed = Table(
    "agreed",
    metadata,
    Column("name", String, primary_key=True),
    Column("value", String, nullable=False),
    comment="cluster: what all processes must find the same",
)
