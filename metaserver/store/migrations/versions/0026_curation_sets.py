"""Sets of articles that several curators decide on, and rulings on their disagreements

Revision: 0026, after 0023
"""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "curation_sets",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("phase_id", sa.Integer(), nullable=False),
        sa.Column("plan", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("closed_at", sa.Double()),
        sa.ForeignKeyConstraint(["phase_id"], ["phases.id"], name=op.f("fk_curation_sets_phases")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_curation_sets")),
        sa.UniqueConstraint("name", name=op.f("uq_curation_sets_name")),
    )
    op.create_table(
        "curation_seats",
        sa.Column("set_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("token_id", sa.Integer(), nullable=False),
        sa.Column("seat", sa.Integer(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("curation_id", sa.String(16)),
        sa.ForeignKeyConstraint(
            ["set_id"], ["curation_sets.id"], name=op.f("fk_curation_seats_curation_sets")
        ),
        sa.ForeignKeyConstraint(["token_id"], ["tokens.id"], name=op.f("fk_curation_seats_tokens")),
        sa.ForeignKeyConstraint(
            ["curation_id"], ["curations.id"], name=op.f("fk_curation_seats_curations")
        ),
        sa.PrimaryKeyConstraint("set_id", "position", "token_id", name=op.f("pk_curation_seats")),
        sa.UniqueConstraint("curation_id", name=op.f("uq_curation_seats_curation_id")),
    )
    op.create_index("ix_curation_seats_token_id", "curation_seats", ["token_id"])
    op.create_table(
        "curation_rulings",
        sa.Column("set_id", sa.Integer(), nullable=False),
        sa.Column("task", sa.String(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("item", sa.String(), nullable=False),
        sa.Column("choice", sa.String(16), nullable=False),
        sa.Column("adjudicator", sa.String(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["set_id"], ["curation_sets.id"], name=op.f("fk_curation_rulings_curation_sets")
        ),
        sa.PrimaryKeyConstraint(
            "set_id", "task", "position", "item", name=op.f("pk_curation_rulings")
        ),
    )
