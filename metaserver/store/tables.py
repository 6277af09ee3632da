"""The tables. One schema serves SQLite and PostgreSQL; migrations are in `migrations/`.

There is no row per pending request: a request is implied by (lane, article). An attempt's key is
(phase, server, position, number) and an accepted answer's (phase, server, position), so that
neither can be stored twice, whatever the engine above delivers.
"""

from __future__ import annotations

import sqlalchemy as sa

NAMING = {
    "ix": "ix_%(column_0_label)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}

metadata = sa.MetaData(naming_convention=NAMING)

corpora = sa.Table(
    "corpora",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("checksum", sa.String(64), nullable=False, unique=True),  # of ids and texts, in order
    sa.Column("articles", sa.Integer, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),  # here and below: Unix seconds, UTC
)

articles = sa.Table(
    "articles",
    metadata,
    sa.Column("corpus_id", sa.ForeignKey("corpora.id"), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),  # from 0, the order
    sa.Column("article_id", sa.String, nullable=False),
    sa.Column("title", sa.String, nullable=False),
    sa.Column("source", sa.String, nullable=False),
    sa.Column("text", sa.LargeBinary, nullable=False),  # zstd of UTF-8
    sa.Column("wire_bytes", sa.Integer, nullable=False),  # of the text as it stands in a request
    sa.UniqueConstraint("corpus_id", "article_id"),
)

phases = sa.Table(
    "phases",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String, nullable=False, unique=True),
    sa.Column("corpus_id", sa.ForeignKey("corpora.id"), nullable=False),
    sa.Column("release", sa.String, nullable=False),  # the UniProt release answers are checked by
    sa.Column("created_at", sa.Double, nullable=False),
)

gold = sa.Table(
    "gold",
    metadata,
    sa.Column("phase_id", sa.ForeignKey("phases.id"), primary_key=True),
    sa.Column("task", sa.String, primary_key=True),
    sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),  # 1, 2, ...
    sa.Column("checksum", sa.String(64), nullable=False),
    sa.Column("source", sa.String, nullable=False),
    sa.Column("content", sa.LargeBinary, nullable=False),  # zstd of the file
    sa.Column("created_at", sa.Double, nullable=False),
)

servers = sa.Table(
    "servers",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String, nullable=False, unique=True),
    sa.Column("url", sa.String, nullable=False),
    sa.Column("method", sa.String, nullable=False),
    sa.Column("parameters", sa.String, nullable=False),
    sa.Column("tasks", sa.JSON, nullable=False),
    sa.Column("concurrency", sa.Integer, nullable=False),
)

lanes = sa.Table(
    "lanes",
    metadata,
    sa.Column("phase_id", sa.ForeignKey("phases.id"), primary_key=True),
    sa.Column("server_id", sa.ForeignKey("servers.id"), primary_key=True),
    sa.Column("epoch", sa.Integer, nullable=False),  # raised whenever a hub takes the lane
    sa.Column("cursor", sa.Integer, nullable=False),  # every article before it is finished
)


def _lane_key() -> tuple[sa.Column[int], sa.Column[int], sa.ForeignKeyConstraint]:
    return (
        sa.Column("phase_id", sa.Integer, primary_key=True),
        sa.Column("server_id", sa.Integer, primary_key=True),
        sa.ForeignKeyConstraint(["phase_id", "server_id"], ["lanes.phase_id", "lanes.server_id"]),
    )


attempts = sa.Table(
    "attempts",
    metadata,
    *_lane_key(),
    sa.Column("position", sa.Integer, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("epoch", sa.Integer, nullable=False),
    sa.Column("started_at", sa.Double, nullable=False),
    sa.Column("outcome", sa.String(16), nullable=False),
    sa.Column("message", sa.String, nullable=False),
    *(sa.Column(phase, sa.Double) for phase in ("queue", "dns", "connect", "send", "wait")),
    *(sa.Column(phase, sa.Double) for phase in ("transfer", "parse")),
    sa.Column("total", sa.Double, nullable=False),
    sa.Column("bytes_out", sa.Integer, nullable=False),
    sa.Column("bytes_in", sa.Integer, nullable=False),
    sa.Column("problems", sa.LargeBinary),  # JSON: [[path, message], ...]
    sa.Column("problem_count", sa.Integer, nullable=False),
    sa.Column("final", sa.Boolean, nullable=False),  # the article is finished for the lane
)

raw_answers = sa.Table(
    "raw_answers",
    metadata,
    *_lane_key(),
    sa.Column("position", sa.Integer, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("body", sa.LargeBinary, nullable=False),  # zstd of the bytes as they came
)

answers = sa.Table(
    "answers",
    metadata,
    *_lane_key(),
    sa.Column("position", sa.Integer, primary_key=True),
    sa.Column("number", sa.Integer, nullable=False),  # of the attempt that brought it
    sa.Column("payloads", sa.LargeBinary, nullable=False),  # zstd of JSON: {task: payload}
    sa.Column("hits_kept", sa.Integer, nullable=False),
    sa.Column("hits_dropped", sa.Integer, nullable=False),
)
