"""Descriptions of the methods of runs

Revision: 0015, after 0010
"""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "methods",
        sa.Column("phase_id", sa.Integer(), nullable=False),
        sa.Column("run", sa.String(), nullable=False),
        sa.Column("description", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["phase_id"], ["phases.id"], name=op.f("fk_methods_phases")),
        sa.PrimaryKeyConstraint("phase_id", "run", name=op.f("pk_methods")),
    )
