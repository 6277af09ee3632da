"""Curations of articles, and the events that curators' decisions are

Revision: 0025, after 0022
"""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "curations",
        sa.Column("id", sa.String(16), nullable=False),
        sa.Column("token_id", sa.Integer(), nullable=False),
        sa.Column("curator", sa.String(), nullable=False),
        sa.Column("request", sa.String(16)),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("article", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("length", sa.Integer(), nullable=False),
        sa.Column("text", sa.LargeBinary(), nullable=False),
        sa.Column("basis", sa.LargeBinary(), nullable=False),
        sa.Column("additions", sa.LargeBinary()),
        sa.Column("events", sa.Integer(), nullable=False),
        sa.Column("bytes", sa.Integer(), nullable=False),
        sa.Column("active_ms", sa.Integer(), nullable=False),
        sa.Column("opened_at", sa.Double(), nullable=False),
        sa.Column("changed_at", sa.Double(), nullable=False),
        sa.Column("submitted_at", sa.Double()),
        sa.ForeignKeyConstraint(["token_id"], ["tokens.id"], name=op.f("fk_curations_tokens")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_curations")),
        sa.UniqueConstraint("token_id", "request", name=op.f("uq_curations_token_id_request")),
    )
    op.create_index("ix_curations_token_changed", "curations", ["token_id", "changed_at"])
    op.create_table(
        "curation_events",
        sa.Column("curation_id", sa.String(16), nullable=False),
        sa.Column("seq", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("event", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["curation_id"], ["curations.id"], name=op.f("fk_curation_events_curations")
        ),
        sa.PrimaryKeyConstraint("curation_id", "seq", name=op.f("pk_curation_events")),
        sa.UniqueConstraint("curation_id", "key", name=op.f("uq_curation_events_curation_id_key")),
    )
