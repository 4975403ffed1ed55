"""Many processes on one database: who lives, and who works on what."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables that processes share; with SQLite they stay empty."""
    op.add_column("threads", sa.Column("owner", sa.String))
    op.create_table(
        "processes",
        sa.Column("owner", sa.String, primary_key=True),
        sa.Column("works", sa.Boolean, nullable=False),
        sa.Column("beat_at", sa.Float, nullable=False),
    )
    op.create_table(
        "pacing",
        sa.Column("lane", sa.String, primary_key=True),
        sa.Column("free_at", sa.Float, nullable=False),
    )
    op.create_table(
        "leases",
        sa.Column("name", sa.String, primary_key=True),
        sa.Column("owner", sa.String, nullable=False),
    )
    op.create_table(
        "agreed",
        sa.Column("name", sa.String, primary_key=True),
        sa.Column("value", sa.String, nullable=False),
    )
