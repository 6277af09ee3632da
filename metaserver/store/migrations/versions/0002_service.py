"""Teams, tokens, challenges with phases, control of lanes, audit, offline runs, frozen boards

Revision: 0002, after 0001
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "audit",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("actor", sa.String(), nullable=False),
        sa.Column("action", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("detail", sa.LargeBinary(), nullable=True),
        sa.Column("request_id", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit")),
    )
    op.create_index("ix_audit_at", "audit", ["at"], unique=False)

    op.create_table(
        "challenges",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("timezone", sa.String(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_challenges")),
        sa.UniqueConstraint("name", name=op.f("uq_challenges_name")),
    )
    op.create_table(
        "teams",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("email", sa.String(), nullable=False),
        sa.Column("notices", sa.LargeBinary(), nullable=True),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("retired_at", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_teams")),
        sa.UniqueConstraint("name", name=op.f("uq_teams_name")),
    )
    op.create_table(
        "corpus_versions",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("corpus_id", sa.Integer(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["corpus_id"], ["corpora.id"], name=op.f("fk_corpus_versions_corpora")
        ),
        sa.PrimaryKeyConstraint("name", "version", name=op.f("pk_corpus_versions")),
    )
    op.create_table(
        "notices",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("team_id", sa.Integer(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("event", sa.String(length=16), nullable=False),
        sa.Column("message", sa.String(), nullable=False),
        sa.Column("sent_at", sa.Double(), nullable=True),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_notices_teams")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notices")),
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("team_id", sa.Integer(), nullable=True),
        sa.Column("label", sa.String(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=True),
        sa.Column("used_at", sa.Double(), nullable=True),
        sa.Column("revoked_at", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_tokens_teams")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tokens")),
        sa.UniqueConstraint("digest", name=op.f("uq_tokens_digest")),
    )
    op.create_table(
        "frozen_boards",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("phase_id", sa.Integer(), nullable=False),
        sa.Column("task", sa.String(), nullable=False),
        sa.Column("gold_version", sa.Integer(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["phase_id"], ["phases.id"], name=op.f("fk_frozen_boards_phases")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_frozen_boards")),
    )
    op.create_table(
        "offline_runs",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("phase_id", sa.Integer(), nullable=False),
        sa.Column("team_id", sa.Integer(), nullable=False),
        sa.Column("task", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("payloads", sa.LargeBinary(), nullable=False),
        sa.Column("problems", sa.LargeBinary(), nullable=True),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["phase_id"], ["phases.id"], name=op.f("fk_offline_runs_phases")),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_offline_runs_teams")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_offline_runs")),
        sa.UniqueConstraint("phase_id", "name", name=op.f("uq_offline_runs_phase_id_name")),
    )
    op.create_table(
        "sessions",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("token_id", sa.Integer(), nullable=False),
        sa.Column("csrf", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["token_id"], ["tokens.id"], name=op.f("fk_sessions_tokens")),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_sessions")),
    )
    op.create_table(
        "state_changes",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("phase_id", sa.Integer(), nullable=False),
        sa.Column("server_id", sa.Integer(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("note", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["phase_id", "server_id"],
            ["lanes.phase_id", "lanes.server_id"],
            name=op.f("fk_state_changes_lanes"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_state_changes")),
    )
    op.create_index(
        "ix_state_changes_lane_at", "state_changes", ["phase_id", "server_id", "at"], unique=False
    )

    op.add_column(
        "attempts", sa.Column("forgiven", sa.Boolean(), server_default=sa.false(), nullable=False)
    )

    op.add_column(
        "lanes",
        sa.Column("control", sa.String(length=16), server_default="running", nullable=False),
    )
    op.add_column(
        "lanes", sa.Column("control_note", sa.String(), server_default="", nullable=False)
    )

    op.add_column(
        "phases",
        sa.Column(
            "challenge_id",
            sa.Integer(),
            sa.ForeignKey("challenges.id", name="fk_phases_challenges"),
            nullable=True,
        ),
        inline_references=True,
    )
    op.add_column("phases", sa.Column("plan", sa.LargeBinary(), nullable=True))
    op.add_column("phases", sa.Column("standing", sa.String(length=16), nullable=True))

    op.add_column(
        "servers",
        sa.Column(
            "team_id",
            sa.Integer(),
            sa.ForeignKey("teams.id", name="fk_servers_teams"),
            nullable=True,
        ),
        inline_references=True,
    )
    op.add_column("servers", sa.Column("created_at", sa.Double(), nullable=True))
    op.add_column("servers", sa.Column("retired_at", sa.Double(), nullable=True))
    op.add_column("servers", sa.Column("conformance", sa.LargeBinary(), nullable=True))
