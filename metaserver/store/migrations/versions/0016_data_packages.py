"""Data packages that organisers released to teams

Revision: 0016, after 0015
"""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "data_packages",
        sa.Column("phase_id", sa.Integer(), nullable=False),
        sa.Column("package", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["phase_id"], ["phases.id"], name=op.f("fk_data_packages_phases")),
        sa.PrimaryKeyConstraint("phase_id", name=op.f("pk_data_packages")),
    )
