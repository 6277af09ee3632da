"""Communications that servers answer by callbacks, and the keys of these

Revision: 0023, after 0029
"""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0029"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("servers", sa.Column("callback_key", sa.String(64)))
    op.create_index(op.f("ix_servers_callback_key"), "servers", ["callback_key"])
    op.create_table(
        "communications",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("server_id", sa.Integer(), nullable=False),
        sa.Column("scope", sa.String(40), nullable=False),
        sa.Column("article", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("opened_at", sa.Double(), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=False),
        sa.Column("acknowledged_at", sa.Double()),
        sa.Column("answered_at", sa.Double()),
        sa.Column("closed_at", sa.Double()),
        sa.Column("format", sa.String(8)),
        sa.Column("body", sa.LargeBinary()),
        sa.ForeignKeyConstraint(
            ["server_id"], ["servers.id"], name=op.f("fk_communications_servers")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_communications")),
    )
    op.create_index(
        "ix_communications_server_article", "communications", ["server_id", "scope", "article"]
    )
    op.create_index(op.f("ix_communications_expires_at"), "communications", ["expires_at"])
