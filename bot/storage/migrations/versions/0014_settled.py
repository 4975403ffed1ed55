"""How much of a thread's journal stands in Slack, to be gone on from after a kill."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column. What is at rest was shown as it was to be, whatever that was then."""
    op.add_column("threads", sa.Column("settled", sa.Integer, nullable=False, server_default="0"))
    op.execute(
        "UPDATE threads SET settled = "
        "(SELECT count(*) FROM journal WHERE journal.thread = threads.thread) WHERE NOT busy"
    )
