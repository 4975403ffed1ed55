"""The minutes in which Slack sent no events, because there were too many."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table of those minutes."""
    op.create_table(
        "event_limits",
        sa.Column("team", sa.String, nullable=False),
        sa.Column("minute", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("team", "minute"),
    )
