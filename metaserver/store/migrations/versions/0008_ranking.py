"""Phases that were planned before there was a rule of ranking keep theirs

Revision: 0008, after 0012
"""

from alembic import op

revision = "0008"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    if op.get_bind().dialect.name != "sqlite":
        return  # the database is new: it has no rows to change
    op.execute(
        "UPDATE phases SET plan = CAST(json_set(CAST(plan AS TEXT), '$.ranking',"
        ' json(\'{"articles":"answered","min_coverage": 0}\')) AS BLOB)'
    )
