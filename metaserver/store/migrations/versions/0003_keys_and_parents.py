"""Keyed digests of gold, no digest of gold in frozen boards, tokens with their parents

Revision: 0003, after 0002
"""

import hashlib
import hmac
import re
import secrets

import sqlalchemy as sa
from alembic import op

from metaserver.files.compression import pack, unpack

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    keys = op.create_table(
        "hub_keys",
        sa.Column("name", sa.String(length=32), nullable=False),
        sa.Column("value", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_hub_keys")),
    )
    key = secrets.token_bytes(32)
    op.bulk_insert(keys, [{"name": "digests", "value": key.hex()}])
    _key_checksums(op.get_bind(), key)
    _sign_by_version(op.get_bind())

    op.add_column(
        "tokens",
        sa.Column(
            "parent_id",
            sa.Integer(),
            sa.ForeignKey("tokens.id", name="fk_tokens_tokens"),
            nullable=True,
        ),
        inline_references=True,
    )
    op.create_index("ix_tokens_parent_id", "tokens", ["parent_id"], unique=False)


def _key_checksums(connection: sa.Connection, key: bytes) -> None:
    """Replace each plain checksum with a keyed one."""
    names = ("phase_id", "task", "version", "content", "checksum")
    gold = sa.table("gold", *(sa.column(name) for name in names))
    for row in connection.execute(sa.select(gold)).all():
        checksum = hmac.new(key, unpack(row.content), hashlib.sha256).hexdigest()
        same = [gold.c[name] == getattr(row, name) for name in ("phase_id", "task", "version")]
        connection.execute(sa.update(gold).where(*same).values(checksum=checksum))


def _sign_by_version(connection: sa.Connection) -> None:
    """Name the gold of a frozen board by its version instead of its digest."""
    names = ("id", "gold_version", "document")
    boards = sa.table("frozen_boards", *(sa.column(name) for name in names))
    for row in connection.execute(sa.select(boards)).all():
        named = b"|gold:%d|" % row.gold_version
        document = re.sub(rb"\|gold:[0-9a-f]{12}\|", named, unpack(row.document))
        connection.execute(
            sa.update(boards).where(boards.c.id == row.id).values(document=pack(document))
        )
