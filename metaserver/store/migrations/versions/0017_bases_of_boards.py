"""Frozen boards say what they were made from, so that another freeze supersedes them

Revision: 0017, after 0019
"""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "frozen_boards",
        sa.Column("basis", sa.String(), server_default="", nullable=False),
    )
