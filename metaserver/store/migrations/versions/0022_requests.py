"""Requests of curators, the answers to them, and which servers take them

Revision: 0022, after 0017
"""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "servers",
        sa.Column("serves_curators", sa.Boolean(), server_default=sa.false(), nullable=False),
    )
    op.create_table(
        "requests",
        sa.Column("id", sa.String(16), nullable=False),
        sa.Column("token_id", sa.Integer(), nullable=False),
        sa.Column("caller", sa.String(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("deadline_at", sa.Double()),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("message", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("article", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("length", sa.Integer(), nullable=False),
        sa.Column("text", sa.LargeBinary()),
        sa.Column("options", sa.LargeBinary(), nullable=False),
        sa.Column("servers", sa.LargeBinary()),
        sa.Column("release", sa.String(), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["token_id"], ["tokens.id"], name=op.f("fk_requests_tokens")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_requests")),
    )
    op.create_index("ix_requests_token_at", "requests", ["token_id", "at"])
    op.create_index(op.f("ix_requests_expires_at"), "requests", ["expires_at"])
    op.create_table(
        "request_answers",
        sa.Column("request_id", sa.String(16), nullable=False),
        sa.Column("server_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.Double(), nullable=False),
        sa.Column("ended_at", sa.Double(), nullable=False),
        sa.Column("outcome", sa.String(16), nullable=False),
        sa.Column("message", sa.String(), nullable=False),
        sa.Column("hits", sa.Integer(), nullable=False),
        sa.Column("payloads", sa.LargeBinary()),
        sa.Column("asides", sa.LargeBinary()),
        sa.Column("raw", sa.LargeBinary()),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("late", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["request_id"], ["requests.id"], name=op.f("fk_request_answers_requests")
        ),
        sa.ForeignKeyConstraint(
            ["server_id"], ["servers.id"], name=op.f("fk_request_answers_servers")
        ),
        sa.PrimaryKeyConstraint(
            "request_id", "server_id", "number", name=op.f("pk_request_answers")
        ),
    )
