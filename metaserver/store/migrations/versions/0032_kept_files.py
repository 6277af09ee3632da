"""Files that jobs have made are in the store of a hub of several processes

Revision: 0032, after 0031
"""

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None


def upgrade() -> None:
    large = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "kept_files",
        sa.Column("id", sa.String(16), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("size", large, nullable=False),
        sa.Column("made_at", sa.Double(), nullable=False),
        sa.Column("whole", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_kept_files")),
    )
    op.create_index("ix_kept_files_name", "kept_files", ["name"])
    op.create_table(
        "kept_parts",
        sa.Column("file_id", sa.String(16), nullable=False),
        sa.Column("part", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["file_id"], ["kept_files.id"], name=op.f("fk_kept_parts_kept_files")
        ),
        sa.PrimaryKeyConstraint("file_id", "part", name=op.f("pk_kept_parts")),
    )
