"""What admins make in Slack, and where refusals and answers stand."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables of rules, settings and their counters, of refusals and answers."""
    counters = op.create_table(
        "counters",
        sa.Column("name", sa.String, primary_key=True),
        sa.Column("value", sa.Integer, nullable=False),
    )
    op.bulk_insert(counters, [{"name": "revision", "value": 0}, {"name": "rule", "value": 0}])
    op.create_table(
        "rules",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("key", sa.String, nullable=False, unique=True),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("made_by", sa.String, nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
    )
    op.create_table(
        "live_settings",
        sa.Column("scope", sa.String, nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("value", sa.String, nullable=False),
        sa.Column("made_by", sa.String, nullable=False),
        sa.Column("author", sa.String, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("scope", "name"),
    )
    op.create_table(
        "refusals",
        sa.Column("person", sa.String, primary_key=True),
        sa.Column("thread", sa.String, nullable=False),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
    )
    op.create_table(
        "answers",
        sa.Column("thread", sa.String, nullable=False),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("thread", "seq"),
    )
    op.create_index("answers_at", "answers", ["at"])
