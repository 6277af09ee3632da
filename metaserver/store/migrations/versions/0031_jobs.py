"""Jobs of the processes of a hub are stored

Revision: 0031, after 0030
"""

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None


def upgrade() -> None:
    large = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "jobs",
        sa.Column("id", sa.String(16), nullable=False),
        sa.Column("process", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("asked_by", sa.String(), nullable=False),
        sa.Column("team", sa.String(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("step", sa.String(), nullable=False),
        sa.Column("done", large, nullable=False),
        sa.Column("total", large, nullable=False),
        sa.Column("fixed", sa.Boolean(), nullable=False),
        sa.Column("to_cancel", sa.Boolean(), nullable=False),
        sa.Column("began_at", sa.Double(), nullable=False),
        sa.Column("ended_at", sa.Double()),
        sa.Column("error", sa.String(), nullable=False),
        sa.Column("report", sa.LargeBinary()),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
    )
    op.create_index("ix_jobs_team_began_at", "jobs", ["team", "began_at"])
