"""Conformance runs of a server for each phase; the earlier ones, of no phase, are dropped

Revision: 0004, after 0003
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "trials",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("server_id", sa.Integer(), nullable=False),
        sa.Column("phase_id", sa.Integer(), nullable=True),
        sa.Column("verdict", sa.LargeBinary(), nullable=False),
        sa.Column("report", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["phase_id"], ["phases.id"], name=op.f("fk_trials_phases")),
        sa.ForeignKeyConstraint(["server_id"], ["servers.id"], name=op.f("fk_trials_servers")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_trials")),
    )
    op.create_index("ix_trials_server_phase", "trials", ["server_id", "phase_id"], unique=True)
    op.drop_column("servers", "conformance")
