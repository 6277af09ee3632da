"""The first schema

Revision: 0001, after None
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "corpora",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("checksum", sa.String(length=64), nullable=False),
        sa.Column("articles", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_corpora")),
        sa.UniqueConstraint("checksum", name=op.f("uq_corpora_checksum")),
    )
    op.create_table(
        "servers",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("url", sa.String(), nullable=False),
        sa.Column("method", sa.String(), nullable=False),
        sa.Column("parameters", sa.String(), nullable=False),
        sa.Column("tasks", sa.JSON(), nullable=False),
        sa.Column("concurrency", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_servers")),
        sa.UniqueConstraint("name", name=op.f("uq_servers_name")),
    )
    op.create_table(
        "articles",
        sa.Column("corpus_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("article_id", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("text", sa.LargeBinary(), nullable=False),
        sa.Column("wire_bytes", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["corpus_id"], ["corpora.id"], name=op.f("fk_articles_corpora")),
        sa.PrimaryKeyConstraint("corpus_id", "position", name=op.f("pk_articles")),
        sa.UniqueConstraint(
            "corpus_id", "article_id", name=op.f("uq_articles_corpus_id_article_id")
        ),
    )
    op.create_table(
        "phases",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("corpus_id", sa.Integer(), nullable=False),
        sa.Column("release", sa.String(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["corpus_id"], ["corpora.id"], name=op.f("fk_phases_corpora")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_phases")),
        sa.UniqueConstraint("name", name=op.f("uq_phases_name")),
    )
    op.create_table(
        "gold",
        sa.Column("phase_id", sa.Integer(), nullable=False),
        sa.Column("task", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("checksum", sa.String(length=64), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["phase_id"], ["phases.id"], name=op.f("fk_gold_phases")),
        sa.PrimaryKeyConstraint("phase_id", "task", "version", name=op.f("pk_gold")),
    )
    op.create_table(
        "lanes",
        sa.Column("phase_id", sa.Integer(), nullable=False),
        sa.Column("server_id", sa.Integer(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("cursor", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["phase_id"], ["phases.id"], name=op.f("fk_lanes_phases")),
        sa.ForeignKeyConstraint(["server_id"], ["servers.id"], name=op.f("fk_lanes_servers")),
        sa.PrimaryKeyConstraint("phase_id", "server_id", name=op.f("pk_lanes")),
    )
    op.create_table(
        "answers",
        sa.Column("phase_id", sa.Integer(), nullable=False),
        sa.Column("server_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("payloads", sa.LargeBinary(), nullable=False),
        sa.Column("hits_kept", sa.Integer(), nullable=False),
        sa.Column("hits_dropped", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["phase_id", "server_id"],
            ["lanes.phase_id", "lanes.server_id"],
            name=op.f("fk_answers_lanes"),
        ),
        sa.PrimaryKeyConstraint("phase_id", "server_id", "position", name=op.f("pk_answers")),
    )
    op.create_table(
        "attempts",
        sa.Column("phase_id", sa.Integer(), nullable=False),
        sa.Column("server_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.Double(), nullable=False),
        sa.Column("outcome", sa.String(length=16), nullable=False),
        sa.Column("message", sa.String(), nullable=False),
        sa.Column("queue", sa.Double(), nullable=True),
        sa.Column("dns", sa.Double(), nullable=True),
        sa.Column("connect", sa.Double(), nullable=True),
        sa.Column("send", sa.Double(), nullable=True),
        sa.Column("wait", sa.Double(), nullable=True),
        sa.Column("transfer", sa.Double(), nullable=True),
        sa.Column("parse", sa.Double(), nullable=True),
        sa.Column("total", sa.Double(), nullable=False),
        sa.Column("bytes_out", sa.Integer(), nullable=False),
        sa.Column("bytes_in", sa.Integer(), nullable=False),
        sa.Column("problems", sa.LargeBinary(), nullable=True),
        sa.Column("problem_count", sa.Integer(), nullable=False),
        sa.Column("final", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["phase_id", "server_id"],
            ["lanes.phase_id", "lanes.server_id"],
            name=op.f("fk_attempts_lanes"),
        ),
        sa.PrimaryKeyConstraint(
            "phase_id", "server_id", "position", "number", name=op.f("pk_attempts")
        ),
    )
    op.create_table(
        "raw_answers",
        sa.Column("phase_id", sa.Integer(), nullable=False),
        sa.Column("server_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["phase_id", "server_id"],
            ["lanes.phase_id", "lanes.server_id"],
            name=op.f("fk_raw_answers_lanes"),
        ),
        sa.PrimaryKeyConstraint(
            "phase_id", "server_id", "position", "number", name=op.f("pk_raw_answers")
        ),
    )


def downgrade() -> None:
    op.drop_table("raw_answers")
    op.drop_table("attempts")
    op.drop_table("answers")
    op.drop_table("lanes")
    op.drop_table("gold")
    op.drop_table("phases")
    op.drop_table("articles")
    op.drop_table("servers")
    op.drop_table("corpora")
