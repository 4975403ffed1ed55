"""What is known of the model's endpoint."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table of what an endpoint's model takes or refuses."""
    op.create_table(
        "capabilities",
        sa.Column("address", sa.String, nullable=False),
        sa.Column("model", sa.String, nullable=False),
        sa.Column("fact", sa.String, nullable=False),
        sa.Column("value", sa.String, nullable=False),
        sa.Column("learned_at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("address", "model", "fact"),
    )
