"""Pages of challenges, announcements, sign-ups and their one-time links

Revision: 0010, after 0008
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("challenges", sa.Column("announced_at", sa.Double()))
    op.add_column("challenges", sa.Column("page", sa.LargeBinary()))
    op.add_column("challenges", sa.Column("code", sa.String(64)))
    op.create_table(
        "announcements",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("challenge_id", sa.Integer(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["challenge_id"], ["challenges.id"], name=op.f("fk_announcements_challenges")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_announcements")),
    )
    op.create_index(op.f("ix_announcements_challenge_id"), "announcements", ["challenge_id"])
    op.create_table(
        "sign_ups",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("challenge_id", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("team", sa.String(), nullable=False),
        sa.Column("people", sa.String(), nullable=False),
        sa.Column("email", sa.String(), nullable=False),
        sa.Column("affiliation", sa.String(), nullable=False),
        sa.Column("terms_version", sa.String(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("decided_at", sa.Double()),
        sa.Column("team_id", sa.Integer()),
        sa.Column("mail_due", sa.Boolean(), nullable=False),
        sa.Column("mailed_at", sa.Double()),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["challenge_id"], ["challenges.id"], name=op.f("fk_sign_ups_challenges")
        ),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_sign_ups_teams")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sign_ups")),
    )
    op.create_index(op.f("ix_sign_ups_challenge_id"), "sign_ups", ["challenge_id"])
    op.create_index(op.f("ix_sign_ups_email"), "sign_ups", ["email"])
    op.create_table(
        "one_time_links",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("sign_up_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=False),
        sa.Column("used_at", sa.Double()),
        sa.ForeignKeyConstraint(
            ["sign_up_id"], ["sign_ups.id"], name=op.f("fk_one_time_links_sign_ups")
        ),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_one_time_links")),
    )
    op.create_index(op.f("ix_one_time_links_sign_up_id"), "one_time_links", ["sign_up_id"])
