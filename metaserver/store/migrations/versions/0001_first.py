"""The schema of version 1.0: the tables as they are declared, and the hub's own key."""

import secrets

import sqlalchemy as sa
from alembic import op

from metaserver.store.keys import DIGESTS
from metaserver.store.tables import hub_keys, metadata

revision = "v1"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    connection = op.get_bind()
    metadata.create_all(connection, checkfirst=False)
    connection.execute(sa.insert(hub_keys).values(name=DIGESTS, value=secrets.token_hex(32)))
