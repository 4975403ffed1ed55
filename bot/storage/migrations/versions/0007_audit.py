"""The audit trail."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table of the chains."""
    op.create_table(
        "audit",
        sa.Column("chain", sa.String, nullable=False),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("thread", sa.String, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("seal", sa.String, nullable=False),
        sa.PrimaryKeyConstraint("chain", "seq"),
    )
