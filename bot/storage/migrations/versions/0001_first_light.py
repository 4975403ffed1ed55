"""Threads, inbox, journal, deliveries, overheard replies."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the first tables."""
    op.create_table(
        "threads",
        sa.Column("thread", sa.String, primary_key=True),
        sa.Column("root_addressed", sa.Boolean, nullable=False),
        sa.Column("busy", sa.Boolean, nullable=False),
        sa.Column("engaged_at", sa.Float, nullable=False),
    )
    op.create_index("threads_busy", "threads", ["busy"])
    op.create_table(
        "inbox",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer, "sqlite"),
            primary_key=True,
            autoincrement=True,
        ),
        sa.Column("thread", sa.String, nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("key", sa.String, nullable=False, unique=True),
        sa.Column("event_id", sa.String, unique=True),
        sa.Column("ts", sa.String, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("received_at", sa.Float, nullable=False),
        sa.Column("taken_seq", sa.Integer),
    )
    op.create_index("inbox_waiting", "inbox", ["thread", "taken_seq"])
    op.create_table(
        "journal",
        sa.Column("thread", sa.String, nullable=False),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("token", sa.String, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("thread", "seq"),
    )
    op.create_table(
        "deliveries",
        sa.Column("key", sa.String, primary_key=True),
        sa.Column("thread", sa.String, nullable=False),
        sa.Column("pieces", sa.Text, nullable=False),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("ts", sa.String),
        sa.Column("tried_at", sa.Float, nullable=False),
    )
    op.create_index("deliveries_thread", "deliveries", ["thread"])
    op.create_table(
        "overheard",
        sa.Column("channel", sa.String, nullable=False),
        sa.Column("thread_ts", sa.String, nullable=False),
        sa.Column("ts", sa.String, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("channel", "thread_ts", "ts"),
    )
