"""The attempts of each lane numbered in the order of their commits; checkpoints of aggregates

Revision: 0006, after 0005
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("serial", "revision"):
        op.add_column(
            "lanes", sa.Column(name, sa.Integer(), server_default=sa.text("0"), nullable=False)
        )
    op.add_column(
        "attempts", sa.Column("serial", sa.Integer(), server_default=sa.text("0"), nullable=False)
    )
    op.execute(
        "UPDATE attempts SET serial = numbered.serial FROM ("
        " SELECT phase_id, server_id, position, number, row_number() OVER ("
        " PARTITION BY phase_id, server_id ORDER BY started_at, position, number) AS serial"
        " FROM attempts) AS numbered"
        " WHERE numbered.phase_id = attempts.phase_id AND numbered.server_id = attempts.server_id"
        " AND numbered.position = attempts.position AND numbered.number = attempts.number"
    )
    op.create_index(
        "ix_attempts_lane_serial", "attempts", ["phase_id", "server_id", "serial"], unique=True
    )
    op.execute(
        "UPDATE lanes SET serial = (SELECT coalesce(max(attempts.serial), 0) FROM attempts"
        " WHERE attempts.phase_id = lanes.phase_id AND attempts.server_id = lanes.server_id)"
    )
    op.create_table(
        "checkpoints",
        sa.Column("phase_id", sa.Integer(), nullable=False),
        sa.Column("server_id", sa.Integer(), nullable=False),
        sa.Column("serial", sa.Integer(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["phase_id", "server_id"],
            ["lanes.phase_id", "lanes.server_id"],
            name=op.f("fk_checkpoints_lanes"),
        ),
        sa.PrimaryKeyConstraint("phase_id", "server_id", name=op.f("pk_checkpoints")),
    )
