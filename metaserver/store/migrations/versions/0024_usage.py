"""Attempts keep what their answers took, as teams declare it: tokens and cost

Revision: 0024, after 0025
"""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("attempts", sa.Column("usage", sa.LargeBinary()))
