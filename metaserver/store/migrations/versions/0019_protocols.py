"""Servers have a protocol, credentials and a certificate; the outcome xml is called syntax

Revision: 0019, after 0018
"""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

TEXTS = (("protocol", 32, "xmlrpc"), ("encoding", 16, "utf-8"), ("options", None, ""),
         ("auth", 16, "none"), ("auth_name", None, ""), ("certificate", 64, ""))  # fmt: skip


def upgrade() -> None:
    for name, length, default in TEXTS:
        kind = sa.String(length)
        op.add_column("servers", sa.Column(name, kind, nullable=False, server_default=default))
    op.add_column("servers", sa.Column("secret", sa.String()))
    if op.get_bind().dialect.name != "sqlite":
        return  # the database is new: it has no rows to change
    op.execute("UPDATE attempts SET outcome = 'syntax' WHERE outcome = 'xml'")
    op.execute(
        "UPDATE trials SET report = CAST(replace(CAST(report AS TEXT),"
        """ '"outcome":"xml"', '"outcome":"syntax"') AS BLOB)"""
    )
    op.execute("DELETE FROM checkpoints")  # they count outcomes by name; a start makes them again
