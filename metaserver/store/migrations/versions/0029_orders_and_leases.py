"""Lanes get orders and holders; processes and their leader are stored

Revision: 0029, after 0024
"""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    none = sa.text("0")
    for column in (
        sa.Column("due", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("allowance", sa.Integer()),
        sa.Column("cancel_by", sa.String(), server_default="", nullable=False),
        sa.Column("order_no", sa.Integer(), server_default=none, nullable=False),
        sa.Column("order_done", sa.Integer(), server_default=none, nullable=False),
        sa.Column("worker", sa.String()),
        sa.Column("in_flight", sa.Integer(), server_default=none, nullable=False),
        sa.Column("down", sa.String(), server_default="", nullable=False),
        sa.Column("ended", sa.String(16), server_default="", nullable=False),
    ):
        op.add_column("lanes", column)
    op.create_index("ix_lanes_worker", "lanes", ["worker"])
    op.create_table(
        "workers",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("host", sa.String(), nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column("capacity", sa.Integer(), nullable=False),
        sa.Column("lanes", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.Double(), nullable=False),
        sa.Column("seen", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workers")),
    )
    op.create_table(
        "leader",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("process", sa.String(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("seen", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_leader")),
    )
