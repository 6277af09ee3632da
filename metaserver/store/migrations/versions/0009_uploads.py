"""The uploads of result files, counted for each team, task and phase

Revision: 0009, after 0006
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "uploads",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("phase_id", sa.Integer(), nullable=False),
        sa.Column("team_id", sa.Integer(), nullable=False),
        sa.Column("task", sa.String(), nullable=False),
        sa.Column("run", sa.String(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("articles", sa.Integer(), nullable=False),
        sa.Column("changed", sa.Integer()),
        sa.Column("score", sa.Double()),
        sa.Column("prints", sa.LargeBinary()),
        sa.ForeignKeyConstraint(["phase_id"], ["phases.id"], name=op.f("fk_uploads_phases")),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_uploads_teams")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_uploads")),
    )
    op.create_index("ix_uploads_phase_team_task", "uploads", ["phase_id", "team_id", "task"])
