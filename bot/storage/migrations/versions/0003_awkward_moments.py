"""What comes at an awkward moment: deletions before their messages, completions while judged."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table of deletions whose message may still come; count completions."""
    op.create_table(
        "deleted",
        sa.Column("channel", sa.String, nullable=False),
        sa.Column("ts", sa.String, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("channel", "ts"),
    )
    version = sa.Column("version", sa.Integer, nullable=False, server_default="0")
    op.add_column("inbox", version)
