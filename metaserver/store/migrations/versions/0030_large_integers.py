"""Ids of logs, counters that only grow and sizes have 64 bits in PostgreSQL, as in SQLite

Revision: 0030, after 0027
"""

from alembic import op

revision = "0030"
down_revision = "0027"
branch_labels = None
depends_on = None

LARGE = {
    "alerts": ("id",),
    "articles": ("wire_bytes",),
    "attempts": ("serial", "epoch", "bytes_out", "bytes_in"),
    "audit": ("id",),
    "channels": ("sent_up_to",),
    "checkpoints": ("serial", "revision"),
    "curations": ("bytes", "active_ms"),
    "lanes": ("epoch", "serial", "revision", "order_no", "order_done"),
    "leader": ("epoch",),
    "notices": ("id",),
    "request_answers": ("version",),
    "requests": ("version",),
    "state_changes": ("id",),
}


def upgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        return
    for table, columns in LARGE.items():
        changes = ", ".join(f'ALTER "{column}" TYPE bigint' for column in columns)
        op.execute(f'ALTER TABLE "{table}" {changes}')
        if "id" in columns:
            op.execute(f"ALTER SEQUENCE {table}_id_seq AS bigint")
