"""What the model used, and what budgets need: reservations, raises, who was told."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the four tables."""
    op.create_table(
        "usage",
        sa.Column("thread", sa.String, nullable=False),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("author", sa.String, nullable=False),
        sa.Column("channel", sa.String, nullable=False),
        sa.Column("model", sa.String, nullable=False),
        sa.Column("input_tokens", sa.Integer, nullable=False),
        sa.Column("output_tokens", sa.Integer, nullable=False),
        sa.Column("cached_tokens", sa.Integer, nullable=False),
        sa.Column("cost", sa.Float),
        sa.Column("turns", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("thread", "seq"),
    )
    op.create_index("usage_at", "usage", ["at"])
    op.create_table(
        "reservations",
        sa.Column("thread", sa.String, primary_key=True),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("author", sa.String, nullable=False),
        sa.Column("channel", sa.String, nullable=False),
        sa.Column("cost", sa.Float, nullable=False),
        sa.Column("tokens", sa.Integer, nullable=False),
        sa.Column("turns", sa.Integer, nullable=False),
    )
    op.create_table(
        "raises",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("scope", sa.String, nullable=False),
        sa.Column("subject", sa.String, nullable=False),
        sa.Column("unit", sa.String, nullable=False),
        sa.Column("amount", sa.Float, nullable=False),
        sa.Column("by", sa.String, nullable=False),
    )
    op.create_table(
        "budget_told",
        sa.Column("day", sa.Float, nullable=False),
        sa.Column("scope", sa.String, nullable=False),
        sa.Column("subject", sa.String, nullable=False),
        sa.Column("unit", sa.String, nullable=False),
        sa.PrimaryKeyConstraint("day", "scope", "subject", "unit"),
    )
