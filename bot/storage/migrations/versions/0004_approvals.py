"""The questions that wait for a person, and posts found by their `ts`."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table of open questions and the index for reactions on posts."""
    op.create_table(
        "approvals",
        sa.Column("thread", sa.String, primary_key=True),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("expires_at", sa.Float, nullable=False),
    )
    op.create_index("approvals_expires_at", "approvals", ["expires_at"])
    op.create_index("deliveries_ts", "deliveries", ["ts"])
