"""Which call something of a budget is set aside for, so that nobody else frees it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the token; what is set aside already is of calls that an earlier process made."""
    token = sa.Column("token", sa.String, nullable=False, server_default="")
    op.add_column("reservations", token)
