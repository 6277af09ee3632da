"""Processes store what they count of their lanes and leases

Revision: 0033, after 0032
"""

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None


def upgrade() -> None:
    large = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    for name in ("taken_over", "turns", "refused", "missed"):
        column = sa.Column(name, large, server_default=sa.text("0"), nullable=False)
        op.add_column("workers", column)
