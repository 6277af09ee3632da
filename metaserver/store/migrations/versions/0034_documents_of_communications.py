"""Communications keep the article of a server that fetches it

Revision: 0034, after 0033
"""

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("communications", sa.Column("document", sa.LargeBinary()))
