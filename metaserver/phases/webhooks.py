"""Webhooks: JSON messages that are signed, so that their receiver can verify the sender.

Each carries a plain `text` too, which chat services show.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from typing import Any

import msgspec

from metaserver.exchange.http.client import HttpClient

WEBHOOK_SECONDS = 10.0


async def post(
    client: HttpClient, url: str, secret: str, message: Mapping[str, Any], now: float
) -> None:
    """Post a message at `now` (Unix seconds); raises `PeerError` unless it was accepted.

    A message that is posted again, as nobody knows whether it came, has the same idempotency key.

    The client's guard decides which addresses it may go to.
    """
    body, at = msgspec.json.encode(message), str(int(now))
    headers = {
        "Content-Type": "application/json",
        "Idempotency-Key": hashlib.sha256(body).hexdigest()[:32],
        "X-Metaserver-Timestamp": at,
        "X-Metaserver-Signature": f"sha256={signature(secret, at, body)}",
    }
    await client.deliver(url, body, headers, WEBHOOK_SECONDS)


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """Return the signature for a webhook's body: HMAC-SHA256 over "TIMESTAMP.BODY", hexadecimal."""
    return hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
