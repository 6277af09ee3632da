"""Bounds on sign-ups: their origin, code and automatic approval, next mail, tries of names

Revision: 0018, after 0016
"""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("sign_ups", sa.Column("origin", sa.String(64)))
    op.add_column("sign_ups", sa.Column("code", sa.String(64)))
    op.add_column(
        "sign_ups",
        sa.Column("automatic", sa.Boolean(), server_default=sa.false(), nullable=False),
    )
    op.add_column("sign_ups", sa.Column("mail_at", sa.Double()))
    op.add_column(
        "one_time_links",
        sa.Column("tries", sa.Integer(), server_default=sa.text("0"), nullable=False),
    )
