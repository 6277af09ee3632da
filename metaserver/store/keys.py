"""The hub's own key, for digesting secret contents."""

from __future__ import annotations

import hashlib
import hmac

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from metaserver.store.tables import hub_keys

DIGESTS = "digests"
"""The key's name for digests; the first migration makes it."""


async def digest_key(connection: AsyncConnection) -> bytes:
    """Return the key for digests, 32 random bytes; it never changes."""
    query = sa.select(hub_keys.c.value).where(hub_keys.c.name == DIGESTS)
    return bytes.fromhex((await connection.execute(query)).scalar_one())


def keyed_digest(key: bytes, content: bytes) -> str:
    """Return a secret content's digest: HMAC-SHA256, hexadecimal.

    Equal contents have equal digests under the same key. Without the key nobody can check a guess.
    """
    return hmac.new(key, content, hashlib.sha256).hexdigest()
