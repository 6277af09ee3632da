"""The phase of a run is of a challenge, as every other phase is

Revision: 0005, after 0004
"""

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "INSERT INTO corpus_versions (name, version, corpus_id, source, created_at)"
        " SELECT name, 1, corpus_id, 'metaserver run', created_at FROM phases"
        " WHERE challenge_id IS NULL AND name NOT IN (SELECT name FROM corpus_versions)"
    )
    op.execute(
        "INSERT INTO challenges (name, title, timezone, created_at)"
        " SELECT name, '', 'UTC', created_at FROM phases WHERE challenge_id IS NULL"
        " AND name NOT IN (SELECT name FROM challenges)"
    )
    if op.get_bind().dialect.name != "sqlite":
        return  # the database is new: it has no rows to change
    op.execute(
        "UPDATE phases SET standing = 'test', plan = CAST('{}' AS BLOB),"
        " challenge_id = (SELECT id FROM challenges WHERE challenges.name = phases.name)"
        " WHERE challenge_id IS NULL"
    )
